// A tree of switches with hosts at its leaves, as schedulers describe networks: no NICs, no cables, no rates. Checks
// it, and turns it into cables once the machine is known. Knows no file format.
#pragma once

#include <string>
#include <vector>

#include "import_parts.hpp"

namespace linkcast::topologies {

/// A name where it stands in the file.
struct TreeName {
  std::string name;
  int line = 0, column = 1;
};

struct TreeSwitch {
  TreeName name;
  std::vector<TreeName> switches, hosts;
};

struct Tree {
  std::vector<TreeSwitch> switches;
  bool leaves_need_no_entry = false;  // a child that is not described is a leaf without hosts (topograph)
  std::vector<TreeName> loose_hosts;  // below no switch
};

/// Adds to the problems of `in`: names twice, children that are not described, two parents, circles. Hosts come in the
/// order of a walk over the tree.
ImportedNetwork network_of(const Tree& tree, const ImportInput& in);

/// One cable from each NIC to the leaf of its host, and above each switch as many cables as below it: a network that
/// blocks nothing, said among the assumptions. For networks that know only the order (ImportedNetwork::only_order).
void cable_tree(ImportedNetwork& network, const ImportedMachine& machine, ImportNotes& notes);

/// Hosts of one NVLink domain become one node where the machine spans several hosts: NICs are numbered through, host by
/// host. Throws sim::InputError (in the name of `file`) where the domains do not fit the machine or are not known.
void join_domains(ImportedNetwork& network, const ImportedMachine& machine, const std::string& file,
                  ImportNotes& notes);

}  // namespace linkcast::topologies
