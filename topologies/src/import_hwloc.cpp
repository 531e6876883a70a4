// hwloc's XML to a machine: PCIe trees with the speeds of their links, NUMA domains, NVLinks where the file has their
// bandwidths; parts of the catalog by PCI ids and CPUID. Knows hwloc's file as import_hwloc_tree.hpp reads it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "import_hwloc_tree.hpp"
#include "import_nvlink.hpp"
#include "import_parts.hpp"
#include "import_profile.hpp"
#include "parts.hpp"

namespace linkcast::topologies {
namespace {

std::string hex(int id) { return fmt::format("0x{:04x}", id); }

/// Bridges that exist only in a virtual machine's description: Amazon, QEMU, virtio, VMware, Microsoft. The link speeds
/// that they report are made up.
bool made_up(int vendor) {
  return vendor == 0x1d0f || vendor == 0x1b36 || vendor == 0x1af4 || vendor == 0x15ad || vendor == 0x1414;
}

class HwlocImporter {
 public:
  explicit HwlocImporter(const ImportInput& in)
      : in_{in}, h_{read_hwloc(in)}, parts_{ReadContext{&catalog_problems_}, nullptr} {}

  ImportedMachine run() {
    if (!in_.problems.empty()) return {};
    if (h_.gpus == 0) {
      in_.problems.add(in_.file, 1, 1, "no NVIDIA GPU among the PCI devices",
                       h_.other_gpus > 0
                           ? "GPUs of other makers are not modelled"
                           : "lstopo run on the machine itself lists them; inside a container it may not");
      return {};
    }
    read_bandwidths();
    count_nics();
    const auto profile = choose();
    if (!profile) return {};
    profile_ = &*profile;
    m_ = profile->parts;
    m_.nvlink.clear(), m_.nvswitch.clear(), m_.switch_links.clear(), m_.c2c.clear(), m_.mesh.clear();
    m_.boards = 1, m_.trunk_links = 0;
    m_.gpus = h_.gpus;
    m_.nics = static_cast<int>(h_.devices.size()) - h_.gpus;
    nics();
    cpus();
    nvlinks();
    if (!in_.problems.empty()) return {};
    trees();
    notes();
    auto out = machine_yaml(m_);
    out.title = h_.product.empty() ? fmt::format("{} x {}, from hwloc", m_.gpus, m_.gpu)
                                   : fmt::format("{}, from hwloc", plain(h_.product));
    for (std::size_t i = static_cast<std::size_t>(h_.gpus); i < h_.devices.size(); ++i)
      out.nic_names.push_back(h_.devices[i].name);
    if (std::ranges::any_of(out.nic_names, [](const auto& n) { return n.empty(); })) out.nic_names.clear();
    return out;
  }

 private:
  static std::string plain(std::string text) {
    std::ranges::replace(text, '"', '\'');
    std::ranges::replace(text, '\\', '/');
    return text;
  }
  const HwlocDevice& device(int i) const { return h_.devices[static_cast<std::size_t>(i)]; }

  /// One NVLink of these GPUs, in MB/s as hwloc tells it; 0 before the parts are chosen.
  double link_rate(const std::string& nvlink) {
    const auto* part = nvlink.empty() ? nullptr : parts_.link(nvlink, Value{});
    return part ? static_cast<double>(part->model.rate.bytes_per_second()) / 1e6 : 25000.0;
  }
  static int links_of(double bandwidth, double one) {
    return bandwidth <= 0 ? 0 : std::clamp(static_cast<int>(std::lround(bandwidth / one)), 1, 64);
  }

  void read_bandwidths() {
    const auto n = static_cast<std::size_t>(h_.gpus);
    if (!h_.has_bandwidths) return;
    totals_.assign(n, 0);
    for (std::size_t g = 0; g < n; ++g)
      totals_[g] = std::accumulate(h_.to_switch[g].begin(), h_.to_switch[g].end(), 0.0);
    switched_ = std::ranges::any_of(totals_, [](double t) { return t > 0; });
  }

