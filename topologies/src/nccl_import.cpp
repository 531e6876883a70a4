// See nccl_import.hpp. NCCL's view has no switch chips, no latencies and no names of parts: these are chosen by the
// GPU's compute capability, the CPU's vendor and the PCIe bandwidth, and every choice is written down.
#include "linkcast/topologies/nccl_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "build.hpp"

namespace linkcast::topologies {
namespace {

namespace nccl = models::nccl;
using nccl::EdgeType;
using nccl::NodeType;

/// Parts by what NCCL's view tells.
struct GpuKind {
  int cc;
  std::string_view with_nvlink, without_nvlink, nvlink, nvswitch;
};
constexpr std::array gpu_kinds{
    GpuKind{70, "v100-sxm2", "v100-pcie", "nvlink2", "nvswitch1"},
    GpuKind{75, "rtx2080ti", "rtx2080ti", "nvlink2", "nvswitch1"},
    GpuKind{80, "a100-sxm", "a100-pcie", "nvlink3", "nvswitch2"},
    GpuKind{89, "l40s", "l40s", "nvlink4", "nvswitch3"},
    GpuKind{90, "h100-sxm", "h100-sxm", "nvlink4", "nvswitch3"},
    GpuKind{100, "b200-sxm", "b200-sxm", "nvlink5", "nvswitch4"},
    GpuKind{103, "b300-sxm", "b300-sxm", "nvlink5", "nvswitch4"},
};

struct CpuKind {
  std::string_view vendor, arch;
  int from_model;
  std::string_view part, link, host;
};
constexpr std::array cpu_kinds{
    CpuKind{"GenuineIntel", "x86_64", 0, "xeon-e5v4", "upi-skl", "xeon"},
    CpuKind{"GenuineIntel", "x86_64", 0x55, "xeon-skl", "upi-skl", "xeon"},
    CpuKind{"GenuineIntel", "x86_64", 0x8F, "xeon-spr", "upi-spr", "xeon"},
    CpuKind{"GenuineIntel", "x86_64", 0xCF, "xeon-emr", "upi-spr", "xeon"},
    CpuKind{"AuthenticAMD", "x86_64", 0, "epyc-rome", "xgmi2", "epyc"},
    CpuKind{"", "arm64", 0, "grace", "nvlink-c2c-grace", "grace"},
};

class Importer {
 public:
  Importer(const nccl::System& system, const std::string& name)
      : system_{system},
        parts_{ReadContext{&problems_, &data_->numbers}, nullptr},
        build_{ReadContext{&problems_, &data_->numbers},
               parts_,
               *data_,
               {},
               {},
               {},
               {},
               {},
               {},
               nullptr,
               nullptr,
               {},
               {}} {
    data_->name = name;
    data_->title = "from an NCCL topology";
    device_.assign(system.nodes().size(), DeviceId{none});
  }

  Fabric run() {
    gpus();
    cpus();
    for (int cpu : system_.of_type(NodeType::cpu)) below(cpu, -1);
    nvlinks();
    c2c();
    problems_.throw_if_any();
    return Fabric{data_};
  }

 private:
  static constexpr std::uint32_t none = ~0u;
  const nccl::Node& node(int i) const { return system_.nodes()[static_cast<std::size_t>(i)]; }
  const std::vector<nccl::Edge>& edges(int i) const { return system_.edges()[static_cast<std::size_t>(i)]; }
  DeviceId& device(int i) { return device_[static_cast<std::size_t>(i)]; }
  bool known(int i) { return device(i) != DeviceId{none}; }
  void assume(std::string text) {
    if (std::ranges::find(data_->assumptions, text) == data_->assumptions.end()) {
      data_->assumptions.push_back(std::move(text));
    }
  }

  int links_of(double bw, int cc) const {
    return std::max(1, static_cast<int>(std::lround(bw / nccl::nvlink_GBps(cc))));
  }

  void gpus() {
    auto nodes = system_.of_type(NodeType::gpu);
    std::ranges::stable_sort(nodes, {}, [&](int i) { return node(i).rank; });
    if (nodes.empty()) throw sim::InputError(data_->name + " has no GPU");
    if (static_cast<int>(nodes.size()) > max_gpus) {
      throw sim::InputError(
          fmt::format("{} has {} GPUs; one machine has at most {}", data_->name, nodes.size(), max_gpus));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto& n = node(nodes[i]);
      const auto* kind = &gpu_kinds.front();
      for (const auto& k : gpu_kinds) {
        if (k.cc <= n.cc) kind = &k;
      }
      const bool nvlink = std::ranges::any_of(edges(nodes[i]), [](const auto& e) { return e.type == EdgeType::nvl; });
      const std::string part_name{nvlink ? kind->with_nvlink : kind->without_nvlink};
      if (kind->cc != n.cc) assume(fmt::format("compute capability {} is modelled as {}", n.cc, part_name));
      assume(
          fmt::format("GPUs of compute capability {} {} NVLink are {}", n.cc, nvlink ? "with" : "without", part_name));
      const auto* part = parts_.gpu(part_name, Value{});
      if (!part) problems_.throw_if_any();
      kind_ = kind;
      auto model = part->model;
      model.compute_capability = n.cc;
      const auto same = std::ranges::find_if(data_->gpu_models, [&](const auto& m) {
        return m.name == model.name && m.compute_capability == model.compute_capability;
      });
      const auto index = static_cast<int>(same - data_->gpu_models.begin());
      if (same == data_->gpu_models.end()) data_->gpu_models.push_back(model);
      device(nodes[i]) = build_.add(DeviceKind::gpu, static_cast<int>(i), part->model.name, 0);
      data_->device_extra.back().gpu_model = index;
      data_->devices.back().attributes = {{"gdr", n.gdr ? "1" : "0"}, {"pci_device", part->pci_device}};
      data_->gpus.push_back(device(nodes[i]));
      data_->pcie_p2p = data_->pcie_p2p && part->pcie_p2p;
    }
  }

