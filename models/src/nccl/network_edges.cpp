// Which network port the two ends of an edge between nodes use, and whether data gets there by GPUDirect or through
// another GPU. Source: ncclTopoGetNetDev (graph/search.cc), ncclTopoCheckGdr and ncclTopoGetIntermediateRank
// (graph/paths.cc), sendSetup and recvSetup (transport/net.cc). Knows nothing beyond the port.
#include <algorithm>

#include "nccl/communicator_impl.hpp"
#include "nccl/node_trees.hpp"

namespace linkcast::models::nccl {

NetEdge Communicator::Impl::edge(int from_node, const Side& from, int to_node, const Side& to) const {
  const Machine& a = machine(from_node);
  const Machine& b = machine(to_node);
  NetEdge e;
  e.from = from_node * locals + from.local;
  e.to = to_node * locals + to.local;
  e.send_net = from.net < 0 ? -1 : a.seen.ports[from.net].front();
  e.recv_net = to.net < 0 ? -1 : b.seen.ports[to.net].front();
  e.send_proxy = from.proxy == from.local ? -1 : from.proxy;
  if (from.net >= 0) {
    const int gpu = a.slot[from.local];
    e.send_gdr = a.topo->gpudirect(gpu, from.net, true);
    e.send_path = a.topo->net_path(gpu, from.net).type;
  }
  if (to.net >= 0) {
    const int gpu = b.slot[to.local];
    e.recv_gdr = b.topo->gpudirect(gpu, to.net, false);
    e.recv_path = b.topo->path(NodeType::net, to.net, NodeType::gpu, gpu).type;
  }
  return e;
}

// A rank that begins a channel's line uses the port before it, every other rank the port behind its end.
Communicator::Impl::Side Communicator::Impl::graph_side(const Machine& m, const Found& found, int agreed, int channel,
                                                        int local) const {
  const int c = channel % agreed;
  const int gpu = m.slot[local];
  const int net = found.nets[c][found.gpu(c, 0, locals) == gpu ? 0 : 1];
  Side side{local, net, local};
  if (net >= 0) side.proxy = m.local_rank[m.topo->intermediate_gpu(gpu, net)];
  return side;
}

// A head uses the port of its search channel; a head of several takes turns (since 2.20).
Communicator::Impl::Side Communicator::Impl::nvls_side(const Machine& m, int channel, int head) const {
  const int local = m.heads[head];
  const int gpu = m.slot[local];
  std::vector<int> nets;
  for (int c = 0; c < nvls.channels; ++c) {
    if (m.nvls.gpu(c, 0, locals) == gpu) nets.push_back(m.nvls.nets[c][0]);
  }
  Side side{local, -1, local};
  if (nets.empty()) return side;
  side.net = nets[since(20) ? static_cast<std::size_t>(channel) % nets.size() : 0];
  if (side.net >= 0) side.proxy = m.local_rank[m.topo->intermediate_gpu(gpu, side.net)];
  return side;
}

NetEdge Communicator::Impl::ring_net(int channel, int node) const {
  const int next = (node + 1) % config.nodes;
  const Machine& a = machine(node);
  const Machine& b = machine(next);
  const int last = ring_in_node(channel, node).back(), first = ring_in_node(channel, next).front();
  return edge(node, graph_side(a, a.ring, ring.channels, channel, last), next,
              graph_side(b, b.ring, ring.channels, channel, first));
}

NetEdge Communicator::Impl::tree_net(int channel, int node, bool up) const {
  const auto place = double_tree(config.nodes, node, tree_index(channel));
  if (place.parent < 0) throw sim::InternalError{"the root of a tree has no parent"};
  const Machine& a = machine(node);
  const Machine& b = machine(place.parent);
  const int entry = tree_child_rank(channel, place.parent, place.second ? 1 : 0);
  const auto child = graph_side(a, a.tree, tree.channels, channel, tree_in_node(channel, node).front());
  const auto parent = graph_side(b, b.tree, tree.channels, channel, entry);
  return up ? edge(node, child, place.parent, parent) : edge(place.parent, parent, node, child);
}

NetEdge Communicator::Impl::nvls_tree_net(int channel, int head, int node, bool up) const {
  const auto place = double_tree(config.nodes, node, channel & 1);
  if (place.parent < 0) throw sim::InternalError{"the root of a tree has no parent"};
  const auto child = nvls_side(machine(node), channel, head);
  const auto parent = nvls_side(machine(place.parent), channel, head);
  return up ? edge(node, child, place.parent, parent) : edge(place.parent, parent, node, child);
}

// Each head is set up on the graph's channel of its own number (ncclTransportCollNetSetup).
NetEdge Communicator::Impl::collnet_net(int head, int node) const {
  if (!collnet || head < 0 || head >= collnet_heads) throw sim::InternalError{"no such CollNet head"};
  const Machine& m = machine(node);
  const auto side = nvls_usable && since(28)
                        ? nvls_side(m, head, head)
                        : graph_side(m, m.collnet_direct, m.collnet_direct.channels, head, m.collnet_heads[head]);
  NetEdge e = edge(node, side, node, side);
  e.to = -1;
  return e;
}

NetEdge Communicator::Impl::p2p_net(int from, int to, int channel) const {
  const int from_node = from / locals, to_node = to / locals;
  const Machine& a = machine(from_node);
  const Machine& b = machine(to_node);
  const Topo& t = *a.topo;
  const int mine = from % locals, theirs = to % locals;
  const int gpu = a.slot[mine], peer = b.slot[theirs];
  // The receiver takes its own port; the sender prefers the one that lies on the same rail.
  Side sender{mine, t.local_net(gpu, channel), mine};
  const Side receiver{theirs, b.topo->local_net(peer, channel), theirs};
  const int pxn_level = rails.pxn_level;
  const bool same_nic = rails.same_nic;
  if (pxn_level != 0 || same_nic) {
    // The local GPU with the peer's device number, on the sender's own host.
    const int dev = b.topo->node(NodeType::gpu, peer).facts->dev;
    const int twin = t.gpu_of_device(t.node(NodeType::gpu, gpu).host, dev);
    const int net = twin < 0 ? -1 : t.local_net(twin, channel);
    if (net >= 0 && same_nic) sender.net = net;
    if (net >= 0 && pxn_level == 1 && t.net_path(gpu, net).type <= PathType::pxn) {
      sender.net = net;
      sender.proxy = a.local_rank[t.intermediate_gpu(gpu, net)];
    }
    if (net >= 0 && pxn_level >= 2) {
      const int relay = t.local_gpu(net);
      if (relay >= 0 && t.gpu_path(relay, gpu).type <= PathType::nvl &&
          t.net_path(relay, net).type <= rails.relay_limit && (!since(30) || t.gpudirect(relay, net, false))) {
        sender.net = net;
        sender.proxy = a.local_rank[relay];
      }
    }
  }
  return edge(from_node, sender, to_node, receiver);
}

}  // namespace linkcast::models::nccl
