// `topo export`: Graphviz and YAML. See describe.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "fabric_data.hpp"
#include "linkcast/topologies/describe.hpp"
#include "parts.hpp"

namespace linkcast::topologies {
namespace {

std::string_view shape(DeviceKind k) {
  switch (k) {
    case DeviceKind::gpu:
      return "box, style=filled, fillcolor=\"#b6e3a8\"";
    case DeviceKind::nvswitch:
      return "hexagon, style=filled, fillcolor=\"#ffd28a\"";
    case DeviceKind::pcie_switch:
      return "ellipse";
    case DeviceKind::cpu:
      return "box, style=\"filled,rounded\", fillcolor=\"#a9cdf0\"";
    case DeviceKind::nic:
      return "component";
    case DeviceKind::memory:
      return "cylinder";
  }
  return "box";
}

std::string list(const std::vector<int>& v) { return fmt::format("[{}]", fmt::join(v, ", ")); }

/// Writes a machine that did not come from YAML (an importer) in the schema's terms.
class Writer {
 public:
  explicit Writer(const Fabric::Data& data) : data_{data} {}

  std::string run() {
    const auto first = [&](DeviceKind k) -> const Device* {
      for (const auto& d : data_.devices) {
        if (d.kind == k) return &d;
      }
      return nullptr;
    };
    out_ = "schema: linkcast.topology/1\n";
    out_ += fmt::format("name: \"{}\"\ntitle: \"{}\"\n", data_.name, data_.title);
    for (const auto& a : data_.assumptions) out_ += "# assumed: " + a + "\n";
    out_ += "node:\n";
    int hosts = 1;
    for (const auto& d : data_.devices) hosts = std::max(hosts, d.node + 1);
    if (hosts > 1) out_ += fmt::format("  trays: {}\n", hosts);  // alike: the first is written
    out_ += fmt::format("  host: {}\n", data_.host_name);
    cpus();
    if (const auto* gpu = first(DeviceKind::gpu)) {
      out_ += fmt::format("  gpus: {{model: {}, count: {}}}\n", gpu->model, indices(DeviceKind::gpu).size());
    }
    if (const auto* nic = first(DeviceKind::nic)) {
      const auto known = catalog_part_names("nics");
      const bool part = std::ranges::find(known, nic->model) != known.end();
      const auto also = [&](const char* key) {
        const auto it = nic->attributes.find(key);
        return it == nic->attributes.end() ? std::string{} : fmt::format(", {}: {}", key, it->second);
      };
      out_ += fmt::format("  nics: {{model: {}, count: {}, rate: {} Gb/s{}{}}}\n", part ? nic->model : "connectx-7",
                          indices(DeviceKind::nic).size(), nic->attributes.at("gbps"), also("ports"), also("fabric"));
    }
    nvlink();
    c2c();
    pcie();
    if (!overrides_.empty()) out_ += "overrides:\n" + overrides_;
    return out_;
  }

 private:
  std::vector<std::size_t> indices(DeviceKind k) const {
    std::vector<std::size_t> out;
    for (std::size_t d = 0; d < data_.devices.size(); ++d) {
      if (data_.devices[d].kind == k && data_.devices[d].node == 0) out.push_back(d);
    }
    return out;
  }
  /// Numbers from 0 in the order of the devices' own, which may have gaps.
  int number(std::size_t d) const {
    int n = 0;
    for (const auto& other : data_.devices) {
      n += other.kind == data_.devices[d].kind && other.index < data_.devices[d].index ? 1 : 0;
    }
    return n;
  }

  void cpus() {
    const auto ids = indices(DeviceKind::cpu);
    if (ids.empty()) return;
    std::vector<int> numa;
    for (auto d : ids) numa.push_back(data_.devices[d].numa);
    const auto socket = [&](std::size_t d) {
      const auto it = data_.devices[d].attributes.find("socket");
      return it == data_.devices[d].attributes.end() ? std::string{} : it->second;
    };
    std::string link, die_link;
    for (const auto& l : data_.links) {
      if (l.kind != models::LinkKind::inter_socket) continue;
      if (socket(static_cast<std::size_t>(l.a)) == socket(static_cast<std::size_t>(l.b)))
        die_link = ", die_link: " + l.model;
      else
        link = ", link: " + l.model;
    }
    if (!die_link.empty()) {
      const auto same = std::ranges::count_if(ids, [&](std::size_t d) { return socket(d) == socket(ids[0]); });
      die_link += fmt::format(", per_socket: {}", same);
    }
    out_ += fmt::format("  cpus: {{model: {}, count: {}, numa: {}{}{}}}\n", data_.devices[ids[0]].model, ids.size(),
                        list(numa), link, die_link);
  }

  void nvlink() {
    std::map<int, std::map<int, int>> mesh;
    std::vector<int> widths;
    std::string model, chip;
    for (const auto& l : data_.links) {
      if (l.kind != models::LinkKind::nvlink) continue;
      model = l.model;
      const auto a = static_cast<std::size_t>(l.a), b = static_cast<std::size_t>(l.b);
      if (data_.devices[b].kind == DeviceKind::gpu) mesh[number(a)][number(b)] = l.width;
      if (data_.devices[b].kind == DeviceKind::nvswitch) {
        chip = data_.devices[b].model;
        if (l.a == data_.gpus.front()) widths.push_back(l.width);
      }
    }
    if (model.empty()) return;
    out_ += "  nvlink:\n    link: " + model + "\n";
    if (!widths.empty()) {
      out_ += fmt::format("    switches: {{model: {}, count: {}, links: {}}}\n", chip, widths.size(), list(widths));
      return;
    }
    out_ += "    mesh:\n";
    for (const auto& [from, peers] : mesh) {
      std::string row;
      for (const auto& [to, n] : peers) row += fmt::format("{}{}: {}", row.empty() ? "" : ", ", to, n);
      out_ += fmt::format("      {}: {{{}}}\n", from, row);
    }
  }