  /// As nvidia-smi would count them, if one link has that rate.
  PairLinks pair_links(double one) const {
    const auto n = static_cast<std::size_t>(h_.gpus);
    PairLinks links(n, std::vector<int>(n, 0));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (i == j) continue;
        links[i][j] = switched_ ? links_of(std::min(totals_[i], totals_[j]), one) : links_of(h_.pairs[i][j], one);
      }
    }
    return links;
  }

  std::optional<MachineProfile> choose() {
    const auto& first = device(0);
    Wanted w;
    w.gpus = h_.gpus;
    w.nics = static_cast<int>(h_.devices.size()) - h_.gpus;
    w.nic = nic_;
    w.line = first.line;
    w.column = first.column;
    w.gpu_words = first.product.empty() ? fmt::format("PCI device 10de:{:04x}", first.device) : first.product;
    if (!first.product.empty()) w.gpu = gpu_part_of(first.product);
    if (!w.gpu) w.gpu = by_pci_id(first);
    for (int g = 1; g < h_.gpus; ++g) {
      if (device(g).device == first.device) continue;
      in_.problems.add(in_.file, device(g).line, device(g).column,
                       fmt::format("GPU {:04x}, but the first is {:04x}", device(g).device, first.device),
                       "one machine has GPUs of one kind");
      return std::nullopt;
    }
    if (h_.has_bandwidths) w.links = pair_links(25000);
    return choose_profile(in_, w);
  }

  std::optional<std::string> by_pci_id(const HwlocDevice& d) {
    for (const auto& name : catalog_part_names("gpus")) {
      const auto* part = parts_.gpu(name, Value{});
      if (part && part->pci_device == hex(d.device)) return name;
    }
    return std::nullopt;
  }

  /// NICs by kind, as far as the catalog knows their PCI ids ("" for the others).
  void count_nics() {
    for (std::size_t i = static_cast<std::size_t>(h_.gpus); i < h_.devices.size(); ++i) {
      std::string found;
      for (const auto& name : catalog_part_names("nics")) {
        const auto* part = parts_.nic(name, Value{});
        if (part && part->pci_vendor == hex(h_.devices[i].vendor) && part->pci_device == hex(h_.devices[i].device))
          found = name;
      }
      ++nic_kinds_[found];
    }
    int most = 0;
    for (const auto& [name, n] : nic_kinds_) {
      if (n > most) nic_ = name, most = n;
    }
  }

  void nics() {
    if (m_.nics == 0) return;
    if (nic_.empty() && !in_.options.nic && !in_.options.machine) {
      const auto& d = h_.devices[static_cast<std::size_t>(h_.gpus)];
      in_.problems.add(in_.file, d.line, d.column,
                       fmt::format("the catalog has no NIC {:04x}:{:04x}", d.vendor, d.device),
                       fmt::format("--nic names the part to take: {}", fmt::join(catalog_part_names("nics"), ", ")));
      return;
    }
    if (in_.options.nic || nic_.empty()) return choose_nic(in_, *profile_, m_);
    if (in_.options.network) m_.fabric = *in_.options.network;
    m_.nic = nic_;
    m_.nic_rate.clear();
    in_.notes.know(fmt::format("NICs: {} by their PCI ids", m_.nic));
    if (const auto* part = parts_.nic(m_.nic, Value{}))
      in_.notes.assume(fmt::format("every NIC runs at the {:g} Gb/s of {}: the file has no port rates",
                                   static_cast<double>(part->rate.bytes_per_second()) * 8e-9, m_.nic));
    if (const int others = m_.nics - nic_kinds_[nic_]; others > 0)
      in_.notes.assume(fmt::format("{} of {} NICs are of other kinds and count as {}", others, m_.nics, m_.nic));
  }

