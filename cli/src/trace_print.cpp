// What `linkcast trace info` prints, for people and for programs (linkcast.trace_info/1).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "trace.hpp"

namespace linkcast::cli {
namespace {

using nlohmann::ordered_json;

std::string amount(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t u = 0;
  while (bytes >= 1024 && u + 1 < units.size()) bytes /= 1024, ++u;
  return u == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.4g} {}", bytes, units[u]);
}

std::string time_text(sim::Time t) {
  const double us_ = us(t);
  if (us_ >= 1e6) return fmt::format("{:.4g} s", us_ * 1e-6);
  return us_ >= 1e3 ? fmt::format("{:.4g} ms", us_ * 1e-3) : fmt::format("{:.4g} us", us_);
}

/// "12 groups of 8", by label.
struct Groups {
  int count = 0;
  std::set<std::size_t> sizes;
};
std::map<std::string, Groups> groups_of(const workloads::Recording& r) {
  std::map<std::string, Groups> out;
  for (const auto& c : r.communicators) {
    auto& g = out[label_of(c)];
    ++g.count;
    g.sizes.insert(c.ranks.size());
  }
  return out;
}

}  // namespace

std::string trace_text(const workloads::Recording& r, const TraceSummary& s) {
  const auto& report = *r.report;
  auto out =
      fmt::format("{}{}{}\n", report.format, report.generation.empty() ? "" : ", generation ", report.generation);
  if (!r.source.empty()) out += r.source + "\n";
  out += fmt::format("ranks          {} of {} recorded: {}\n", r.ranks.size(), r.world, ranks_text(r.ranks));
  out += fmt::format("operations     {}{}\n", s.operations, s.interrupted ? " so far (interrupted)" : "");
  out += fmt::format("time           {} as recorded, of the rank that took longest\n", time_text(s.span));
  if (r.steps != 1) out += fmt::format("steps          {}\n", r.steps);

  if (const auto groups = groups_of(r); !groups.empty()) {
    out += "\ncommunicators\n";
    for (const auto& [label, g] : groups) {
      const auto sizes = g.sizes.size() == 1 ? fmt::format("{}", *g.sizes.begin())
                                             : fmt::format("{} to {}", *g.sizes.begin(), *g.sizes.rbegin());
      out += fmt::format("  {:<32} {} {} of {} ranks\n", label, g.count, g.count == 1 ? "group" : "groups", sizes);
    }
  }
  if (!s.called.empty()) {
    out += fmt::format("\n  {:<24} {:<15} {:>9} {:>11} {:>11} {:>11} {:>11}\n", "communication", "operation", "calls",
                       "bytes", "smallest", "largest", "measured");
    for (const auto& [key, c] : s.called)
      out += fmt::format("  {:<24} {:<15} {:>9} {:>11} {:>11} {:>11} {:>11}\n", key.first, key.second, c.count,
                         amount(static_cast<double>(c.bytes)), amount(static_cast<double>(c.smallest.count())),
                         amount(static_cast<double>(c.largest.count())),
                         c.measured_count == 0 ? "-" : time_text(c.measured));
  }
  if (!s.compute.empty()) {
    out += fmt::format("\n  {:<24} {:>9} {:>11}\n", "compute", "count", "time");
    for (const auto& [name, c] : s.compute)
      out += fmt::format("  {:<24} {:>9} {:>11}\n", name, c.count, time_text(c.time));
  }
  if (!s.streams.empty()) {
    out += fmt::format("\n  {:<24} {:>9} {:>11}\n", "stream", "count", "busy");
    for (const auto& [name, c] : s.streams)
      out += fmt::format("  {:<24} {:>9} {:>11}\n", name, c.count, time_text(c.busy));
  }
  out += fmt::format("\nrecords        {} read, {} used\n", report.records, report.used);
  for (const auto& k : report.skipped) out += fmt::format("  skipped {:>9}  {} (first: {})\n", k.count, k.why, k.first);
  for (const auto& n : report.notes) out += fmt::format("note: {}\n", n);
  return out;
}

std::string trace_json(const std::vector<std::string>& files, const workloads::Recording& r, const TraceSummary& s) {
  const auto& report = *r.report;
  ordered_json out{{"schema", "linkcast.trace_info/1"}};
  out["files"] = files;
  out["format"] = report.format;
  out["generation"] = report.generation;
  out["source"] = r.source;
  out["world"] = r.world;
  out["ranks"] = r.ranks;
  out["steps"] = r.steps;
  out["operations"] = s.operations;
  out["span_us"] = us(s.span);
  out["interrupted"] = s.interrupted;
  out["communicators"] = ordered_json::array();
  for (const auto& c : r.communicators)
    out["communicators"].push_back({{"name", c.name}, {"description", c.description}, {"ranks", c.ranks}});
  out["communication"] = ordered_json::array();
  for (const auto& [key, c] : s.called)
    out["communication"].push_back({{"communicator", key.first},
                                    {"operation", key.second},
                                    {"calls", c.count},
                                    {"bytes", c.bytes},
                                    {"smallest_bytes", c.smallest.count()},
                                    {"largest_bytes", c.largest.count()},
                                    {"measured_calls", c.measured_count},
                                    {"measured_us", us(c.measured)}});
  out["compute"] = ordered_json::array();
  for (const auto& [name, c] : s.compute)
    out["compute"].push_back({{"work", name}, {"count", c.count}, {"time_us", us(c.time)}});
  out["streams"] = ordered_json::array();
  for (const auto& [name, c] : s.streams)
    out["streams"].push_back({{"name", name}, {"count", c.count}, {"busy_us", us(c.busy)}});
  out["records"] = {{"read", report.records}, {"used", report.used}};
  out["skipped"] = ordered_json::array();
  for (const auto& k : report.skipped)
    out["skipped"].push_back({{"why", k.why}, {"count", k.count}, {"first", k.first}});
  out["notes"] = report.notes;
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace linkcast::cli
