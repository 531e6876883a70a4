// The parts of a cluster that can fail, by the names that topology files and messages give them: "node[4].gpu[1]",
// "leaf[3]-spine[0]". Knows no fault and no workload.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/units.hpp"
#include "linkcast/topologies/cluster.hpp"

namespace linkcast::planning {

enum class ElementKind : unsigned char {
  gpu,
  node,
  nic,  // the card or its cable: either takes its port off the network
  nvlink,
  nvswitch,
  pcie_link,
  pcie_switch,
  leaf,
  spine,
  core,
  leaf_spine_cable,  // one of those between two switches
  spine_core_cable
};
std::string_view name_of(ElementKind k);  // "gpu", "nic", "pcie-link", "leaf-spine-cable"
std::vector<std::string> element_kind_names();
std::optional<ElementKind> element_kind_from(std::string_view name);

struct Element {
  ElementKind kind = ElementKind::gpu;
  std::string name;   // one for each element: ends in a fixed order, nodes by their host names where there are any
  int node = -1;      // in the whole cluster; -1: of the network
  int job_node = -1;  // in the job; -1: the job does not use it
  int device = -1;    // of the machine: DeviceId
  int other = -1;     // its link's other end
  int link = -1;      // of the machine: LinkId
  int nic = -1;       // which of the machine's NICs
  int network_switch = -1;  // SwitchId
  std::vector<int> cables;  // CableId: of a NIC, or between two switches
  int count = 1;            // cables in the bundle
  sim::Rate rate;           // of one link, NIC or cable, one direction; zero: not a link
};

class Elements {
 public:
  explicit Elements(const topologies::Cluster& cluster);
  ~Elements();

  /// Nothing where there is no such part; `help` then names what is near.
  std::optional<Element> find(std::string_view name, std::string* help = nullptr) const;
  /// All that the job can use: its nodes with what works in them, and every switch and cable that works.
  std::vector<Element> all() const;
  const topologies::Cluster& cluster() const;

  /// Ranks of the job that feel it first: the GPU itself, that nearest to the NIC, one below the switch. Empty: the
  /// job has none there.
  std::vector<int> nearest_ranks(const Element& e) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace linkcast::planning
