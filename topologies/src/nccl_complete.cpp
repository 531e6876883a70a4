// complete_nccl_xml(): what NCCL asks the driver for, put into a file that leaves it out, from a machine of the
// catalog. Only adds attributes and elements on lines that are there, so that later messages point to the user's lines.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "catalog.hpp"
#include "fabric_data.hpp"
#include "linkcast/topologies/nccl_import.hpp"
#include "nccl_machines.hpp"

namespace linkcast::topologies {
namespace {

using Xml = pugi::xml_node;
using Kind = PciLeaf::Kind;

constexpr int deepest = 64;         // levels of <pci>; the reader refuses deeper files
constexpr std::size_t most = 4096;  // devices; no file has so many

std::string lower(std::string_view s) {
  std::string out{s};
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

Kind kind_of(Xml pci) {
  const std::string_view c = pci.attribute("class").value();
  if (pci.child("gpu") || c.starts_with("0x03")) return Kind::gpu;
  if (pci.child("nic") || c.starts_with("0x02")) return Kind::nic;
  return Kind::unknown;
}

struct Leaf {
  Xml xml;
  Kind kind;
  std::string bus;
  int cpu;
};

class Completer {
 public:
  Completer(std::string_view text, const std::string& where, const NcclImportOptions& options)
      : text_{text}, where_{where}, options_{options} {}

  CompletedXml run() {
    out_.text = text_;
    const auto parsed = document_.load_buffer(text_.data(), text_.size(),
                                              pugi::parse_default | pugi::parse_ws_pcdata | pugi::parse_comments);
    system_ = parsed ? document_.child("system") : Xml{};
    if (!system_) return std::move(out_);  // the reader says what is wrong
    collect();
    if (leaves_.size() > most) return std::move(out_);
    const bool complete = std::ranges::any_of(leaves_, [](const Leaf& l) { return l.xml.child("gpu"); });
    const bool loops = std::ranges::any_of(leaves_, [](const Leaf& l) { return linked_to_itself(l); });
    if (!choose(!complete || loops)) return std::move(out_);
    if (!complete) classes();
    if (!complete && !counts()) return std::move(out_);
    cpus();
    if (complete) {
      if (loops) replace_loops();
    } else {
      gpus();
      nics();
    }
    std::ostringstream text;
    document_.save(text, "", pugi::format_raw | pugi::format_no_declaration);
    out_.text = text.str();
    return std::move(out_);
  }

 private:
  void note(std::string text) {
    if (std::ranges::find(out_.notes, text) == out_.notes.end()) out_.notes.push_back(std::move(text));
  }

  static bool linked_to_itself(const Leaf& l) {
    for (const auto link : l.xml.child("gpu").children("nvlink"))
      if (lower(link.attribute("target").value()) == l.bus) return true;
    return false;
  }

  void collect() {
    std::string words = lower(where_.substr(where_.find_last_of("/\\") + 1));
    const auto comments = [&](Xml at) {
      for (const auto child : at.children())
        if (child.type() == pugi::node_comment) words += ' ' + lower(child.value());
    };
    comments(document_);
    comments(system_);
    for (const auto cpu : system_.children("cpu")) {
      PciLayout::Cpu c;
      c.arch = cpu.attribute("arch").value();
      c.vendor = cpu.attribute("vendor").value();
      c.family = cpu.attribute("familyid").as_int(-1);
      c.model = cpu.attribute("modelid").as_int(-1);
      cpus_.push_back(cpu);
      PciGroup straight;
      for (const auto pci : cpu.children("pci")) {
        PciGroup below;
        below.chip = true;
        walk(pci, below, 0);
        if (pci.child("pci")) {
          c.groups.push_back(std::move(below));
        } else {
          straight.leaves.insert(straight.leaves.end(), below.leaves.begin(), below.leaves.end());
        }
      }
      if (!straight.leaves.empty()) c.groups.push_back(std::move(straight));
      layout_.cpus.push_back(std::move(c));
    }
    layout_.words = std::move(words);
  }

  void walk(Xml pci, PciGroup& group, int depth) {
    if (depth > deepest || leaves_.size() > most) return;
    if (pci.child("pci")) {
      for (const auto child : pci.children("pci")) walk(child, group, depth + 1);
      return;
    }
    const auto kind = kind_of(pci);
    const std::string_view c = pci.attribute("class").value();
    if (kind == Kind::unknown && !c.empty()) return;  // a bridge with nothing below, an NVSwitch
    const auto bus = lower(pci.attribute("busid").value());
    group.leaves.push_back({kind, bus, pci.attribute("vendor").value(), pci.attribute("device").value()});
    leaves_.push_back({pci, kind, bus, static_cast<int>(cpus_.size()) - 1});
  }

  /// The machine; false: none, and none is needed.
  bool choose(bool needed) {
    if (options_.machine) {
      machine_ = load(*options_.machine);
      out_.machine = machine_->name();
      note(fmt::format("the machine is {}, as it was told", out_.machine));
      return true;
    }
    if (!needed || leaves_.empty()) return false;
    const auto found = recognise(layout_, where_);
    if (!found) return false;
    machine_ = load(found->name);
    out_.machine = found->name;
    note(fmt::format("the machine is {}, recognised {}{}", found->name, found->how,
                     found->others.empty() ? "" : fmt::format(" (alike: {})", fmt::join(found->others, ", "))));
    return true;
  }

  std::vector<DeviceId> devices(DeviceKind kind) const {
    std::vector<DeviceId> out;
    if (kind == DeviceKind::gpu) return {machine_->gpus().begin(), machine_->gpus().end()};
    for (std::size_t d = 0; d < machine_->devices().size(); ++d)
      if (machine_->devices()[d].kind == kind) out.push_back(DeviceId{static_cast<std::uint32_t>(d)});
    return out;
  }
  std::string attribute(DeviceId d, const char* key) const {
    const auto& a = machine_->data().device(d).attributes;
    const auto it = a.find(key);
    return it == a.end() ? std::string{} : it->second;
  }

  static void set(Xml e, const char* name, const std::string& value) {
    auto a = e.attribute(name);
    if (!a) a = e.append_attribute(name);
    a.set_value(value.c_str());
  }

  /// GPUs and NICs that the file does not tell apart, by the machine's addresses.
  void classes() {
    for (auto& leaf : leaves_) {
      if (leaf.kind != Kind::unknown) continue;
      for (const auto kind : {DeviceKind::gpu, DeviceKind::nic}) {
        for (const auto d : devices(kind)) {
          if (attribute(d, "busid") != leaf.bus) continue;
          leaf.kind = kind == DeviceKind::gpu ? Kind::gpu : Kind::nic;
          set(leaf.xml, "class", kind == DeviceKind::gpu ? "0x030200" : attribute(d, "pci_class"));
          note("which PCI devices are GPUs and which NICs");
        }
      }
    }
  }

  std::vector<Leaf*> of(Kind kind) {
    std::vector<Leaf*> out;
    for (auto& l : leaves_)
      if (l.kind == kind) out.push_back(&l);
    std::ranges::sort(out, {}, [](const Leaf* l) { return l->bus; });
    return out;
  }

  /// More GPUs or NICs than the machine has is another machine.
  bool counts() {
    const auto gpus = of(Kind::gpu).size(), nics = of(Kind::nic).size();
    const auto most_gpus = devices(DeviceKind::gpu).size(), most_nics = devices(DeviceKind::nic).size();
    if (gpus == 0) return false;
    if (gpus <= most_gpus && nics <= most_nics) return true;
    throw sim::InputError(fmt::format("{} has {} GPUs and {} NICs, but {} has {} and {}", where_, gpus, nics,
                                      out_.machine, most_gpus, most_nics),
                          "name another machine of the catalog (`linkcast topo list`)");
  }

  /// The machine's device for the i-th of the file's: that of its address, else the i-th.
  DeviceId like(const std::vector<DeviceId>& known, const Leaf& leaf, std::size_t i) const {
    for (const auto d : known)
      if (!leaf.bus.empty() && attribute(d, "busid") == leaf.bus) return d;
    return known[i];
  }

  void cpus() {
    const auto known = devices(DeviceKind::cpu);
    if (known.empty()) return;
    for (auto cpu : cpus_) {
      bool missed = false;
      for (const auto& [name, key] :
           {std::pair{"arch", "arch"}, {"vendor", "vendor"}, {"familyid", "family"}, {"modelid", "model"}}) {
        if (cpu.attribute(name)) continue;
        if (std::string_view{name} != "arch" && std::string_view{cpu.attribute("arch").value()} != "x86_64") continue;
        set(cpu, name, attribute(known.front(), key));
        missed = true;
      }
      if (missed) note(fmt::format("the CPUs' kind: {}", machine_->data().device(known.front()).model));
    }
  }

  /// The PCIe link of a device where the file has none.
  void wire(Xml pci, DeviceId d) {
    const std::string_view speed = pci.attribute("link_speed").value();
    const bool has_width = pci.attribute("link_width").as_int(0) > 0;
    if (!speed.empty() && has_width) return;
    const auto& data = machine_->data();
    for (std::size_t i = 0; i < data.links.size(); ++i) {
      const auto& l = data.links[i];
      if (l.kind != models::LinkKind::pcie || l.b != d) continue;
      static constexpr std::array gigatransfers{"2.5", "5.0", "8.0", "16.0", "32.0", "64.0"};
      const auto generation = static_cast<std::size_t>(std::clamp(data.link_extra[i].generation, 1, 6));
      set(pci, "link_speed", fmt::format("{} GT/s PCIe", gigatransfers[generation - 1]));
      set(pci, "link_width", std::to_string(l.width));
      note(fmt::format("PCIe links without a speed: {} with {} lanes", l.model, l.width));
    }
  }

  void gpus() {
    const auto known = devices(DeviceKind::gpu);
    const auto mine = of(Kind::gpu);
    std::map<std::uint32_t, std::string> bus_of;
    std::vector<DeviceId> same;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      same.push_back(like(known, *mine[i], i));
      bus_of[static_cast<std::uint32_t>(same.back())] = mine[i]->bus;
    }
    for (std::size_t i = 0; i < mine.size(); ++i) {
      auto& leaf = *mine[i];
      const auto& model = machine_->gpu_model(same[i]);
      set(leaf.xml, "class", leaf.xml.attribute("class").empty() ? "0x030200" : leaf.xml.attribute("class").value());
      wire(leaf.xml, same[i]);
      auto gpu = leaf.xml.append_child("gpu");
      set(gpu, "dev", std::to_string(i));
      set(gpu, "sm", std::to_string(model.compute_capability));
      set(gpu, "rank", std::to_string(i));
      set(gpu, "gdr", attribute(same[i], "gdr") == "0" ? "0" : "1");
      nvlinks(gpu, same[i], bus_of);
    }
    const auto& model = machine_->gpu_model(same.front());
    note(fmt::format("{} GPUs are {}, compute capability {}, numbered by PCI address", mine.size(),
                     machine_->data().device(same.front()).model, model.compute_capability));
  }

  void nvlinks(Xml gpu, DeviceId d, const std::map<std::uint32_t, std::string>& bus_of) {
    int to_switches = 0;
    std::map<std::string, int> to_gpus;
    for (const auto& l : machine_->links()) {
      if (l.kind != models::LinkKind::nvlink || (l.a != d && l.b != d)) continue;
      const auto other = l.a == d ? l.b : l.a;
      if (machine_->data().device(other).kind == DeviceKind::nvswitch)
        to_switches += l.width;
      else if (const auto it = bus_of.find(static_cast<std::uint32_t>(other)); it != bus_of.end())
        to_gpus[it->second] += l.width;
    }
    const auto add = [&](const std::string& target, int count, const char* tclass) {
      auto link = gpu.append_child("nvlink");
      set(link, "target", target);
      set(link, "count", std::to_string(count));
      set(link, "tclass", tclass);
    };
    if (to_switches > 0) {
      add("fffffff:ffff:ff", to_switches, "0x068000");
      note(fmt::format("{} NVLinks of each GPU to NVSwitches", to_switches));
    }
    for (const auto& [bus, n] : to_gpus) add(bus, n, "0x030200");
    if (!to_gpus.empty()) note("NVLinks between pairs of GPUs, as the machine has them");
  }

  void nics() {
    const auto known = devices(DeviceKind::nic);
    const auto mine = of(Kind::nic);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const auto d = like(known, *mine[i], i);
      const auto gbps = attribute(d, "gbps");
      wire(mine[i]->xml, d);
      auto net = mine[i]->xml.append_child("nic").append_child("net");
      set(net, "name", fmt::format("nic{}", i));
      set(net, "dev", std::to_string(i));
      set(net, "speed", fmt::format("{:.0f}", std::strtod(gbps.c_str(), nullptr) * 1000));
      set(net, "port", "1");
      set(net, "guid", fmt::format("{:#x}", (i + 1) << 8));
      set(net, "latency", "0");
      set(net, "maxconn", "131072");
      set(net, "gdr", attribute(d, "gdr") == "0" ? "0" : "1");
      const auto ports = attribute(d, "ports");
      note(fmt::format("{} NIC{} {} of {} Gb/s{}, numbered by PCI address", mine.size(),
                       mine.size() == 1 ? " is" : "s are", machine_->data().device(d).model, gbps,
                       ports.empty() ? "" : fmt::format(" in {} ports", ports)));
    }
    if (mine.size() < known.size())
      note(
          fmt::format("{} has {} NICs, the file {}: the others are left out", out_.machine, known.size(), mine.size()));
  }

