// The answer of `linkcast run` for people: how long, why, and the longest rows of each table.
#include <fmt/format.h>

#include <algorithm>

#include "run_scenario.hpp"
#include "words.hpp"

namespace linkcast::cli {
namespace {

using workloads::ScenarioResult;

std::size_t shown(std::size_t all, std::size_t wanted) { return wanted == 0 ? all : std::min(all, wanted); }

std::string rest(std::size_t all, std::size_t wanted, std::string_view what) {
  const auto n = shown(all, wanted);
  return n == all ? std::string{} : fmt::format("  … {} more {} (--all, --json)\n", all - n, what);
}

double percent(sim::Time part, sim::Time whole) {
  return whole == sim::Time{} ? 0 : 100 * static_cast<double>(part.ps()) / static_cast<double>(whole.ps());
}

std::string account_text(const ScenarioResult& r) {
  std::string out = "\nwhat the time is spent on, along the critical path\n";
  for (std::size_t i = 0; i < sim::cause_count; ++i) {
    const auto cause = static_cast<sim::Cause>(i);
    if (r.account[cause] == sim::Time{}) continue;
    out += fmt::format("  {:<12}{:>16.2f} us {:>6.1f} %\n", sim::name_of(cause), us(r.account[cause]),
                       percent(r.account[cause], r.end));
  }
  return out;
}

std::string ranks_table(const ScenarioResult& r, const ScenarioPrinting& p) {
  auto out = fmt::format("\n{:>6}  {:<10}{:>14}{:>16}{:>14}{:>14}{:>12}{:>14}   (us)\n", "rank", "gpu", "compute",
                         "communication", "exposed", "waiting", "launch", "idle");
  for (std::size_t i = 0; i < shown(r.by_rank.size(), p.ranks); ++i) {
    const auto& k = r.by_rank[i];
    out += fmt::format("{:>6}  {:<10}{:>14.2f}{:>16.2f}{:>14.2f}{:>14.2f}{:>12.2f}{:>14.2f}\n", k.rank, k.gpu,
                       us(k.compute), us(k.communication), us(k.exposed), us(k.wait), us(k.launch), us(k.idle));
  }
  return out + rest(r.by_rank.size(), p.ranks, "ranks");
}

/// Calls of one kind err alike, so their errors do not average out: weighed by time, not by root of counts.
std::string whole_error(const ScenarioResult& r, const Expected& expected) {
  double time = 0, middle = 0, most = 0;
  bool extrapolated = false;
  for (const auto& t : r.totals) {
    const auto e = error_of(r, t, expected);
    if (!e) continue;
    time += us(t.time);
    middle += us(t.time) * e->percent;
    most += us(t.time) * e->p90_percent;
    extrapolated = extrapolated || e->extrapolated;
  }
  if (time <= 0) return {};
  return fmt::format(
      "  error to expect of the collectives' time: half within ±{:.0f} %, nine of ten within ±{:.0f} %{}\n",
      middle / time, most / time, extrapolated ? "; *: not measured itself" : "");
}

std::string totals_table(const ScenarioResult& r, const ScenarioPrinting& p, const Expected& expected) {
  if (r.totals.empty()) return {};
  auto out = fmt::format("\n{:<16}{:<14}{:>6}{:>12}{:>9}{:>14}{:>12}{:>12}  {:<14}{}\n", "collective", "communicator",
                         "ranks", "size", "count", "time (us)", "least", "most", "algorithm", "error");
  for (std::size_t i = 0; i < shown(r.totals.size(), p.totals); ++i) {
    const auto& t = r.totals[i];
    const auto e = error_of(r, t, expected);
    out += fmt::format("{:<16}{:<14}{:>6}{:>12}{:>9}{:>14.2f}{:>12.2f}{:>12.2f}  {:<14}{}\n", t.op, t.communicator,
                       t.ranks, size_text(t.size), t.count, us(t.time), us(t.shortest), us(t.longest),
                       t.algorithm + " " + t.protocol,
                       e ? fmt::format("±{:.0f} %{}", e->percent, e->extrapolated ? " *" : "") : std::string{});
  }
  return out + rest(r.totals.size(), p.totals, "kinds of collectives") + whole_error(r, expected);
}

std::string links_table(const ScenarioResult& r, const ScenarioPrinting& p) {
  if (r.links.empty()) return {};
  auto out = fmt::format("\n{:<36}{:>16}{:>12}\n", "busiest links", "bytes", "in use");
  for (std::size_t i = 0; i < shown(r.links.size(), p.links); ++i) {
    const auto& l = r.links[i];
    out += fmt::format("{:<36}{:>16.0f}{:>10.1f} %\n", l.name, l.bytes, 100 * l.utilisation);
  }
  return out + rest(r.links.size(), p.links, "links");
}

}  // namespace

std::optional<calibration::ExpectedError> error_of(const ScenarioResult& r, const workloads::CollectiveTotal& t,
                                                   const Expected& expected) {
  const auto op = models::nccl::op_from(t.op);
  if (!op) return std::nullopt;
  auto e = expected.of(r.topology, r.architecture, *op, t.size);
  if (e && t.ranks < r.ranks) e->extrapolated = true;
  return e;
}

std::string scenario_text(const ScenarioResult& r, const ScenarioPrinting& p, const Expected& expected) {
  auto out = fmt::format("{}\n{}, {} ranks, NCCL {}, fidelity {}\n\nend: {:.2f} us ({} collectives)\n", r.title,
                         r.topology, r.ranks, r.nccl, workloads::name_of(r.fidelity), us(r.end), r.collective_count);
  return out + account_text(r) + ranks_table(r, p) + totals_table(r, p, expected) + links_table(r, p);
}

}  // namespace linkcast::cli
