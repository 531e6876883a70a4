// load_cluster(): the machines of a file (one kind, and one more for each set of overrides that names nodes), and the
// network that joins them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cluster_data.hpp"
#include "cluster_overrides.hpp"
#include "fabric_data.hpp"
#include "linkcast/topologies/nccl_import.hpp"
#include "loader.hpp"
#include "network_ways.hpp"
#include "network_yaml.hpp"

namespace linkcast::topologies {
namespace {

constexpr std::size_t max_kinds = 4096;

std::vector<int> ports_of(const std::vector<NicFacts>& nics) {
  std::vector<int> out;
  for (const auto& n : nics) out.push_back(n.ports);
  return out;
}

/// The kind of network that the machine's NICs are usually on.
std::string usual_fabric(const Fabric& machine) {
  for (const auto& d : machine.devices()) {
    const auto it = d.attributes.find("fabric");
    if (d.kind == DeviceKind::nic && it != d.attributes.end()) return it->second;
  }
  return {};
}

/// Where nothing is said of a network.
Network assumed_network(const Fabric& machine, int nodes, const ClusterOptions& options,
                        std::vector<std::string>& assumptions, ReadContext context, const Value* parts_of_file) {
  const auto usual = usual_fabric(machine);
  const auto kind = options.fabric.value_or(usual.empty() ? "ib" : usual);
  Parts parts{context, parts_of_file};
  Value at;
  at.text = kind;
  const auto* model = parts.network(kind, at);
  context.problems->throw_if_any();
  if (nics_of(machine).empty())
    throw sim::InputError(fmt::format("{} nodes, but '{}' has no NIC", nodes, machine.name()),
                          "add NICs to the machine or take one node");
  assumptions.push_back(
      fmt::format("no network described: every NIC port on one ideal {} switch that blocks nothing", kind));
  return ideal_network(machine, nodes, *model);
}

class Loading {
 public:
  Loading(TopologyFile& file, const ClusterOptions& options) : file_{file}, options_{options} {}

  Cluster run() {
    data_->name = file_.name;
    data_->text = file_.self_contained();
    if (file_.overrides)
      split_ = file_.cluster() ? split_overrides(*file_.overrides) : SplitOverrides{*file_.overrides, {}, {}};
    auto machine = build_machine(file_, file_.overrides ? &split_.machine : nullptr);
    const auto built = machine;
    data_->kinds.emplace_back(std::move(machine));

    int nodes = read_nodes();
    const auto& kind = data_->kinds.front();
    if (file_.network) nodes = network(kind);
    file_.problems.throw_if_any();
    nodes = std::max(1, nodes);
    data_->kind_of.assign(static_cast<std::size_t>(nodes), 0);
    for (int i = 0; i < nodes; ++i) data_->original.push_back(static_cast<std::uint32_t>(i));
    fits();
    if (!file_.network && nodes > 1)
      data_->network = assumed_network(kind, nodes, options_, data_->assumptions, file_.context(), file_.parts);
    overrides(*built, nodes);
    file_.problems.throw_if_any();
    data_->index_resources();
    Cluster all{data_};
    if (options_.nodes == 0 || options_.nodes == nodes) return all;
    std::vector<int> first;
    for (int i = 0; i < options_.nodes; ++i) first.push_back(i);
    return all.job(first);
  }

 private:
  int read_nodes() {
    MapReader r{file_.context(), file_.document, "the topology"};
    const auto n = r.integer("nodes", 1, max_nodes);
    if (n) said_ = static_cast<int>(*n);
    if (n && options_.nodes > *n) too_many(*n);
    return n ? static_cast<int>(*n) : options_.nodes;
  }

  [[noreturn]] void too_many(std::int64_t most) const {
    throw sim::InputError(
        fmt::format("{} nodes: '{}' has {}", options_.nodes, file_.name, most),
        file_.network ? fmt::format("at most {}; a file that extends it can say `nodes: {}`", most, options_.nodes)
                      : fmt::format("at most {}", most));
  }

