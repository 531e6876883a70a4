// See parts.hpp.
#include "parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "catalog.hpp"
#include "merge.hpp"
#include "network_yaml.hpp"
#include "part_fields.hpp"
#include "profile_data.hpp"

namespace linkcast::topologies {
namespace {

/// Numbers far beyond any hardware are typing errors.
constexpr int max_small = 1 << 20;

std::string in_words(double value, Unit unit) { return value == 0 ? std::string{"0"} : to_text(value, unit); }

/// Whether the number that was read is possible; says at its place where it is not.
bool possible(MapReader& r, std::string_view key, double value, double low, double high, Unit unit) {
  if (value >= low && value <= high) return true;
  const auto* at = r.find(key);
  if (const auto* inner = at->get("value")) at = inner;
  r.problem(*at, fmt::format("'{}' cannot be {}", key, in_words(value, unit)),
            fmt::format("from {} to {}", in_words(low, unit), in_words(high, unit)));
  return false;
}

template <typename T, typename Table>
void read_fields(MapReader& r, T& out, const Table& table) {
  for (const auto& field : table) {
    const auto fits = [&](double value, Unit unit) {
      return possible(r, field.key, value, field.low, field.high, unit);
    };
    std::visit(
        [&](auto member) {
          using V = std::remove_reference_t<decltype(out.*member)>;
          if constexpr (std::is_same_v<V, sim::Rate>) {
            const auto v = r.rate(field.key, field.required);
            if (v && fits(static_cast<double>(v->bytes_per_second()), Unit::rate)) out.*member = *v;
          } else if constexpr (std::is_same_v<V, sim::Time>) {
            const auto v = r.time(field.key, field.required);
            if (v && fits(v->seconds(), Unit::time)) out.*member = *v;
          } else if constexpr (std::is_same_v<V, sim::Bytes>) {
            if (auto v = r.size(field.key, field.required)) out.*member = *v;
          } else if constexpr (std::is_same_v<V, double>) {
            const auto v = r.ratio(field.key, 0, 1e9, field.required);
            if (v && fits(*v, Unit::none)) out.*member = *v;
          } else {
            if (auto v = r.integer(field.key, 0, max_small, field.required)) out.*member = static_cast<int>(*v);
          }
        },
        field.member);
  }
}

void read_protocol(MapReader& gpu, std::string_view key, models::ProtocolCost& out) {
  const auto* v = gpu.need(key);
  if (!v) return;
  MapReader r{gpu.context(), *v, fmt::format("{}.{}", gpu.what(), key), gpu.source()};
  read_fields(r, out, protocol_fields);
  if (!v->get("local")) out.local = out.send;
  r.done();
}

GpuPart read_gpu(MapReader& r, const std::string& name) {
  GpuPart p;
  p.model.name = name;
  p.model.architecture = r.word("architecture", true).value_or("");
  read_fields(r, p.model, gpu_fields);
  read_protocol(r, "ll", p.model.ll);
  read_protocol(r, "ll128", p.model.ll128);
  read_protocol(r, "simple", p.model.simple);
  p.nvlinks = static_cast<int>(r.integer("nvlinks", 0, 1024, true).value_or(0));
  p.pcie_p2p = r.boolean("pcie_p2p").value_or(true);
  p.gdr = r.boolean("gdr").value_or(true);
  p.pci_device = r.word("pci_device").value_or("");
  return p;
}

models::PacketFormat read_packet(MapReader& link) {
  models::PacketFormat p;
  if (const auto* v = link.find("packet")) {
    MapReader r{link.context(), *v, link.what() + ".packet", link.source()};
    p.payload = r.size("payload", true).value_or(sim::Bytes{1});
    p.header = r.size("header", true, true).value_or(sim::Bytes{0});
    p.response = r.size("response", false, true).value_or(sim::Bytes{0});
    r.done();
  }
  return p;
}

LinkPart read_link(MapReader& r, const std::string& name) {
  static const std::vector<std::string> kinds{"nvlink", "c2c", "pcie", "inter_socket", "memory", "network"};
  LinkPart p;
  p.model.name = name;
  if (const auto kind = r.choice("kind", kinds, true)) {
    p.model.kind = static_cast<models::LinkKind>(std::ranges::find(kinds, *kind) - kinds.begin());
  }
  p.model.rate = r.rate("rate", true).value_or(sim::Rate::from_GBps(1));
  p.model.latency = r.time("latency", true).value_or(sim::Time{});
  p.model.packet = read_packet(r);
  p.model.residual = r.ratio("residual", 0.01, 1.5).value_or(1.0);
  p.generation = static_cast<int>(r.integer("generation", 1, 99).value_or(0));
  return p;
}

SwitchPart read_switch(MapReader& r, const std::string& name) {
  static const std::vector<std::string> kinds{"nvswitch", "pcie_switch"};
  SwitchPart p;
  p.name = name;
  p.nvswitch = r.choice("kind", kinds, true).value_or("") == "nvswitch";
  p.generation = static_cast<int>(r.integer("generation", 1, 99).value_or(0));
  p.ports = static_cast<int>(r.integer("ports", 1, 4096).value_or(0));
  p.multicast = r.boolean("multicast").value_or(false);
  p.latency = r.time("latency", true).value_or(sim::Time{});
  p.pci_vendor = r.word("pci_vendor").value_or("");
  p.pci_device = r.word("pci_device").value_or("");
  return p;
}

CpuPart read_cpu(MapReader& r, const std::string& name) {
  CpuPart p;
  p.name = name;
  p.arch = r.word("arch", true).value_or("");
  p.vendor = r.word("vendor", true).value_or("");
  p.family = static_cast<int>(r.integer("family", 0, max_small, true).value_or(0));
  p.model = static_cast<int>(r.integer("model", 0, max_small, true).value_or(0));
  p.memory = r.rate("memory", true).value_or(sim::Rate::from_GBps(1));
  p.memory_latency = r.time("memory_latency", true).value_or(sim::Time{});
  p.latency = r.time("latency", true).value_or(sim::Time{});
  p.p2p_overhead = r.ratio("p2p_overhead", 1.0, 100.0).value_or(1.0);
  p.p2p_socket_overhead = r.ratio("p2p_socket_overhead", 1.0, 100.0).value_or(p.p2p_overhead);
  p.nic_overhead = r.ratio("nic_overhead", 1.0, 100.0).value_or(p.p2p_overhead);
  return p;
}

HostPart read_host(MapReader& r, const std::string& name) {
  HostPart p;
  p.name = name;
  read_fields(r, p.model, host_fields);
  return p;
}

NicPart read_nic(MapReader& r, const std::string& name) {
  NicPart p;
  p.name = name;
  p.rate = r.rate("rate", true).value_or(sim::Rate::from_GBps(1));
  p.ports = static_cast<int>(r.integer("ports", 1, 8).value_or(1));
  p.fabric = r.word("fabric").value_or("");
  p.pci_class = r.word("pci_class").value_or("0x020000");
  p.pci_vendor = r.word("pci_vendor").value_or("");
  p.pci_device = r.word("pci_device").value_or("");
  return p;
}

models::NetworkModel read_network(MapReader& r, const std::string& name) {
  static const std::vector<std::string> routings{"adaptive", "spray", "ecmp", "by_destination"};
  models::NetworkModel p;
  p.name = name;
  static const std::vector<std::string> packets{"ib", "roce", "efa", "slingshot", "tcp"};
  p.packets = r.choice("packets", packets).value_or("tcp");
  p.packet = read_packet(r);
  p.residual = r.ratio("residual", 0.01, 1.5).value_or(1.0);
  read_fields(r, p, network_fields);
  p.gpudirect = r.boolean("gpudirect").value_or(true);
  if (const auto routing = r.choice("routing", routings))
    p.routing = static_cast<models::Routing>(std::ranges::find(routings, *routing) - routings.begin());
  return p;
}

/// Sizes by rate of a port (rows) and length of its cable (columns).
std::vector<SwitchHeadroom> read_headroom(MapReader& part) {
  std::vector<SwitchHeadroom> out;
  const auto* v = part.find("headroom");
  if (!v) return out;
  MapReader r{part.context(), *v, part.what() + ".headroom", part.source()};
  const auto* lengths = r.need("lengths");
  const auto* rows = r.need("rows");
  std::vector<double> metres;
  if (lengths && (!lengths->is_sequence() || lengths->items.empty()))
    r.problem(*lengths, "'lengths' must be a list of cable lengths", "as in [5 m, 40 m, 300 m]");
  else if (lengths)
    for (const auto& item : lengths->items)
      if (const auto m = read_length(r, item)) metres.push_back(*m);
  if (!std::ranges::is_sorted(metres, std::ranges::less_equal{}))
    r.problem(*lengths, "'lengths' must grow", "as in [5 m, 40 m, 300 m]");
  if (rows && !rows->is_sequence())
    r.problem(*rows, "'rows' must be a list", "`- {rate: 400 Gb/s, sizes: [231424 B, 283648 B, 677888 B]}` lines");
  for (const auto& item : rows && rows->is_sequence() ? rows->items : std::vector<Value>{}) {
    MapReader row{part.context(), item, r.what() + ".rows", r.source()};
    const auto rate = row.rate("rate", true);
    const auto* sizes = row.need("sizes");
    row.done();
    if (!sizes || !rate) continue;
    if (!sizes->is_sequence() || sizes->items.size() != metres.size()) {
      row.problem(*sizes, fmt::format("'sizes' must be {} sizes, one for each length", metres.size()));
      continue;
    }
    for (std::size_t i = 0; i < metres.size(); ++i) {
      const auto& size = sizes->items[i];
      const auto parsed = parse_quantity(size.is_scalar() ? size.text : "", Dimension::size, "sizes", false);
      if (const auto* n = std::get_if<std::int64_t>(&parsed))
        out.push_back({*rate, metres[i], sim::Bytes{*n}});
      else
        row.problem(size, std::get<QuantityError>(parsed).problem, std::get<QuantityError>(parsed).help);
    }
  }
  r.done();
  return out;
}

SwitchModel read_network_switch(MapReader& r, const std::string& name) {
  SwitchModel p;
  p.name = name;
  p.radix = static_cast<int>(r.integer("radix", 0, 4096, true).value_or(0));
  p.rate = r.rate("rate", true).value_or(sim::Rate::from_GBps(1));
  p.latency = r.time("latency", true).value_or(sim::Time{});
  p.sharp = r.boolean("sharp").value_or(false);
  p.buffer = r.size("buffer").value_or(sim::Bytes{0});
  p.headroom = read_headroom(r);
  return p;
}

CablePart read_cable(MapReader& r, const std::string& name) {
  CablePart p;
  p.name = name;
  p.per_metre = r.time("per_metre", true).value_or(sim::Time{});
  p.fec = r.time("fec", true).value_or(sim::Time{});
  return p;
}

struct ReadPart {
  Source file;
  Value value;
};

/// The catalog is compiled in and a test reads all of it: what was parsed once is kept. A fit reads the same parts
/// thousands of times.
const ReadPart& read_part(const CatalogPart& part, const std::string& key) {
  static std::mutex mutex;
  static std::map<std::string, ReadPart, std::less<>> known;
  const std::lock_guard lock{mutex};
  if (const auto it = known.find(key); it != known.end()) return it->second;
  ReadPart out;
  out.file = std::make_shared<SourceText>(SourceText{part.file, std::string{part.text}, true});
  Problems problems;
  problems.keep(out.file);
  auto section = parse_yaml(out.file, part.section, problems, part.lines_before);
  problems.throw_if_any();
  if (section.entries.empty()) throw sim::InternalError("a part of the catalog without a key: " + key);
  out.value = std::move(section.entries.front().value);
  return known.emplace(key, std::move(out)).first->second;
}

std::string_view noun(std::string_view kind) {
  if (kind == "network_switches") return "network switch";
  if (kind == "cables") return "cable";
  if (kind == "gpus") return "GPU";
  if (kind == "links") return "link";
  if (kind == "switches") return "switch";
  if (kind == "cpus") return "CPU";
  if (kind == "hosts") return "host";
  if (kind == "networks") return "network";
  return "NIC";
}

}  // namespace

Parts::Parts(ReadContext context, const Value* own) : context_{context}, own_{own} {}
Parts::~Parts() = default;

const Value* Parts::resolve(std::string_view kind, const std::string& name, const Value& at) {
  const auto key = fmt::format("{}/{}", kind, name);
  if (const auto known = resolved_.find(key); known != resolved_.end()) return &known->second;

  Value value;
  const Value* own_kind = own_ ? own_->get(kind) : nullptr;
  if (const auto* own = own_kind ? own_kind->get(name) : nullptr) {
    value = *own;
  } else if (const auto part = catalog_part(kind, name)) {
    const auto& read = read_part(*part, key);
    context_.problems->keep(read.file);
    value = read.value;
    const bool shipped = !context_.profile || !context_.profile->data().instead_of_shipped;
    if (const auto* fitted = !shipped ? nullptr : Profile::shipped().data().part(kind, name))
      value = merged(value, *fitted);
  } else {
    auto names = catalog_part_names(kind);
    if (own_kind) {
      for (const auto& e : own_kind->entries) names.push_back(e.key.text);
    }
    context_.problems->add(at, fmt::format("no {} part '{}'", noun(kind), name), suggest(name, names));
    return nullptr;
  }

  if (context_.profile) {
    if (const auto* fitted = context_.profile->data().part(kind, name)) value = merged(value, *fitted);
  }
  if (const auto* base = value.get("extends"); base && base->is_scalar()) {
    const auto base_name = base->text;
    if (base_name == name || resolving_.contains(fmt::format("{}/{}", kind, base_name))) {
      context_.problems->add(*base, fmt::format("part '{}' extends itself (by way of '{}')", name, base_name));
      return nullptr;
    }
    resolving_.insert(key);
    const auto* below = resolve(kind, base_name, *base);
    resolving_.erase(key);
    if (!below) return nullptr;
    std::erase_if(value.entries, [](const Value::Entry& e) { return e.key.text == "extends"; });
    value = merged(*below, value);
  }
  return &resolved_.emplace(key, std::move(value)).first->second;
}

template <typename Part, typename Read>
const Part* Parts::get(Store<Part>& store, std::string_view kind, const std::string& name, const Value& at, Read read) {
  if (const auto known = store.find(name); known != store.end()) {
    return known->second ? &*known->second : nullptr;
  }
  auto& slot = store[name];
  const auto before = context_.problems->count();
  if (const auto* v = resolve(kind, name, at)) {
    MapReader r{context_, *v, fmt::format("{} part '{}'", noun(kind), name)};
    if (r.sound()) {
      auto part = read(r, name);
      r.word("title");
      r.done();
      if (context_.problems->count() == before) slot = std::move(part);
    }
  }
  return slot ? &*slot : nullptr;
}

const GpuPart* Parts::gpu(const std::string& n, const Value& at) { return get(gpus_, "gpus", n, at, read_gpu); }
const LinkPart* Parts::link(const std::string& n, const Value& at) { return get(links_, "links", n, at, read_link); }
const SwitchPart* Parts::switch_chip(const std::string& n, const Value& at) {
  return get(switches_, "switches", n, at, read_switch);
}
const CpuPart* Parts::cpu(const std::string& n, const Value& at) { return get(cpus_, "cpus", n, at, read_cpu); }
const HostPart* Parts::host(const std::string& n, const Value& at) { return get(hosts_, "hosts", n, at, read_host); }
const NicPart* Parts::nic(const std::string& n, const Value& at) {
  const auto* part = get(nics_, "nics", n, at, read_nic);
  if (part && !part->fabric.empty() && !network(part->fabric, at)) return nullptr;
  return part;
}
const models::NetworkModel* Parts::network(const std::string& n, const Value& at) {
  return get(networks_, "networks", n, at, read_network);
}
const SwitchModel* Parts::network_switch(const std::string& n, const Value& at) {
  return get(network_switches_, "network_switches", n, at, read_network_switch);
}
const CablePart* Parts::cable(const std::string& n, const Value& at) {
  return get(cables_, "cables", n, at, read_cable);
}

void Parts::check_own() {
  if (!own_) return;
  MapReader r{context_, *own_, "'parts'"};
  for (std::string_view kind :
       {"gpus", "links", "switches", "cpus", "hosts", "nics", "networks", "network_switches", "cables"}) {
    const auto* group = r.find(kind);
    if (!group) continue;
    if (!group->is_map()) {
      r.problem(*group, fmt::format("'{}' must be a map of part names", kind));
      continue;
    }
    for (const auto& e : group->entries) {
      const auto& name = e.key.text;
      if (kind == "gpus") gpu(name, e.key);
      if (kind == "links") link(name, e.key);
      if (kind == "switches") switch_chip(name, e.key);
      if (kind == "cpus") cpu(name, e.key);
      if (kind == "hosts") host(name, e.key);
      if (kind == "nics") nic(name, e.key);
      if (kind == "networks") network(name, e.key);
      if (kind == "network_switches") network_switch(name, e.key);
      if (kind == "cables") cable(name, e.key);
    }
  }
  r.done();
}

const Value* catalog_part_value(std::string_view kind, std::string_view name) {
  const auto part = catalog_part(kind, name);
  return part ? &read_part(*part, fmt::format("{}/{}", kind, name)).value : nullptr;
}

}  // namespace linkcast::topologies
