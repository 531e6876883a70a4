// See measure_text.hpp.
#include "measure_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkcast/workloads/collective.hpp"
#include "words.hpp"

namespace linkcast::cli {
namespace {

using namespace calibration;

std::string range_text(std::vector<double> values, std::string_view unit) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  if (values.size() == 1 || values.front() == values.back()) return fmt::format("{:.4g} {}", values.front(), unit);
  return fmt::format("{:.4g} to {:.4g} {}, median {:.4g}", values.front(), values.back(), unit,
                     values[values.size() / 2]);
}

std::string series_text(const Series& s) {
  const auto end = [&](const Point& p) {
    const double algbw = static_cast<double>(p.size.count()) / us(p.time) / 1e3;
    return fmt::format("{} {:.4g} us ({:.4g} GB/s busbw)", size_text(p.size), us(p.time),
                       algbw * workloads::busbw_factor(s.op, s.ranks));
  };
  if (s.points.size() == 1) return end(s.points.front());
  return end(s.points.front()) + " to " + end(s.points.back());
}

std::string matrix_text(const PairMatrix& m) {
  std::vector<double> cells;
  for (const auto& row : m.cells)
    for (const auto& cell : row)
      if (cell) cells.push_back(*cell);
  return range_text(std::move(cells), m.latency ? "us" : m.bidirectional ? "GB/s both ways" : "GB/s");
}

std::string probe_text(const Probe& p) {
  const bool rates =
      p.kind == Probe::Kind::sm_copy || p.kind == Probe::Kind::sm_reduce || p.kind == Probe::Kind::pattern;
  std::vector<double> values;
  for (const auto& row : p.rows)
    values.push_back(rates ? static_cast<double>(row.size.count()) / us(row.time) / 1e3 : us(row.time));
  return range_text(std::move(values), rates ? "GB/s each" : "us");
}

std::size_t widest(const MeasurementFile& file) {
  std::size_t width = 4;
  for (const auto& p : file.plan) width = std::max(width, p.id.size());
  for (const auto& i : file.items) width = std::max(width, i.id.size());
  return width;
}

std::string dropped_text(const MeasurementFile& file) {
  std::string out;
  double sum = 0;
  for (const auto& p : file.plan) {
    if (p.state != "dropped" && p.state != "planned") continue;
    out += fmt::format("  {:<{}}  {:>12}  {}\n", p.id, widest(file), duration_text(p.estimated_s), p.tells);
    sum += p.estimated_s;
  }
  if (out.empty()) return {};
  return fmt::format("\nNot measured; {} more would do:\n{}", duration_text(sum), out);
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 10) return fmt::format("{:.2g} s", std::max(seconds, 0.0));
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  const auto minutes = whole / 60, rest = whole % 60;
  if (minutes >= 60)
    return fmt::format("{} h{}", minutes / 60, minutes % 60 ? fmt::format(" {} min", minutes % 60) : "");
  return fmt::format("{} min{}", minutes, rest ? fmt::format(" {} s", rest) : "");
}

std::string machine_text(const Discovery& d) {
  const auto gpu = d.gpus.empty() ? std::string{"no GPU"} : d.gpus.front().name;
  auto out = fmt::format("{}: {} x {}{}\n", d.kind == "twin" ? "twin (simulated)" : d.host, d.gpus.size(), gpu,
                         d.system ? fmt::format(", taken as {}", *d.system) : ", no system of the catalog");
  out += fmt::format("{} ranks on {} {}, {}; NCCL {}, CUDA {}, driver {}; {} NIC ports\n", d.ranks, d.nodes,
                     d.nodes == 1 ? "node" : "nodes",
                     d.launch == models::LaunchMode::multi_process ? "one process per GPU" : "one process for all GPUs",
                     d.nccl ? d.nccl->str() : "none", d.cuda_runtime, d.driver, d.nics.size());
  for (const auto& m : d.missing) out += "note: " + m + "\n";
  return out;
}

std::string plan_text(const MeasurementFile& file) {
  auto out = machine_text(file.machine) + fmt::format("\nPlan for {}:\n", duration_text(file.budget_s));
  double sum = 0;
  for (const auto& p : file.plan) {
    if (p.state != "planned") continue;
    out += fmt::format("  {:<{}}  {:>12}  {}\n", p.id, widest(file), duration_text(p.estimated_s), p.tells);
    sum += p.estimated_s;
  }
  out += fmt::format("  {:<{}}  {:>12}\n", "in all", widest(file), duration_text(sum));
  std::string dropped;
  for (const auto& p : file.plan)
    if (p.state == "dropped")
      dropped += fmt::format("  {:<{}}  {:>12}  {}\n", p.id, widest(file), duration_text(p.estimated_s), p.tells);
  if (!dropped.empty()) out += "\nDropped, as it does not fit:\n" + dropped;
  return out;
}

std::string measured_text(const MeasurementFile& file) {
  auto out = machine_text(file.machine) + "\n";
  const auto width = widest(file);
  for (const auto& item : file.items) {
    MeasurementFile one = file;
    one.items = {item};
    const auto m = measurements_of(one, {});
    std::string text;
    if (!m.series.empty()) text = series_text(m.series.front());
    if (!m.matrices.empty()) text = matrix_text(m.matrices.front());
    if (!m.probes.empty()) text = probe_text(m.probes.front());
    if (!item.problem.empty()) text += (text.empty() ? "" : "; then: ") + item.problem;
    if (!item.complete) text += item.problem.empty() ? "; cut off: --resume goes on" : "; --resume asks again";
    out += fmt::format("  {:<{}}  {:>3} {}  {}\n", item.id, width, item.cells.size(),
                       item.cells.size() == 1 ? "time " : "times", text);
  }
  return out + dropped_text(file);
}

}  // namespace linkcast::cli