  int network(const Fabric& machine) {
    Parts parts{file_.context(), file_.parts};
    auto read =
        read_network_section({file_.context(), parts, *file_.network, file_.nodes, said_, options_, nics_of(machine),
                              usual_fabric(machine), machine.links().size() * 2 * sizeof(sim::Resource)});
    file_.problems.throw_if_any();
    if (!read.data) throw sim::InternalError("a network that was neither built nor refused");
    if (options_.nodes > read.nodes) too_many(read.nodes);
    network_ = std::move(read.data);
    data_->node_names = std::move(read.hosts);
    for (auto& a : read.assumptions) data_->assumptions.push_back(std::move(a));
    return read.nodes;
  }

  void overrides(const Fabric::Data& machine, int nodes) {
    std::vector<std::string> switches;
    if (network_ && (!split_.network.empty())) {
      for (std::size_t s = 0; s < network_->switches.size(); ++s) switches.push_back(network_->switch_name(s));
    }
    auto ports = ports_of(nics_of(data_->kinds.front()));
    if (network_) {
      ports.clear();
      for (auto nic = network_->first_nic[0]; nic < network_->first_nic[1]; ++nic)
        ports.push_back(static_cast<int>(network_->first_port[nic + 1] - network_->first_port[nic]));
    }
    const EndNames names{nodes, data_->node_names, ports, switches};
    std::map<std::string, std::uint16_t> known;
    std::map<int, Value> of_node;
    for (const auto& [text, list] : split_.of) {
      const auto node = names.node(text);
      if (!node || *node >= nodes) {
        file_.problems.add(
            list.items.front(), fmt::format("no node '{}'", text),
            fmt::format("node[0] to node[{}]{}", nodes - 1, data_->node_names.empty() ? "" : ", or a host's name"));
        continue;
      }
      const auto [all, fresh] = of_node.try_emplace(*node, list);
      if (!fresh) all->second.items.insert(all->second.items.end(), list.items.begin(), list.items.end());
    }
    if (network_) {
      if (!split_.network.empty()) apply_network_overrides(file_.context(), split_.network, *network_, names);
      unplug(nodes, of_node);
    }
    for (const auto& [node, list] : of_node) {
      const auto key = emit_yaml(list);
      auto at = known.find(key);
      if (at == known.end()) {
        if (data_->kinds.size() >= max_kinds) {
          file_.problems.add(*file_.overrides, fmt::format("overrides make more than {} kinds of machines", max_kinds));
          return;
        }
        data_->kinds.emplace_back(changed_machine(file_, machine, list));
        at = known.emplace(key, static_cast<std::uint16_t>(data_->kinds.size() - 1)).first;
      }
      data_->kind_of[static_cast<std::size_t>(node)] = at->second;
    }
    if (data_->kinds.size() == 2 && std::ranges::all_of(data_->kind_of, [](auto k) { return k == 1; })) {
      data_->kinds.erase(data_->kinds.begin());  // all machines lack the same NICs
      std::ranges::fill(data_->kind_of, std::uint16_t{0});
    }
    if (network_) {
      data_->network = Network{network_};
    } else {
      for (const auto* item : split_.network)
        file_.problems.add(*item, "an override of the network, but the file has no 'network'",
                           "add `network: {type: ideal}`");
    }
  }