  void c2c() {
    std::map<int, int> cpu_of;
    std::string model;
    for (const auto& l : data_.links) {
      if (l.kind != models::LinkKind::c2c || data_.device(l.a).node != 0) continue;
      model = l.model;
      cpu_of[number(static_cast<std::size_t>(l.a))] = number(static_cast<std::size_t>(l.b));
    }
    if (model.empty()) return;
    std::vector<int> cpus;
    for (const auto& [gpu, cpu] : cpu_of) cpus.push_back(cpu);
    out_ += fmt::format("  c2c: {{link: {}, cpus: {}}}\n", model, list(cpus));
  }

  void pcie() {
    const Link* any = nullptr;
    for (const auto& l : data_.links) {
      if (l.kind == models::LinkKind::pcie) any = &l;
    }
    if (!any) return;
    usual_ = any;
    out_ += fmt::format("  pcie:\n    link: {}\n    lanes: {}\n    p2p: {}\n    trees:\n", any->model, any->width,
                        data_.pcie_p2p);
    for (auto cpu : indices(DeviceKind::cpu)) {
      std::vector<int> gpus, nics;
      std::vector<std::size_t> switches;
      children(cpu, gpus, nics, switches);
      if (!gpus.empty() || !nics.empty())
        out_ += fmt::format("      - {{cpu: {}{}}}\n", number(cpu), leaves(gpus, nics));
      for (auto s : switches) {
        out_ += fmt::format("      - cpu: {}\n", number(cpu));
        tree(s, "        ");
      }
    }
  }

  void tree(std::size_t device, const std::string& indent) {
    std::vector<int> gpus, nics;
    std::vector<std::size_t> switches;
    children(device, gpus, nics, switches);
    out_ += indent + "switch: " + data_.devices[device].model + "\n";
    if (!gpus.empty()) out_ += indent + "gpus: " + list(gpus) + "\n";
    if (!nics.empty()) out_ += indent + "nics: " + list(nics) + "\n";
    if (switches.empty()) return;
    out_ += indent + "switches:\n";
    for (auto s : switches) {
      out_ += indent + "  -\n";
      tree(s, indent + "    ");
    }
  }

  static std::string leaves(const std::vector<int>& gpus, const std::vector<int>& nics) {
    return (gpus.empty() ? "" : ", gpus: " + list(gpus)) + (nics.empty() ? "" : ", nics: " + list(nics));
  }

  void children(std::size_t parent, std::vector<int>& gpus, std::vector<int>& nics,
                std::vector<std::size_t>& switches) {
    for (const auto& l : data_.links) {
      if (l.kind != models::LinkKind::pcie || static_cast<std::size_t>(l.a) != parent) continue;
      const auto d = static_cast<std::size_t>(l.b);
      const auto kind = data_.devices[d].kind;
      if (kind == DeviceKind::gpu) gpus.push_back(number(d));
      if (kind == DeviceKind::nic) nics.push_back(number(d));
      if (kind == DeviceKind::pcie_switch) switches.push_back(d);
      if (l.bare != usual_->bare) {
        const auto& a = data_.devices[parent];
        overrides_ += fmt::format("  - {{link: \"{}[{}]-{}[{}]\", rate: {:.4f} GB/s}}\n", name_of(a.kind),
                                  number(parent), name_of(kind), number(d), l.bare.GBps());
      }
    }
  }

  const Fabric::Data& data_;
  const Link* usual_ = nullptr;
  std::string out_, overrides_;
};

}  // namespace

std::string to_dot(const Fabric& fabric) {
  const auto& data = fabric.data();
  std::string out = fmt::format(
      "graph \"{}\" {{\n  layout=dot; overlap=false; node [fontname=sans]; edge [fontname=sans];\n", data.name);
  for (std::size_t d = 0; d < data.devices.size(); ++d) {
    const auto& device = data.devices[d];
    out += fmt::format("  \"{}\" [label=\"{}\\n{}\", shape={}];\n", device.name, device.name, device.model,
                       shape(device.kind));
  }
  for (std::size_t i = 0; i < data.links.size(); ++i) {
    const auto& l = data.links[i];
    const bool up = data.usable(LinkId{static_cast<std::uint32_t>(i)});
    out += fmt::format("  \"{}\" -- \"{}\" [label=\"{} x{}\\n{:.0f} GB/s\"{}];\n", data.device(l.a).name,
                       data.device(l.b).name, l.model, l.width, l.bare.GBps(), up ? "" : ", style=dashed, color=red");
  }
  return out + "}\n";
}

std::string to_yaml(const Fabric& fabric) {
  const auto& data = fabric.data();
  return data.text.empty() ? Writer{data}.run() : data.text;
}

}  // namespace linkcast::topologies
