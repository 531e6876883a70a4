// See nccl_import.hpp. NCCL's view has no switch chips, no latencies and no names of parts: these are chosen by the
// GPU's compute capability, the CPU's vendor, PCI ids and the PCIe bandwidth, or taken from a machine of the catalog
// that the file is of, and every choice is written down.
#include "linkcast/topologies/nccl_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "build.hpp"
#include "nccl_import_facts.hpp"

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
  int from;  // model; AMD: family * 256 + model
  std::string_view part, link, host;
};
constexpr std::array cpu_kinds{
    CpuKind{"GenuineIntel", "x86_64", 0, "xeon-e5v4", "upi-skl", "xeon"},
    CpuKind{"GenuineIntel", "x86_64", 0x55, "xeon-skl", "upi-skl", "xeon"},
    CpuKind{"GenuineIntel", "x86_64", 0x8F, "xeon-spr", "upi-spr", "xeon"},
    CpuKind{"GenuineIntel", "x86_64", 0xCF, "xeon-emr", "upi-spr", "xeon"},
    CpuKind{"AuthenticAMD", "x86_64", 0, "epyc-rome", "xgmi2", "epyc"},
    CpuKind{"AuthenticAMD", "x86_64", 0x1900, "epyc-milan", "xgmi2", "epyc"},
    CpuKind{"AuthenticAMD", "x86_64", 0x1910, "epyc-genoa", "xgmi2", "epyc"},
    CpuKind{"", "arm64", 0, "grace", "nvlink-c2c-grace", "grace"},
};

/// AMD numbers its models within a family, and NCCL writes base and extended family side by side (25 is 0xAF).
int order(const nccl::Node& cpu) {
  if (cpu.vendor != "AuthenticAMD") return cpu.model;
  const int family = cpu.family > 0x0f && (cpu.family & 0x0f) == 0x0f ? 0x0f + (cpu.family >> 4) : cpu.family;
  return family * 256 + cpu.model;
}