  /// NCCL takes no NIC without an active port (ncclIbInitDevices skips them): a NIC whose cables or switches are all
  /// down or missing is down in its machine. A machine that has no other stays as it is: it cannot be reached at all.
  void unplug(int nodes, std::map<int, Value>& of_node) const {
    const auto& d = *network_;
    const auto plugged = [&](std::uint32_t nic) {
      for (auto port = d.first_port[nic]; port < d.first_port[nic + 1]; ++port)
        if (plug(d, PortId{port})) return true;
      return false;
    };
    const auto nics = nics_of(data_->kinds.front());
    const auto& devices = data_->kinds.front().devices();
    const auto scalar = [&](std::string text) {
      Value v;
      v.kind = Value::Kind::scalar;
      v.source = file_.document.source;
      v.text = std::move(text);
      return v;
    };
    std::vector<std::uint32_t> lost;
    for (int node = 0; node < nodes; ++node) {
      const auto first = d.first_nic[static_cast<std::size_t>(node)];
      const auto count = std::min<std::uint32_t>(d.first_nic[static_cast<std::size_t>(node) + 1] - first,
                                                 static_cast<std::uint32_t>(nics.size()));
      lost.clear();
      for (std::uint32_t nic = 0; nic < count; ++nic)
        if (!plugged(first + nic)) lost.push_back(nic);
      if (lost.empty() || lost.size() == count) continue;
      auto& list = of_node[node];
      list.kind = Value::Kind::sequence;
      list.source = file_.document.source;
      for (const auto nic : lost) {
        Value item;
        item.kind = Value::Kind::map;
        item.source = file_.document.source;
        item.entries.push_back({scalar("device"), scalar(devices[static_cast<std::size_t>(nics[nic].device)].name)});
        item.entries.push_back({scalar("state"), scalar("down")});
        list.items.push_back(std::move(item));
      }
    }
  }

  void fits() const {
    std::size_t links = 0;
    for (const auto k : data_->kind_of) links += data_->kinds[k].links().size();
    const auto bytes = links * 2 * sizeof(sim::Resource);
    if (bytes > max_network_bytes) {
      throw sim::InputError(
          fmt::format("{} nodes have {} links: too many for one replay", data_->kind_of.size(), links),
          fmt::format("{:.1f} GiB for them alone; at most {} GiB", static_cast<double>(bytes) / (1 << 30),
                      max_network_bytes >> 30));
    }
  }

  TopologyFile& file_;
  const ClusterOptions& options_;
  std::shared_ptr<Cluster::Data> data_ = std::make_shared<Cluster::Data>();
  SplitOverrides split_;
  std::optional<int> said_;
  std::shared_ptr<Network::Data> network_;
};

}  // namespace

Cluster load_cluster_yaml(const Source& file, const std::string& name, const ClusterOptions& options) {
  const auto read = read_topology_file(file, name, options.params, options.profile.get());
  return Loading{*read, options}.run();
}

Cluster load_cluster_text(std::string_view yaml, std::string_view name, const ClusterOptions& options) {
  const auto file = std::make_shared<const SourceText>(SourceText{std::string{name}, std::string{yaml}});
  return load_cluster_yaml(file, std::filesystem::path{std::string{name}}.stem().string(), options);
}

Cluster load_cluster(std::string_view name_or_path, const ClusterOptions& options) {
  if (options.nodes < 0 || options.nodes > max_nodes)
    throw sim::InputError(fmt::format("{} nodes", options.nodes), fmt::format("1 to {}", max_nodes));
  const auto found = find_topology(name_or_path);
  if (!found.xml) return load_cluster_yaml(found.file, found.name, options);

  LoadOptions load;
  load.params = options.params;
  load.profile = options.profile;
  auto machine = topologies::load(name_or_path, load);
  if (options.nodes <= 1) return Cluster{std::move(machine)};
  auto data = std::make_shared<Cluster::Data>();
  data->name = machine.name();
  data->text = machine.data().text;
  Problems problems;
  data->network = assumed_network(machine, options.nodes, options, data->assumptions,
                                  {&problems, nullptr, options.profile.get()}, nullptr);
  data->kinds.push_back(std::move(machine));
  data->kind_of.assign(static_cast<std::size_t>(options.nodes), 0);
  for (int i = 0; i < options.nodes; ++i) data->original.push_back(static_cast<std::uint32_t>(i));
  data->index_resources();
  return Cluster{std::move(data)};
}

}  // namespace linkcast::topologies
