// What a description does not say (chips, generations, CPUs) is taken from the machine of the catalog that fits it.
// Knows no format that is read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import_machine.hpp"

namespace linkcast::topologies {

/// NVLinks between pairs of GPUs as nvidia-smi counts them: through switches the links of the GPU to all of them.
using PairLinks = std::vector<std::vector<int>>;

/// A machine of the catalog, reduced to its parts.
struct MachineProfile {
  std::string name;
  MachineModel parts;  // its trees are empty
  PcieWire pcie;       // of a GPU
  std::string nic_part_rate;
  int nic_ports = 1;  // of a NIC that stands for several (four EFA of a p5)
  double nic_gbps = 0;
  PairLinks links;
  std::vector<std::vector<int>> switch_of;  // GPUs that share a PCIe switch
};

MachineProfile profile_of(const std::string& machine);

struct Wanted {
  std::optional<std::string> gpu;  // a part, where the file names one
  std::string gpu_words;           // how the file calls it: for messages
  int gpus = 0, nics = 0;
  std::string nic;           // a part, where the file names it
  PairLinks links;           // empty: the file does not say
  int line = 0, column = 0;  // where a question about the GPUs points to
};

/// The machine that --machine names, else the one that has this GPU and looks most alike. Which GPU it is: --gpu, the
/// file, the machine, or the only one whose machines are wired like this. Adds a problem and returns nothing where
/// that stays open.
std::optional<MachineProfile> choose_profile(const ImportInput& in, const Wanted& wanted);

/// A machine whose NVLinks lead to switches: with this GPU, else with these links.
std::optional<MachineProfile> switched_profile(const std::string& gpu, const std::string& nvlink);

/// NVLinks of a GPU part; 0 where there is no such part.
int nvlink_ports(const std::string& gpu);

/// The GPU part that a product name means: "NVIDIA H100 80GB HBM3" is h100-sxm.
std::optional<std::string> gpu_part_of(std::string_view product);

/// Fills `nic` (and its rate) of the model: --nic, or that of the profile. Adds a problem where neither knows.
void choose_nic(const ImportInput& in, const MachineProfile& profile, MachineModel& m);

}  // namespace linkcast::topologies
