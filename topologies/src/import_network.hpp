// From what the readers say of networks to one `network:` of a topology file.
#pragma once

#include <string>
#include <vector>

#include "import_parts.hpp"

namespace linkcast::topologies {

struct NamedNetwork {
  ImportedNetwork network;
  std::string file;
};

/// One network out of several descriptions: the cables of one, the order of hosts of another (ImportedNetwork::
/// only_order). NIC names become the numbers of the machine's NICs. Throws sim::InputError where they do not fit.
ImportedNetwork join_networks(std::vector<NamedNetwork> networks, const ImportedMachine& machine,
                              const std::string& machine_file, ImportNotes& notes);

/// "network:\n  fabric: ib\n  hosts: …". `machine.nics` bounds the NIC numbers.
std::string network_yaml(const ImportedNetwork& network, const ImportedMachine& machine, const ImportOptions& options,
                         ImportNotes& notes);

}  // namespace linkcast::topologies
