// See nccl_machines.hpp. Addresses decide where the catalog has them (clouds give every VM of a kind the same); else
// the shape of the trees, the CPUs and the PCI ids must leave one kind of GPU, NVLinks and NICs.
#include "nccl_machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <tuple>

#include "catalog.hpp"
#include "fabric_data.hpp"

namespace linkcast::topologies {
namespace {

std::string attribute(const Device& d, const std::string& key) {
  const auto it = d.attributes.find(key);
  return it == d.attributes.end() ? std::string{} : it->second;
}

std::set<std::string> addresses(const PciLayout& l, PciLeaf::Kind kind, bool unknown_too) {
  std::set<std::string> out;
  for (const auto& cpu : l.cpus) {
    for (const auto& group : cpu.groups) {
      for (const auto& leaf : group.leaves) {
        const bool wanted = leaf.kind == kind || (unknown_too && leaf.kind == PciLeaf::Kind::unknown);
        if (wanted && !leaf.bus.empty()) out.insert(leaf.bus);
      }
    }
  }
  return out;
}

bool same_addresses(const PciLayout& file, const PciLayout& machine) {
  const auto known = addresses(machine, PciLeaf::Kind::gpu, false);
  if (known.empty()) return false;
  return std::ranges::includes(addresses(file, PciLeaf::Kind::gpu, true), known) &&
         std::ranges::includes(known, addresses(file, PciLeaf::Kind::gpu, false));
}

/// For each CPU its groups as (chip, GPUs, NICs), in an order of their own.
auto shape(const PciLayout& l) {
  std::vector<std::vector<std::tuple<bool, int, int>>> out;
  for (const auto& cpu : l.cpus) {
    std::vector<std::tuple<bool, int, int>> row;
    int gpus = 0, nics = 0;
    for (const auto& g : cpu.groups) {
      const auto of = [&](PciLeaf::Kind k) {
        return static_cast<int>(std::ranges::count(g.leaves, k, &PciLeaf::kind));
      };
      if (g.chip) {
        row.emplace_back(true, of(PciLeaf::Kind::gpu), of(PciLeaf::Kind::nic));
      } else {
        gpus += of(PciLeaf::Kind::gpu);
        nics += of(PciLeaf::Kind::nic);
      }
    }
    if (gpus + nics > 0) row.emplace_back(false, gpus, nics);
    std::ranges::sort(row);
    if (!row.empty()) out.push_back(std::move(row));
  }
  std::ranges::sort(out);
  return out;
}

/// Whether what both say of CPUs and PCI ids is the same.
bool agree(const PciLayout& file, const PciLayout& machine) {
  if (file.cpus.empty() || machine.cpus.empty()) return false;
  const auto& a = file.cpus.front();
  const auto& b = machine.cpus.front();
  if (!a.arch.empty() && a.arch != b.arch) return false;
  if (!a.vendor.empty() && a.arch == "x86_64" && a.vendor != b.vendor) return false;
  if (a.vendor == "GenuineIntel" && a.model >= 0 && a.model != b.model) return false;
  const auto leaf = [](const PciLayout& l, PciLeaf::Kind kind) -> const PciLeaf* {
    for (const auto& cpu : l.cpus)
      for (const auto& group : cpu.groups)
        for (const auto& x : group.leaves)
          if (x.kind == kind) return &x;
    return nullptr;
  };
  for (const auto kind : {PciLeaf::Kind::gpu, PciLeaf::Kind::nic}) {
    const auto* x = leaf(file, kind);
    const auto* y = leaf(machine, kind);
    if (!x || !y) continue;
    if (!x->device.empty() && !y->device.empty() && x->device != y->device) return false;
    if (!x->vendor.empty() && !y->vendor.empty() && x->vendor != y->vendor) return false;
  }
  return true;
}

/// What the import takes from a machine.
struct Taken {
  std::string gpus;
  int nvlinks = 0;
  std::string nic_rate;
  bool operator==(const Taken&) const = default;
};
Taken taken(const Fabric& machine) {
  Taken t;
  const auto gpu = machine.gpus().front();
  t.gpus = std::to_string(machine.gpu_model(gpu).compute_capability);
  for (const auto& l : machine.links())
    if (l.kind == models::LinkKind::nvlink && (l.a == gpu || l.b == gpu)) t.nvlinks += l.width;
  for (const auto& d : machine.devices())
    if (d.kind == DeviceKind::nic) t.nic_rate = attribute(d, "gbps");
  return t;
}

struct Candidate {
  std::string name;
  Fabric machine;
  PciLayout layout;
};

/// Whether the file's name or its comments call it so.
bool named(const Candidate& c, const std::string& words) {
  std::vector<std::string> spellings{c.name.substr(c.name.find('-') + 1)};
  for (const auto& spelling : spellings) {
    const auto at = words.find(spelling);
    if (at == std::string::npos) continue;
    const auto end = at + spelling.size();
    if (end >= words.size() || !std::isalnum(static_cast<unsigned char>(words[end]))) return true;
  }
  return false;
}

std::optional<Recognised> one_of(std::vector<Candidate>& fits, const PciLayout& file, const std::string& where,
                                 const std::string& how) {
  if (fits.empty()) return std::nullopt;
  const auto alike = [&] {
    return std::ranges::all_of(fits, [&](const Candidate& c) { return taken(c.machine) == taken(fits[0].machine); });
  };
  std::string by = how;
  if (fits.size() > 1) {
    std::vector<Candidate> hinted;
    for (const auto& c : fits)
      if (named(c, file.words)) hinted.push_back(c);
    if (hinted.size() == 1) {
      fits = std::move(hinted);
      by += " and the file's own words";
    } else if (!alike()) {
      std::vector<std::string> lines;
      for (const auto& c : fits) {
        const auto t = taken(c.machine);
        lines.push_back(fmt::format("{} ({} NVLinks of a GPU, NICs of {} Gb/s)", c.name, t.nvlinks,
                                    t.nic_rate.empty() ? "0" : t.nic_rate));
      }
      throw sim::InputError(
          fmt::format("{} has no <gpu> elements and fits several machines: {}", where, fmt::join(lines, ", ")),
          "name the machine: --machine NAME of `topo import`, --set machine=NAME elsewhere");
    }
  }
  Recognised r{fits[0].name, by, {}};
  for (std::size_t i = 1; i < fits.size(); ++i) r.others.push_back(fits[i].name);
  return r;
}

}  // namespace

PciLayout layout_of(const Fabric& machine) {
  const auto& data = machine.data();
  PciLayout out;
  const auto children = [&](std::size_t parent) {
    std::vector<std::size_t> below;
    for (const auto& l : data.links)
      if (l.kind == models::LinkKind::pcie && static_cast<std::size_t>(l.a) == parent)
        below.push_back(static_cast<std::size_t>(l.b));
    return below;
  };
  const auto leaf_of = [&](const Device& d) {
    return PciLeaf{d.kind == DeviceKind::gpu ? PciLeaf::Kind::gpu : PciLeaf::Kind::nic, attribute(d, "busid"),
                   d.kind == DeviceKind::gpu ? "0x10de" : attribute(d, "pci_vendor"), attribute(d, "pci_device")};
  };
  for (std::size_t c = 0; c < data.devices.size(); ++c) {
    const auto& device = data.devices[c];
    if (device.kind != DeviceKind::cpu) continue;
    PciLayout::Cpu cpu;
    cpu.arch = attribute(device, "arch");
    cpu.vendor = attribute(device, "vendor");
    cpu.family = std::atoi(attribute(device, "family").c_str());
    cpu.model = std::atoi(attribute(device, "model").c_str());
    PciGroup straight;
    for (const auto top : children(c)) {
      if (data.devices[top].kind != DeviceKind::pcie_switch) {
        straight.leaves.push_back(leaf_of(data.devices[top]));
        continue;
      }
      PciGroup group;
      group.chip = true;
      std::vector<std::size_t> todo{top};
      while (!todo.empty()) {
        const auto at = todo.back();
        todo.pop_back();
        for (const auto d : children(at)) {
          if (data.devices[d].kind == DeviceKind::pcie_switch)
            todo.push_back(d);
          else
            group.leaves.push_back(leaf_of(data.devices[d]));
        }
      }
      cpu.groups.push_back(std::move(group));
    }
    if (!straight.leaves.empty()) cpu.groups.push_back(std::move(straight));
    out.cpus.push_back(std::move(cpu));
  }
  return out;
}

namespace {

std::vector<Candidate> read_candidates() {
  std::vector<Candidate> all;
  for (const auto& name : catalog_names()) {
    const auto text = catalog_text(name);
    const auto has = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
    if (has("\nparams:") || has("\nnodes:") || has("\nnetwork:")) continue;  // kinds of boxes, and clusters
    auto machine = load(name);
    auto layout = layout_of(machine);
    all.push_back({name, std::move(machine), std::move(layout)});
  }
  return all;
}

}  // namespace

std::optional<Recognised> recognise(const PciLayout& file, const std::string& where) {
  static const auto all = read_candidates();  // the catalog never changes; reading all of it takes longer than a file
  std::vector<Candidate> fits;
  for (const auto& c : all)
    if (same_addresses(file, c.layout) && agree(file, c.layout)) fits.push_back(c);
  if (fits.empty()) {  // the card's kind may be one that the catalog does not list apart
    for (const auto& c : all)
      if (same_addresses(file, c.layout)) fits.push_back(c);
  }
  if (!fits.empty()) return one_of(fits, file, where, "by the PCI addresses of its GPUs");
  for (const auto& c : all) {
    if (!addresses(c.layout, PciLeaf::Kind::gpu, false).empty()) continue;  // known to have others
    if (shape(file) == shape(c.layout) && agree(file, c.layout)) fits.push_back(c);
  }
  return one_of(fits, file, where, "by its PCIe trees, CPUs and PCI ids");
}

}  // namespace linkcast::topologies
