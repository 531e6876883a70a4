// A communicator: runs the searches in NCCL's order, counts channels as ncclTopoPostset does, and strings rings and
// trees together over the nodes. Knows nothing of sizes.
#include "linkcast/models/nccl/communicator.hpp"

#include <algorithm>
#include <numeric>

#include "nccl/communicator_impl.hpp"

namespace linkcast::models::nccl {

namespace {

PathOptions path_options(const Environment& env, const Version& version) {
  PathOptions o;
  const auto level = [&](std::string_view name) {
    const auto text = env.get(name);
    return text ? static_cast<int>(path_level(*text).value_or(PathType::sys)) : -1;
  };
  o.p2p_level = level("NCCL_P2P_LEVEL");
  if (env.integer("NCCL_P2P_DISABLE") == 1) o.p2p_level = static_cast<int>(PathType::loc);
  o.nvb = env.integer("NCCL_NVB_DISABLE").value_or(0) == 0;
  o.pxn = env.integer("NCCL_PXN_DISABLE").value_or(0) == 0;
  o.pxn_c2c = env.integer("NCCL_PXN_C2C").value_or(version >= Version{2, 28, 0} ? 1 : 0) != 0;
  o.gdr_c2c = env.integer("NCCL_NET_GDR_C2C").value_or(1) != 0;
  o.gdr_level = level("NCCL_NET_GDR_LEVEL");
  if (const auto read = env.integer("NCCL_NET_GDR_READ")) {
    o.gdr_read_off = *read == 0;
    o.gdr_read_forced = *read > 0;
  }
  if (const auto policy = env.get("NCCL_NETDEVS_POLICY")) {
    if (*policy == "ALL" || *policy == "all") o.devices = PathOptions::NetDevices::all;
    if (policy->starts_with("MAX:") || policy->starts_with("max:")) {
      o.device_limit = std::max(1, std::atoi(policy->c_str() + 4));
      o.devices = PathOptions::NetDevices::at_most;
    }
  }
  return o;
}

// The parent of a node in NCCL's in-order binary tree, and whether it is that parent's second child.
struct TreePlace {
  int parent = -1;
  bool second = false;
};

TreePlace binary_tree(int nodes, int node) {
  if (node == 0) return {};
  int bit = 1;
  while ((bit & node) == 0) bit <<= 1;
  int up = (node ^ bit) | (bit << 1);
  if (up >= nodes) up = node ^ bit;
  return {up, node > up};
}

// The second tree mirrors the first (even number of nodes) or shifts it by one (odd), so that leaves and inner
// nodes change places.
TreePlace second_tree(int nodes, int node) {
  if (nodes % 2 == 1) {
    auto place = binary_tree(nodes, (node - 1 + nodes) % nodes);
    if (place.parent >= 0) place.parent = (place.parent + 1) % nodes;
    return place;
  }
  auto place = binary_tree(nodes, nodes - 1 - node);
  if (place.parent >= 0) place.parent = nodes - 1 - place.parent;
  return place;
}

}  // namespace

Communicator::Impl::Impl(System s, Config c) : system{std::move(s)}, config{std::move(c)} {
  if (config.nodes < 1 || config.nodes > 100'000) {
    throw sim::InputError{std::to_string(config.nodes) + " nodes", "between 1 and 100000"};
  }
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
  locals = static_cast<int>(gpus.size());
  ranks = locals * config.nodes;
  topo.emplace(system, config.version, path_options(config.env, config.version));
  for (int g = 0; g < locals; ++g) {
    for (int p = 0; p < locals; ++p) {
      if (topo->gpu_path(g, p).type == PathType::dis) {
        throw sim::InputError{"no path from " + system.nodes()[gpus[g]].name + " to " + system.nodes()[gpus[p]].name,
                              "connect their CPUs or their NVLinks"};
      }
    }
  }
  if (env("NCCL_SHM_DISABLE", 0) == 1 && !topo->p2p_allowed(0, locals - 1)) {
    throw sim::InputError{"NCCL_SHM_DISABLE=1 where GPUs cannot reach each other by P2P",
                          "NCCL would use the network inside the node, which is not modelled"};
  }
  std::vector<int> order(gpus.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return system.nodes()[gpus[a]].rank < system.nodes()[gpus[b]].rank; });
  local_rank.resize(order.size());
  for (std::size_t r = 0; r < order.size(); ++r) local_rank[order[r]] = static_cast<int>(r);

