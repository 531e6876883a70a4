// What there is in a node: host, CPUs with their memories, GPUs, NICs. Wiring is next door. A node of several trays (an
// NVLink domain of several hosts) has all of it once for each tray, tray by tray.
#include <fmt/format.h>

#include "build.hpp"

namespace linkcast::topologies {

DeviceId Fabric::Data::add(Device d, DeviceExtra extra) {
  devices.push_back(std::move(d));
  device_extra.push_back(extra);
  return DeviceId{static_cast<std::uint32_t>(devices.size() - 1)};
}

LinkId Fabric::Data::add(Link l, LinkExtra extra) {
  links.push_back(std::move(l));
  link_extra.push_back(extra);
  return LinkId{static_cast<std::uint32_t>(links.size() - 1)};
}

DeviceId NodeBuild::add(DeviceKind kind, int index, const std::string& model, int numa) {
  Device d;
  d.name = fmt::format("{}[{}]", name_of(kind), index);
  d.kind = kind;
  d.model = model;
  d.index = index;
  d.numa = numa;
  return data.add(std::move(d), {});
}

LinkId NodeBuild::connect(DeviceId a, DeviceId b, const LinkPart& part, int width) {
  Link l;
  l.a = a;
  l.b = b;
  l.kind = part.model.kind;
  l.model = part.model.name;
  l.width = width;
  l.bare = part.model.rate * width;
  l.payload = part.model.payload_rate() * width;
  if (l.payload > l.bare) l.payload = l.bare;  // a residual above 1 explains measurements, not more than the wire
  l.latency = part.model.latency;
  l.state = "up";
  return data.add(std::move(l), {part.generation, true});
}

const LinkPart* read_link_part(NodeBuild& build, MapReader& r, std::string_view key, models::LinkKind kind,
                               bool required) {
  const auto name = r.word(key, required);
  if (!name) return nullptr;
  const auto& at = *r.value().get(key);
  const auto* part = build.parts.link(*name, at);
  if (part && part->model.kind != kind) {
    r.problem(at, fmt::format("link part '{}' is of kind {}, not {}", *name, models::name_of(part->model.kind),
                              models::name_of(kind)));
    return nullptr;
  }
  return part;
}

namespace {

void read_host(NodeBuild& b, MapReader& node) {
  if (const auto name = node.word("host", true)) {
    if (const auto* part = b.parts.host(*name, *node.value().get("host"))) {
      b.data.host = part->model;
      b.data.host_name = part->name;
    }
  }
}

/// CPUs (NUMA domains), their memories, and the links between them: every domain to every other; within a socket by
/// `die_link`, between sockets by `link`.
void read_cpus(NodeBuild& b, MapReader& node) {
  const auto* v = node.need("cpus");
  if (!v) return;
  MapReader r{b.context, *v, "'cpus'"};
  const auto model = r.word("model", true);
  const auto count = static_cast<int>(r.integer("count", 1, 64, true).value_or(0));
  const auto per_socket = static_cast<int>(r.integer("per_socket", 1, 64).value_or(1));
  const auto numa = r.integers("numa", 0, 1023);
  const bool several = count > 1;
  const auto* link = read_link_part(b, r, "link", models::LinkKind::inter_socket, several && per_socket < count);
  const auto* die = read_link_part(b, r, "die_link", models::LinkKind::inter_socket, per_socket > 1 && several);
  r.done();
  if (numa && static_cast<int>(numa->size()) != count && count > 0) {
    r.problem(*v->get("numa"), fmt::format("{} NUMA ids for {} CPUs", numa->size(), count));
    return;
  }
  const auto* part = model ? b.parts.cpu(*model, *v->get("model")) : nullptr;
  if (!part) return;
  LinkPart memory;
  memory.model.name = "memory of " + part->name;
  memory.model.kind = models::LinkKind::memory;
  memory.model.rate = part->memory;
  memory.model.latency = part->memory_latency;
  const int all = count * b.trays;
  for (int i = 0; i < all; ++i) {
    const int domain = numa ? (*numa)[static_cast<std::size_t>(i % count)] : i % count;
    const auto cpu = b.add(DeviceKind::cpu, i, part->name, domain);
    b.data.devices.back().node = i / count;
    auto& extra = b.data.device_extra.back();
    extra.transit = part->latency;
    extra.p2p_overhead = part->p2p_overhead;
    extra.p2p_socket_overhead = part->p2p_socket_overhead;
    extra.nic_overhead = part->nic_overhead;
    auto& attributes = b.data.devices.back().attributes;
    attributes = {{"arch", part->arch},
                  {"vendor", part->vendor},
                  {"family", std::to_string(part->family)},
                  {"model", std::to_string(part->model)},
                  {"socket", std::to_string(i / per_socket)}};
    b.cpus.push_back(cpu);
  }
  for (int i = 0; i < all; ++i) {
    const auto domain = b.data.device(b.cpus[static_cast<std::size_t>(i)]).numa;
    b.memories.push_back(b.add(DeviceKind::memory, i, memory.model.name, domain));
    b.data.devices.back().node = i / count;
    b.connect(b.cpus[static_cast<std::size_t>(i)], b.memories.back(), memory, 1);
  }
  for (int i = 0; i < all; ++i) {
    for (int j = i + 1; j < (i / count + 1) * count; ++j) {  // no link leads to the CPUs of another tray
      const auto* wire = i / per_socket == j / per_socket ? die : link;
      if (wire) b.connect(b.cpus[static_cast<std::size_t>(i)], b.cpus[static_cast<std::size_t>(j)], *wire, 1);
    }
  }
}

/// The PCI addresses of a tray's devices, where they are known: an importer recognises the machine by them.
std::vector<std::string> read_bus_ids(MapReader& r, int count) {
  std::vector<std::string> ids;
  const auto* v = r.find("bus_ids");
  if (!v) return ids;
  for (const auto& item : v->items) ids.push_back(item.text);
  if (static_cast<int>(ids.size()) == count) return ids;
  r.problem(*v, fmt::format("{} addresses for {} devices", ids.size(), count), "a list with one for each");
  return {};
}

void read_gpus(NodeBuild& b, MapReader& node) {
  const auto* v = node.need("gpus");
  if (!v) return;
  MapReader r{b.context, *v, "'gpus'"};
  const auto model = r.word("model", true);
  const auto count = static_cast<int>(r.integer("count", 1, max_gpus, true).value_or(0));
  b.gpus_known = count > 0;
  const auto bus_ids = read_bus_ids(r, count);
  r.done();
  if (count * b.trays > max_gpus) {
    r.problem(*v, fmt::format("{} trays with {} GPUs each: one machine has at most {} GPUs", b.trays, count, max_gpus));
    b.gpus_known = false;
    return;
  }
  b.gpu_part = model ? b.parts.gpu(*model, *v->get("model")) : nullptr;
  // Without a sound part the GPUs are still made: the wiring below can then be checked in the same run.
  b.data.gpu_models.push_back(b.gpu_part ? b.gpu_part->model : models::GpuModel{});
  for (int i = 0; i < count * b.trays; ++i) {
    const auto id = b.add(DeviceKind::gpu, i, model.value_or(""), 0);
    b.data.devices.back().node = i / count;
    b.data.device_extra.back().gpu_model = 0;
    if (b.gpu_part) {
      b.data.devices.back().attributes = {{"gdr", b.gpu_part->gdr ? "1" : "0"}, {"pci_device", b.gpu_part->pci_device}};
    }
    if (!bus_ids.empty()) b.data.devices.back().attributes["busid"] = bus_ids[static_cast<std::size_t>(i % count)];
    b.gpus.push_back(id);
  }
  b.data.gpus = b.gpus;
  b.gpu_trees.assign(b.gpus.size(), 0);
  if (b.gpu_part) b.data.pcie_p2p = b.gpu_part->pcie_p2p;
}

/// The kind of network that the NICs are usually on; empty where the part's own holds.
std::string read_fabric(NodeBuild& b, MapReader& nics) {
  const auto name = nics.word("fabric");
  if (!name) return {};
  return b.parts.network(*name, *nics.value().get("fabric")) ? *name : std::string{};
}

void read_nics(NodeBuild& b, MapReader& node) {
  const auto* v = node.find("nics");
  if (!v) return;
  MapReader r{b.context, *v, "'nics'"};
  const auto model = r.word("model", true);
  const auto read = r.integer("count", 0, 256, true);
  b.nics_known = read.has_value();
  const auto count = static_cast<int>(read.value_or(0));
  const auto rate = r.rate("rate");
  const auto ports = r.integer("ports", 1, 8);
  const auto fabric = read_fabric(b, r);
  const auto bus_ids = read_bus_ids(r, count);
  r.done();
  b.nic_part = model ? b.parts.nic(*model, *v->get("model")) : nullptr;
  for (int i = 0; i < count * b.trays; ++i) {
    b.nics.push_back(b.add(DeviceKind::nic, i, model.value_or(""), 0));
    b.data.devices.back().node = i / count;
    if (!b.nic_part) continue;
    const auto bits = static_cast<double>((rate ? *rate : b.nic_part->rate).bytes_per_second()) * 8e-9;
    b.data.devices.back().attributes = {{"gbps", fmt::format("{}", bits)},
                                        {"pci_class", b.nic_part->pci_class},
                                        {"pci_vendor", b.nic_part->pci_vendor},
                                        {"pci_device", b.nic_part->pci_device}};
    auto& attributes = b.data.devices.back().attributes;
    if (const auto n = ports.value_or(b.nic_part->ports); n > 1) attributes["ports"] = std::to_string(n);
    if (const auto& kind = fabric.empty() ? b.nic_part->fabric : fabric; !kind.empty()) {
      attributes["fabric"] = kind;
      const auto* network = b.parts.network(kind, *v);
      if (network && !network->gpudirect) attributes["gdr"] = "0";
    }
    if (!bus_ids.empty()) attributes["busid"] = bus_ids[static_cast<std::size_t>(i % count)];
    if (b.trays > 1) attributes["rail"] = std::to_string(i % count);  // NIC k of every tray is on rail k
  }
  b.nic_trees.assign(b.nics.size(), 0);
}

void check_trees(NodeBuild& b, const Value& node) {
  const auto* gpus = node.get("gpus");
  const auto* nics = node.get("nics");
  const auto report = [&](const std::vector<int>& trees, const std::vector<DeviceId>& ids, const Value& at) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (trees[i] == 0) {
        b.context.problems->add(at, fmt::format("{} hangs from no CPU", b.name(ids[i])),
                                "name it in one of the PCIe trees");
      }
    }
  };
  if (gpus && !b.cpus.empty()) report(b.gpu_trees, b.gpus, *gpus);
  if (nics && !b.cpus.empty()) report(b.nic_trees, b.nics, *nics);
}

}  // namespace

void build_node(NodeBuild& b, const Value& node) {
  MapReader r{b.context, node, "'node'"};
  if (!r.sound()) return;
  b.trays = static_cast<int>(r.integer("trays", 1, max_gpus).value_or(1));
  read_host(b, r);
  read_gpus(b, r);
  read_cpus(b, r);
  read_nics(b, r);
  if (const auto* nvlink = r.find("nvlink")) build_nvlink(b, *nvlink);
  if (const auto* c2c = r.find("c2c")) build_c2c(b, *c2c);
  if (const auto* pcie = r.need("pcie")) {
    build_pcie(b, *pcie);
    check_trees(b, node);
  }
  r.done();
}

}  // namespace linkcast::topologies
