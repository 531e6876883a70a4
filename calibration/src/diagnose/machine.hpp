// The machine that was measured, as far as people say what it is: a topology by name or file, else what its GPUs' name,
// counts and NICs suggest. Knows no measurement and no fault.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/calibration/measurements.hpp"
#include "linkcast/topologies/cluster.hpp"

namespace linkcast::calibration::diagnosis {

/// What a fault changes of the machines and their network. NCCL's variables are the caller's business.
struct Edit {
  std::vector<std::string> overrides;  // as in a topology file, for every machine
  std::string pcie_link;               // "pcie-gen3": slower slots
  int lanes = 0;                       // narrower slots
  bool no_pcie_p2p = false;
  std::string network;  // another kind: "tcp"
  double cables = 1;    // share of its payload that every NIC's cable carries
  double one_nic = 1;   // the same, of NIC 0 of the first node
  double one_node = 1;  // the same, of all NICs of the first node
  int nics = 0;         // NICs that are used; 0: all

  std::string key() const;
  bool operator==(const Edit&) const = default;
};

/// How GPUs of a kind are joined when nobody describes the machine.
struct Machine {
  std::string topology;                       // catalog name or file; empty: a generic box of `part`
  std::map<std::string, std::string> params;  // of the topology
  std::string whole_yaml;                     // what was imported (NCCL's XML): cannot be extended
  std::string part;                           // GPU part of a generic box
  std::string parts_yaml;                     // definition of parts that the catalog lacks
  std::string pcie_link = "pcie-gen4";
  int lanes = 16;
  std::string overlay;  // keys that change a catalog system into this one
  std::string system;   // the catalog's name of the nearest system that was measured
  std::string name;     // in words
  bool gpu_known = true;
  bool in_catalog = true;  // measured as it is, not made up from parts
  bool peers = true;       // GPUs reach each other, with the stock driver
  bool cards = false;      // over PCIe only: which of them share a switch or a socket is often not said
  bool described_network = false;
  int nodes = 1, gpus = 8;  // GPUs of one node that take part
  int nics = 0;             // of one node; 0: its own
  double nic_gbps = 0;      // 0: as its own
  std::string network;      // kind; empty: as its NICs have
  bool nvlink_domain = false;
  std::shared_ptr<const topologies::Profile> profile;
  std::vector<std::string> sentences;  // what was taken for granted
};

/// From a GPU's name and counts. `system`: what the measurement itself names.
Machine machine_of(const Hardware& hardware, const std::optional<std::string>& system);
/// From --topology.
Machine machine_of_topology(const std::string& topology, const std::map<std::string, std::string>& params,
                            const Hardware& hardware);
/// "InfiniBand NDR" -> "ib"; empty: nothing is said, or NVLink.
std::string kind_of_network(const std::string& words);
bool names_nvlink(const std::string& words);
/// As kind_of_network, for an option: sim::InputError where none of its words names a network.
std::string network_named(const std::string& words);

/// NICs as the fabric has them.
struct Nics {
  std::vector<std::string> names;
  double gbps = 0;  // of one
};
Nics nics_of(const topologies::Fabric& machine);

/// "2 nodes of 8 x H100".
std::string words_of(const Machine& machine);

/// Such machines, with what the edit changes. `nodes` and `gpus` of a node: those that take part.
topologies::Cluster cluster_of(const Machine& machine, int nodes, int gpus, const Edit& edit);

}  // namespace linkcast::calibration::diagnosis