  search();
  count_channels();
  count_p2p();

  TuneInput in;
  in.version = config.version;
  in.nodes = config.nodes;
  in.ranks = ranks;
  in.cc_min = topo->cc_min();
  in.cc_max = topo->cc_max();
  in.x86 = topo->x86();
  in.amd = topo->amd();
  in.intel = topo->intel();
  in.power = topo->power();
  in.has_switch = topo->has_switch();
  in.nvls = nvls_usable;
  in.collnet = collnet;
  in.comm_channels = counts.comm;
  in.ring = &ring;
  in.tree = &tree;
  in.nvls_graph = &nvls;
  in.collnet_chain = &collnet_chain;
  in.collnet_direct = &collnet_direct;
  model.emplace(in, config.env);
  tune_nvls();
}

void Communicator::Impl::search() {
  SearchOptions options;
  options.inter = config.nodes > 1;
  options.cross_nic = static_cast<int>(env("NCCL_CROSS_NIC", 2));
  options.scatter_nets = env("NCCL_MNNVL_SCATTER_NETS_ENABLE", 1) != 0;
  options.max_channels = max_channels();
  options.prune = !config.exhaustive;
  Search search{*topo, options};
  max_bw = search.max_bw();
  total_bw = search.total_bw();

  ring = search.find(Pattern::ring, 1, max_channels() / 2);
  tree = search.find(Pattern::balanced_tree, ring.channels, ring.channels);
  graphs["RING"] = publish(ring);
  graphs["TREE"] = publish(tree);

  collnet = env("NCCL_COLLNET_ENABLE", 0) == 1 && config.nodes >= env("NCCL_COLLNET_NODE_THRESHOLD", 2) &&
            std::any_of(system.nodes().begin(), system.nodes().end(), [](const Node& n) { return n.collnet; });
  collnet_chain.channels = collnet_direct.channels = 0;
  if (collnet) {
    collnet_chain = search.find(Pattern::tree, ring.channels, ring.channels, true);
    collnet_direct = search.find(Pattern::collnet_direct, 1, max_channels(), true);
    if (collnet_chain.channels > 0) graphs["COLLNET_CHAIN"] = publish(collnet_chain);
    if (collnet_direct.channels > 0) graphs["COLLNET_DIRECT"] = publish(collnet_direct);
    collnet = collnet_chain.channels > 0;
  }

  const bool wanted = config.multicast && since(17) && env("NCCL_NVLS_ENABLE", 2) != 0;
  if (wanted)
    nvls = search.find(Pattern::nvls, 1, max_channels());
  else
    nvls.channels = 0;
  if (nvls.channels > 0) graphs["NVLS"] = publish(nvls);
  const int least = since(28) || !since(18) ? 2 : 3;  // GPUs in the domain
  nvls_usable = nvls.channels > 0 && locals >= least && !(config.nodes > 1 && since(20) && !since(21));
  const int channels = std::min(ring.channels, tree.channels);
  ring.channels = tree.channels = channels;
}

Graph Communicator::Impl::publish(const Found& f) const {
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
    for (int i = 0; i < count; ++i) order.push_back(local_rank[f.gpu(c, i, locals)]);
    g.intra.push_back(std::move(order));
    const auto net = [&](int slot) { return slot < 0 ? -1 : topo->node(NodeType::net, slot).facts->dev; };
    if (config.nodes > 1)
      g.inter.emplace_back(net(f.nets[c][0]), net(f.nets[c][1]));
    else
      g.inter.emplace_back(-1, -1);
  }
  return g;
}