  void cpus() {
    std::string found;
    int nearest = -1;
    for (const auto& name : catalog_part_names("cpus")) {
      const auto* part = parts_.cpu(name, Value{});
      if (!part || h_.cpu_vendor.empty() || part->vendor != h_.cpu_vendor || part->family != h_.cpu_family ||
          part->model > h_.cpu_model || part->model <= nearest)
        continue;
      found = name;
      nearest = part->model;
    }
    if (found.empty() && h_.architecture == "aarch64") found = "grace";
    m_.numa.clear();
    std::map<int, int> per_package;
    for (const auto& d : h_.domains) {
      m_.numa.push_back(d.os_index);
      ++per_package[d.package];
    }
    const int first = per_package.begin()->second;
    m_.per_socket = std::ranges::all_of(per_package, [&](const auto& p) { return p.second == first; }) ? first : 1;
    in_.notes.know(fmt::format("{} NUMA domain{} on {} socket{}", m_.numa.size(), m_.numa.size() == 1 ? "" : "s",
                               per_package.size(), per_package.size() == 1 ? "" : "s"));
    if (found.empty()) {
      in_.notes.assume(
          fmt::format("CPUs are {}, as in {}: {}", m_.cpu, profile_->name,
                      h_.cpu_name.empty() ? "the file does not say" : "the catalog has no '" + h_.cpu_name + "'"));
    } else {
      m_.cpu = found;
      if (nearest >= 0 && nearest != h_.cpu_model)
        in_.notes.assume(
            fmt::format("CPUs '{}' (model {}) are {} (model {})", h_.cpu_name, h_.cpu_model, found, nearest));
      else
        in_.notes.know(fmt::format("CPUs: {}", found));
      const auto* part = parts_.cpu(found, Value{});
      const auto* usual = parts_.cpu(profile_->parts.cpu, Value{});
      if (part && (!usual || usual->vendor != part->vendor || profile_->parts.cpu_link.empty())) {
        const bool intel = part->vendor == "GenuineIntel", amd = part->vendor == "AuthenticAMD";
        m_.host = intel ? "xeon" : amd ? "epyc" : "grace";
        m_.cpu_link = intel ? (part->model < 0x8f ? "upi-skl" : "upi-spr") : amd ? "xgmi2" : "nvlink-c2c-grace";
      }
      if (part && part->vendor == "AuthenticAMD" && m_.per_socket == 4) {
        const auto names = catalog_part_names("cpus");
        if (std::ranges::find(names, found + "-nps4") != names.end()) m_.cpu = found + "-nps4";
      }
    }
    if (m_.cpu_link.empty()) m_.cpu_link = "upi-spr";
    if (m_.numa.size() > 1) in_.notes.assume(fmt::format("CPUs are joined by {}", m_.cpu_link));
    if (m_.per_socket > 1) {
      if (m_.die_link.empty()) m_.die_link = "if-die2";
      in_.notes.assume(fmt::format("NUMA domains of a socket are joined by {}", m_.die_link));
    }
    in_.notes.assume(fmt::format("what a launch costs is that of {}", m_.host));
  }

  void nvlinks() {
    const auto& p = profile_->parts;
    if (!h_.has_bandwidths) {
      if (p.gpus != m_.gpus && p.nvswitch.empty()) {
        if (!p.nvlink.empty()) in_.notes.lack("NVLinks: the file lists none and none are modelled");
        return;
      }
      if (p.nvlink.empty()) return;
      m_.nvlink = p.nvlink, m_.nvswitch = p.nvswitch, m_.switch_links = p.switch_links;
      m_.boards = p.gpus == m_.gpus ? p.boards : 1;
      m_.trunk_links = m_.boards > 1 ? p.trunk_links : 0;
      m_.mesh = p.mesh;
      in_.notes.assume(fmt::format("NVLinks are wired as in {}: the file lists none", profile_->name));
      return;
    }
    if (h_.to_cpus > 0) in_.notes.lack("NVLinks between GPUs and CPUs are in the file and not modelled");
    const double one = link_rate(p.nvlink);
    if (switched_ && boards(one)) return;
    const auto report = [&](int, int, std::string problem, std::string help) {
      in_.problems.add(in_.file, h_.bandwidths_line, 1, std::move(problem), std::move(help));
    };
    wire_nvlinks(in_, *profile_, pair_links(one), nvlink_ports(m_.gpu), report, m_);
  }

