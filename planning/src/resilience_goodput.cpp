// See resilience_goodput.hpp.
#include "resilience_goodput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linkcast/planning/failure_rates.hpp"

namespace linkcast::planning {
namespace {

/// What the rates call the parts of a kind.
std::vector<std::string> rated_as(ElementKind k) {
  switch (k) {
    case ElementKind::gpu:
      return {"gpu"};
    case ElementKind::node:
      return {"node"};
    case ElementKind::nic:
      return {"nic", "nic cable"};
    case ElementKind::leaf:
      return {"leaf switch"};
    case ElementKind::spine:
      return {"spine switch"};
    case ElementKind::core:
      return {"core switch"};
    case ElementKind::leaf_spine_cable:
      return {"switch cable leaf-spine"};
    case ElementKind::spine_core_cable:
      return {"switch cable spine-core"};
    case ElementKind::nvlink:  // counted with the GPU that they belong to
    case ElementKind::nvswitch:
    case ElementKind::pcie_link:
    case ElementKind::pcie_switch:
      return {};
  }
  return {};
}

/// Over the classes of each kind, each by its number of parts; an outage where most of them are.
std::vector<Impact> impacts_of(const Resilience& r) {
  struct Sum {
    std::int64_t parts = 0, outages = 0;
    double slowdown = 0;
  };
  std::map<ElementKind, Sum> sums;
  for (const auto& row : r.rows) {
    if (row.fault != FaultKind::fail) continue;
    auto& s = sums[row.kind];
    s.parts += row.count;
    if (row.outage)
      s.outages += row.count;
    else
      s.slowdown += row.slowdown * static_cast<double>(row.count);
  }
  std::vector<Impact> out;
  for (const auto& [kind, s] : sums)
    for (const auto& part : rated_as(kind)) {
      Impact i;
      i.part = part;
      i.outage = 2 * s.outages > s.parts;
      if (!i.outage && s.parts > s.outages) i.slowdown = s.slowdown / static_cast<double>(s.parts - s.outages);
      out.push_back(std::move(i));
    }
  return out;
}

}  // namespace

void add_goodput(Resilience& r, const workloads::ScenarioFile& scenario, const topologies::Cluster& cluster,
                 const ResilienceOptions& options) {
  workloads::trace::Problems problems;
  const auto* said = scenario.root.get("reliability");
  const auto reliability = Reliability::read(said, problems);
  auto rates = FailureRates::shipped();
  if (const auto* v = scenario.root.get("rates")) rates = FailureRates::of_scenario(*v, problems);
  problems.throw_if_any();
  auto parts = parts_of_cluster(cluster, *rates, reliability.rates);
  apply_impacts(impacts_of(r), parts);
  r.goodput = simulate(reliability, parts, options.threads);
}

}  // namespace linkcast::planning