  /// Files written by hand give a GPU itself as the peer of its NVLinks.
  void replace_loops() {
    const auto known = devices(DeviceKind::gpu);
    const auto mine = of(Kind::gpu);
    std::map<std::uint32_t, std::string> bus_of;
    for (std::size_t i = 0; i < mine.size() && i < known.size(); ++i)
      bus_of[static_cast<std::uint32_t>(like(known, *mine[i], i))] = mine[i]->bus;
    for (std::size_t i = 0; i < mine.size() && i < known.size(); ++i) {
      auto gpu = mine[i]->xml.child("gpu");
      const auto d = like(known, *mine[i], i);
      wire(mine[i]->xml, d);
      if (!linked_to_itself(*mine[i])) continue;
      note(fmt::format("the file leads NVLinks of GPU {} to itself: replaced by those of {}", mine[i]->bus,
                       out_.machine));
      while (gpu.remove_child("nvlink")) {
      }
      nvlinks(gpu, d, bus_of);
    }
  }

  std::string_view text_;
  const std::string& where_;
  const NcclImportOptions& options_;
  pugi::xml_document document_;
  Xml system_;
  std::vector<Xml> cpus_;
  std::vector<Leaf> leaves_;
  PciLayout layout_;
  std::optional<Fabric> machine_;
  CompletedXml out_;
};

}  // namespace

CompletedXml complete_nccl_xml(std::string_view text, const std::string& where, const NcclImportOptions& options) {
  return Completer{text, where, options}.run();
}

}  // namespace linkcast::topologies