  /// Which GPUs reach which switches. False where that is no clean set of boards.
  bool boards(double one) {
    std::map<std::vector<bool>, std::vector<int>> sets;  // switches that a GPU reaches -> GPUs
    for (std::size_t g = 0; g < h_.to_switch.size(); ++g) {
      std::vector<bool> reached;
      for (double b : h_.to_switch[g]) reached.push_back(b > 0);
      sets[reached].push_back(static_cast<int>(g));
    }
    const auto n = sets.size();
    const auto per_board = static_cast<std::size_t>(h_.gpus) / n;
    std::size_t chips = 0;
    std::set<std::size_t> used;
    for (const auto& [reached, gpus] : sets) {
      std::size_t count = 0;
      for (std::size_t k = 0; k < reached.size(); ++k) count += reached[k] && used.insert(k).second ? 1 : 0;
      if (gpus.size() != per_board || (chips != 0 && count != chips) || count == 0) return false;
      if (gpus.back() - gpus.front() + 1 != static_cast<int>(per_board)) return false;  // GPUs of a board in a row
      chips = count;
    }
    std::vector<int> links;
    for (double b : h_.to_switch[0]) {
      if (b > 0) links.push_back(links_of(b, one));
    }
    for (std::size_t g = 0; g < h_.to_switch.size(); ++g) {
      std::vector<int> own;
      for (double b : h_.to_switch[g]) {
        if (b > 0) own.push_back(links_of(b, one));
      }
      if (own != links) return false;
    }
    const auto sum = std::accumulate(links.begin(), links.end(), 0);
    if (const int ports = nvlink_ports(m_.gpu); sum > ports) {
      in_.problems.add(in_.file, h_.bandwidths_line, 1,
                       fmt::format("{} NVLinks of a GPU, the part {} has {}", sum, m_.gpu, ports),
                       "are these other GPUs? --gpu names them");
      return true;
    }
    if (n > 1 && (profile_->parts.boards != static_cast<int>(n) || profile_->parts.trunk_links == 0)) return false;
    m_.nvlink = profile_->parts.nvlink;
    m_.nvswitch = profile_->parts.nvswitch;
    if (m_.nvlink.empty() || m_.nvswitch.empty()) return false;
    m_.switch_links = links;
    m_.boards = static_cast<int>(n);
    in_.notes.know(fmt::format("{} NVSwitches, {} links of each GPU to {}", chips * n, fmt::join(links, "-"),
                               n > 1 ? "those of its board" : "them"));
    if (n > 1) {
      m_.trunk_links = profile_->parts.trunk_links;
      in_.notes.assume(
          fmt::format("{} NVLinks between switches of the two boards, as in {}", m_.trunk_links, profile_->name));
    }
    return true;
  }

  /// The catalog's kind of PCIe link of that speed: x16 of the generation that gives it, else fewer lanes.
  PcieWire wire(double speed, const PcieWire& otherwise) {
    if (speed <= 0) return otherwise;
    PcieWire out = otherwise;
    for (int generation = 3; generation <= 6; ++generation) {
      const auto name = fmt::format("pcie-gen{}", generation);
      const auto* part = parts_.link(name, Value{});
      if (!part) continue;
      const double lane = static_cast<double>(part->model.rate.bytes_per_second()) / 1e9;
      out = {name, std::clamp(static_cast<int>(std::lround(speed / lane)), 1, 16)};
      if (lane * 16 >= speed * 0.98) break;
    }
    return out;
  }

  double speed_of(const PcieWire& w) {
    const auto* part = parts_.link(w.link, Value{});
    return part ? static_cast<double>(part->model.rate.bytes_per_second()) / 1e9 * w.lanes : 0;
  }

  PcieDevice hung(int i) {
    const auto& d = device(i);
    double speed = d.speed;
    // At rest a GPU runs its link at 2.5 or 5 GT/s, and that is what hwloc then reads.
    if (d.gpu && speed > 0 && speed < 8.1 && speed < speed_of(profile_->pcie) / 1.9) {
      in_.notes.assume(fmt::format("GPU links are {} x{}, as in {}: at rest they read {:g} GB/s", profile_->pcie.link,
                                   profile_->pcie.lanes, profile_->name, speed));
      speed = 0;
    }
    if (speed <= 0 && d.speed <= 0)
      in_.notes.assume(fmt::format("links without a speed are {} x{}, as in {}", profile_->pcie.link,
                                   profile_->pcie.lanes, profile_->name));
    return {d.gpu, d.gpu ? i : i - h_.gpus, wire(speed, profile_->pcie)};
  }