void Communicator::Impl::count_channels() {
  counts.search = ring.channels;
  const int most = max_channels();
  int n = std::min(most, ring.channels * 2);  // the second half carries the second tree
  if (collnet && collnet_chain.bw_intra > collnet_chain.bw_inter && locals > 1) n = std::min(most, n + n / 2);
  // Four compute channels per search channel where few GPUs share a node.
  const bool new_enough = since(25) ? topo->cc_min() >= 90 : topo->cc_min() == 90;
  const bool few = since(20) ? n < 16 : 2 * n <= most;
  if (since(18) && new_enough && config.nodes > 1 && ring.bw_intra > 45.0F && few) n *= 2;

  auto limit = env("NCCL_MAX_NCHANNELS", env("NCCL_MAX_NRINGS", most));
  limit = std::clamp<long long>(limit, 1, most);
  limit = std::min(limit, std::clamp<long long>(env("NCCL_MAX_CTAS", most), 1, most));
  auto least = env("NCCL_MIN_NCHANNELS", env("NCCL_MIN_NRINGS", 0));
  least = std::max(std::clamp<long long>(least, 0, most), std::clamp<long long>(env("NCCL_MIN_CTAS", 1), 1, most));
  n = static_cast<int>(std::min<long long>(n, limit));
  n = static_cast<int>(std::max<long long>(n, least));
  counts.comm = std::max(1, n);
  // From 2.22 to 2.27 there were never fewer channels than NVLS uses.
  if (nvls_usable && since(22) && !since(28)) {
    const bool blackwell = since(25) && topo->cc_min() >= 100;
    const int nvls_channels = !blackwell ? 16 : config.nodes == 1 && since(27) ? 24 : 32;
    counts.comm =
        std::max(counts.comm, static_cast<int>(std::min<long long>(env("NCCL_NVLS_NCHANNELS", nvls_channels), most)));
  }
}

float Communicator::Impl::min_net_bw() const {
  float least = 0;
  for (int g = 0; g < locals; ++g) {
    const int first = topo->local_net(g, 0);
    for (int c = 0; c < max_channels() && first >= 0; ++c) {
      const int n = topo->local_net(g, c);
      if (c > 0 && n == first) break;
      const float bw = topo->net_path(g, n).bw;
      least = least == 0 ? bw : std::min(least, bw);
    }
  }
  return least;
}

void Communicator::Impl::tune_nvls() {
  const bool blackwell = topo->cc_min() >= 100 && since(25);
  const int nodes = config.nodes;
  int channels = 16, chunk = 0, tree_chunk = 0;
  if (blackwell) channels = nodes == 1 && since(27) ? 24 : 32;
  if (blackwell && nodes > 1 && since(30)) {
    // NCCL transport/nvls.cc: measured settings by NIC, GPUs per node and path.
    const float nic = min_net_bw();
    const bool near = nvls.type_inter <= PathType::pxb;
    chunk = 128 << 10;
    if (nodes == 2 && nic >= 48) {
      channels = 32;
      tree_chunk = 128 << 10;
      if (locals <= 4)
        chunk = tree_chunk = 256 << 10;
      else if (locals >= 16 || (locals <= 8 && near && nic < 96))
        tree_chunk = 64 << 10;
    } else if (nic >= 96) {
      channels = locals <= 8 ? 24 : 32;
      if (locals <= 8)
        chunk = tree_chunk = 256 << 10;
      else
        tree_chunk = locals < 32 ? 128 << 10 : 64 << 10;
    } else if (nic >= 48) {
      channels = 24;
      tree_chunk = near ? 64 << 10 : 128 << 10;
    }
  }
  if (config.env.get("NCCL_NVLS_NCHANNELS")) channels = static_cast<int>(env("NCCL_NVLS_NCHANNELS", channels));
  if (config.env.get("NCCL_NVLS_CHUNKSIZE") || chunk == 0) {
    chunk = static_cast<int>(std::min<long long>(env("NCCL_NVLS_CHUNKSIZE", 128 << 10), 1 << 30));
  }
  if (tree_chunk == 0) tree_chunk = nodes >= 4 && since(21) ? 64 << 10 : since(21) ? chunk : 512 << 10;
  if (const auto wish = env("NCCL_NVLSTREE_MAX_CHUNKSIZE", -2); wish > 0) tree_chunk = static_cast<int>(wish);
  const auto most = static_cast<long long>(max_channels());
  channels =
      static_cast<int>(std::clamp<long long>(channels, 1, std::clamp<long long>(env("NCCL_MAX_CTAS", most), 1, most)));
  channels = std::max(channels, static_cast<int>(std::clamp<long long>(env("NCCL_MIN_CTAS", 1), 1, most)));
  counts.nvls = nvls_usable ? channels : 0;
  nvls_chunk = chunk;
  nvls_tree_chunk = tree_chunk;
}

