// The answer of a replayed recording, for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linkcast/calibration/validate.hpp"
#include "run_recording.hpp"
#include "words.hpp"

namespace linkcast::cli {
namespace {

using nlohmann::ordered_json;
using workloads::RecordedScenario;
using workloads::RecordingResult;
using workloads::ReplayedRank;
using workloads::ReplayedTotal;

double ms(sim::Time t) { return t.us() * 1e-3; }
double percent(sim::Time part, sim::Time whole) {
  return whole == sim::Time{} ? 0 : 100 * static_cast<double>(part.ps()) / static_cast<double>(whole.ps());
}
std::size_t shown(std::size_t all, std::size_t wanted) { return wanted == 0 ? all : std::min(all, wanted); }
std::string rest(std::size_t all, std::size_t wanted, std::string_view what) {
  const auto n = shown(all, wanted);
  return n == all ? std::string{} : fmt::format("  … {} more {} (--all, --json)\n", all - n, what);
}

sim::Time exposed(const ReplayedRank& r) {
  sim::Time sum;
  for (const auto& [name, t] : r.exposed) sum += t;
  return sum;
}

std::optional<calibration::ExpectedError> error_of(const RecordedScenario& s, const ReplayedTotal& t,
                                                   const Expected& expected) {
  const auto op = models::nccl::op_from(t.operation == "send" ? "sendrecv" : t.operation);
  if (!op) return std::nullopt;
  const auto& machine = s.cluster.machine(0);
  const auto family = t.between_nodes ? machine.name() + "*N" : machine.name();
  auto e = expected.of(family, machine.gpu_model(machine.gpus()[0]).architecture, *op, t.bytes);
  if (e && !t.between_nodes && t.ranks < s.cluster.gpus_per_node()) e->extrapolated = true;
  return e;
}

/// Calls of one kind err alike: weighed by time.
std::optional<std::pair<double, double>> communication_error(const RecordedScenario& s, const RecordingResult& r,
                                                             const Expected& expected) {
  double time = 0, middle = 0, most = 0;
  for (const auto& t : r.totals)
    if (const auto e = error_of(s, t, expected)) {
      time += t.time.us();
      middle += t.time.us() * e->percent;
      most += t.time.us() * e->p90_percent;
    }
  if (time <= 0) return std::nullopt;
  return std::pair{middle / time, most / time};
}

std::string ranks_of(const workloads::Recording& r) {
  if (static_cast<int>(r.ranks.size()) == r.world) return fmt::format("{} ranks, all recorded", r.world);
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(r.ranks.size(), 8); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", r.ranks[i]);
  if (r.ranks.size() > 8) list += ", …";
  return fmt::format("{} ranks, of which {} {} recorded ({}); the others do alike", r.world, r.ranks.size(),
                     r.ranks.size() == 1 ? "is" : "are", list);
}

/// What decides the communication's time, by its sum over all calls.
std::string bounds(const RecordingResult& r) {
  std::map<std::string, sim::Time> by;
  sim::Time all;
  for (const auto& t : r.totals) {
    by[t.bound_by] += t.time;
    all += t.time;
  }
  std::vector<std::pair<std::string, sim::Time>> sorted(by.begin(), by.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [what, t] : sorted)
    if (t > sim::Time{}) out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", what, percent(t, all));
  return out.empty() ? out : "bound by: " + out + " of the communication's time\n";
}

}  // namespace

std::string recording_text(const RecordedScenario& s, const RecordingResult& r, const RecordingPrinting& p,
                           const Expected& expected) {
  const auto& recording = s.recording;
  const auto& machine = s.cluster.machine(0);
  auto out = fmt::format("{}\n{}{}: {}\n", s.title, recording.source.empty() ? "" : recording.source + "; ",
                         recording.report->format, ranks_of(recording));
  out += fmt::format("{}, {} node{} of {} GPUs ({}), NCCL {}\n\n", s.cluster.name(), s.cluster.nodes(),
                     s.cluster.nodes() == 1 ? "" : "s", s.cluster.gpus_per_node(), gpu_name(machine),
                     s.options.library.nccl.str());
  const int steps = std::max(1, recording.steps);
  if (r.interrupted) out += "interrupted: what follows is of the part that was replayed\n";
  out += fmt::format("{}: {:.3f} ms", steps > 1 ? fmt::format("{} steps", steps) : "end", ms(r.end));
  if (steps > 1) out += fmt::format(" ({:.3f} ms each)", ms(r.end) / steps);
  if (r.mfu > 0) out += fmt::format(", MFU {:.1f} %", 100 * r.mfu);
  if (r.tokens_per_second > 0) out += fmt::format(", {:.4g} tokens/s", r.tokens_per_second);
  out += "\n";
  if (const auto e = communication_error(s, r, expected))
    out += fmt::format("error to expect of the communication: half within ±{:.0f} %, nine of ten within ±{:.0f} %\n",
                       e->first, e->second);

  out += "\nwhat the time is spent on, along the critical path\n";
  std::vector<std::pair<std::string, sim::Time>> path(r.critical_path.begin(), r.critical_path.end());
  std::ranges::stable_sort(path, [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, t] : path)
    out += fmt::format("  {:<36}{:>14.3f} ms {:>6.1f} %\n", name, ms(t), percent(t, r.end));

  out += fmt::format("\n{:>8}{:>13}{:>15}{:>13}{:>11}{:>11}{:>11}   (ms)\n", "rank", "compute", "communication",
                     "exposed", "bubble", "waiting", "idle");
  for (std::size_t i = 0; i < shown(r.by_rank.size(), p.ranks); ++i) {
    const auto& k = r.by_rank[i];
    out += fmt::format("{:>8}{:>13.3f}{:>15.3f}{:>13.3f}{:>11.3f}{:>11.3f}{:>11.3f}\n", k.rank, ms(k.compute),
                       ms(k.communication), ms(exposed(k)), ms(k.bubble), ms(k.wait), ms(k.idle));
  }
  out += rest(r.by_rank.size(), p.ranks, "ranks");

  std::map<std::string, sim::Time> by_group;
  for (const auto& k : r.by_rank)
    for (const auto& [name, t] : k.exposed) by_group[name] += t;
  if (!by_group.empty()) {
    out += "\nexposed communication by group (mean of the ranks)\n";
    std::vector<std::pair<std::string, sim::Time>> groups(by_group.begin(), by_group.end());
    std::ranges::stable_sort(groups, [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [name, t] : groups) {
      const auto mean = t / static_cast<std::int64_t>(r.by_rank.size());
      out += fmt::format("  {:<36}{:>14.3f} ms {:>6.1f} %\n", name, ms(mean), percent(mean, r.end));
    }
  }

  if (!r.totals.empty()) {
    out += fmt::format("\n{:<16}{:<26}{:>6}{:>12}{:>8}{:>13}{:>12}{:>12}  {:<16}{}\n", "communication", "communicator",
                       "ranks", "size", "count", "time (ms)", "each (us)", "recorded", "algorithm", "error");
    for (std::size_t i = 0; i < shown(r.totals.size(), p.totals); ++i) {
      const auto& t = r.totals[i];
      const auto e = error_of(s, t, expected);
      out += fmt::format(
          "{:<16}{:<26}{:>6}{:>12}{:>8}{:>13.3f}{:>12.1f}{:>12}  {:<16}{}\n", t.operation, t.communicator, t.ranks,
          size_text(t.bytes), t.count, ms(t.time),
          t.time.us() / static_cast<double>(std::max<std::int64_t>(1, t.count)),
          t.measured_count > 0 ? fmt::format("{:.1f}", t.measured.us() / static_cast<double>(t.measured_count)) : "-",
          t.algorithm + " " + t.protocol,
          e ? fmt::format("±{:.0f} %{}", e->percent, e->extrapolated ? " *" : "") : std::string{});
    }
    out += rest(r.totals.size(), p.totals, "kinds of communication");
    out += bounds(r);
  }
  const auto& report = *recording.report;
  out += fmt::format("\nread: {} records, {} used\n", report.records, report.used);
  for (std::size_t i = 0; i < shown(report.skipped.size(), p.skipped); ++i) {
    const auto& k = report.skipped[i];
    out += fmt::format("  {} skipped: {} (first: {})\n", k.count, k.why, k.first);
  }
  out += rest(report.skipped.size(), p.skipped, "reasons");
  for (const auto& note : report.notes) out += "note: " + note + "\n";
  for (const auto& note : r.notes) out += "note: " + note + "\n";
  for (const auto& a : s.cluster.assumptions()) out += fmt::format("assumed: {}\n", a);
  return out;
}

std::string recording_json(const RecordedScenario& s, const RecordingResult& r, const Expected& expected) {
  const auto& recording = s.recording;
  ordered_json out;
  out["schema"] = "linkcast.replay/1";
  out["title"] = s.title;
  out["topology"] = s.cluster.name();
  out["nodes"] = s.cluster.nodes();
  out["world"] = recording.world;
  out["ranks"] = recording.ranks;
  out["nccl"] = s.options.library.nccl.str();
  out["steps"] = recording.steps;
  out["end_us"] = us(r.end);
  out["step_us"] = us(r.end) / std::max(1, recording.steps);
  out["mfu"] = r.mfu > 0 ? ordered_json(r.mfu) : ordered_json(nullptr);
  out["tokens_per_s"] = r.tokens_per_second > 0 ? ordered_json(r.tokens_per_second) : ordered_json(nullptr);
  if (const auto e = communication_error(s, r, expected))
    out["expected_error"] = {{"median_percent", e->first}, {"p90_percent", e->second}};
  if (r.interrupted) out["interrupted"] = true;
  for (const auto& [name, t] : r.critical_path) out["critical_path_us"][name] = us(t);
  out["by_rank"] = ordered_json::array();
  for (const auto& k : r.by_rank) {
    ordered_json row{{"rank", k.rank},
                     {"compute_us", us(k.compute)},
                     {"communication_us", us(k.communication)},
                     {"exposed_us", ordered_json::object()},
                     {"bubble_us", us(k.bubble)},
                     {"wait_us", us(k.wait)},
                     {"idle_us", us(k.idle)}};
    for (const auto& [name, t] : k.exposed) row["exposed_us"][name] = us(t);
    out["by_rank"].push_back(std::move(row));
  }
  out["totals"] = ordered_json::array();
  for (const auto& t : r.totals) {
    ordered_json row{{"op", t.operation},
                     {"communicator", t.communicator},
                     {"ranks", t.ranks},
                     {"size_bytes", t.bytes.count()},
                     {"count", t.count},
                     {"time_us", us(t.time)},
                     {"shortest_us", us(t.shortest)},
                     {"longest_us", us(t.longest)},
                     {"recorded_us", t.measured_count > 0 ? ordered_json(us(t.measured)) : ordered_json(nullptr)},
                     {"recorded_count", t.measured_count},
                     {"algorithm", t.algorithm},
                     {"protocol", t.protocol},
                     {"bound_by", t.bound_by}};
    if (const auto e = error_of(s, t, expected))
      row["expected_error"] = {{"median_percent", e->percent}, {"extrapolated", e->extrapolated}};
    out["totals"].push_back(std::move(row));
  }
  const auto& report = *recording.report;
  out["read"] = {{"format", report.format}, {"generation", report.generation},  {"records", report.records},
                 {"used", report.used},     {"skipped", ordered_json::array()}, {"notes", report.notes}};
  for (const auto& k : report.skipped)
    out["read"]["skipped"].push_back({{"why", k.why}, {"count", k.count}, {"first", k.first}});
  out["notes"] = r.notes;
  return out.dump(2) + "\n";
}

std::string recording_csv(const RecordingResult& r) {
  const auto quoted = [](const std::string& text) {
    if (text.find_first_of(",\"\n") == text.npos) return text;
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string{"\"\""} : std::string(1, c);
    return out + "\"";
  };
  std::string out =
      "op,communicator,ranks,size_bytes,count,time_us,shortest_us,longest_us,recorded_us,recorded_count,algorithm,"
      "protocol,bound_by\n";
  for (const auto& t : r.totals)
    out += fmt::format("{},{},{},{},{},{:.6f},{:.6f},{:.6f},{},{},{},{},{}\n", t.operation, quoted(t.communicator),
                       t.ranks, t.bytes.count(), t.count, us(t.time), us(t.shortest), us(t.longest),
                       t.measured_count > 0 ? fmt::format("{:.6f}", us(t.measured)) : "", t.measured_count, t.algorithm,
                       t.protocol, t.bound_by);
  return out;
}

}  // namespace linkcast::cli
