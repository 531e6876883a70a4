// See call_costs.hpp. NICs of a machine are shared by the sibling communicators that use its other GPUs: alone, a
// communicator may spread over U of them; when all siblings run, each has its even share S, and what links decide takes
// max(1, U / S) times as long. Siblings do run together: they are parts of one program. On a machine that is not as the
// first (a NIC is down) the siblings' own choices of NICs are counted: of the one that most of them crowd on, a
// communicator has its share.
#include "linkcast/workloads/call_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace linkcast::workloads {

using models::nccl::Op;
using sim::Cause;

struct CallCosts::Model {
  CollectiveModel model;
  bool between_nodes = false;
  double crowded = 1;
  double siblings = 1;               // that share its leaf, itself counted
  std::map<Op, double> trunks = {};  // trunk_ratio() of what was called
  std::string note;
};

namespace {

/// Those that work: overrides, and `nics` with fewer than the machine has places for, take others down.
int nics_of(const topologies::Fabric& machine) {
  std::set<topologies::DeviceId> nics;
  const auto links = machine.links();
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!machine.usable(topologies::LinkId{static_cast<std::uint32_t>(i)})) continue;
    for (const auto end : {links[i].a, links[i].b})
      if (machine.devices()[static_cast<std::size_t>(end)].kind == topologies::DeviceKind::nic) nics.insert(end);
  }
  return static_cast<int>(nics.size());
}

double crowding(const CollectiveModel& model, const topologies::Fabric& machine, int locals) {
  const auto& graphs = model.communicator().graphs();
  const auto ring = graphs.find("RING");
  const int nics = nics_of(machine);
  if (ring == graphs.end() || nics == 0) return 1;
  std::set<int> used;
  for (const auto& [in, out] : ring->second.inter) used.insert(out);
  const double fair = nics * locals / static_cast<double>(machine.gpus().size());
  return std::max(1.0, static_cast<double>(used.size()) / std::max(fair, 1e-9));
}

/// Communicators on the other GPUs of a machine that are as this one: moved on, and none of them on another's GPUs.
std::vector<std::vector<int>> siblings_of(const std::vector<int>& gpus, int all) {
  std::vector<std::vector<int>> out{gpus};
  std::set<int> taken{gpus.begin(), gpus.end()};
  for (int shift = 1; shift < all; ++shift) {
    std::vector<int> moved;
    for (const int g : gpus) moved.push_back((g + shift) % all);
    if (std::ranges::any_of(moved, [&](int g) { return taken.contains(g); })) continue;
    taken.insert(moved.begin(), moved.end());
    out.push_back(std::move(moved));
  }
  return out;
}

/// How much of each NIC of node 0's machine a communicator's rings load, out of what they send in all.
std::map<int, double> nic_loads(const models::nccl::Communicator& c) {
  std::map<int, double> out;
  const int channels = c.channels().comm;
  for (int i = 0; i < channels; ++i) out[c.ring_net(i, 0).send_net] += 1.0 / channels;
  return out;
}

/// How many communicators like one with `locals` GPUs of each machine send through the same leaf: the machine's NICs on
/// the leaf of its first over those that are this communicator's share. On rails each has a leaf of its own.
double siblings_below_a_leaf(const topologies::Cluster& cluster, int node, int locals) {
  const auto& network = cluster.network();
  const auto& machine = cluster.machine(node);
  const int nics = nics_of(machine), original = cluster.original_node(node);
  if (network.empty() || network.switches().size() < 2 || nics == 0) return 1;
  std::map<std::uint32_t, int> on;  // NICs by leaf
  std::optional<std::uint32_t> first;
  std::map<std::uint32_t, std::uint32_t> leaf_of;  // of ports of this machine
  for (int nic = 0; nic < nics; ++nic)
    for (const auto port : network.ports_of(original, nic)) leaf_of[static_cast<std::uint32_t>(port)] = 0;
  for (const auto& cable : network.cables())
    if (const auto at = leaf_of.find(cable.a); at != leaf_of.end()) at->second = cable.b;
  for (int nic = 0; nic < nics; ++nic) {
    const auto ports = network.ports_of(original, nic);
    if (ports.empty()) continue;
    const auto leaf = leaf_of[static_cast<std::uint32_t>(ports.front())];
    ++on[leaf];
    if (!first) first = leaf;
  }
  if (!first) return 1;
  const double own = std::max(1.0, nics * locals / static_cast<double>(machine.gpus().size()));
  return std::max(1.0, on[*first] / own);
}

