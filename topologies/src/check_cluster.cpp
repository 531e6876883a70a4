// `topo check` of a cluster: its machines, its network, and who reaches whom. See describe_cluster.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "check_network.hpp"
#include "fabric_data.hpp"
#include "linkcast/topologies/describe_cluster.hpp"
#include "machine_kinds.hpp"
#include "network_tiers.hpp"

namespace linkcast::topologies {
namespace {

/// Differences of one machine that are told.
constexpr std::size_t most_differences = 8;

void check_machines(const Cluster& c, Findings& out) {
  const int usual = usual_kind(c);
  for (auto& f : check(c.kind(usual))) out.add(f.severity, f.text, c.kinds() > 1 ? "most machines" : "each machine");
  std::vector<std::vector<std::string>> differs(static_cast<std::size_t>(c.kinds()));
  for (int k = 0; k < c.kinds(); ++k) {
    if (k != usual) differs[static_cast<std::size_t>(k)] = differences(c.kind(usual), c.kind(k));
  }
  for (int n = 0; n < c.nodes(); ++n) {
    auto list = differs[static_cast<std::size_t>(c.kind_of(n))];
    if (list.empty()) continue;
    const auto more = list.size() > most_differences ? list.size() - most_differences : 0;
    list.resize(list.size() - more);
    out.add(Severity::warning,
            fmt::format("unlike other machines: {}{}", fmt::join(list, "; "),
                        more > 0 ? fmt::format("; and {} more", more) : ""),
            c.node_name(n));
  }
  for (int k = 0; k < c.kinds(); ++k) {
    if (c.kind(k).gpu_components() < 2) continue;
    for (int n = 0; n < c.nodes(); ++n) {
      if (c.kind_of(n) == k) out.add(Severity::error, "GPUs that do not reach each other", c.node_name(n));
    }
  }
}

/// Which NICs are joined: sets of ends.
class Parts {
 public:
  explicit Parts(const Network& n) : parent_(n.ports() + n.switches().size()) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    for (const auto& c : n.cables()) {
      if (works(n, c)) parent_[root(c.a)] = root(c.b);
    }
  }
  std::uint32_t root(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

void check_reach(const Cluster& c, Findings& out) {
  const auto& n = c.network();
  const auto& d = n.data();
  Parts parts{n};
  std::map<std::vector<std::uint32_t>, std::vector<int>> nodes_of;  // machines by the parts that they are plugged into
  for (int i = 0; i < c.nodes(); ++i) {
    const auto node = static_cast<std::size_t>(c.original_node(i));
    std::set<std::uint32_t> mine;
    for (auto p = d.first_port[d.first_nic[node]]; p < d.first_port[d.first_nic[node + 1]]; ++p) {
      for (auto a = d.first_arc[p]; a < d.first_arc[p + 1]; ++a) {
        if (works(n, d.cables[d.arcs[a] / 2])) mine.insert(parts.root(p));
      }
    }
    if (mine.empty())
      out.add(Severity::error, "no NIC with a working cable: reaches no other machine", c.node_name(i));
    else
      nodes_of[{mine.begin(), mine.end()}].push_back(i);
  }
  double pairs = 0;
  std::string example;
  for (auto a = nodes_of.begin(); a != nodes_of.end(); ++a) {
    for (auto b = std::next(a); b != nodes_of.end(); ++b) {
      std::vector<std::uint32_t> both;
      std::ranges::set_intersection(a->first, b->first, std::back_inserter(both));
      if (!both.empty()) continue;
      const auto [low, high] = std::minmax(a->second.front(), b->second.front());
      if (pairs == 0) example = fmt::format("{} and {}", c.node_name(low), c.node_name(high));
      pairs += static_cast<double>(a->second.size()) * static_cast<double>(b->second.size());
    }
  }
  if (pairs > 0) {
    out.add(Severity::error,
            pairs == 1 ? "no way between " + example
                       : fmt::format("no way between {:.0f} pairs of machines, for example {}", pairs, example));
  }
}

}  // namespace

std::vector<Finding> check(const Cluster& cluster) {
  if (cluster.network().empty() && cluster.nodes() == 1) return check(cluster.kind(0));
  Findings out;
  check_machines(cluster, out);
  if (!cluster.network().empty()) {
    check_cables(cluster, out);
    check_nics(cluster, out);
    check_reach(cluster, out);
  }
  return std::move(out).take();
}

}  // namespace linkcast::topologies
