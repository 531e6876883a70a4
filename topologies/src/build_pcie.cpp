// PCIe trees: under each CPU switches, under these GPUs, NICs and further switches; a tree without a switch hangs its
// devices straight off the CPU's root ports.
#include <fmt/format.h>

#include "build.hpp"

namespace linkcast::topologies {
namespace {

struct Wire {
  const LinkPart* link = nullptr;
  int lanes = 16;
};

class TreeBuilder {
 public:
  /// The trees of one tray; `tray` chooses the devices that its indices mean.
  TreeBuilder(NodeBuild& build, int tray) : b_{build}, tray_{static_cast<std::size_t>(tray)} {}

  void root(const Value& tree, Wire wire) {
    MapReader r{b_.context, tree, "PCIe tree"};
    if (!r.sound()) return;
    const auto last = static_cast<int>(of_tray(b_.cpus)) - 1;
    std::optional<std::int64_t> cpu;
    if (const auto* v = r.need("cpu"); v && last >= 0) {
      cpu = v->is_scalar() ? parse_integer(v->text) : std::nullopt;
      if (!cpu || *cpu < 0 || *cpu > last) {
        r.problem(*v, fmt::format("link to nowhere: no cpu[{}]", v->text), fmt::format("the CPUs are 0 to {}", last));
        cpu.reset();
      }
    }
    std::optional<DeviceId> parent;
    if (cpu) parent = b_.cpus[place(b_.cpus, static_cast<int>(*cpu))];
    body(r, parent, wire);
  }

 private:
  std::size_t of_tray(const std::vector<DeviceId>& ids) const {
    return ids.size() / static_cast<std::size_t>(b_.trays);
  }
  std::size_t place(const std::vector<DeviceId>& ids, int index) const {
    return tray_ * of_tray(ids) + static_cast<std::size_t>(index);
  }

  /// `parent` is empty where it could not be read: the rest of the tree is checked all the same.
  void body(MapReader& r, std::optional<DeviceId> parent, Wire wire) {
    wire = read_wire(r, wire);
    if (const auto name = r.word("switch")) {
      const auto& at = *r.value().get("switch");
      const auto* part = b_.parts.switch_chip(*name, at);
      if (part && part->nvswitch) {
        r.problem(at, fmt::format("switch part '{}' is an NVSwitch, not a PCIe switch", *name));
        part = nullptr;
      }
      if (part && parent) {
        const auto id = b_.add(DeviceKind::pcie_switch, static_cast<int>(b_.pcie_switches.size()), part->name,
                               b_.data.device(*parent).numa);
        b_.data.devices.back().node = static_cast<int>(tray_);
        b_.data.device_extra.back().transit = part->latency;
        b_.data.devices.back().attributes = {{"pci_vendor", part->pci_vendor}, {"pci_device", part->pci_device}};
        b_.pcie_switches.push_back(id);
        if (wire.link) b_.connect(*parent, id, *wire.link, wire.lanes);
        parent = id;
      } else if (!part) {
        parent.reset();
      }
    }
    hang(r, "gpus", b_.gpus, b_.gpu_trees, parent, wire);
    hang(r, "nics", b_.nics, b_.nic_trees, parent, wire);
    if (const auto* below = r.find("switches")) {
      if (!below->is_sequence()) r.problem(*below, "'switches' must be a list of trees");
      for (const auto& tree : below->items) {
        MapReader inner{b_.context, tree, "PCIe tree"};
        if (inner.sound()) body(inner, parent, wire);
      }
    }
    r.done();
  }

  Wire read_wire(MapReader& r, Wire inherited) {
    if (const auto* own = read_link_part(b_, r, "link", models::LinkKind::pcie, false)) inherited.link = own;
    if (const auto lanes = r.integer("lanes", 1, 32)) inherited.lanes = static_cast<int>(*lanes);
    return inherited;
  }

  void hang(MapReader& r, std::string_view key, const std::vector<DeviceId>& ids, std::vector<int>& trees,
            std::optional<DeviceId> parent, Wire wire) {
    const auto* v = r.find(key);
    if (!v) return;
    const auto indices = r.integers(key, 0, max_gpus * 4);
    if (!indices || !(key == "gpus" ? b_.gpus_known : b_.nics_known)) return;
    for (int i : *indices) {
      if (i >= static_cast<int>(of_tray(ids))) {
        r.problem(*v, fmt::format("link to nowhere: no {}[{}]", key.substr(0, key.size() - 1), i),
                  ids.empty() ? fmt::format("the node has no {}", key)
                              : fmt::format("the {} are 0 to {}", key == "gpus" ? "GPUs" : "NICs", of_tray(ids) - 1));
        continue;
      }
      const auto index = place(ids, i);
      if (++trees[index] > 1) {
        r.problem(*v, fmt::format("{} hangs in two places", b_.name(ids[index])));
        continue;
      }
      if (!parent) continue;
      b_.data.devices[static_cast<std::size_t>(ids[index])].numa = b_.data.device(*parent).numa;
      if (wire.link) b_.connect(*parent, ids[index], *wire.link, wire.lanes);
    }
  }

  NodeBuild& b_;
  std::size_t tray_;
};

}  // namespace

void build_pcie(NodeBuild& b, const Value& pcie) {
  MapReader r{b.context, pcie, "'pcie'"};
  Wire wire;
  wire.link = read_link_part(b, r, "link", models::LinkKind::pcie);
  wire.lanes = static_cast<int>(r.integer("lanes", 1, 32).value_or(16));
  if (const auto p2p = r.boolean("p2p")) b.data.pcie_p2p = *p2p;
  const auto* trees = r.need("trees");
  r.done();
  if (!trees) return;
  if (!trees->is_sequence()) {
    r.problem(*trees, "'trees' must be a list", "write `- {cpu: 0, switch: …, gpus: [0]}` for each");
    return;
  }
  const auto before = b.context.problems->count();
  for (int tray = 0; tray < b.trays; ++tray) {
    TreeBuilder builder{b, tray};
    for (const auto& tree : trees->items) builder.root(tree, wire);
    if (b.context.problems->count() != before) return;  // the other trays would repeat it
  }
}

}  // namespace linkcast::topologies
