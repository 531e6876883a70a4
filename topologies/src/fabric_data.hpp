// What a Fabric is made of. Written once by the loader or an importer, then only read.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/topologies/fabric.hpp"
#include "map_reader.hpp"

namespace linkcast::topologies {

/// Beside the public Device and Link: what routing and NCCL's view need.
struct DeviceExtra {
  sim::Time transit;       // what passing through it costs (a switch chip, a root complex)
  bool multicast = false;  // NVSwitch: multicast and in-switch reduction
  bool up = true;
  int gpu_model = -1;  // index into gpu_models
  // CPU: bytes of a PCIe link's capacity for each byte that peers exchange through its root complex, and that they
  // exchange across sockets
  double p2p_overhead = 1, p2p_socket_overhead = 1;
  double nic_overhead = 1;  // the same between a NIC and a GPU, whose memory it reads and writes
};
struct LinkExtra {
  int generation = 0;  // PCIe or NVLink
  bool up = true;
};

struct Fabric::Data {
  std::string name;
  std::string title;
  std::vector<Device> devices;
  std::vector<Link> links;
  std::vector<DeviceExtra> device_extra;  // as devices
  std::vector<LinkExtra> link_extra;      // as links
  std::vector<DeviceId> gpus;             // rank order
  std::vector<models::GpuModel> gpu_models;
  models::HostModel host;
  std::string host_name;
  bool pcie_p2p = true;
  std::vector<SourcedNumber> numbers;
  std::vector<std::string> assumptions;                     // what an importer had to assume
  std::vector<std::pair<std::string, std::string>> params;  // as loaded
  std::string text;  // the whole machine as one YAML file without extends and params; empty from an importer

  const Device& device(DeviceId id) const { return devices[static_cast<std::size_t>(id)]; }
  const Link& link(LinkId id) const { return links[static_cast<std::size_t>(id)]; }
  bool usable(LinkId id) const {
    const auto& l = link(id);
    return link_extra[static_cast<std::size_t>(id)].up && device_extra[static_cast<std::size_t>(l.a)].up &&
           device_extra[static_cast<std::size_t>(l.b)].up;
  }
  DeviceId add(Device d, DeviceExtra extra);
  LinkId add(Link l, LinkExtra extra);

  /// Routes that were asked for, by (from, to, transport); filled as they are asked for.
  struct RouteCache {
    std::mutex mutex;
    std::vector<std::optional<std::optional<Route>>> routes;
  };
  std::shared_ptr<RouteCache> cache = std::make_shared<RouteCache>();
};

}  // namespace linkcast::topologies
