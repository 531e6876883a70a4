// The answer of `linkcast run` of flows for people: how long messages took, how even it was, where it was full.
#include <fmt/format.h>

#include <algorithm>

#include "run_flows.hpp"
#include "words.hpp"

namespace linkcast::cli {
namespace {

using workloads::FlowsResult;

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t u = 0;
  while (bytes >= 1024 && u + 1 < std::size(units)) bytes /= 1024, ++u;
  return u == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[u]);
}

std::string completions(const FlowsResult& r) {
  auto out = fmt::format("\n{:<20}{:>9}{:>10}{:>11}  {:>10}{:>10}{:>10}{:>10}{:>10}{:>11}\n", "completion (us)",
                         "flows", "messages", "bytes", "least", "p50", "p90", "p99", "p99.9", "most");
  for (const auto& g : r.groups) {
    const auto& c = g.completion;
    out += fmt::format("{:<20}{:>9}{:>10}{:>11}  {:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>11.2f}\n", g.name,
                       g.flows, g.messages, bytes_text(static_cast<double>(g.bytes.count())), us(c.min), us(c.p50),
                       us(c.p90), us(c.p99), us(c.p999), us(c.max));
  }
  return out;
}

std::string throughputs(const FlowsResult& r) {
  auto out = fmt::format("\n{:<20}{:>12}{:>12}{:>10}  {:>8}{:>8}{:>8}  {:>9}{:>8}{:>8}\n", "throughput", "from (us)",
                         "to (us)", "GB/s", "least", "mean", "most", "slowdown", "p99", "most");
  for (const auto& g : r.groups)
    out += fmt::format("{:<20}{:>12.2f}{:>12.2f}{:>10.2f}  {:>6.1f} %{:>6.1f} %{:>6.1f} %  {:>9.2f}{:>8.2f}{:>8.2f}\n",
                       g.name, us(g.start), us(g.end), g.throughput.GBps(), 100 * g.sender_share.min,
                       100 * g.sender_share.mean, 100 * g.sender_share.max, g.slowdown.p50, g.slowdown.p99,
                       g.slowdown.max);
  return out +
         "  least, mean, most: what a sender got, as a share of its line; slowdown: completion over that of an idle "
         "network\n";
}

std::string links(const FlowsResult& r, bool all, bool packets) {
  if (r.links.empty()) return {};
  auto out = fmt::format("\n{:<44}{:>12}{:>10}", "busiest links", "bytes", "in use");
  if (packets) out += fmt::format("{:>12}{:>12}{:>12}{:>9}{:>8}", "queue peak", "mean", "paused (us)", "marks", "lost");
  out += '\n';
  const auto shown = all ? r.links.size() : std::min<std::size_t>(10, r.links.size());
  const auto row = [&](const workloads::FlowLink& l) {
    out += fmt::format("{:<44}{:>12}{:>8.1f} %", l.name, bytes_text(l.bytes), 100 * l.utilisation);
    if (packets)
      out += fmt::format("{:>12}{:>12}{:>12.2f}{:>9}{:>8}", bytes_text(static_cast<double>(l.queue_peak.count())),
                         bytes_text(static_cast<double>(l.queue_mean.count())), us(l.paused), l.marks,
                         l.drops + l.damaged);
    out += '\n';
  };
  for (std::size_t i = 0; i < shown; ++i) row(r.links[i]);
  if (shown < r.links.size()) out += fmt::format("  … {} more links (--all, --json)\n", r.links.size() - shown);
  if (!packets || all) return out;

  const auto worst = [&](const char* heading, const auto& amount) {
    std::vector<const workloads::FlowLink*> found;
    for (const auto& l : r.links)
      if (amount(l) > 0) found.push_back(&l);
    if (found.empty()) return;
    const auto n = std::min<std::size_t>(5, found.size());
    std::ranges::stable_sort(found, [&](const auto* a, const auto* b) { return amount(*a) > amount(*b); });
    out += fmt::format("\n{} ({} of {})\n", heading, n, found.size());
    for (std::size_t i = 0; i < n; ++i) row(*found[i]);
  };
  worst("longest queues", [](const auto& l) { return l.queue_peak.count(); });
  worst("most paused", [](const auto& l) { return l.paused.ps(); });
  worst("most losses", [](const auto& l) { return static_cast<std::int64_t>(l.drops + l.damaged); });
  return out;
}

std::string packet_lines(const FlowsResult& r) {
  auto out = fmt::format("\n{} packets, {} hops, at most {} under way\n", r.packets, r.packet_hops, r.packets_peak);
  out += fmt::format("  losses: {} packets lost, {} sent again, {} timeouts\n", r.drops, r.retransmits, r.timeouts);
  out += fmt::format("  congestion: {} packets marked, {} notifications\n", r.marks, r.notifications);
  out += fmt::format(
      "  waiting: {:.2f} us of a byte's way are queueing, in the mean; links were paused {:.2f} us in all\n",
      us(r.queueing), us(r.paused));
  return out;
}

}  // namespace

std::string flows_text(const FlowsResult& r, bool all) {
  const bool packets = r.fidelity == workloads::Fidelity::packet;
  auto out = fmt::format("{}\n{}, {} NICs, fidelity {}", r.title, r.topology, r.ends, workloads::name_of(r.fidelity));
  if (packets) out += fmt::format(": routing {}, flow control {}, control {}", r.routing, r.flow_control, r.control);
  out += fmt::format("\n\nend: {:.2f} us\n", us(r.end));
  out += completions(r) + throughputs(r) + links(r, all, packets);
  if (packets) out += packet_lines(r);
  for (const auto& note : r.notes) out += "note: " + note + "\n";
  return out;
}

std::string flows_csv(const FlowsResult& r) {
  std::string out = "time_us,link,queue_bytes,sent_bytes,paused_us,ecn_marks,drops\n";
  for (const auto& s : r.samples)
    out += fmt::format("{},{},{},{},{},{},{}\n", us(s.at), r.sampled_links[s.link], s.queue, s.sent, us(s.paused),
                       s.marks, s.drops);
  return out;
}

}  // namespace linkcast::cli
