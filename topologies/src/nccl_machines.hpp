// Which machine of the catalog a PCI layout belongs to. Knows layouts and machines, but no XML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkcast/topologies/fabric.hpp"

namespace linkcast::topologies {

/// A GPU or a NIC as a PCI tree shows it.
struct PciLeaf {
  enum class Kind : unsigned char { unknown, gpu, nic } kind = Kind::unknown;
  std::string bus;             // lower case
  std::string vendor, device;  // empty: not said
};

/// What hangs below one port of a CPU.
struct PciGroup {
  bool chip = false;  // behind switches; else straight on the CPU
  std::vector<PciLeaf> leaves;
};

struct PciLayout {
  struct Cpu {
    std::string arch, vendor;
    int family = -1, model = -1;  // -1: not said
    std::vector<PciGroup> groups;
  };
  std::vector<Cpu> cpus;
  std::string words;  // the file's name and its comments, lower case: hints among machines that fit alike
};

PciLayout layout_of(const Fabric& machine);

struct Recognised {
  std::string name;
  std::string how;                  // "by the PCI addresses of its GPUs"
  std::vector<std::string> others;  // that fit as well and differ in nothing that the import takes from them
};

/// Nothing: no machine fits. Throws sim::InputError where several fit and differ.
std::optional<Recognised> recognise(const PciLayout& layout, const std::string& where);

}  // namespace linkcast::topologies