int Communicator::Impl::ring_channel(int channel) const { return channel % ring.channels; }

std::vector<int> Communicator::Impl::rotated_ring(int channel) const {
  // With crossing NICs, odd nodes swap the two rings of a pair, so that traffic stays on its rail.
  const int c = ring_channel(channel);
  const bool alternate = ring.cross_nic == 2 && ring.channels % 2 == 0;
  std::vector<int> order;
  order.reserve(static_cast<std::size_t>(ranks));
  for (int node = 0; node < config.nodes; ++node) {
    const int from = alternate && node % 2 == 1 ? c ^ 1 : c;
    for (int i = 0; i < locals; ++i) order.push_back(node * locals + local_rank[ring.gpu(from, i, locals)]);
  }
  return order;
}

std::vector<int> Communicator::Impl::tree_parents(int channel) const {
  const int k = tree.channels;
  const int c = channel % k;
  const bool second = (channel / k) % 2 == 1;
  const auto at = [&](int node, int position) {
    return node * locals + local_rank[tree.gpu(c, std::min(position, locals - 1), locals)];
  };
  // Where the two children of a node's tree enter the chain.
  const int child[2] = {tree.pattern == Pattern::tree ? 0 : 1, tree.pattern == Pattern::split_tree ? 1 : 0};
  std::vector<int> parent(static_cast<std::size_t>(ranks), -1);
  for (int node = 0; node < config.nodes; ++node) {
    for (int i = 1; i < locals; ++i) parent[at(node, i)] = at(node, i - 1);
    const auto place = second ? second_tree(config.nodes, node) : binary_tree(config.nodes, node);
    if (place.parent >= 0) parent[at(node, 0)] = at(place.parent, child[place.second ? 1 : 0]);
  }
  return parent;
}

Communicator::Communicator(System system, Config config)
    : impl_{std::make_unique<Impl>(std::move(system), std::move(config))} {}
Communicator::~Communicator() = default;
Communicator::Communicator(Communicator&&) noexcept = default;

int Communicator::ranks() const { return impl_->ranks; }
int Communicator::nodes() const { return impl_->config.nodes; }
const System& Communicator::system() const { return impl_->system; }
const Config& Communicator::config() const { return impl_->config; }
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
P2pPlan Communicator::p2p_plan(const Call&, sim::Bytes message) const { return impl_->p2p_plan(message); }

std::vector<int> Communicator::ring(int channel) const {
  if (channel < 0 || channel >= impl_->counts.comm) throw sim::InternalError{"no ring on that channel"};
  return impl_->rotated_ring(channel);
}
std::vector<int> Communicator::tree_parents(int channel) const {
  if (channel < 0 || channel >= impl_->counts.comm) throw sim::InternalError{"no tree on that channel"};
  return impl_->tree_parents(channel);
}

std::vector<int> Communicator::nvls_heads() const {
  std::vector<int> heads;
  for (int c = 0; c < impl_->nvls.channels && impl_->nvls_usable; ++c) {
    const int head = impl_->local_rank[impl_->nvls.gpu(c, 0, impl_->locals)];
    if (std::find(heads.begin(), heads.end(), head) == heads.end()) heads.push_back(head);
  }
  return heads;
}

std::vector<std::vector<std::pair<int, int>>> Communicator::p2p_schedule() const { return impl_->p2p_schedule(); }

}  // namespace linkcast::models::nccl