  void cpus() {
    const auto nodes = system_.of_type(NodeType::cpu);
    const CpuKind* kind = nullptr;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto& n = node(nodes[i]);
      const CpuKind* best = nullptr;
      for (const auto& k : cpu_kinds) {
        if (k.arch == n.arch && (k.vendor.empty() || k.vendor == n.vendor) && k.from_model <= n.model) best = &k;
      }
      if (!best) {
        best = &cpu_kinds[2];
        assume(fmt::format("CPU {} {} is modelled as {}", n.arch, n.vendor, best->part));
      }
      kind = best;
      const auto* part = parts_.cpu(std::string{best->part}, Value{});
      if (!part) problems_.throw_if_any();
      assume(fmt::format("CPUs are {}", best->part));
      device(nodes[i]) = build_.add(DeviceKind::cpu, static_cast<int>(i), part->name, static_cast<int>(n.id & 0xff));
      auto& extra = data_->device_extra.back();
      extra.transit = part->latency;
      extra.p2p_overhead = part->p2p_overhead;
      extra.p2p_socket_overhead = part->p2p_socket_overhead;
      data_->devices.back().attributes = {{"arch", n.arch},
                                          {"vendor", n.vendor},
                                          {"family", std::to_string(n.family)},
                                          {"model", std::to_string(n.model)},
                                          {"socket", std::to_string(i)}};
      LinkPart memory;
      memory.model.name = "memory of " + part->name;
      memory.model.kind = models::LinkKind::memory;
      memory.model.rate = part->memory;
      memory.model.latency = part->memory_latency;
      const auto bank =
          build_.add(DeviceKind::memory, static_cast<int>(i), memory.model.name, static_cast<int>(n.id & 0xff));
      build_.connect(device(nodes[i]), bank, memory, 1);
    }
    if (!kind) return;
    if (const auto* host = parts_.host(std::string{kind->host}, Value{})) {
      data_->host = host->model;
      data_->host_name = host->name;
    }
    const auto* wire = parts_.link(std::string{kind->link}, Value{});
    for (std::size_t i = 0; wire && i < nodes.size(); ++i) {
      for (std::size_t j = i + 1; j < nodes.size(); ++j) build_.connect(device(nodes[i]), device(nodes[j]), *wire, 1);
    }
    if (nodes.size() > 1) assume(fmt::format("every CPU is joined to every other by {}", kind->link));
  }

  /// NCCL keeps only the product of lanes and speed: x16 of the generation that gives it, else fewer lanes.
  void pci_link(DeviceId parent, DeviceId child, double bw) {
    constexpr std::array<double, 4> x16{12, 24, 48, 96};  // generations 3 to 6
    std::size_t generation = 0;
    while (generation + 1 < x16.size() && x16[generation] < bw - 1e-6) ++generation;
    const int lanes = std::clamp(static_cast<int>(std::lround(bw / x16[generation] * 16)), 1, 16);
    const auto name = fmt::format("pcie-gen{}", generation + 3);
    assume(fmt::format("a PCIe link of {:g} GB/s in NCCL's terms is {} with {} lanes", bw, name, lanes));
    if (const auto* part = parts_.link(name, Value{})) build_.connect(parent, child, *part, lanes);
  }

  void below(int at, int parent) {
    for (const auto& e : edges(at)) {
      if (e.type != EdgeType::pci || e.to == parent) continue;
      const auto& n = node(e.to);
      if (n.type == NodeType::gpu) {
        data_->devices[static_cast<std::size_t>(device(e.to))].numa = data_->device(device(at)).numa;
        pci_link(device(at), device(e.to), e.bw_GBps);
      } else if (n.type == NodeType::nic && !known(e.to)) {
        nic(e.to, data_->device(device(at)).numa);
        pci_link(device(at), device(e.to), std::min(e.bw_GBps, 96.0));
      } else if (n.type == NodeType::pci && !known(e.to)) {
        const auto* part = parts_.switch_chip("pex89144", Value{});
        if (!part) problems_.throw_if_any();
        assume(fmt::format("PCIe bridges are {}", part->name));
        device(e.to) = build_.add(DeviceKind::pcie_switch, switches_++, part->name, data_->device(device(at)).numa);
        data_->device_extra.back().transit = part->latency;
        data_->devices.back().attributes = {{"pci_vendor", fmt::format("0x{:04x}", n.pci_device >> 48)},
                                            {"pci_device", fmt::format("0x{:04x}", (n.pci_device >> 32) & 0xffff)}};
        pci_link(device(at), device(e.to), e.bw_GBps);
        below(e.to, at);
      }
    }
  }

