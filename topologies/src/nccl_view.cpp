// See nccl_view.hpp. The trays of an NVLink domain are hosts of one system, as NCCL fuses them (MNNVL). Nodes and edges
// are added in the order in which NCCL reads them from its XML: CPUs with their PCI trees depth first, then NVLinks GPU
// by GPU; its search breaks ties by that order.
#include "linkcast/topologies/nccl_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <vector>

#include "fabric_data.hpp"

namespace linkcast::topologies {
namespace {

namespace nccl = models::nccl;

double gigatransfers(int generation) {
  switch (generation) {
    case 1:
      return 2.5;
    case 2:
      return 5;
    case 3:
      return 8;
    case 4:
      return 16;
    case 5:
      return 32;
    case 6:
      return 64;
    default:
      return 0;
  }
}

std::string attribute(const Device& d, const std::string& key) {
  const auto it = d.attributes.find(key);
  return it == d.attributes.end() ? std::string{} : it->second;
}
int number(const Device& d, const std::string& key) { return std::atoi(attribute(d, key).c_str()); }
std::uint64_t hex(const Device& d, const std::string& key) {
  return std::strtoull(attribute(d, key).c_str(), nullptr, 16) & 0xffff;
}

class View {
 public:
  explicit View(const Fabric& fabric) : data_{fabric.data()} {
    rank_.assign(data_.devices.size(), -1);
    for (std::size_t r = 0; r < data_.gpus.size(); ++r)
      rank_[static_cast<std::size_t>(data_.gpus[r])] = static_cast<int>(r);
    node_.assign(data_.devices.size(), -1);
    below_.resize(data_.devices.size());
    for (const auto& d : data_.devices) {
      const auto [at, fresh] = first_.try_emplace({d.node, d.kind}, d.index);
      if (!fresh) at->second = std::min(at->second, d.index);
    }
    for (std::size_t i = 0; i < data_.links.size(); ++i) {
      if (data_.links[i].kind == models::LinkKind::pcie && usable(i)) {
        below_[static_cast<std::size_t>(data_.links[i].a)].push_back(i);
      }
    }
  }

  nccl::System build() {
    system_.name = data_.name;
    for (std::size_t d = 0; d < data_.devices.size(); ++d) {
      if (data_.devices[d].kind == DeviceKind::cpu && used(d)) cpu(d);
    }
    for (auto gpu : met_) nvlinks(gpu);
    for (auto gpu : met_) c2c(gpu);
    return std::move(system_);
  }

 private:
  bool usable(std::size_t link) const { return data_.usable(LinkId{static_cast<std::uint32_t>(link)}); }

  /// NCCL trims switches and CPUs under which nothing is used.
  bool used(std::size_t d) const {
    const auto kind = data_.devices[d].kind;
    if (kind == DeviceKind::gpu) return rank_[d] >= 0;
    if (kind == DeviceKind::nic) return true;
    for (auto link : below_[d]) {
      if (used(static_cast<std::size_t>(data_.links[link].b))) return true;
    }
    return false;
  }

  /// The host's number in the upper byte, as NCCL packs it.
  static std::int64_t packed(const Device& d, std::int64_t local) {
    return (static_cast<std::int64_t>(d.node) << 56) + local;
  }
  /// Addresses are ours, in the order of the devices; NCCL only compares them.
  std::int64_t bus(const Device& d) { return packed(d, next_bus_++ << 16); }
  /// Among its kind in its host.
  int local_index(const Device& d) const { return d.index - first_.at({d.node, d.kind}); }

  void cpu(std::size_t d) {
    const auto& device = data_.devices[d];
    nccl::Node n;
    n.type = nccl::NodeType::cpu;
    n.id = packed(device, device.numa);
    n.name = fmt::format("CPU {}", device.numa);
    n.host = static_cast<std::uint64_t>(device.node);
    n.arch = attribute(device, "arch");
    if (n.arch == "x86_64") {  // NCCL asks only there
      n.vendor = attribute(device, "vendor");
      n.family = number(device, "family");
      n.model = number(device, "model");
    }
    node_[d] = system_.add(std::move(n));
    children(d);
  }

