// A fit as a file: `linkcast.profile/1`. Numbers stand among the `parts` as in the catalog, each with where it is from;
// `fit` has priors and intervals, `errors` what validation found by machine, collective and class of size.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "linkcast/calibration/expected_error.hpp"
#include "linkcast/calibration/fit.hpp"

namespace linkcast::calibration {
namespace {

using Tree = std::map<std::string, std::map<std::string, std::map<std::string, std::string>>>;  // kind, part, key

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

void write_parts(std::string& out, const Tree& tree) {
  out += "parts:\n";
  for (const auto& [kind, parts] : tree) {
    out += fmt::format("  {}:\n", kind);
    for (const auto& [part, keys] : parts) {
      out += fmt::format("    {}:\n", part);
      std::string group;
      for (const auto& [key, text] : keys) {
        const auto dot = key.find('.');
        if (dot == std::string::npos) {
          group.clear();
          out += fmt::format("      {}: {}\n", key, text);
          continue;
        }
        if (key.substr(0, dot) != group) {
          group = key.substr(0, dot);
          out += fmt::format("      {}:\n", group);
        }
        out += fmt::format("        {}: {}\n", key.substr(dot + 1), text);
      }
    }
  }
}

std::string spread(const FittedParameter& p) {
  return fmt::format("{} to {}", topologies::to_text(p.low, p.unit), topologies::to_text(p.high, p.unit));
}

/// What later predictions with this profile are expected to miss by. Without points held back the fitted ones stand in:
/// they say less than the truth, so a half is added.
std::string errors_text(const FitResult& r, const FitOptions& options) {
  if (options.shared) return {};  // the tables of expected_error.hpp, from sources left out, say more
  const bool held = r.held_back.points > 0;
  std::vector<FitPoint> points;
  for (const auto& p : r.points)
    if (p.collective && (p.held_back || !held)) points.push_back(p);
  if (points.empty()) return {};
  std::string out = "errors:\n";
  constexpr std::array names{"below_1M", "from_1M_to_64M", "from_64M"};
  for (const auto& e : rows_of(points))
    out += fmt::format(
        "  - {{system: \"{}\", architecture: {}, collective: {}, sizes: {}, median_percent: {:.2f}, p90_percent: "
        "{:.2f}, "
        "points: {}, smallest: {}, largest: {}}}\n",
        e.system, e.architecture, name_of(e.op), names[static_cast<std::size_t>(e.sizes)],
        e.median_percent * (held ? 1.0 : 1.5), e.p90_percent * (held ? 1.0 : 1.5), e.points, e.smallest, e.largest);
  return out;
}

/// Numbers need no more digits than their interval has.
double rounded(double value, double low, double high) {
  const double width = std::max((high - low) / 100, std::fabs(value) * 1e-4);
  const double unit = std::pow(10.0, std::floor(std::log10(width)));
  return std::round(value / unit) * unit;
}

}  // namespace

std::string profile_text(const FitResult& r, const FitOptions& options) {
  std::string out = "# Made by `linkcast calibrate fit`. Numbers of parts, laid over the catalog's by --profile.\n";
  out += "schema: linkcast.profile/1\n";
  out += fmt::format("name: {}\n", in_quotes(options.name));
  std::map<std::string, int> systems;
  for (const auto& p : r.points) ++systems[p.system.substr(0, p.system.find('*'))];
  if (!options.shared && systems.size() == 1) out += fmt::format("system: {}\n", systems.begin()->first);
  out += fmt::format("made_by: \"linkcast calibrate fit, seed {}, {:.0f} % of the points held back\"\n", options.seed,
                     100 * options.hold_back);
  out += "data:\n";
  for (const auto& id : r.used) out += fmt::format("  - {}\n", in_quotes(id));
  Tree tree;
  for (const auto& p : r.parameters) {
    if (p.status == FittedParameter::Status::prior) continue;
    const auto first = p.path.find('.'), second = p.path.find('.', first + 1);
    tree[p.path.substr(0, first)][p.path.substr(first + 1, second - first - 1)][p.path.substr(second + 1)] =
        fmt::format("{{value: {}, source: \"fitted: {} (95 %)\"}}",
                    topologies::to_text(rounded(p.value, p.low, p.high), p.unit), spread(p));
  }
  if (tree.empty())
    out += "parts: {}\n";
  else
    write_parts(out, tree);
  out += "fit:\n  numbers:\n";
  for (const auto& p : r.parameters)
    out += fmt::format("    {}: {{status: {}, value: {}, low: {}, high: {}, prior: {}, told: {:.2f}}}\n", p.path,
                       p.status == FittedParameter::Status::fitted ? "fitted" : "prior",
                       topologies::to_text(p.value, p.unit), topologies::to_text(p.low, p.unit),
                       topologies::to_text(p.high, p.unit), topologies::to_text(p.prior, p.unit), p.told);
  const auto summary = [&](const char* name, const ErrorSummary& e) {
    out += fmt::format("  {}: {{points: {}, median_percent: {:.2f}, p90_percent: {:.2f}}}\n", name, e.points,
                       100 * e.median_abs_rel_error, 100 * e.p90_abs_rel_error);
  };
  summary("before", r.before);
  summary("fitted", r.fitted);
  summary("held_back", r.held_back);
  out += errors_text(r, options);
  return out;
}

}  // namespace linkcast::calibration