class Importer {
 public:
  Importer(const nccl::System& system, const std::string& name, const Fabric* like, XmlFacts facts,
           const Profile* profile)
      : system_{system},
        like_{like},
        facts_{std::move(facts)},
        parts_{ReadContext{&problems_, &data_->numbers, profile}, nullptr},
        build_{ReadContext{&problems_, &data_->numbers, profile}, parts_, *data_} {
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

  int host(int i) const { return static_cast<int>(node(i).id >> 56); }
  /// What the XML says of a device besides its bandwidth; all empty without XML.
  PciFacts said(int i) const {
    const auto& name = node(i).name;
    const auto it = facts_.pci.find({host(i), name.substr(name.find(' ') + 1)});
    return it == facts_.pci.end() ? PciFacts{} : it->second;
  }
  std::vector<const Device*> like_devices(DeviceKind kind) const {
    std::vector<const Device*> out;
    if (!like_) return out;
    for (const auto& d : like_->devices())
      if (d.kind == kind) out.push_back(&d);
    return out;
  }
  /// The model of the first device of that kind in the machine that this one is like, else `otherwise`.
  std::string like_model(DeviceKind kind, std::string_view otherwise) const {
    const auto devices = like_devices(kind);
    return devices.empty() ? std::string{otherwise} : devices.front()->model;
  }
  std::string like_link(models::LinkKind kind, std::string_view otherwise) const {
    if (like_) {
      for (const auto& l : like_->links())
        if (l.kind == kind) return l.model;
    }
    return std::string{otherwise};
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
    const bool bridges = pairs_by_bridge(nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto& n = node(nodes[i]);
      const auto* kind = &gpu_kinds.front();
      for (const auto& k : gpu_kinds) {
        if (k.cc <= n.cc) kind = &k;
      }
      const bool nvlink = std::ranges::any_of(edges(nodes[i]), [](const auto& e) { return e.type == EdgeType::nvl; });
      const bool by_machine = like_ && like_->gpu_model(like_->gpus().front()).compute_capability == n.cc;
      const bool c2c = std::ranges::any_of(edges(nodes[i]), [](const auto& e) { return e.type == EdgeType::c2c; });
      std::string part_name{nvlink && !bridges ? kind->with_nvlink : kind->without_nvlink};
      if (c2c && kind->cc >= 90) part_name = kind->cc == 90 ? "gh200" : kind->cc < 103 ? "gb200" : "gb300";
      if (by_machine) part_name = like_model(DeviceKind::gpu, "");
      beside_grace_ = beside_grace_ || c2c;
      if (!by_machine) {
        if (kind->cc != n.cc) assume(fmt::format("compute capability {} is modelled as {}", n.cc, part_name));
        assume(fmt::format("GPUs of compute capability {} {} NVLink are {}", n.cc,
                           c2c       ? "with C2C and"
                           : bridges ? "with one peer by"
                           : nvlink  ? "with"
                                     : "without",
                           part_name));
      }
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
      data_->devices.back().node = host(nodes[i]);
      ports_ = part->nvlinks;
      data_->device_extra.back().gpu_model = index;
      data_->devices.back().attributes = {{"gdr", n.gdr ? "1" : "0"}, {"pci_device", part->pci_device}};
      if (!facts_.pci.empty()) data_->devices.back().attributes["busid"] = n.name.substr(n.name.find(' ') + 1);
      data_->gpus.push_back(device(nodes[i]));
      data_->pcie_p2p = data_->pcie_p2p && part->pcie_p2p;
    }
  }

  /// Whether NVLinks only join pairs of GPUs: PCIe cards with bridges. (Hopper's and later cards are not in the
  /// catalog.)
  bool pairs_by_bridge(const std::vector<int>& gpus) const {
    bool any = false;
    for (const int g : gpus) {
      std::set<int> peers;
      for (const auto& e : edges(g))
        if (e.type == EdgeType::nvl) peers.insert(e.to);
      if (peers.size() > 1 || node(g).cc != 80) return false;
      for (const int p : peers) {
        if (node(p).type != NodeType::gpu) return false;
        any = true;
      }
    }
    return any;
  }

  void cpus() {
    const auto nodes = system_.of_type(NodeType::cpu);
    const CpuKind* kind = nullptr;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto& n = node(nodes[i]);
      const CpuKind* best = nullptr;
      for (const auto& k : cpu_kinds) {
        if (k.arch == n.arch && (k.vendor.empty() || k.vendor == n.vendor) && k.from <= order(n)) best = &k;
      }
      if (!best) {
        best = &cpu_kinds[2];
        assume(fmt::format("CPU {} {} is modelled as {}", n.arch, n.vendor, best->part));
      }
      kind = best;
      const auto* part = parts_.cpu(like_model(DeviceKind::cpu, best->part), Value{});
      if (!part) problems_.throw_if_any();
      assume(fmt::format("CPUs are {}", part->name));
      device(nodes[i]) = build_.add(DeviceKind::cpu, static_cast<int>(i), part->name, static_cast<int>(n.id & 0xff));
      data_->devices.back().node = host(nodes[i]);
      auto& extra = data_->device_extra.back();
      extra.transit = part->latency;
      extra.p2p_overhead = part->p2p_overhead;
      extra.p2p_socket_overhead = part->p2p_socket_overhead;
      extra.nic_overhead = part->nic_overhead;
      data_->devices.back().attributes = {{"arch", n.arch},
                                          {"vendor", n.vendor},
                                          {"family", std::to_string(n.family)},
                                          {"model", std::to_string(n.model)},
                                          {"socket", socket(i, nodes.size())}};
      LinkPart memory;
      memory.model.name = "memory of " + part->name;
      memory.model.kind = models::LinkKind::memory;
      memory.model.rate = part->memory;
      memory.model.latency = part->memory_latency;
      const auto bank =
          build_.add(DeviceKind::memory, static_cast<int>(i), memory.model.name, static_cast<int>(n.id & 0xff));
      data_->devices.back().node = host(nodes[i]);
      build_.connect(device(nodes[i]), bank, memory, 1);
    }
    if (!kind) return;
    const auto host_part = like_ ? like_->data().host_name : std::string{kind->host};
    if (const auto* part = parts_.host(host_part, Value{})) {
      data_->host = part->model;
      data_->host_name = part->name;
    }
    std::set<std::string> used;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t j = i + 1; j < nodes.size(); ++j) {
        if (host(nodes[i]) != host(nodes[j])) continue;
        const auto name = socket_link(i, j, nodes.size(), kind->link);
        if (const auto* wire = parts_.link(name, Value{})) {
          build_.connect(device(nodes[i]), device(nodes[j]), *wire, 1);
          used.insert(name);
        }
      }
    }
    if (!used.empty()) assume(fmt::format("every CPU is joined to every other by {}", fmt::join(used, " and ")));
  }

  /// CPU i of the machine that this one is like, where it has as many.
  const Device* like_cpu(std::size_t i, std::size_t count) const {
    const auto cpus = like_devices(DeviceKind::cpu);
    return cpus.size() == count ? cpus[i] : nullptr;
  }
  std::string socket(std::size_t i, std::size_t count) const {
    const auto* cpu = like_cpu(i, count);
    return cpu ? cpu->attributes.at("socket") : std::to_string(i);
  }
  std::string socket_link(std::size_t i, std::size_t j, std::size_t count, std::string_view otherwise) const {
    const auto *a = like_cpu(i, count), *b = like_cpu(j, count);
    if (a && b) {
      for (const auto& l : like_->links()) {
        const auto &x = like_->data().device(l.a), &y = like_->data().device(l.b);
        if (l.kind == models::LinkKind::inter_socket && ((&x == a && &y == b) || (&x == b && &y == a))) return l.model;
      }
    }
    return std::string{otherwise};
  }

  /// The generation and the lanes that the file names; without them NCCL keeps only their product: x16 of the
  /// generation that gives it, else fewer lanes.
  void pci_link(DeviceId parent, DeviceId child, double bw, const PciFacts& said) {
    constexpr std::array<double, 4> x16{12, 24, 48, 96};  // generations 3 to 6
    std::size_t generation = 0;
    int lanes = said.width > 0 ? std::min(said.width, 16) : 16;
    if (said.generation >= 3 && said.width > 0) {
      generation = static_cast<std::size_t>(std::min(said.generation, 6) - 3);
    } else {
      while (generation + 1 < x16.size() && x16[generation] < bw - 1e-6) ++generation;
      lanes = std::clamp(static_cast<int>(std::lround(bw / x16[generation] * 16)), 1, 16);
    }
    const auto name = fmt::format("pcie-gen{}", generation + 3);
    if (said.generation == 0 || said.width == 0)
      assume(fmt::format("a PCIe link of {:g} GB/s in NCCL's terms is {} with {} lanes", bw, name, lanes));
    if (const auto* part = parts_.link(name, Value{})) build_.connect(parent, child, *part, lanes);
  }

  /// A NIC that the file hangs straight into a CPU: nobody knows its slot.
  void no_pci_link(DeviceId parent, DeviceId nic, double gbps) {
    auto name = like_link(models::LinkKind::pcie, "");
    if (name.empty())
      name = gbps <= 100 ? "pcie-gen3" : gbps <= 200 ? "pcie-gen4" : gbps <= 400 ? "pcie-gen5" : "pcie-gen6";
    assume(fmt::format("{} has no PCIe link in the file: taken as {} with 16 lanes{}", build_.name(nic), name,
                       like_ ? "" : ", the oldest that carries its rate"));
    if (const auto* part = parts_.link(name, Value{})) build_.connect(parent, nic, *part, 16);
  }

  /// No card is faster than its kind; files that are written by hand say so sometimes.
  static int card_generation(int cc) { return cc < 80 ? 3 : cc < 90 ? 4 : cc < 100 ? 5 : 6; }

  /// A switch chip of the uplink's generation.
  std::string switch_part(double bw, const PciFacts& said) const {
    if (like_ && !like_devices(DeviceKind::pcie_switch).empty()) return like_model(DeviceKind::pcie_switch, "");
    const int generation = said.generation > 0 ? said.generation : bw <= 12 ? 3 : bw <= 24 ? 4 : bw <= 48 ? 5 : 6;
    return generation <= 3 ? "pex8796" : generation == 4 ? "pex88096" : generation == 5 ? "pex89144" : "cx8-switch";
  }

  void below(int at, int parent) {
    for (const auto& e : edges(at)) {
      if (e.type != EdgeType::pci || e.to == parent) continue;
      const auto& n = node(e.to);
      if (n.type == NodeType::gpu) {
        data_->devices[static_cast<std::size_t>(device(e.to))].numa = data_->device(device(at)).numa;
        auto facts = said(e.to);
        const int most = card_generation(n.cc);
        if (facts.generation > most) {
          assume(fmt::format("the file gives GPUs PCIe gen {}, but a {} has gen {}", facts.generation,
                             data_->device(device(e.to)).model, most));
          facts.generation = most;
          if (facts.width == 0) facts.width = 16;
        }
        pci_link(device(at), device(e.to), e.bw_GBps, facts);
      } else if (n.type == NodeType::nic && !known(e.to)) {
        const double gbps = nic(e.to, data_->device(device(at)).numa);
        if (e.bw_GBps < 1000)
          pci_link(device(at), device(e.to), e.bw_GBps, said(e.to));
        else
          no_pci_link(device(at), device(e.to), gbps);
      } else if (n.type == NodeType::pci && !known(e.to)) {
        const auto* part = parts_.switch_chip(switch_part(e.bw_GBps, said(e.to)), Value{});
        if (!part) problems_.throw_if_any();
        assume(fmt::format("PCIe bridges are {}", part->name));
        device(e.to) = build_.add(DeviceKind::pcie_switch, switches_++, part->name, data_->device(device(at)).numa);
        data_->devices.back().node = host(e.to);
        data_->device_extra.back().transit = part->latency;
        data_->devices.back().attributes = {{"pci_vendor", fmt::format("0x{:04x}", n.pci_device >> 48)},
                                            {"pci_device", fmt::format("0x{:04x}", (n.pci_device >> 32) & 0xffff)}};
        pci_link(device(at), device(e.to), e.bw_GBps, said(e.to));
        below(e.to, at);
      }
    }
  }

  /// Its rate in Gb/s.
  double nic(int at, int numa) {
    double gbps = 0;
    int ports = 0, index = -1;
    bool gdr = false;
    std::string names;
    for (const auto& e : edges(at)) {
      if (e.type != EdgeType::net) continue;
      const auto& net = node(e.to);
      gbps += e.bw_GBps * 8;
      gdr = gdr || net.gdr;
      // NCCL names ports that it fused "a+b", with their rates together.
      const int fused = 1 + static_cast<int>(std::ranges::count(net.name, '+'));
      if (fused > 1) assume(fmt::format("{} is {} ports that NCCL fused into one", net.name, fused));
      ports += fused;
      names += (names.empty() ? "" : "+") + net.name;
      if (index < 0) index = net.dev;
    }
    if (ports > 1) assume(fmt::format("a NIC with {} ports counts as one of their total rate", ports));
    if (ports > 0 && !gdr) assume(fmt::format("{}: NCCL saw no GPUDirect RDMA, data pass through host memory", names));
    if (index < 0 || !nics_.insert(index).second) {  // a card without a port, or a number that is taken
      index = nics_.empty() ? 0 : *nics_.rbegin() + 1;
      nics_.insert(index);
    }
    const auto pci = said(at);
    const auto model = like_model(DeviceKind::nic, nic_part(pci));
    device(at) = build_.add(DeviceKind::nic, index, model.empty() ? "nic" : model, numa);
    auto& d = data_->devices.back();
    d.node = host(at);
    d.attributes = {{"gbps", fmt::format("{}", gbps)}};
    if (!names.empty()) d.attributes["name"] = names;
    if (ports > 0 && !gdr) d.attributes["gdr"] = "0";
    if (!pci.bus.empty()) d.attributes["busid"] = pci.bus;
    const NicPart* part = model.empty() ? nullptr : parts_.nic(model, Value{});
    if (part) {
      if (!part->fabric.empty()) {
        d.attributes["fabric"] = part->fabric;
        if (!like_) assume(fmt::format("{}, a {} by its PCI ids, is on {}", names, model, part->fabric));
      }
      d.attributes["pci_class"] = pci.pci_class.empty() ? part->pci_class : pci.pci_class;
      d.attributes["pci_vendor"] = part->pci_vendor;
      d.attributes["pci_device"] = part->pci_device;
    }
    if (const auto known = like_devices(DeviceKind::nic); !known.empty()) {
      const auto& attributes = known.front()->attributes;
      if (const auto it = attributes.find("ports"); it != attributes.end() && ports == 1) ports = std::stoi(it->second);
      if (const auto it = attributes.find("fabric"); it != attributes.end()) d.attributes["fabric"] = it->second;
    }
    if (ports > 1) d.attributes["ports"] = std::to_string(ports);
    if (!d.attributes.contains("fabric") && pci.pci_class != "0x020700") network_of(d, names, pci);
    return gbps;
  }

  /// Of a card without a part: Linux's names of Ethernet devices mean NCCL's socket transport; a verbs device that is
  /// no InfiniBand controller (PCI class 0x0207) is on Ethernet.
  void network_of(Device& d, const std::string& names, const PciFacts& pci) {
    const bool sockets = names.starts_with("eth") || names.starts_with("en");
    if (!sockets && !pci.pci_class.starts_with("0x0200")) return;
    d.attributes["fabric"] = sockets ? "tcp" : "roce";
    assume(fmt::format("{} is on {}, by its {}", names.empty() ? d.name : names, d.attributes["fabric"],
                       sockets ? "name" : "PCI class"));
  }

  /// The part with these PCI ids, or nothing.
  std::string nic_part(const PciFacts& pci) {
    if (pci.device.empty()) return {};
    for (const auto& name : catalog_part_names("nics")) {
      const auto* part = parts_.nic(name, Value{});
      if (part && part->pci_vendor == pci.vendor && part->pci_device == pci.device) return name;
    }
    return {};
  }

  void nvlinks() {
    const auto* link = parts_.link(like_link(models::LinkKind::nvlink, kind_->nvlink), Value{});
    if (!link) return;
    const auto gpus = system_.of_type(NodeType::gpu);
    std::map<int, int> to_switch, all;  // GPU node -> links
    for (int g : gpus) {
      for (const auto& e : edges(g)) {
        if (e.type != EdgeType::nvl) continue;
        const int n = links_of(e.bw_GBps, node(g).cc);
        all[g] += n;
        if (e.to == g) assume(fmt::format("NVLinks of {} to itself are left out", build_.name(device(g))));
        if (node(e.to).type == NodeType::nvs) to_switch[g] = n;
        if (node(e.to).type == NodeType::gpu && g < e.to) build_.connect(device(g), device(e.to), *link, n);
        if (node(e.to).type == NodeType::cpu) assume("NVLinks between a GPU and a POWER CPU are left out");
      }
    }
    missing_links(gpus, all);
    if (to_switch.empty()) return;
    int most = 0;
    for (const auto& [g, n] : to_switch) most = std::max(most, n);
    const auto shares = wiring(most, static_cast<int>(to_switch.size()));
    assume(fmt::format("{} NVLinks of each GPU go to {} NVSwitches ({})", most, shares.size(), fmt::join(shares, "-")));
    const auto* chip = parts_.switch_chip(like_model(DeviceKind::nvswitch, kind_->nvswitch), Value{});
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
    }
  }

  /// Says where a GPU has fewer NVLinks than its likes, or all have fewer than the part.
  void missing_links(const std::vector<int>& gpus, const std::map<int, int>& all) {
    int most = 0;
    for (const auto& [g, n] : all) most = std::max(most, n);
    if (most == 0) return;
    for (const int g : gpus) {
      const auto it = all.find(g);
      const int n = it == all.end() ? 0 : it->second;
      if (n != most) assume(fmt::format("{} has {} NVLinks where others have {}", build_.name(device(g)), n, most));
    }
    if (most < ports_)
      assume(fmt::format("of the {} NVLinks of a {} the file has {}", ports_, data_->gpu_models.front().name, most));
  }

  /// Links of a GPU to each chip, as machines of that kind are wired.
  std::vector<int> wiring(int links, int gpus) const {
    if (like_) {
      std::vector<int> widths;
      for (const auto& l : like_->links())
        if (l.kind == models::LinkKind::nvlink && l.a == like_->gpus().front()) widths.push_back(l.width);
      int sum = 0;
      for (const int w : widths) sum += w;
      if (sum == links) return widths;
    }
    if (kind_->cc >= 100 && links == 18)
      return gpus > 8 || beside_grace_ ? std::vector<int>(18, 1) : std::vector<int>{9, 9};
    if (kind_->cc == 90 && links == 18) return {4, 5, 5, 4};
    if (kind_->cc == 90 && links == 8) return {2, 2, 2, 2};
    if (kind_->cc == 80 && links == 12) return std::vector<int>(6, 2);
    if (kind_->cc < 80) return std::vector<int>(static_cast<std::size_t>(links), 1);
    return {links};
  }

  void c2c() {
    const auto* link = parts_.link(kind_->cc >= 100 ? "c2c-gb200" : "c2c-gh200", Value{});
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
  const Fabric* like_;  // a machine of the catalog, or nothing
  XmlFacts facts_;
  Problems problems_;
  std::shared_ptr<Fabric::Data> data_ = std::make_shared<Fabric::Data>();
  Parts parts_;
  NodeBuild build_;
  std::vector<DeviceId> device_;
  const GpuKind* kind_ = nullptr;
  int switches_ = 0;
  bool beside_grace_ = false;  // GPUs on NVLink-C2C: a part of a rack
  int ports_ = 0;              // NVLinks of the GPU part
  std::set<int> nics_;
};

}  // namespace

Fabric fabric_from_nccl(const nccl::System& system, const std::string& name) {
  return Importer{system, name, nullptr, {}, nullptr}.run();
}

Fabric fabric_from_nccl_xml(std::string_view text, const std::string& where, const std::string& name,
                            const NcclImportOptions& options) {
  const auto completed = complete_nccl_xml(text, where, options);
  const auto system = nccl::read_topology_xml(completed.text, where);
  auto facts = facts_of_xml(completed.text);
  std::vector<std::string> notes = completed.notes;
  notes.insert(notes.end(), facts.notes.begin(), facts.notes.end());
  std::optional<Fabric> like;
  if (!completed.machine.empty()) like = load(completed.machine, {1, {}, options.profile});
  const auto fabric = Importer{system, name, like ? &*like : nullptr, std::move(facts), options.profile.get()}.run();
  auto data = std::make_shared<Fabric::Data>(fabric.data());
  data->cache = std::make_shared<Fabric::Data::RouteCache>();
  data->assumptions.insert(data->assumptions.begin(), notes.begin(), notes.end());
  return Fabric{std::move(data)};
}

}  // namespace linkcast::topologies