  void children(std::size_t parent) {
    for (auto link : below_[parent]) {
      const auto& l = data_.links[link];
      const auto d = static_cast<std::size_t>(l.b);
      if (!used(d)) continue;
      const double bw = nccl::pcie_GBps(gigatransfers(data_.link_extra[link].generation), l.width);
      const auto& device = data_.devices[d];
      nccl::Node n;
      n.id = bus(device);
      if (device.kind == DeviceKind::gpu) {
        n.type = nccl::NodeType::gpu;
        n.name = "GPU " + device.name;
        n.dev = local_index(device);
        n.rank = rank_[d];
        n.cc = data_.gpu_models[static_cast<std::size_t>(data_.device_extra[d].gpu_model)].compute_capability;
        n.gdr = attribute(device, "gdr") != "0";
        node_[d] = system_.add(std::move(n));
        met_.push_back(d);
      } else if (device.kind == DeviceKind::nic) {
        n.type = nccl::NodeType::nic;
        n.name = "NIC " + device.name;
        node_[d] = system_.add(std::move(n));
        net(d);
      } else {
        n.type = nccl::NodeType::pci;
        n.name = "PCI " + device.name;
        n.pci_device = hex(device, "pci_vendor") << 48 | hex(device, "pci_device") << 32;
        node_[d] = system_.add(std::move(n));
        children(d);
      }
      system_.connect(node_[d], node_[parent], nccl::EdgeType::pci, bw);
    }
  }

  void net(std::size_t d) {
    const auto& device = data_.devices[d];
    nccl::Node n;
    n.type = nccl::NodeType::net;
    n.name = device.name;
    n.dev = device.index;  // in the domain, so that it names one NIC; NCCL's search does not read it
    n.id = packed(device, local_index(device));
    n.guid = static_cast<std::uint64_t>(device.node * 64 + local_index(device) + 1) << 8;
    n.port = 1;
    n.gdr = attribute(device, "gdr") != "0";
    n.max_conn = 131072;
    double gbps = 0;
    const auto text = attribute(device, "gbps");
    std::from_chars(text.data(), text.data() + text.size(), gbps);
    n.net_GBps = static_cast<float>(gbps / 8);
    const double bw = n.net_GBps;
    const int me = system_.add(std::move(n));
    system_.connect(node_[d], me, nccl::EdgeType::net, bw);
  }

  void nvlinks(std::size_t gpu) {
    const double one = nccl::nvlink_GBps(system_.nodes()[static_cast<std::size_t>(node_[gpu])].cc);
    for (std::size_t i = 0; i < data_.links.size(); ++i) {
      const auto& l = data_.links[i];
      if (l.kind != models::LinkKind::nvlink || !usable(i)) continue;
      const auto a = static_cast<std::size_t>(l.a), b = static_cast<std::size_t>(l.b);
      if (a != gpu && b != gpu) continue;
      const auto other = a == gpu ? b : a;
      if (data_.devices[other].kind == DeviceKind::gpu) {
        // Both ends list the link; NCCL adds each end's half.
        if (node_[other] >= 0) system_.connect_one_way(node_[gpu], node_[other], nccl::EdgeType::nvl, l.width * one);
      } else {
        system_.connect(node_[gpu], switches(), nccl::EdgeType::nvl, l.width * one);
      }
    }
  }

  void c2c(std::size_t gpu) {
    for (std::size_t i = 0; i < data_.links.size(); ++i) {
      const auto& l = data_.links[i];
      if (l.kind != models::LinkKind::c2c || !usable(i) || static_cast<std::size_t>(l.a) != gpu) continue;
      const int cpu = node_[static_cast<std::size_t>(l.b)];
      if (cpu >= 0) system_.connect(node_[gpu], cpu, nccl::EdgeType::c2c, l.bare.GBps());
    }
  }

  int switches() {
    if (nvs_ < 0) {
      nccl::Node n;
      n.type = nccl::NodeType::nvs;
      n.name = "NVS";
      nvs_ = system_.add(std::move(n));
    }
    return nvs_;
  }

  const Fabric::Data& data_;
  nccl::System system_;
  std::vector<int> rank_, node_;
  std::map<std::pair<int, DeviceKind>, int> first_;  // least index of the kind in a host
  std::vector<std::size_t> met_;                     // GPUs in the order of the PCI trees
  std::vector<std::vector<std::size_t>> below_;      // PCIe links from a device downwards
  std::int64_t next_bus_ = 1;
  int nvs_ = -1;
};

}  // namespace

nccl::System nccl_system(const Fabric& fabric, const nccl::Version&) { return View{fabric}.build(); }

}  // namespace linkcast::topologies
