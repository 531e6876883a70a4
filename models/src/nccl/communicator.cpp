// A communicator: runs the searches in NCCL's order on every kind of node, and takes the least of what was found, as
// NCCL's ranks do when they exchange their graphs (initTransportsRank of init.cc). Knows nothing of sizes.
#include "linkcast/models/nccl/communicator.hpp"

#include <algorithm>

#include "linkcast/models/nccl/network_defaults.hpp"
#include "nccl/communicator_impl.hpp"
#include "nccl/graph_file.hpp"
#include "nccl/node_trees.hpp"

namespace linkcast::models::nccl {

Communicator::Impl::Impl(std::vector<System> systems, std::vector<std::uint16_t> kind_of_node, Config c)
    : config{std::move(c)} {
  if (!config.network.empty()) apply_network_defaults(config.env, config.network, config.platform, config.version);
  const auto defaults = network_defaults(config.network, config.platform, config.version);
  unpack = defaults.unpack;
  tuner = defaults.tuner;
  if (systems.empty()) throw sim::InputError{"no machine", "NCCL needs at least one"};
  if (!kind_of_node.empty()) config.nodes = static_cast<int>(std::min<std::size_t>(kind_of_node.size(), 1'000'000'000));
  if (config.nodes < 1 || config.nodes > 100'000) {
    throw sim::InputError{std::to_string(config.nodes) + " nodes", "between 1 and 100000"};
  }
  std::vector<char> used(systems.size(), 0);
  if (kind_of_node.empty()) used[0] = 1;
  for (const auto k : kind_of_node) {
    if (k >= systems.size()) {
      throw sim::InputError{"a node of kind " + std::to_string(k),
                            "there are " + std::to_string(systems.size()) + " kinds, counted from 0"};
    }
    used[k] = 1;
  }
  kinds.assign(systems.size(), -1);
  for (std::size_t k = 0; k < systems.size(); ++k) {
    if (used[k] == 0) continue;
    check(systems[k]);
    kinds[k] = static_cast<int>(machines.size());
    machines.push_back(std::make_unique<Machine>(std::move(systems[k]), config));
  }
  if (machines.size() > 1) {
    machine_of_node.reserve(kind_of_node.size());
    for (const auto k : kind_of_node) machine_of_node.push_back(static_cast<std::uint16_t>(kinds[k]));
  }
  topo = &*machines.front()->topo;
  locals = topo->gpus();
  ranks = locals * config.nodes;
  for (const auto& m : machines) {
    const auto& nodes = m->seen.system.nodes();
    const auto gpus = m->seen.system.of_type(NodeType::gpu);
    if (m->gpus() != locals) {
      throw sim::InputError{"machines of " + std::to_string(locals) + " and of " + std::to_string(m->gpus()) + " GPUs",
                            "every node of a communicator needs the same number of ranks here"};
    }
    for (int g = 0; g < locals; ++g) {
      for (int p = 0; p < locals; ++p) {
        if (m->topo->gpu_path(g, p).type != PathType::dis) continue;
        throw sim::InputError{"no path from " + nodes[gpus[g]].name + " to " + nodes[gpus[p]].name,
                              "connect their CPUs or their NVLinks"};
      }
    }
    if (env("NCCL_SHM_DISABLE", 0) == 1 && !m->topo->p2p_allowed(0, locals - 1)) {
      throw sim::InputError{"NCCL_SHM_DISABLE=1 where GPUs cannot reach each other by P2P",
                            "NCCL would use the network inside the node, which is not modelled"};
    }
    search(*m);
    m->list_ranks();
  }
  rails.pxn_level = env("NCCL_PXN_DISABLE", 0) == 1 ? 0 : static_cast<int>(env("NCCL_P2P_PXN_LEVEL", 2));
  rails.same_nic = env("NCCL_CROSS_NIC", 2) == 0;
  const bool c2c = since(27) && env("NCCL_PXN_C2C", since(28) ? 1 : 0) != 0;
  rails.relay_limit = c2c ? PathType::p2c : PathType::pxb;
  rails.group = p2p_group();
  agree();
  count_channels();
  count_p2p();
  fill_model();
  tune_nvls();
}

void Communicator::Impl::check(const System& system) const {
  const auto gpus = system.of_type(NodeType::gpu);
  if (gpus.empty()) throw sim::InputError{"the system has no GPU", "NCCL needs at least one"};
  if (gpus.size() > 576) {
    throw sim::InputError{std::to_string(gpus.size()) + " GPUs in one NVLink domain or node",
                          "at most 576, what NVLink 5 can address; NCCL itself stops at 72"};
  }
  if (system.of_type(NodeType::cpu).empty())
    throw sim::InputError{"the system has no CPU", "every GPU hangs below one"};
  if (config.nodes > 1 && system.of_type(NodeType::net).empty()) {
    throw sim::InputError{"several nodes, but the system has no network port",
                          "add NICs to the topology or take one node"};
  }
}

void Communicator::Impl::search(Machine& m) const {
  SearchOptions options;
  options.inter = config.nodes > 1;
  options.cross_nic = static_cast<int>(env("NCCL_CROSS_NIC", 2));
  options.scatter_nets = env("NCCL_MNNVL_SCATTER_NETS_ENABLE", 1) != 0;
  options.max_channels = max_channels();
  options.prune = !config.exhaustive;
  Search run{*m.topo, options};

  // The user may prescribe graphs; what the file does not have is searched.
  std::map<int, Found> given;
  if (const auto path = config.env.get("NCCL_GRAPH_FILE")) {
    given = read_graphs(read_graph_file(*path), *path, m, options.cross_nic, options.inter);
  }
  const auto find = [&](int id, Pattern pattern, int least, int most, bool of_collnet = false) {
    const auto it = given.find(id);
    return it != given.end() ? it->second : run.find(pattern, least, most, of_collnet);
  };
  m.ring = find(0, Pattern::ring, 1, max_channels() / 2);
  m.tree = find(1, Pattern::balanced_tree, m.ring.channels, m.ring.channels);
  const bool collnet_port =
      std::any_of(m.seen.system.nodes().begin(), m.seen.system.nodes().end(), [](const Node& n) { return n.collnet; });
  if (wants_collnet() && collnet_port) {
    m.collnet_chain = find(2, Pattern::tree, m.ring.channels, m.ring.channels, true);
    m.collnet_direct = find(4, Pattern::collnet_direct, 1, max_channels(), true);
  }
  if (config.multicast && since(17) && env("NCCL_NVLS_ENABLE", 2) != 0) {
    m.nvls = find(3, Pattern::nvls, 1, max_channels());
  }
}

bool Communicator::Impl::wants_collnet() const {
  return env("NCCL_COLLNET_ENABLE", 0) == 1 && config.nodes >= env("NCCL_COLLNET_NODE_THRESHOLD", 2);
}

void Communicator::Impl::agree() {
  const auto least = [&](Found Machine::*which) {
    Found common = machines.front().get()->*which;
    for (const auto& m : machines) {
      const Found& f = m.get()->*which;
      common.channels = std::min(common.channels, f.channels);
      common.same_channels = common.same_channels && f.same_channels;
      common.bw_intra = std::min(common.bw_intra, f.bw_intra);
      common.bw_inter = std::min(common.bw_inter, f.bw_inter);
      common.type_intra = std::max(common.type_intra, f.type_intra);
      common.type_inter = std::max(common.type_inter, f.type_inter);
      common.cross_nic = std::max(common.cross_nic, f.cross_nic);
      common.pattern = std::max(common.pattern, f.pattern);  // of trees: the simplest shape
      common.latency_inter = std::max(common.latency_inter, f.latency_inter);
    }
    return common;
  };
  ring = least(&Machine::ring);
  tree = least(&Machine::tree);
  collnet_chain = least(&Machine::collnet_chain);
  collnet_direct = least(&Machine::collnet_direct);
  nvls = least(&Machine::nvls);
  int fewest = topo->nets(), most = fewest;
  for (const auto& m : machines) {
    fewest = std::min(fewest, m->topo->nets());
    most = std::max(most, m->topo->nets());
  }
  if (const auto file = config.env.get("NCCL_TOPO_FILE")) {
    notes.push_back("NCCL_TOPO_FILE=" + *file + " is not opened: the topology itself is what such a file says");
  }
  if (fewest != most && since(30) && env("NCCL_IGNORE_NET_MISMATCH", 0) != 1) {
    notes.push_back("nodes with " + std::to_string(fewest) + " and with " + std::to_string(most) +
                    " network ports: NCCL " + config.version.str() +
                    " refuses to start unless NCCL_IGNORE_NET_MISMATCH=1 is set");
  }
  graphs["RING"] = publish(ring);
  graphs["TREE"] = publish(tree);
  if (collnet_chain.channels > 0) graphs["COLLNET_CHAIN"] = publish(collnet_chain);
  if (collnet_direct.channels > 0) graphs["COLLNET_DIRECT"] = publish(collnet_direct);
  if (nvls.channels > 0) graphs["NVLS"] = publish(nvls);
  // Up to 2.22 CollNet was given up on nodes of more than eight GPUs; later only its own two algorithms are.
  collnet = collnet_chain.channels > 0 && (since(23) || locals <= 8);
  std::vector<int> own_heads, chain_heads;
  const auto note = [](std::vector<int>& list, int gpu) {
    if (std::find(list.begin(), list.end(), gpu) == list.end()) list.push_back(gpu);
  };
  for (int c = 0; c < collnet_direct.channels; ++c) note(own_heads, collnet_direct.gpu(c, 0, locals));
  for (int c = 0; c < collnet_chain.channels; ++c) note(chain_heads, collnet_chain.gpu(c, 0, locals));
  direct_heads = std::max(1, static_cast<int>(own_heads.size()));
  const int enough = since(28) || !since(18) ? 2 : 3;  // GPUs in the domain
  nvls_usable = nvls.channels > 0 && locals >= enough;
  ring.channels = tree.channels = std::min(ring.channels, tree.channels);
  agreed_heads = machines.front()->heads.size();
  for (const auto& m : machines) agreed_heads = std::min(agreed_heads, m->heads.size());
  // Whose ports reach the reducing switches: since 2.28 those of the NVLS heads where there is NVLS.
  std::size_t fewest_heads = heads_to_switches(*machines.front()).size();
  for (const auto& m : machines) fewest_heads = std::min(fewest_heads, heads_to_switches(*m).size());
  collnet_heads = static_cast<int>(fewest_heads);
  if (since(30, 7) && nvls_usable) {
    own_heads.clear();
    for (int c = 0; c < nvls.channels; ++c) note(own_heads, nvls.gpu(c, 0, locals));
  }
  chain_usable = !since(30, 7) || std::all_of(chain_heads.begin(), chain_heads.end(), [&](int h) {
    return std::find(own_heads.begin(), own_heads.end(), h) != own_heads.end();
  });

  cc_min = topo->cc_min();
  cc_max = topo->cc_max();
  x86 = topo->x86();
  amd = topo->amd();
  intel = topo->intel();
  power = topo->power();
  for (const auto& m : machines) {
    cc_min = std::min(cc_min, m->topo->cc_min());
    cc_max = std::max(cc_max, m->topo->cc_max());
    mixed_vendor = mixed_vendor || m->topo->amd() != topo->amd() || m->topo->intel() != topo->intel();
    x86 = x86 && m->topo->x86();
    power = power && m->topo->power();
  }
  if (mixed_vendor) amd = intel = false;
}

void Communicator::Impl::fill_model() {
  TuneInput in;
  in.version = config.version;
  in.nodes = config.nodes;
  in.ranks = ranks;
  in.cc_min = cc_min;
  in.cc_max = cc_max;
  in.x86 = x86;
  in.amd = amd;
  in.intel = intel;
  in.power = power;
  in.mixed_vendor = mixed_vendor;
  in.has_switch = std::all_of(machines.begin(), machines.end(), [](const auto& m) { return m->topo->has_switch(); });
  in.nvls = nvls_usable;
  in.collnet = collnet;
  in.collnet_heads = collnet_heads;
  in.unpack = unpack;
  in.collnet_chain_usable = chain_usable;
  in.comm_channels = counts.comm;
  in.ring = &ring;
  in.tree = &tree;
  in.nvls_graph = &nvls;
  in.collnet_chain = &collnet_chain;
  in.collnet_direct = &collnet_direct;
  model.emplace(in, config.env);
}

Graph Communicator::Impl::publish(const Found& f) const {
  const Machine& m = *machines.front();
  Graph g;
  g.pattern = static_cast<int>(f.pattern);
  g.cross_nic = f.cross_nic;
  g.channels = f.channels;
  g.bw_intra = static_cast<double>(f.bw_intra);
  g.bw_inter = static_cast<double>(f.bw_inter);
  g.type_intra = f.type_intra;
  g.type_inter = f.type_inter;
  g.same_channels = f.same_channels ? 1 : 0;
  for (int c = 0; c < f.channels; ++c) {
    const int count = f.pattern == Pattern::nvls ? 1 : locals;
    std::vector<int> order;
    for (int i = 0; i < count; ++i) order.push_back(m.local_rank[f.gpu(c, i, locals)]);
    g.intra.push_back(std::move(order));
    const auto net = [&](int at) { return at < 0 ? -1 : m.topo->node(NodeType::net, at).facts->dev; };
    if (config.nodes > 1)
      g.inter.emplace_back(net(f.nets[c][0]), net(f.nets[c][1]));
    else
      g.inter.emplace_back(-1, -1);
  }
  return g;
}

namespace {
std::vector<System> only(System system) {
  std::vector<System> one;
  one.push_back(std::move(system));
  return one;
}
}  // namespace

Communicator::Communicator(System system, Config config)
    : impl_{std::make_unique<Impl>(only(std::move(system)), std::vector<std::uint16_t>{}, std::move(config))} {}
Communicator::Communicator(std::vector<System> kinds, std::vector<std::uint16_t> kind_of_node, Config config)
    : impl_{std::make_unique<Impl>(std::move(kinds), std::move(kind_of_node), std::move(config))} {}
Communicator::~Communicator() = default;
Communicator::Communicator(Communicator&&) noexcept = default;

int Communicator::ranks() const { return impl_->ranks; }
int Communicator::nodes() const { return impl_->config.nodes; }
const System& Communicator::system() const { return impl_->machines.front()->system; }
const System& Communicator::system_of(int node) const { return impl_->machine(node).system; }
std::span<const int> Communicator::fused_nets(int node, int net) const {
  for (const auto& ports : impl_->machine(node).seen.ports) {
    if (ports.front() == net) return ports;
  }
  return {};
}
const Config& Communicator::config() const { return impl_->config; }
const std::vector<std::string>& Communicator::notes() const { return impl_->notes; }
const std::map<std::string, Graph>& Communicator::graphs() const { return impl_->graphs; }
ChannelCounts Communicator::channels() const { return impl_->counts; }

std::map<std::string, Tune> Communicator::tune(Op op) const {
  std::map<std::string, Tune> table;
  const int c = collective_index(op);
  if (c < 0) return table;
  for (int a = 0; a < algorithms; ++a) {
    for (int p = 0; p < protocols; ++p) {
      if (impl_->model->bandwidth(c, a, p) <= 0) continue;
      const auto name =
          std::string{name_of(static_cast<Algorithm>(a))} + "/" + std::string{name_of(static_cast<Protocol>(p))};
      table[name] = {static_cast<double>(impl_->model->latency(c, a, p)),
                     static_cast<double>(impl_->model->bandwidth(c, a, p))};
    }
  }
  return table;
}

std::vector<Choice> Communicator::candidates(const Call& call) const { return impl_->candidates(call); }
Choice Communicator::choose(const Call& call) const { return impl_->candidates(call).front(); }
Plan Communicator::plan(const Call& call) const { return impl_->plan(call); }
P2pPlan Communicator::p2p_plan(const Call&, sim::Bytes message) const {
  return impl_->p2p_plan(message, impl_->config.nodes > 1);
}
P2pPlan Communicator::p2p_plan(sim::Bytes message, bool network) const { return impl_->p2p_plan(message, network); }

namespace {
void check_channel(int channel, int channels, const char* what) {
  if (channel < 0 || channel >= channels) throw sim::InternalError{std::string{"no "} + what + " on that channel"};
}
}  // namespace

std::vector<int> Communicator::ring(int channel) const {
  check_channel(channel, impl_->counts.comm, "ring");
  return impl_->whole_ring(channel);
}
std::vector<int> Communicator::tree_parents(int channel) const {
  check_channel(channel, impl_->counts.comm, "tree");
  return impl_->tree_parents(channel);
}

std::vector<int> Communicator::nvls_heads() const {
  const auto heads = nvls_heads_in_node(0);
  return {heads.begin(), heads.end()};
}

std::vector<std::vector<std::pair<int, int>>> Communicator::p2p_schedule() const {
  std::vector<std::vector<std::pair<int, int>>> rounds(static_cast<std::size_t>(ranks()));
  for (int i = 0; i < ranks(); ++i) {
    const auto round = p2p_round(i);
    for (int r = 0; r < ranks(); ++r) rounds[i].emplace_back(round.send_to(r), round.receive_from(r));
  }
  return rounds;
}

std::span<const int> Communicator::ring_in_node(int channel, int node) const {
  return impl_->ring_in_node(channel, node);
}
std::span<const int> Communicator::tree_in_node(int channel, int node) const {
  return impl_->tree_in_node(channel, node);
}
int Communicator::tree_child_rank(int channel, int node, int child) const {
  return impl_->tree_child_rank(channel, node, child);
}
int Communicator::tree_index(int channel) const { return impl_->tree_index(channel); }
TreePlace Communicator::tree_place(int tree, int node) const { return double_tree(impl_->config.nodes, node, tree); }
std::vector<int> Communicator::node_tree_parents(int tree) const {
  std::vector<int> parents;
  parents.reserve(static_cast<std::size_t>(nodes()));
  for (int node = 0; node < nodes(); ++node) parents.push_back(tree_place(tree, node).parent);
  return parents;
}
std::span<const int> Communicator::nvls_heads_in_node(int node) const {
  if (!impl_->nvls_usable) return {};
  return std::span<const int>{impl_->machine(node).heads}.first(impl_->agreed_heads);
}

std::span<const int> Communicator::collnet_heads_in_node(int node) const {
  if (!impl_->collnet) return {};
  return std::span<const int>{impl_->heads_to_switches(impl_->machine(node))}.first(
      static_cast<std::size_t>(impl_->collnet_heads));
}
std::span<const int> Communicator::collnet_chain_in_node(int channel, int node) const {
  if (!impl_->collnet) return {};
  return impl_->machine(node).collnet_chains[channel % impl_->collnet_chain.channels];
}
NetEdge Communicator::collnet_net(int head, int node) const { return impl_->collnet_net(head, node); }

NetEdge Communicator::ring_net(int channel, int node) const { return impl_->ring_net(channel, node); }
NetEdge Communicator::tree_up_net(int channel, int node) const { return impl_->tree_net(channel, node, true); }
NetEdge Communicator::tree_down_net(int channel, int node) const { return impl_->tree_net(channel, node, false); }
NetEdge Communicator::nvls_tree_up_net(int channel, int head, int node) const {
  return impl_->nvls_tree_net(channel, head, node, true);
}
NetEdge Communicator::nvls_tree_down_net(int channel, int head, int node) const {
  return impl_->nvls_tree_net(channel, head, node, false);
}
NetEdge Communicator::p2p_net(int from, int to, int channel) const { return impl_->p2p_net(from, to, channel); }
int Communicator::p2p_rounds() const { return impl_->ranks; }
P2pRound Communicator::p2p_round(int round) const { return impl_->p2p_round(round); }
int Communicator::p2p_channel(int round, int part) const { return impl_->p2p_channel(round, part); }

}  // namespace linkcast::models::nccl