  void nic(int at, int numa) {
    double gbps = 0;
    int ports = 0, index = -1;
    for (const auto& e : edges(at)) {
      if (e.type != EdgeType::net) continue;
      gbps += e.bw_GBps * 8;
      if (ports++ == 0) index = node(e.to).dev;
    }
    if (ports > 1) assume(fmt::format("a NIC with {} ports counts as one of their total rate", ports));
    if (index < 0 || !nics_.insert(index).second) {  // a card without a port, or a number that is taken
      index = nics_.empty() ? 0 : *nics_.rbegin() + 1;
      nics_.insert(index);
    }
    device(at) = build_.add(DeviceKind::nic, index, "nic", numa);
    data_->devices.back().attributes = {{"gbps", fmt::format("{}", gbps)}};
  }

  void nvlinks() {
    const auto* link = parts_.link(std::string{kind_->nvlink}, Value{});
    if (!link) return;
    const auto gpus = system_.of_type(NodeType::gpu);
    std::map<int, int> to_switch;  // GPU node -> links
    for (int g : gpus) {
      for (const auto& e : edges(g)) {
        if (e.type != EdgeType::nvl) continue;
        const int n = links_of(e.bw_GBps, node(g).cc);
        if (node(e.to).type == NodeType::nvs) to_switch[g] = n;
        if (node(e.to).type == NodeType::gpu && g < e.to) build_.connect(device(g), device(e.to), *link, n);
        if (node(e.to).type == NodeType::cpu) assume("NVLinks between a GPU and a POWER CPU are left out");
      }
    }
    if (to_switch.empty()) return;
    int most = 0;
    for (const auto& [g, n] : to_switch) most = std::max(most, n);
    const auto shares = wiring(most, static_cast<int>(to_switch.size()));
    assume(fmt::format("{} NVLinks of each GPU go to {} NVSwitches ({})", most, shares.size(), fmt::join(shares, "-")));
    const auto* chip = parts_.switch_chip(std::string{kind_->nvswitch}, Value{});
    if (!chip) return;
    std::vector<DeviceId> chips;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      chips.push_back(build_.add(DeviceKind::nvswitch, static_cast<int>(k), chip->name, 0));
      data_->device_extra.back().transit = chip->latency;
      data_->device_extra.back().multicast = chip->multicast;
    }
    for (const auto& [g, n] : to_switch) {
      int left = n;
      for (std::size_t k = 0; k < shares.size() && left > 0; ++k) {
        const int width = n == most ? shares[k] : std::min(left, std::max(1, shares[k] * n / most));
        build_.connect(device(g), chips[k], *link, width);
        left -= width;
      }
      if (n != most) assume(fmt::format("{} has {} NVLinks where others have {}", build_.name(device(g)), n, most));
    }
  }

  /// Links of a GPU to each chip, as machines of that kind are wired.
  std::vector<int> wiring(int links, int gpus) const {
    if (kind_->cc >= 100 && links == 18) return gpus > 8 ? std::vector<int>(18, 1) : std::vector<int>{9, 9};
    if (kind_->cc == 90 && links == 18) return {4, 5, 5, 4};
    if (kind_->cc == 90 && links == 8) return {2, 2, 2, 2};
    if (kind_->cc == 80 && links == 12) return std::vector<int>(6, 2);
    if (kind_->cc < 80) return std::vector<int>(static_cast<std::size_t>(links), 1);
    return {links};
  }

  void c2c() {
    const auto* link = parts_.link("c2c-gh200", Value{});
    for (int g : system_.of_type(NodeType::gpu)) {
      for (const auto& e : edges(g)) {
        if (e.type != EdgeType::c2c || node(e.to).type != NodeType::cpu || !link) continue;
        const auto id = build_.connect(device(g), device(e.to), *link, 1);
        auto& l = data_->links[static_cast<std::size_t>(id)];
        const auto bare = sim::Rate::from_GBps(e.bw_GBps);
        l.payload =
            bare * (static_cast<double>(l.payload.bytes_per_second()) / static_cast<double>(l.bare.bytes_per_second()));
        l.bare = bare;
      }
    }
  }

  const nccl::System& system_;
  Problems problems_;
  std::shared_ptr<Fabric::Data> data_ = std::make_shared<Fabric::Data>();
  Parts parts_;
  NodeBuild build_;
  std::vector<DeviceId> device_;
  const GpuKind* kind_ = nullptr;
  int switches_ = 0;
  std::set<int> nics_;
};

}  // namespace

Fabric fabric_from_nccl(const nccl::System& system, const std::string& name) { return Importer{system, name}.run(); }

}  // namespace linkcast::topologies