/// Bytes that each resource carries in one call, at fidelity flow.
std::vector<double> carried_by(const CollectiveModel& model, Op op) {
  models::nccl::Call call;
  call.op = op;
  call.bytes = sim::gib(1);
  const auto task = model.task(call);
  std::vector<double> out(model.cluster().resource_count(), 0);
  const auto add = [&](std::span<const sim::Usage> usages, sim::Bytes bytes) {
    for (const auto& u : usages)
      out[static_cast<std::size_t>(u.resource)] += u.weight * static_cast<double>(bytes.count());
  };
  if (const auto* flow = std::get_if<sim::PipelinedFlow>(&task.work)) add(flow->usages, flow->bytes);
  if (const auto* program = std::get_if<std::shared_ptr<const sim::ChunkProgram>>(&task.work))
    for (const auto& agent : (*program)->agents) {
      sim::Unit unit;
      agent.at(0, unit);
      add(agent.local, unit.bytes);
    }
  return out;
}

/// How long the cables between switches that leave one switch need together for a large call's bytes, over what the
/// busiest cable of a NIC needs: where the siblings below a leaf send too, they share the former, not the latter. All
/// cables of a switch count as one, since each flow has its own way through them.
double trunk_ratio(const CollectiveModel& model, Op op) {
  const auto& cluster = model.cluster();
  const auto& network = cluster.network();
  const auto carried = carried_by(model, op);
  const auto cables = network.cables();
  double nic = 0, trunk = 0;
  std::map<std::pair<std::uint32_t, bool>, std::pair<double, double>> leaving;  // bytes, rate
  for (std::uint32_t c = 0; c < cables.size(); ++c) {
    if (!cables[c].up) continue;
    const double rate = network.cable_models()[cables[c].model].payload.GBps() * cables[c].count;
    for (const bool forward : {true, false}) {
      const double bytes = carried[static_cast<std::size_t>(cluster.cable(topologies::CableId{c}, forward))];
      if (cables[c].a < network.ports()) {
        nic = std::max(nic, bytes / rate);
      } else {
        auto& sum = leaving[{cables[c].a, forward}];
        sum.first += bytes;
        sum.second += rate;
      }
    }
  }
  for (const auto& [end, sum] : leaving) trunk = std::max(trunk, sum.first / sum.second);
  return nic > 0 ? trunk / nic : 0;
}

/// Whether something in the network is not as it was built.
bool damaged(const topologies::Network& net) {
  return std::ranges::any_of(net.switches(), [](const auto& s) { return !s.up; }) ||
         std::ranges::any_of(net.cables(), [](const auto& c) { return !c.up; }) ||
         std::ranges::any_of(net.cable_models(), [](const auto& m) { return m.state != "up"; });
}

}  // namespace

CallCosts::CallCosts(topologies::Cluster cluster, CommunicatorOptions options, bool share_trunks)
    : cluster_{std::move(cluster)}, options_{std::move(options)}, share_trunks_{share_trunks} {
  options_.launch_floor = sim::Time{};
  network_damaged_ = damaged(cluster_.network());
}
CallCosts::~CallCosts() = default;

