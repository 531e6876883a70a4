// Counts the parts of a cluster that can fail, and joins them with their rates and with what a failure does.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "failure_rates_data.hpp"
#include "linkcast/planning/failure_rates.hpp"
#include "linkcast/topologies/network.hpp"

namespace linkcast::planning {
namespace {

constexpr std::array tiers{"leaf", "spine", "core"};

std::string_view tier_of(const topologies::NetworkSwitch& s) { return tiers[std::min<std::size_t>(s.tier, 2)]; }

/// "switch cable" stands for those between all tiers.
bool matches(std::string_view of, std::string_view part) {
  return part == of || (of == "switch cable" && part.starts_with("switch cable "));
}

}  // namespace

std::vector<PartCount> count_parts(const topologies::Cluster& cluster) {
  std::int64_t nics = 0;
  std::map<int, bool> of_job;  // nodes, by their number in the whole network
  for (int node = 0; node < cluster.nodes(); ++node) {
    of_job[cluster.original_node(node)] = true;
    nics += std::ranges::count(cluster.machine(node).devices(), topologies::DeviceKind::nic, &topologies::Device::kind);
  }
  std::vector<PartCount> out{{"gpu", cluster.ranks()}, {"node", cluster.nodes()}, {"nic", nics}};

  // The switches are those that the job's traffic can meet: below a leaf without a node of the job there is none.
  const auto& network = cluster.network();
  const auto ports = network.ports();
  const auto switches = network.switches();
  if (network.generator() == "ideal") return out;  // stands for a network that was not described
  std::vector<bool> used(switches.size(), false);
  std::vector<int> below(switches.size(), 0), last(switches.size(), -1);  // nodes at a leaf; the last one counted
  std::int64_t nic_cables = 0;
  for (const auto& c : network.cables()) {
    const auto port = std::min(c.a, c.b), other = std::max(c.a, c.b);
    if (port >= ports) continue;
    const int node = network.place(topologies::PortId{port}).node;
    if (!of_job.contains(node)) continue;
    nic_cables += c.count;
    if (other < ports) continue;
    used[other - ports] = true;
    if (std::exchange(last[other - ports], node) != node) ++below[other - ports];
  }
  std::map<std::string, std::int64_t> between;
  // Two passes reach the third tier whatever the order of the cables; leaves are never reached from above.
  for (int pass = 0; pass < 2; ++pass) {
    for (const auto& c : network.cables()) {
      if (c.a < ports || c.b < ports) continue;
      auto low = c.a - ports, high = c.b - ports;
      if (switches[low].tier > switches[high].tier) std::swap(low, high);
      if (used[low] && switches[low].tier < switches[high].tier) used[high] = true;
    }
  }
  for (const auto& c : network.cables()) {
    if (c.a < ports || c.b < ports) continue;
    auto low = c.a - ports, high = c.b - ports;
    if (switches[low].tier > switches[high].tier) std::swap(low, high);
    if (!used[low] || !used[high]) continue;
    between[fmt::format("switch cable {}-{}", tier_of(switches[low]), tier_of(switches[high]))] += c.count;
  }
  out.push_back({"nic cable", nic_cables});
  for (const auto& [name, count] : between) out.push_back({name, count});
  std::array<std::int64_t, 3> boxes{};
  for (std::size_t s = 0; s < switches.size(); ++s) {
    if (used[s]) ++boxes[std::min<std::size_t>(switches[s].tier, 2)];
  }
  const int nodes_below = std::max(1, below.empty() ? 1 : *std::ranges::max_element(below));
  for (std::size_t t = 0; t < boxes.size(); ++t) {
    if (boxes[t] > 0) out.push_back({fmt::format("{} switch", tiers[t]), boxes[t], t == 0 ? nodes_below : 1});
  }
  return out;
}

std::vector<FailingPart> failing_parts(std::span<const PartCount> parts, const FailureRates& rates, RateLevel level) {
  std::vector<FailingPart> out;
  for (const auto& cause : rates.data().causes) {
    const auto& b = cause.per_part_year;
    const double rate = level == RateLevel::low ? b.low : level == RateLevel::high ? b.high : b.typical;
    for (const auto& p : parts) {
      if (p.count <= 0 || rate <= 0 || !matches(cause.part.part, p.part)) continue;
      out.push_back(cause.part);
      out.back().part = p.part;
      out.back().count = p.count;
      out.back().nodes = p.nodes;
      out.back().per_part_year = rate;
    }
  }
  return out;
}

std::vector<FailingPart> parts_of_cluster(const topologies::Cluster& cluster, const FailureRates& rates,
                                          RateLevel level) {
  return failing_parts(count_parts(cluster), rates, level);
}

void apply_impacts(std::span<const Impact> impacts, std::vector<FailingPart>& parts) {
  for (auto& p : parts) {
    const auto found = std::ranges::find(impacts, p.part, &Impact::part);
    if (found == impacts.end() || p.effect == Effect::stalls) continue;
    const bool replaced = p.effect == Effect::interrupts && p.remedy == Remedy::spare;
    if (replaced && (found->outage || !p.part.ends_with("switch"))) continue;
    if (p.effect == Effect::interrupts && p.repair == sim::Time{}) continue;  // nothing stays broken: a software bug
    if (found->outage) {
      p.effect = Effect::interrupts;
      p.remedy = Remedy::repair;
      continue;
    }
    // The job runs without it: after a restart where the failure stopped it, at once where it did not.
    if (p.effect == Effect::interrupts) p.remedy = Remedy::restart;
    p.slowdown = std::max(1.0, found->slowdown);
  }
}

}  // namespace linkcast::planning
