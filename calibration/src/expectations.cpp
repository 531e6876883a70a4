// From a cross-validation to what may be expected of the next cluster. Conformal: the factor of a nearness is the 90th
// percentile of error / (90th percentile of the row that the lookup would have taken), over points whose own source is
// in no row. So nine of ten such points are inside by construction, and a source that is to come is one more of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

#include "nearness.hpp"

namespace linkcast::calibration {
namespace {

using models::nccl::Op;

constexpr std::array class_names{"SizeClass::below_1M", "SizeClass::from_1M_to_64M", "SizeClass::from_64M"};
// A row of three points knows little: as if it had this many points of its class more.
constexpr double pseudo_points = 10;
// A factor needs as many points to mean something; below that the next nearer one, not less than 1.
constexpr std::size_t enough = 20;

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const auto high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

std::string architecture_of(const std::string& family) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock{mutex};
  auto& a = known[family];
  if (a.empty()) {
    const auto fabric = topologies::load(std::string_view{family}.substr(0, family.find('*')));
    a = fabric.gpu_model(fabric.gpus()[0]).architecture;
  }
  return a;
}

double percent(const FitPoint& p) { return 100 * std::fabs(p.predicted / p.measured - 1); }

std::vector<ErrorRow> rows_without(const CrossValidation& v, const std::string& left_out) {
  std::vector<FitPoint> points;
  for (const auto& s : v.sources)
    if (s.source != left_out) points.insert(points.end(), s.points.begin(), s.points.end());
  return rows_of(points);
}

}  // namespace

std::vector<ErrorRow> rows_of(std::span<const FitPoint> points) {
  struct Cell {
    std::vector<double> errors;
    std::int64_t smallest = INT64_MAX, largest = 0;
  };
  std::map<std::tuple<std::string, Op, SizeClass>, Cell> cells;
  std::array<std::vector<double>, 3> of_class;
  for (const auto& p : points) {
    if (!p.collective) continue;
    auto& cell = cells[{p.system, p.op, size_class(p.size)}];
    cell.errors.push_back(percent(p));
    cell.smallest = std::min(cell.smallest, p.size.count());
    cell.largest = std::max(cell.largest, p.size.count());
    of_class[static_cast<std::size_t>(size_class(p.size))].push_back(percent(p));
  }
  std::vector<ErrorRow> out;
  for (const auto& [key, cell] : cells) {
    const auto& [system, op, sizes] = key;
    const auto& all = of_class[static_cast<std::size_t>(sizes)];
    const auto n = static_cast<double>(cell.errors.size());
    const auto drawn = [&](double q) {
      return (n * quantile(cell.errors, q) + pseudo_points * quantile(all, q)) / (n + pseudo_points);
    };
    out.push_back({system, architecture_of(system), op, sizes, drawn(0.5), drawn(0.9),
                   static_cast<int>(cell.errors.size()), cell.smallest, cell.largest});
  }
  return out;
}

Expectations expectations(const CrossValidation& v) {
  struct Judged {
    std::size_t sizes, near;
    double ratio;
  };
  std::vector<Judged> judged;
  for (const auto& s : v.sources) {
    const auto rows = rows_without(v, s.source);
    for (const auto& p : s.points) {
      const auto sizes = size_class(p.size);
      const auto architecture = architecture_of(p.system);
      const auto* row = nearest_row(rows, p.system, architecture, p.op, sizes);
      if (!row) continue;
      const int d = distance(*row, p.system, architecture, p.op, sizes);
      judged.push_back(
          {static_cast<std::size_t>(sizes), static_cast<std::size_t>(nearness(d)), percent(p) / row->p90_percent});
    }
  }
  Expectations out;
  out.rows = rows_without(v, "");
  out.widening = Widening::none();
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t n = 0; n < 4; ++n) {
      std::vector<double> ratios;
      for (const auto& j : judged)
        if (j.sizes == c && j.near == n) ratios.push_back(j.ratio);
      auto& factor = out.widening.factor[c][n];
      if (ratios.size() >= enough) factor = quantile(ratios, 0.9);
      if (n > 0) factor = std::max(factor, out.widening.factor[c][n - 1]);
    }
    int inside = 0;
    for (const auto& j : judged) {
      if (j.sizes != c) continue;
      ++out.points[c];
      inside += j.ratio <= out.widening.factor[c][j.near] ? 1 : 0;
    }
    out.coverage[c] = out.points[c] > 0 ? static_cast<double>(inside) / out.points[c] : 0;
  }
  return out;
}

std::string rows_text(const Expectations& e) {
  std::string out = "// Made by ./dev fit-profiles: errors on sources that the fit never saw.\n";
  for (const auto& r : e.rows)
    out += fmt::format("{{\"{}\", \"{}\", Op::{}, {}, {:.1f}, {:.1f}, {}, {}, {}}},\n", r.system, r.architecture,
                       name_of(r.op), class_names[static_cast<std::size_t>(r.sizes)], r.median_percent, r.p90_percent,
                       r.points, r.smallest, r.largest);
  return out;
}

std::string widening_text(const Expectations& e) {
  std::string out =
      "// Made by ./dev fit-profiles. By class of size; same machine and collective, another collective, another "
      "machine\n"
      "// of the architecture, anything else.\n";
  for (const auto& f : e.widening.factor)
    out += fmt::format("{{{:.2f}, {:.2f}, {:.2f}, {:.2f}}},\n", f[0], f[1], f[2], f[3]);
  return out;
}

}  // namespace linkcast::calibration
