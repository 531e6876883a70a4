// `topo show` of a cluster, for people. See describe_cluster.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "linkcast/topologies/describe_cluster.hpp"

namespace linkcast::topologies {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string rate(sim::Rate r) { return fmt::format("{:.1f} GB/s", r.GBps()); }
std::string bits(sim::Rate r) { return fmt::format("{:g} Gb/s", r.GBps() * 8); }

/// Columns as wide as their widest cell; those named in `right` are numbers.
std::string table(const Rows& rows, const std::vector<std::size_t>& right = {}) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool number = std::ranges::find(right, i) != right.end();
      line += number ? fmt::format("{:>{}}  ", row[i], width[i]) : fmt::format("{:<{}}  ", row[i], width[i]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::string ports(const SwitchRow& s) {
  std::string text =
      s.radix > 0 ? fmt::format("{} ports of {}", s.radix, bits(s.rate)) : std::string{"any number of ports"};
  if (s.latency > sim::Time{}) text += fmt::format(", {:.0f} ns", s.latency.us() * 1000);
  return text + (s.down > 0 ? fmt::format(", {} down", s.down) : "");
}

Rows facts(const ClusterDescription& d) {
  Rows rows;
  for (const auto& [name, value] : d.params) rows.push_back({"parameter " + name, value});
  rows.push_back({"machines", d.network_nodes > d.nodes ? fmt::format("{} of {}", d.nodes, d.network_nodes)
                                                        : std::to_string(d.nodes)});
  rows.push_back({"GPUs", fmt::format("{}, {} in each machine", d.gpus, d.gpus_per_node)});
  rows.push_back({"NICs", fmt::format("{} {}, {} in each machine", d.nics, d.nic_model, d.nics_per_node)});
  rows.push_back({"network", fmt::format("{}, {}, routing: {}{}", d.fabric, d.generator, d.routing,
                                         d.sharp ? ", reduces in switches" : "")});
  rows.push_back({"packets", fmt::format("{} B and {} B around them: {:.1f} % payload, {:.1f} % with what is measured",
                                         d.packet_payload.count(), d.packet_header.count(), 100 * d.packet_efficiency,
                                         100 * d.packet_efficiency * d.residual)});
  for (const auto& s : d.switches) rows.push_back({s.tier + " " + s.model, fmt::format("{}, {}", s.count, ports(s))});
  for (const auto& c : d.cables) {
    rows.push_back(
        {fmt::format("cable {}-{}{}", c.from, c.to, c.between_groups ? ", far" : ""),
         fmt::format("{} x {} ({} one way, {} payload), {:.0f} ns{}{}", c.count, bits(c.bare), rate(c.bare),
                     rate(c.payload), c.latency.us() * 1000, c.state == "up" || c.state == "down" ? "" : ", " + c.state,
                     c.down > 0 ? fmt::format(", {} down", c.down) : "")});
  }
  const auto nvlink = d.machine.nvlink_bare;
  if (nvlink > sim::Rate{}) rows.push_back({"NVLink of a GPU", fmt::format("{} one way", rate(nvlink))});
  rows.push_back({"NICs of a GPU",
                  fmt::format("{} one way ({} payload){}", rate(d.nic_bare), rate(d.nic_payload),
                              nvlink > sim::Rate{} && d.nic_bare > sim::Rate{}
                                  ? fmt::format(", NVLink is {:.1f} times as fast", nvlink.GBps() / d.nic_bare.GBps())
                                  : "")});
  rows.push_back({"bisection", fmt::format("{} one way, before packet headers: {} for each GPU of a half",
                                           rate(d.bisection), rate(d.bisection * (2.0 / std::max(1, d.gpus))))});
  return rows;
}

std::string tiers(const ClusterDescription& d) {
  Rows rows{{"tier", "switches", "down", "for each GPU", "up", "for each GPU", "down/up"}};
  const bool across = std::ranges::any_of(d.tiers, [](const TierRow& t) { return t.across > sim::Rate{}; });
  if (across) rows[0].insert(rows[0].end(), {"across", "for each GPU"});
  const auto gpus = static_cast<double>(std::max(1, d.network_nodes * d.gpus_per_node));
  const auto two = [&](std::vector<std::string>& row, sim::Rate r) {
    const bool any = r > sim::Rate{};
    row.push_back(any ? rate(r) : "-");
    row.push_back(any ? rate(r * (1 / gpus)) : "-");
  };
  for (const auto& t : d.tiers) {
    rows.push_back({t.tier, std::to_string(t.switches)});
    two(rows.back(), t.down);
    two(rows.back(), t.up);
    rows.back().push_back(t.oversubscription > 0 ? fmt::format("{:.2f}", t.oversubscription) : "-");
    if (across) two(rows.back(), t.across);
  }
  return table(rows, {1, 2, 3, 4, 5, 6, 7, 8});
}

std::string distances(const ClusterDescription& d) {
  Rows rows{{"NIC pairs", "for example", "way", "switches", "latency"}};
  for (const auto& r : d.distances) {
    rows.push_back({fmt::format("{:.0f}", r.pairs), r.example, r.way,
                    r.reachable ? std::to_string(r.switches) : std::string{"-"},
                    r.reachable ? fmt::format("{:.3f} us", r.latency.us()) : std::string{"no way"}});
  }
  return table(rows, {0, 3, 4}) + (d.distances_exact ? "" : "(pairs are counted from one leaf of each kind)\n");
}

/// Without the name and the title, which stand at the top already.
std::string machine(const ClusterDescription& d) {
  auto text = to_text(d.machine);
  text.erase(0, text.find("\n\n") + 2);
  while (text.starts_with("parameter ")) text.erase(0, text.find('\n') + 1);
  return text;
}

}  // namespace

std::string to_text(const ClusterDescription& d) {
  if (d.network_nodes == 0) return to_text(d.machine);
  std::string out = d.name + (d.title.empty() ? "" : ": " + d.title) + "\n\n" + table(facts(d));
  if (!d.tiers.empty()) out += "\n" + tiers(d);
  if (!d.distances.empty()) out += "\n" + distances(d);
  if (!d.assumptions.empty()) out += "\nassumed:\n";
  for (const auto& a : d.assumptions) out += "  " + a + "\n";
  if (d.machines.size() > 1) {
    out += "\n";
    for (const auto& m : d.machines) {
      out += fmt::format("{} machine{}, for example {}{}\n", m.nodes, m.nodes == 1 ? "" : "s", m.example,
                         m.differences.empty() ? "" : ":");
      for (const auto& text : m.differences) out += "  " + text + "\n";
    }
  }
  return out + (d.machines.size() > 1 ? "\nmost machines:\n\n" : "\neach machine:\n\n") + machine(d);
}

}  // namespace linkcast::topologies
