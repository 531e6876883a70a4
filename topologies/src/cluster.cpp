// The public face of a cluster, and jobs on it. Reading files is next door.
#include "linkcast/topologies/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "cluster_data.hpp"
#include "fabric_data.hpp"
#include "network_data.hpp"

namespace linkcast::topologies {

Cluster::Cluster(Fabric machine) {
  auto data = std::make_shared<Data>();
  data->name = machine.name();
  data->text = machine.data().text;
  data->kinds.push_back(std::move(machine));
  data->kind_of = {0};
  data->original = {0};
  data->index_resources();
  data_ = std::move(data);
}
Cluster::Cluster(std::shared_ptr<const Data> data) : data_{std::move(data)} {}

const std::string& Cluster::name() const { return data_->name; }
int Cluster::nodes() const { return static_cast<int>(data_->kind_of.size()); }
int Cluster::gpus_per_node() const { return static_cast<int>(kind(0).gpus().size()); }
int Cluster::ranks() const { return nodes() * gpus_per_node(); }
int Cluster::kinds() const { return static_cast<int>(data_->kinds.size()); }
const Fabric& Cluster::kind(int k) const { return data_->kinds.at(static_cast<std::size_t>(k)); }
int Cluster::kind_of(int node) const { return data_->kind_of.at(static_cast<std::size_t>(node)); }
const Network& Cluster::network() const { return data_->network; }
std::span<const std::string> Cluster::assumptions() const { return data_->assumptions; }
int Cluster::original_node(int node) const {
  return static_cast<int>(data_->original.at(static_cast<std::size_t>(node)));
}
std::string Cluster::node_name(int node) const {
  const int n = original_node(node);
  return data_->node_names.empty() ? fmt::format("node[{}]", n) : data_->node_names.at(static_cast<std::size_t>(n));
}

Cluster Cluster::job(std::span<const int> nodes, std::span<const int> gpus) const {
  auto data = std::make_shared<Data>(*data_);
  if (nodes.empty()) throw sim::InputError("a job without nodes", "name at least one");
  std::vector<bool> taken(static_cast<std::size_t>(this->nodes()), false);
  data->kind_of.clear();
  data->original.clear();
  for (const int n : nodes) {
    if (n < 0 || n >= this->nodes())
      throw sim::InputError(fmt::format("no node {} in {}", n, name()),
                            fmt::format("its nodes are 0 to {}", this->nodes() - 1));
    if (taken[static_cast<std::size_t>(n)]) throw sim::InputError(fmt::format("node {} is named twice", n));
    taken[static_cast<std::size_t>(n)] = true;
    data->kind_of.push_back(data_->kind_of[static_cast<std::size_t>(n)]);
    data->original.push_back(data_->original[static_cast<std::size_t>(n)]);
  }
  if (!gpus.empty())
    for (auto& k : data->kinds) k = k.slice(gpus);
  data->index_resources();
  return Cluster{std::move(data)};
}

void Cluster::Data::index_resources() {
  first_resource.assign(1, 0);
  first_resource.reserve(kind_of.size() + 1);
  for (const auto k : kind_of)
    first_resource.push_back(first_resource.back() + 2 * static_cast<std::uint32_t>(kinds[k].links().size()));
}

sim::ResourceTable Cluster::resources() const {
  sim::ResourceTable table;
  table.reserve(resource_count());
  for (const auto k : data_->kind_of) {
    for (const auto& l : data_->kinds[k].links()) {
      table.add({{}, l.payload, l.bare});
      table.add({{}, l.payload, l.bare});
    }
  }
  const auto models = network().cable_models();
  for (const auto& c : network().cables()) {
    const auto& m = models[c.model];
    table.add({{}, m.payload * c.count, m.bare * c.count});
    table.add({{}, m.payload * c.count, m.bare * c.count});
  }
  return table;
}

sim::ResourceId Cluster::resource(int node, sim::ResourceId in_machine) const {
  return sim::ResourceId{data_->first_resource[static_cast<std::size_t>(node)] +
                         static_cast<std::uint32_t>(in_machine)};
}
sim::ResourceId Cluster::cable(CableId cable, bool forward) const {
  return sim::ResourceId{data_->first_resource.back() + 2 * static_cast<std::uint32_t>(cable) + (forward ? 0u : 1u)};
}
std::size_t Cluster::resource_count() const { return data_->first_resource.back() + 2 * network().cables().size(); }

namespace {
struct Found {
  int node;  // -1: a cable
  std::uint32_t link;
  bool forward;
};
Found find(const Cluster::Data& d, sim::ResourceId id) {
  const auto r = static_cast<std::uint32_t>(id);
  if (r >= d.first_resource.back())
    return {-1, (r - d.first_resource.back()) / 2, (r - d.first_resource.back()) % 2 == 0};
  const auto it = std::upper_bound(d.first_resource.begin(), d.first_resource.end(), r) - 1;
  return {static_cast<int>(it - d.first_resource.begin()), (r - *it) / 2, (r - *it) % 2 == 0};
}
}  // namespace

std::string Cluster::resource_name(sim::ResourceId id) const {
  const auto f = find(*data_, id);
  if (f.node < 0) {
    const auto& c = network().cables()[f.link];
    return fmt::format("cable {}->{}", network().name_of_end(f.forward ? c.a : c.b),
                       network().name_of_end(f.forward ? c.b : c.a));
  }
  const auto& machine = this->machine(f.node);
  const auto& l = machine.links()[f.link];
  const auto name = [&](DeviceId d) { return machine.devices()[static_cast<std::size_t>(d)].name; };
  auto text =
      fmt::format("{} {}->{}", models::name_of(l.kind), name(f.forward ? l.a : l.b), name(f.forward ? l.b : l.a));
  return nodes() == 1 ? text : fmt::format("{} {}", node_name(f.node), text);
}

models::LinkKind Cluster::resource_kind(sim::ResourceId id) const {
  const auto f = find(*data_, id);
  return f.node < 0 ? models::LinkKind::network : machine(f.node).links()[f.link].kind;
}

std::size_t Cluster::estimated_memory_bytes() const {
  std::size_t n = sizeof(Data) + data_->text.size() + network().estimated_memory_bytes();
  for (const auto& k : data_->kinds) n += k.estimated_memory_bytes();
  return n + data_->kind_of.size() * 12 + resource_count() * sizeof(sim::Resource);
}

std::vector<NicFacts> nics_of(const Fabric& machine) {
  std::vector<NicFacts> nics;
  const auto& devices = machine.devices();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].kind != DeviceKind::nic) continue;
    const auto number = [&](const char* key, double otherwise) {
      const auto it = devices[i].attributes.find(key);
      return it == devices[i].attributes.end() ? otherwise : std::atof(it->second.c_str());
    };
    NicFacts f;
    f.device = DeviceId{static_cast<std::uint32_t>(i)};
    f.ports = std::max(1, static_cast<int>(number("ports", 1)));
    f.rate = sim::Rate::from_GBps(number("gbps", 0) / 8 / f.ports);
    f.rail = static_cast<int>(number("rail", static_cast<double>(nics.size())));
    nics.push_back(f);
  }
  return nics;
}

