// hwloc's XML as the devices that matter here: NUMA domains, PCIe switches, GPUs, NICs, NVLink bandwidths. Versions 1
// to 3 of the format. Knows XML and hwloc's words, and no part of the catalog.
#pragma once

#include <string>
#include <vector>

#include "import_parts.hpp"

namespace linkcast::topologies {

struct HwlocDomain {
  int os_index = 0;
  int package = 0;
};

struct HwlocDevice {
  bool gpu = false;            // else a NIC
  std::string bus_id;          // "0000:53:00.0"
  int vendor = 0, device = 0;  // PCI ids
  double speed = 0;            // GB/s of its link; 0: not said
  std::string product;         // of a GPU: "NVIDIA H100 80GB HBM3"; empty where no backend told
  std::string name;            // of a NIC: "mlx5_0"
  int order = -1;              // of a GPU: CUDA's or NVML's number
  int line = 0, column = 0;
};

struct HwlocTree {
  bool chip = false;
  double speed = 0;  // of the uplink
  int vendor = 0, device = 0;
  std::vector<int> devices;  // into HwlocMachine::devices
  std::vector<HwlocTree> below;
};

struct HwlocRoot {
  int domain = 0;  // into HwlocMachine::domains
  HwlocTree tree;
};

struct HwlocMachine {
  std::string product;  // of the machine: "NVIDIA DGX-2H"
  std::string cpu_vendor, cpu_name, architecture;
  int cpu_family = -1, cpu_model = -1;
  std::vector<HwlocDomain> domains;
  std::vector<HwlocDevice> devices;  // GPUs in CUDA's order where it is known, then NICs by name
  int gpus = 0;
  std::vector<HwlocRoot> roots;
  int switches = 0;  // NVSwitches

  bool has_bandwidths = false;                 // the file has NVLink bandwidths
  std::vector<std::vector<double>> pairs;      // MB/s between GPUs
  std::vector<std::vector<double>> to_switch;  // MB/s from each GPU to each NVSwitch
  double to_cpus = 0;                          // the largest from a GPU to a package
  int bandwidths_line = 0;

  int ethernet = 0, other_gpus = 0;  // left out: Ethernet without RDMA, GPUs of other makers
  bool placed = true;                // false: some device hangs above the NUMA domains
};

/// What is wrong goes to in.problems.
HwlocMachine read_hwloc(const ImportInput& in);

}  // namespace linkcast::topologies
