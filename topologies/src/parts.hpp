// The kinds of parts that a machine is made of, read from YAML: GPU, link, switch, CPU, host, NIC, kind of network. A
// part is looked up in the file's own `parts` first, then in the catalog's parts/. Knows no machine.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "linkcast/models/gpu.hpp"
#include "linkcast/models/link.hpp"
#include "linkcast/models/network.hpp"
#include "linkcast/topologies/network.hpp"
#include "map_reader.hpp"

namespace linkcast::topologies {

struct GpuPart {
  models::GpuModel model;
  int nvlinks = 0;         // ports
  bool pcie_p2p = true;    // GeForce: the driver refuses it
  bool gdr = true;         // GPUDirect RDMA
  std::string pci_device;  // "0x2330"
};

struct LinkPart {
  models::LinkModel model;
  int generation = 0;
};

struct SwitchPart {
  std::string name;
  bool nvswitch = false;  // else PCIe
  int generation = 0;
  int ports = 0;  // 0: not checked
  bool multicast = false;
  sim::Time latency;
  std::string pci_vendor, pci_device;
};

struct CpuPart {
  std::string name;
  std::string arch, vendor;
  int family = 0, model = 0;
  sim::Rate memory;
  sim::Time memory_latency;
  sim::Time latency;  // through its root complex
  double p2p_overhead = 1, p2p_socket_overhead = 1;
  double nic_overhead = 0;  // as p2p_overhead, between a NIC and a GPU; 0: the same
};

struct HostPart {
  std::string name;
  models::HostModel model;
};

struct NicPart {
  std::string name;
  sim::Rate rate;  // of the card: all its ports together
  int ports = 1;
  std::string fabric;  // the kind of network that it is usually on; empty: InfiniBand
  std::string pci_class, pci_vendor, pci_device;
};

/// A kind of cable with its transceivers: what one way costs besides its length.
struct CablePart {
  std::string name;
  sim::Time per_metre, fec;
};

class Parts {
 public:
  /// `own`: the `parts` map of the file, or null.
  Parts(ReadContext context, const Value* own);
  ~Parts();

  /// Null after a problem has been reported at `at` (unknown name) or inside the part.
  const GpuPart* gpu(const std::string& name, const Value& at);
  const LinkPart* link(const std::string& name, const Value& at);
  const SwitchPart* switch_chip(const std::string& name, const Value& at);
  const CpuPart* cpu(const std::string& name, const Value& at);
  const HostPart* host(const std::string& name, const Value& at);
  const NicPart* nic(const std::string& name, const Value& at);
  const models::NetworkModel* network(const std::string& name, const Value& at);
  const SwitchModel* network_switch(const std::string& name, const Value& at);
  const CablePart* cable(const std::string& name, const Value& at);

  /// The keys of a part with what it extends and the profiles merged in. Null after a problem has been reported.
  const Value* values(std::string_view kind, const std::string& name, const Value& at) {
    return resolve(kind, name, at);
  }

  /// Checks the file's own parts that nothing used: a mistake there is a mistake too.
  void check_own();

 private:
  template <typename Part>
  using Store = std::map<std::string, std::optional<Part>>;
  template <typename Part, typename Read>
  const Part* get(Store<Part>& store, std::string_view kind, const std::string& name, const Value& at, Read read);
  const Value* resolve(std::string_view kind, const std::string& name, const Value& at);

  ReadContext context_;
  const Value* own_;
  std::map<std::string, Value, std::less<>> resolved_;  // "gpus/h100-sxm"
  std::set<std::string, std::less<>> resolving_;
  Store<GpuPart> gpus_;
  Store<LinkPart> links_;
  Store<SwitchPart> switches_;
  Store<CpuPart> cpus_;
  Store<HostPart> hosts_;
  Store<NicPart> nics_;
  Store<models::NetworkModel> networks_;
  Store<SwitchModel> network_switches_;
  Store<CablePart> cables_;
};

/// Names of the catalog's parts of one kind ("gpus", "links", "switches", "cpus", "hosts", "nics", "networks",
/// "network_switches", "cables").
std::vector<std::string> catalog_part_names(std::string_view kind);

/// A part of the catalog as its file says it, without what it extends and without profiles; null where there is none.
const Value* catalog_part_value(std::string_view kind, std::string_view name);

}  // namespace linkcast::topologies