Network ideal_network(const Fabric& machine, int nodes, const models::NetworkModel& model) {
  auto data = std::make_shared<Network::Data>();
  data->model = model;
  data->routing = model.routing;
  const auto nics = nics_of(machine);
  std::vector<int> ports;
  for (const auto& n : nics) ports.push_back(n.ports);
  data->switch_models.push_back({"ideal", 0, sim::Rate::unlimited(), sim::Time{}, model.name == "ib"});  // SHARP
  std::vector<std::uint16_t> cable_of;
  for (const auto& n : nics) {
    const auto same = std::ranges::find_if(data->cable_models, [&](const CableModel& c) { return c.bare == n.rate; });
    cable_of.push_back(static_cast<std::uint16_t>(same - data->cable_models.begin()));
    if (same == data->cable_models.end())
      data->cable_models.push_back(
          {fmt::format("{:g} Gb/s", n.rate.GBps() * 8), n.rate, n.rate * model.efficiency(), sim::Time{}, "up"});
  }
  for (int node = 0; node < nodes; ++node) data->add_machine(ports);
  const auto leaf = data->add(NetworkSwitch{});
  for (std::size_t p = 0; p < data->places.size(); ++p) {
    Cable c;
    c.a = static_cast<std::uint32_t>(p);
    c.b = data->end(leaf);
    c.model = cable_of[static_cast<std::size_t>(data->places[p].nic)];
    data->add(c);
  }
  data->index_cables();
  return Network{std::move(data)};
}

std::string_view name_of(Placement p) {
  switch (p) {
    case Placement::packed:
      return "packed";
    case Placement::strided:
      return "strided";
    case Placement::fragmented:
      return "fragmented";
  }
  return "unknown";
}

}  // namespace linkcast::topologies