std::size_t CallCosts::model_of(std::span<const int> ranks) {
  const int per_node = cluster_.gpus_per_node();
  std::vector<int> nodes;
  std::map<int, std::vector<int>> locals;
  for (const int r : ranks) {
    const int node = r / per_node;
    auto& l = locals[node];
    if (l.empty()) nodes.push_back(node);
    l.push_back(r % per_node);
  }
  const auto& first =
      *std::ranges::max_element(nodes, [&](int a, int b) { return locals[a].size() < locals[b].size(); });
  const auto gpus = locals[first];
  const bool even = std::ranges::all_of(nodes, [&](int n) { return locals[n].size() == gpus.size(); });
  const bool aligned = std::ranges::all_of(nodes, [&](int n) { return locals[n] == gpus; });
  std::string note;
  if (!even)
    note = fmt::format("a communicator of {} ranks lies unevenly on its nodes: taken as {} on each of {}", ranks.size(),
                       gpus.size(), nodes.size());
  else if (!aligned)
    note =
        "communicators that use different GPUs on their nodes are taken as using the same ones: paths across rails "
        "are not told apart";
  std::string shape = fmt::format("{}|{}|", fmt::join(gpus, ","), note);
  for (const int n : nodes) shape += fmt::format("{}:{},", n - nodes[0], cluster_.kind_of(n));
  if (network_damaged_ && nodes.size() > 1) shape += fmt::format("at {}", nodes[0]);
  if (const auto found = by_shape_.find(shape); found != by_shape_.end()) return found->second;
  auto job = cluster_.job(nodes, gpus);
  const auto& machine = cluster_.machine(nodes[0]);
  CollectiveModel model{std::move(job), options_};
  double crowded = nodes.size() > 1 ? crowding(model, machine, static_cast<int>(gpus.size())) : 1;
  const bool alike =
      std::ranges::all_of(nodes, [&](int n) { return cluster_.kind_of(n) == cluster_.kind_of(nodes[0]); });
  for (std::size_t i = 0; !alike && i < nodes.size(); ++i)
    crowded = std::max(crowded, crowding_at(nodes[i], nodes[i == 0 ? 1 : 0], gpus));
  const double siblings =
      share_trunks_ && nodes.size() > 1 ? siblings_below_a_leaf(cluster_, nodes[0], static_cast<int>(gpus.size())) : 1;
  models_.push_back(
      std::make_unique<Model>(Model{std::move(model), nodes.size() > 1, crowded, siblings, {}, std::move(note)}));
  return by_shape_[shape] = models_.size() - 1;
}

double CallCosts::crowding_at(int node, int other, const std::vector<int>& gpus) {
  const auto key = fmt::format("{}|{}|{}", cluster_.kind_of(node), cluster_.kind_of(other), fmt::join(gpus, ","));
  if (const auto found = crowding_.find(key); found != crowding_.end()) return found->second;
  const std::vector<int> pair{node, other};
  std::map<int, double> all, own;
  const auto siblings = siblings_of(gpus, cluster_.gpus_per_node());
  for (std::size_t s = 0; siblings.size() > 1 && s < siblings.size(); ++s) {
    const auto loads =
        nic_loads(communicator_of(cluster_.job(pair, siblings[s]), options_.nccl, options_.env, options_.tuner));
    for (const auto& [nic, load] : loads) all[nic] += load;
    if (s == 0) own = loads;
  }
  double most = 1;
  for (const auto& [nic, load] : own) most = std::max(most, all[nic] / load);
  return crowding_[key] = most;
}

const std::string& CallCosts::note(std::size_t model) const { return models_[model]->note; }

const CallCost& CallCosts::cost(std::size_t m, Op op, sim::Bytes bytes, int root) {
  const Call key{m, static_cast<int>(op), root, bytes.count()};
  if (const auto found = costs_.find(key); found != costs_.end()) return found->second;
  auto& model = *models_[m];
  models::nccl::Call call;
  call.op = op;
  call.bytes = std::max(bytes, sim::Bytes{1});
  call.root = root;
  const auto row = model.model.run(call);
  CallCost c;
  const auto links = row.account[Cause::wire] + row.account[Cause::protocol] + row.account[Cause::congestion] +
                     row.account[Cause::queueing] + row.account[Cause::paused];
  double stretch = model.crowded;
  if (model.siblings > 1) {
    const auto [at, fresh] = model.trunks.try_emplace(op, 0);
    if (fresh) at->second = trunk_ratio(model.model, op);
    stretch = std::max(stretch, model.siblings * at->second);
  }
  const double on_links = links.us() * stretch;
  c.time = row.time + sim::Time::from_us(on_links - links.us());
  c.on_links = c.time == sim::Time{} ? 0 : on_links / c.time.us();
  c.channels = row.channels;
  c.between_nodes = model.between_nodes;
  c.algorithm = row.algorithm;
  c.protocol = row.protocol;
  c.bound_by = row.bound_by;
  return costs_.emplace(key, std::move(c)).first->second;
}

}  // namespace linkcast::workloads
