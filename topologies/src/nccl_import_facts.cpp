// See nccl_import_facts.hpp.
#include "nccl_import_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <pugixml.hpp>

namespace linkcast::topologies {
namespace {

using Xml = pugi::xml_node;
constexpr int deepest = 64;

/// 1 to 6 for "2.5 GT/s" to "64.0 GT/s PCIe"; 0 for anything else.
int generation_of(std::string_view speed) {
  const double rate = std::atof(std::string{speed.substr(0, speed.find(' '))}.c_str());
  int generation = 0;
  for (const double at_least : {2.0, 4.0, 7.0, 15.0, 31.0, 63.0}) generation += rate >= at_least ? 1 : 0;
  return generation;
}

class Reader {
 public:
  XmlFacts read(std::string_view text) {
    pugi::xml_document document;
    if (!document.load_buffer(text.data(), text.size())) return {};
    std::vector<std::string> hosts;
    for (const auto cpu : document.child("system").children("cpu")) {
      const std::string hash = cpu.attribute("host_hash").value();
      const auto it = std::ranges::find(hosts, hash);
      const auto host = static_cast<int>(it - hosts.begin());
      if (it == hosts.end()) hosts.push_back(hash);
      walk(cpu, host, 0);
    }
    compare(gpus_, "GPU");
    compare(nics_, "NIC");
    return std::move(facts_);
  }

 private:
  void walk(Xml at, int host, int depth) {
    if (depth > deepest) return;
    for (const auto pci : at.children("pci")) {
      PciFacts f;
      f.bus = pci.attribute("busid").value();
      f.pci_class = pci.attribute("class").value();
      f.vendor = pci.attribute("vendor").value();
      f.device = pci.attribute("device").value();
      f.generation = generation_of(pci.attribute("link_speed").value());
      f.width = std::clamp(pci.attribute("link_width").as_int(0), 0, 32);
      if (pci.child("gpu")) gpus_.push_back(f);
      if (pci.child("nic")) nics_.push_back(f);
      facts_.pci.emplace(std::pair{host, f.bus}, std::move(f));
      walk(pci, host, depth + 1);
    }
  }

  /// A link that is less than that of its likes is worth a look: a bad riser, a slot with fewer lanes.
  void compare(const std::vector<PciFacts>& devices, std::string_view what) {
    std::map<std::string, PciFacts> best;  // by PCI device: cards of different kinds may differ
    for (const auto& d : devices) {
      auto [at, fresh] = best.try_emplace(d.device, d);
      if (!fresh && d.generation * 100 + d.width > at->second.generation * 100 + at->second.width) at->second = d;
    }
    for (const auto& d : devices) {
      const auto& b = best.at(d.device);
      if (d.generation == b.generation && d.width == b.width) continue;
      if (d.generation == 0 || d.width == 0) continue;
      facts_.notes.push_back(fmt::format("degraded: {} {} has PCIe gen {} x{} where others have gen {} x{}", what,
                                         d.bus, d.generation, d.width, b.generation, b.width));
    }
  }

  XmlFacts facts_;
  std::vector<PciFacts> gpus_, nics_;
};

}  // namespace

XmlFacts facts_of_xml(std::string_view text) { return Reader{}.read(text); }

}  // namespace linkcast::topologies
