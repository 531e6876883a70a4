// What the readers of other programs' files hand over, and what import.cpp puts together: a machine, a network, and
// notes of what was known, assumed and unknown. One reader per format; none knows another.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/topologies/import.hpp"
#include "yaml_value.hpp"

namespace linkcast::topologies {

/// Each sentence once.
struct ImportNotes {
  std::vector<std::string> known, assumed, unknown;
  void know(std::string text) { add(known, std::move(text)); }
  void assume(std::string text) { add(assumed, std::move(text)); }
  void lack(std::string text) { add(unknown, std::move(text)); }

 private:
  static void add(std::vector<std::string>& to, std::string text);
};

/// One kind of machine. The texts are top-level keys of a topology file, key included ("node:\n  host: …"), or empty.
struct ImportedMachine {
  std::string title;
  std::string extends;  // a catalog name instead of `node`
  std::string parts, node, overrides;
  int gpus = 0;
  int nics = 0;
  // From the loaded machine, where there is a network too:
  int trays = 1;                       // hosts that the machine spans: an NVLink domain of several
  int nic_ports = 1;                   // the most that one of its NICs has
  std::string nic_rate;                // of one port of NIC 0: "400 Gb/s"
  std::vector<std::string> nic_names;  // "mlx5_0" of NIC i; empty where the file does not name them
};

/// One end of a cable: a NIC of a host, or a switch.
struct ImportedEnd {
  int host = -1;            // index into ImportedNetwork::hosts; -1: a switch
  int nic = 0;              // index into ImportedNetwork::nic_names, or the NIC's number where that is empty
  int port = -1;            // of the NIC, where it has several; -1: it has one
  int network_switch = -1;  // index into ImportedNetwork::switches
};

struct ImportedCable {
  ImportedEnd from, to;
  int count = 1;
  std::string rate;  // "400 Gb/s"; empty: unknown
  std::string length;
  bool up = true;
};

struct ImportedSwitch {
  std::string name;
  int tier = -1;      // 0 leaf, 1 spine, 2 core
  std::string model;  // a part of the catalog; empty: unknown
  int rail = -1, plane = -1, group = -1;
};

struct ImportedNetwork {
  std::string fabric;                  // a kind of network ("ib", "roce"); empty: the file does not say
  std::vector<std::string> hosts;      // in the order of the nodes
  std::vector<std::string> nic_names;  // of every host, in the order of their numbers
  std::vector<ImportedSwitch> switches;
  std::vector<ImportedCable> cables;
  std::vector<std::string> domains;  // by host: the NVLink domain that it is in ("": none); empty: not said
  int trays = 0;                     // hosts of a node, where it has fewer than the machine could
  /// Slurm and topograph know which switch a host is below, but neither NICs, cables nor rates. Where another file has
  /// real cables, only the order of `hosts` is taken from such a network.
  bool only_order = false;
};

/// A file that is being read, unpacked, with where its problems go. A reader adds what is wrong and returns; whoever
/// called it throws.
struct ImportInput {
  const Source& file;
  const ImportOptions& options;
  ImportNotes& notes;
  Problems& problems;
  const std::string& text() const { return file->text; }
};

ImportedMachine import_nccl_xml(const ImportInput& in);
ImportedMachine import_nvidia_smi(const ImportInput& in, const std::optional<std::string>& gpu_seen);
ImportedMachine import_hwloc(const ImportInput& in);
/// The GPU part that `nvidia-smi nvlink -s` or `-L` names, or nothing.
std::optional<std::string> import_gpu_name(const ImportInput& in);

ImportedNetwork import_ibnetdiscover(const ImportInput& in);
ImportedNetwork import_slurm_conf(const ImportInput& in);
ImportedNetwork import_slurm_yaml(const ImportInput& in);
ImportedNetwork import_topograph(const ImportInput& in);

}  // namespace linkcast::topologies
