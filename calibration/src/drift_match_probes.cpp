// What `calibrate measure` finds out about one part at a time, matched row by row. See drift_match_values.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "drift_match_values.hpp"
#include "drift_words.hpp"

namespace linkcast::calibration {
namespace {

constexpr double kQuartilesOfNormal = 1.349;  // distance between the quartiles, in standard deviations

std::string gpu(int number) { return number < 0 ? "host" : fmt::format("GPU {}", number); }

std::string text_of(const Probe& probe, const Probe::Row& row) {
  std::vector<std::string> copies;
  for (const auto& c : row.copies) copies.push_back(fmt::format("{} to {}", gpu(c.from), gpu(c.to)));
  const auto ways = fmt::format("{}", fmt::join(copies, ", "));
  const auto engine = probe.engine == Engine::sm            ? " by SM"
                      : probe.engine == Engine::copy_engine ? " by copy engine"
                                                            : "";
  switch (probe.kind) {
    case Probe::Kind::launch_kernel:
      return fmt::format("launch of a kernel on {} GPU{}", row.gpus, row.gpus == 1 ? "" : "s");
    case Probe::Kind::launch_graph:
      return fmt::format("launch of a graph on {} GPU{}", row.gpus, row.gpus == 1 ? "" : "s");
    case Probe::Kind::chase:
      return fmt::format("dependent loads, {}", ways);
    case Probe::Kind::sm_copy:
      return fmt::format("copy by {} blocks, {}, {}", row.blocks, drift_size_text(row.size), ways);
    case Probe::Kind::sm_reduce:
      return fmt::format("reduction by {} blocks, {}, {}", row.blocks, drift_size_text(row.size), ways);
    case Probe::Kind::pattern:
      break;
  }
  return fmt::format("copies side by side{}, {}, {}", engine, drift_size_text(row.size), ways);
}

struct Rows {
  std::vector<double> times, spreads;
  bool launch = false;
};

std::map<std::string, Rows> rows_of(const std::vector<Probe>& probes) {
  std::map<std::string, Rows> out;
  for (const auto& probe : probes) {
    for (const auto& row : probe.rows) {
      if (row.time.us() <= 0) continue;
      auto& rows = out[text_of(probe, row)];
      rows.times.push_back(std::log(row.time.us()));
      rows.spreads.push_back(row.spread.us() / row.time.us() / kQuartilesOfNormal);
      rows.launch = probe.kind == Probe::Kind::launch_kernel || probe.kind == Probe::Kind::launch_graph;
    }
  }
  return out;
}

}  // namespace

void add_probes(const std::vector<Probe>& baseline, const std::vector<Probe>& now, Matched& out) {
  const auto before = rows_of(baseline), after = rows_of(now);
  for (const auto& [what, rows] : before) {
    const auto other = after.find(what);
    if (other == after.end()) {
      out.not_compared.push_back({what, "not in the new measurements"});
      continue;
    }
    out.singles.push_back({what,
                           false,
                           rows.launch,
                           {},
                           std::exp(median(rows.times)),
                           std::exp(median(other->second.times)),
                           std::max(median(rows.spreads), median(other->second.spreads))});
  }
  for (const auto& [what, rows] : after)
    if (!before.contains(what)) out.not_compared.push_back({what, "not in the baseline measurements"});
}

}  // namespace linkcast::calibration
