// A machine as an importer knows it once its parts are chosen, and its `node:` in a topology file. Knows no format
// that is read and no catalog.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "import_parts.hpp"

namespace linkcast::topologies {

/// A PCIe link: kind and lanes.
struct PcieWire {
  std::string link;  // "pcie-gen5"
  int lanes = 16;
  bool operator==(const PcieWire&) const = default;
};

struct PcieDevice {
  bool gpu = false;  // else a NIC
  int index = 0;
  PcieWire wire;
};

/// What hangs below one root port (`chip`: behind a switch whose uplink is `wire`), or straight on the CPU.
struct PcieTree {
  bool chip = false;
  PcieWire wire;
  std::vector<PcieDevice> devices;
  std::vector<PcieTree> below;
  bool empty() const;  // no device anywhere
};

struct MachineModel {
  std::string host, cpu, cpu_link, die_link;  // parts
  std::vector<int> numa;                      // of each CPU (NUMA domain): the system's number
  int per_socket = 1;
  std::string gpu, nic, nic_rate;  // nic_rate: empty where the part's own holds
  std::string fabric;              // the NICs' kind of network; empty where the part's own holds
  int gpus = 0, nics = 0;

  std::string nvlink, nvswitch;   // parts; without nvswitch a mesh
  std::vector<int> switch_links;  // of a GPU to each switch of its board
  int boards = 1, trunk_links = 0;
  std::map<std::pair<int, int>, int> mesh;  // NVLinks of a pair of GPUs
  std::string c2c;
  std::vector<int> c2c_cpus;  // for each GPU

  std::string pcie_switch;  // part
  bool p2p_known = false, p2p = true;
  std::vector<std::pair<int, PcieTree>> trees;  // CPU, tree

  std::vector<std::string> overrides;  // "{link: …, width: 3}"
};

/// `node:` and `overrides:`, with gpus, nics set in the result.
ImportedMachine machine_yaml(const MachineModel& m);

/// "0-3", "[0, 2]", "5".
std::string index_list(std::vector<int> indices);

}  // namespace linkcast::topologies
