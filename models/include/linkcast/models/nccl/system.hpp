// One node (or one NVLink domain) as NCCL's topology detection sees it: a graph of GPU, PCI, NVS, CPU, NIC, NET with
// NCCL's own bandwidth constants. Read from NCCL's XML, or built from a Fabric by topologies/nccl_view.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/models/nccl/types.hpp"

namespace linkcast::models::nccl {

enum class NodeType : unsigned char { gpu, pci, nvs, cpu, nic, net };
/// NCCL's ladder, best first; name_of gives its log strings.
enum class PathType : unsigned char { loc, nvl, nvb, c2c, pix, pxb, p2c, pxn, phb, sys, net, dis };
std::string_view name_of(PathType t);

struct Node {
  NodeType type;
  std::int64_t id = 0;  // NCCL's id: bus id, NUMA id, device number
  std::string name;
  // gpu
  int dev = 0, rank = -1, cc = 0;
  bool gdr = true;
  // cpu
  std::string arch, vendor;
  int family = 0, model = 0;
  std::uint64_t host = 0;
  // net
  double net_GBps = 0, net_latency_us = 0;
  std::uint64_t guid = 0;
  int port = 0, max_conn = 0;
  bool collnet = false;
  int rail = -1, plane = -1;  // since 2.30; -1: not given
  // pci
  std::uint64_t pci_device = 0;
};

enum class EdgeType : unsigned char { loc, nvl, c2c, pci, sys, net };

struct Edge {
  int to;
  EdgeType type;
  double bw_GBps;
};

class System {
 public:
  std::string name;
  int add(Node n);                                         // returns its index
  void connect(int a, int b, EdgeType t, double bw_GBps);  // both ways; parallel links add up
  void connect_one_way(int from, int to, EdgeType t, double bw_GBps);
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::vector<Edge>>& edges() const { return edges_; }
  std::vector<int> of_type(NodeType t) const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::vector<Edge>> edges_;
};

/// NCCL's own constants, GB/s in one direction (NCCL graph/topo.cc). A System carries those of the newest version; a
/// Communicator of an older version rescales its NVLinks and sets the links between CPUs by itself.
double nvlink_GBps(int cc, const Version& version = {});              // one NVLink
double pcie_GBps(double gigatransfers, int lanes);                    // 32 GT/s, 16 lanes: 48
double inter_cpu_GBps(const Node& cpu, const Version& version = {});  // between two NUMA domains of a host

/// Reads NCCL's topology XML as NCCL does (graph/xml.cc). `where` names the file in messages. Throws sim::InputError.
System read_topology_xml(std::string_view text, const std::string& where);

}  // namespace linkcast::models::nccl