  PcieTree tree(const HwlocTree& t) {
    PcieTree out;
    out.chip = t.chip;
    for (int i : t.devices) out.devices.push_back(hung(i));
    for (const auto& b : t.below) out.below.push_back(tree(b));
    if (!t.chip) return out;
    PcieWire fastest;
    double most = 0;
    const auto consider = [&](const PcieWire& w) {
      if (const double s = speed_of(w); s > most) most = s, fastest = w;
    };
    for (const auto& d : out.devices) consider(d.wire);
    for (const auto& b : out.below) {
      if (b.chip) consider(b.wire);
    }
    out.wire = wire(t.speed, fastest.link.empty() ? profile_->pcie : fastest);
    if (made_up(t.vendor) && speed_of(out.wire) < most) {
      in_.notes.assume(
          fmt::format("the uplinks of virtual bridges ({:04x}:{:04x}, {:g} GB/s in the file) are as fast as "
                      "the fastest link below",
                      t.vendor, t.device, t.speed));
      out.wire = fastest;
    }
    return out;
  }

  void trees() {
    std::map<int, PcieTree> straight;
    std::vector<std::pair<int, PcieTree>> chips;
    for (const auto& r : h_.roots) {
      auto t = tree(r.tree);
      for (auto& d : t.devices) straight[r.domain].devices.push_back(std::move(d));
      for (auto& b : t.below) chips.emplace_back(r.domain, std::move(b));
    }
    for (int cpu = 0; cpu < static_cast<int>(m_.numa.size()); ++cpu) {
      if (straight.contains(cpu)) m_.trees.emplace_back(cpu, straight[cpu]);
      for (auto& [at, t] : chips) {
        if (at == cpu) m_.trees.emplace_back(cpu, std::move(t));
      }
    }
    if (!profile_->parts.c2c.empty() && m_.cpu == profile_->parts.cpu) {
      m_.c2c = profile_->parts.c2c;
      m_.c2c_cpus.assign(static_cast<std::size_t>(m_.gpus), 0);
      for (const auto& [cpu, t] : m_.trees) place_c2c(t, cpu);
      in_.notes.assume(fmt::format("each GPU is on its CPU by {}, as in {}", m_.c2c, profile_->name));
    }
    if (!h_.placed) in_.notes.assume("devices above the NUMA domains hang on the first: the file does not place them");
    if (std::ranges::any_of(m_.trees, [](const auto& t) { return t.second.chip; }))
      in_.notes.assume(fmt::format("PCIe switches are {}", m_.pcie_switch));
  }

  void place_c2c(const PcieTree& t, int cpu) {
    for (const auto& d : t.devices) {
      if (d.gpu) m_.c2c_cpus[static_cast<std::size_t>(d.index)] = cpu;
    }
    for (const auto& b : t.below) place_c2c(b, cpu);
  }

  void notes() {
    in_.notes.know("the PCIe trees with the speed of each link");
    in_.notes.assume("a PCIe link of a speed is x16 of the generation that gives it, else fewer lanes");
    if (h_.ethernet > 0)
      in_.notes.lack(fmt::format("{} Ethernet adapter{} without RDMA {} left out", h_.ethernet,
                                 h_.ethernet == 1 ? "" : "s", h_.ethernet == 1 ? "is" : "are"));
    in_.notes.lack("latencies, and what the NICs are cabled to");
  }

  const ImportInput& in_;
  HwlocMachine h_;
  Problems catalog_problems_;
  Parts parts_;
  std::vector<double> totals_;  // MB/s of each GPU to switches
  bool switched_ = false;
  std::map<std::string, int> nic_kinds_;
  std::string nic_;  // the part that most NICs are
  const MachineProfile* profile_ = nullptr;
  MachineModel m_;
};

}  // namespace

ImportedMachine import_hwloc(const ImportInput& in) { return HwlocImporter{in}.run(); }

}  // namespace linkcast::topologies
