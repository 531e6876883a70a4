// A fabric as built: devices, links, and the routes between GPUs. Immutable once loaded; every route is computed
// once. Boost.Graph stays inside the .cpp files. Knows no collective and no NCCL choice.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/models/gpu.hpp"
#include "linkcast/models/link.hpp"
#include "linkcast/sim/fluid.hpp"
#include "linkcast/topologies/profile.hpp"

namespace linkcast::topologies {

enum class DeviceKind : unsigned char { gpu, nvswitch, pcie_switch, cpu, nic, memory };
std::string_view name_of(DeviceKind k);

enum class DeviceId : std::uint32_t {};
enum class LinkId : std::uint32_t {};

struct Device {
  std::string name;  // "gpu[3]", "nvswitch[0]", "cpu[1]": as overrides and messages say it
  DeviceKind kind;
  std::string model;  // "h100-sxm", "nvswitch3", …
  int node = 0;       // which machine
  int index = 0;      // among its kind in that machine
  int numa = 0;
  std::map<std::string, std::string> attributes;  // cpu: arch, vendor, family, model; nic: gbps, guid; gpu: gdr, busid
};

/// Both directions; each is a resource of its own when simulated.
struct Link {
  DeviceId a, b;
  models::LinkKind kind;
  std::string model;  // "nvlink4", "pcie-gen5"
  int width = 1;      // NVLinks in parallel, or PCIe lanes
  sim::Rate bare;     // one direction, all of the width, after coding
  sim::Rate payload;  // after packet format and residual
  sim::Time latency;
  std::string state;  // "up", "down", or why it is slower than its model
};

/// How two GPUs can reach each other (NCCL's P2P over NVLink, P2P over PCIe, or SHM through host memory).
enum class Transport : unsigned char { nvlink, pcie_p2p, host_memory };
std::string_view name_of(Transport t);

struct Hop {
  LinkId link;
  bool forward;   // a -> b
  double weight;  // bytes of the link's capacity for each byte: below 1 where parallel links split the
                  // load, above 1 where small packets waste it (PCIe peers across a root complex)
};

struct Route {
  Transport transport;
  std::vector<Hop> hops;
  sim::Time latency;
};

class Fabric {
 public:
  const std::string& name() const;
  std::span<const Device> devices() const;
  std::span<const Link> links() const;
  /// GPUs in rank order: rank r is gpus()[r].
  std::span<const DeviceId> gpus() const;
  const models::GpuModel& gpu_model(DeviceId gpu) const;
  const models::HostModel& host() const;

  /// The best route by that transport, or nothing. Links that are down are not used.
  /// NVLink routes pass NVSwitches, never another GPU. PCIe peer-to-peer: nothing where pcie_p2p() is false. Through
  /// host memory: the memory of the sender's CPU.
  std::optional<Route> route(DeviceId from, DeviceId to, Transport t) const;
  /// NVLink by way of the one other GPU that has the most links to both (NCCL's NVB), or nothing.
  std::optional<Route> route_through_gpu(DeviceId from, DeviceId to) const;
  /// Between a GPU and a NIC (device ids) over PCIe and CPUs, straight or staged through the memory of the GPU's CPU.
  std::optional<Route> route_to_nic(DeviceId gpu, DeviceId nic, bool staged = false) const;
  std::optional<Route> route_from_nic(DeviceId nic, DeviceId gpu, bool staged = false) const;
  /// Whether peer-to-peer over PCIe works at all on these GPUs (GeForce: no, unless the file says so).
  bool pcie_p2p() const;
  /// Whether the link and both devices that it joins are up.
  bool usable(LinkId link) const;
  /// NVSwitches with multicast and in-switch reduction that reach all of these GPUs.
  bool nvls(std::span<const DeviceId> gpus) const;

  /// The same machine with only these GPUs as ranks, in this order; everything else stays.
  Fabric slice(std::span<const int> ranks) const;

  /// The same machine with that many NICs of that rate, spread evenly over the places of its own: fewer leave some
  /// places empty, a multiple puts several in each (`as_ports`: as the ports of one). Throws sim::InputError for other
  /// numbers, or where it has no NIC.
  Fabric with_nics(int count, sim::Rate rate, bool as_ports = false) const;

  /// Resources of a replay: two per link (forward at 2*LinkId, backward at 2*LinkId+1).
  sim::ResourceTable resources() const;
  static sim::ResourceId resource(LinkId link, bool forward) {
    return sim::ResourceId{2 * static_cast<std::uint32_t>(link) + (forward ? 0u : 1u)};
  }

  /// Largest rate (bare: after coding, before packet headers) between the two halves of the GPUs, by max-flow (halves:
  /// first and second half of the ranks). Over NVLink where the halves are joined by it, else over PCIe and CPUs.
  sim::Rate bisection() const;
  /// Number of connected components of devices that hold a GPU; 1 for a sound machine.
  int gpu_components() const;
  std::size_t estimated_memory_bytes() const;

  struct Data;  // made by the loader and the importers (src/fabric_data.hpp)
  explicit Fabric(std::shared_ptr<const Data> data);
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

struct LoadOptions {
  int nodes = 1;
  std::map<std::string, std::string> params = {};    // overrides of the file's parameters
  std::shared_ptr<const Profile> profile = nullptr;  // fitted numbers, over those of the parts
};

/// A catalog name, a Linkcast YAML file, or an NCCL topology XML. Throws sim::InputError with every problem.
Fabric load(std::string_view name_or_path, const LoadOptions& options = {});
/// The names of the catalog, sorted.
std::vector<std::string> catalog_names();
/// The YAML text of a catalog entry (for `extends`, `topo show`, and as a start for one's own file).
std::string_view catalog_text(std::string_view name);

}  // namespace linkcast::topologies
