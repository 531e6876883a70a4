// `topo show` of a cluster: what is counted. The text is next door (describe_cluster_text.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cluster_data.hpp"
#include "fabric_data.hpp"
#include "linkcast/topologies/describe_cluster.hpp"
#include "machine_kinds.hpp"
#include "network_bisection.hpp"
#include "network_distances.hpp"
#include "network_tiers.hpp"

namespace linkcast::topologies {
namespace {

void describe_machines(const Cluster& c, ClusterDescription& d) {
  const auto usual = usual_kind(c);
  for (int k = 0; k < c.kinds(); ++k) {
    MachineRow row;
    for (int n = 0; n < c.nodes(); ++n) {
      if (c.kind_of(n) != k) continue;
      if (row.nodes++ == 0) row.example = c.node_name(n);
    }
    if (row.nodes == 0) continue;  // of a job that leaves such machines out
    if (k != usual) row.differences = differences(c.kind(usual), c.kind(k));
    d.machines.push_back(std::move(row));
  }
  d.machine = describe(c.kind(usual));
  for (const auto& device : c.kind(usual).devices()) {
    if (device.kind == DeviceKind::nic && d.nic_model.empty()) d.nic_model = device.model;
  }
}

void describe_switches(const Network& n, ClusterDescription& d) {
  std::map<std::pair<int, int>, SwitchRow> rows;  // by tier and model
  for (const auto& s : n.switches()) {
    auto& row = rows[{s.tier, s.model}];
    if (row.count++ == 0) {
      const auto& m = n.switch_models()[s.model];
      row.tier = tier_name(n, s.tier);
      row.model = m.name;
      row.radix = m.radix;
      row.rate = m.rate;
      row.latency = m.latency;
    }
    row.down += s.up ? 0 : 1;
  }
  for (auto& [key, row] : rows) d.switches.push_back(std::move(row));
}

int group_of(const Network& n, std::uint32_t end) {
  return is_switch(n, end) ? n.switches()[switch_of(n, end)].group : -1;
}

void describe_cables(const Network& n, ClusterDescription& d) {
  std::map<std::tuple<int, int, bool, int>, CableRow> rows;  // by tiers, across groups, model
  std::map<int, TierRow> tiers;
  for (const auto& s : n.switches()) {
    auto& row = tiers[s.tier];
    row.tier = tier_name(n, s.tier);
    ++row.switches;
  }
  for (const auto& c : n.cables()) {
    const auto ta = tier_of(n, c.a), tb = tier_of(n, c.b);
    const auto low = std::min(ta, tb), high = std::max(ta, tb);
    const bool across = low == high && group_of(n, c.a) != group_of(n, c.b);
    const auto& m = n.cable_models()[c.model];
    auto& row = rows[{low, high, across, c.model}];
    if (row.count == 0) {
      row.from = tier_name(n, low);
      row.to = tier_name(n, high);
      row.between_groups = across;
      row.bare = m.bare;
      row.payload = m.payload;
      row.latency = m.latency;
      row.state = m.state;
    }
    row.count += c.count;
    if (!works(n, c)) {
      row.down += c.count;
      continue;
    }
    const auto rate = rate_of(n.data(), c);
    const auto add = [&](sim::Rate& to) { to = sim::Rate::bytes_per_second(sum_of(to.bytes_per_second(), rate)); };
    if (low == high) {
      if (low >= 0) add(tiers[low].across);
    } else {
      add(tiers[high].down);
      if (low >= 0) add(tiers[low].up);
    }
  }
  for (auto& [key, row] : rows) d.cables.push_back(std::move(row));
  for (auto& [key, row] : tiers) {
    if (row.up > sim::Rate{}) row.oversubscription = row.down.GBps() / row.up.GBps();
    d.tiers.push_back(std::move(row));
  }
}

/// NICs and their rate over cables that work; both halves of the machines for the bisection.
void describe_ends(const Cluster& c, ClusterDescription& d) {
  const auto& n = c.network();
  const auto& data = n.data();
  std::vector<std::uint8_t> side(static_cast<std::size_t>(d.network_nodes), 0);
  std::int64_t bare = 0, payload = 0;
  for (int i = 0; i < c.nodes(); ++i) {
    const auto node = static_cast<std::size_t>(c.original_node(i));
    side[node] = i < c.nodes() / 2 ? 1 : 2;
    const auto first = data.first_nic[node], last = data.first_nic[node + 1];
    d.nics += static_cast<int>(last - first);
    if (i == 0) d.nics_per_node = static_cast<int>(last - first);
    for (auto port = data.first_port[first]; port < data.first_port[last]; ++port) {
      for (auto a = data.first_arc[port]; a < data.first_arc[port + 1]; ++a) {
        const auto& cable = data.cables[data.arcs[a] / 2];
        if (!works(n, cable)) continue;
        const auto& m = data.cable_models[cable.model];
        bare = sum_of(bare, rate_of(data, cable));
        payload = sum_of(payload, static_cast<std::int64_t>(static_cast<double>(rate_of(data, cable)) *
                                                            (m.payload.GBps() / m.bare.GBps())));
      }
    }
  }
  d.nic_bare = sim::Rate::bytes_per_second(bare / std::max(1, d.gpus));
  d.nic_payload = sim::Rate::bytes_per_second(payload / std::max(1, d.gpus));
  if (c.nodes() > 1) d.bisection = max_flow_between(n, side);
}

}  // namespace

ClusterDescription describe(const Cluster& c) {
  ClusterDescription d;
  const auto& first = c.kind(0).data();
  d.name = c.name();
  d.title = first.title;
  d.params = first.params;
  d.nodes = c.nodes();
  d.gpus = c.ranks();
  d.gpus_per_node = c.gpus_per_node();
  d.assumptions.assign(c.assumptions().begin(), c.assumptions().end());
  describe_machines(c, d);

  const auto& n = c.network();
  if (n.empty()) return d;
  d.network_nodes = static_cast<int>(n.data().first_nic.size()) - 1;
  d.fabric = n.model().name;
  d.generator = n.generator();
  d.routing = models::name_of(n.routing());
  d.sharp = n.sharp();
  d.packet_payload = n.model().packet.payload;
  d.packet_header = n.model().packet.header;
  d.packet_efficiency = n.model().packet.one_way_efficiency();
  d.residual = n.model().residual;
  describe_switches(n, d);
  describe_cables(n, d);
  describe_ends(c, d);
  auto distances = distances_of(c);
  d.distances = std::move(distances.rows);
  d.distances_exact = distances.exact;
  return d;
}

}  // namespace linkcast::topologies
