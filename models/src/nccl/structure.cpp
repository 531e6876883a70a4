// The rings and trees of a communicator, strung over its nodes: graph/connect.cc and graph/trees.cc of NCCL. What
// depends on a node only by its kind and parity is a reference into what was found once. Knows no network port.
#include <algorithm>

#include "nccl/communicator_impl.hpp"
#include "nccl/node_trees.hpp"

namespace linkcast::models::nccl {

const std::vector<int>& Communicator::Impl::ring_in_node(int channel, int node) const {
  const Machine& m = machine(node);
  int c = channel % ring.channels;
  // With crossing NICs, odd nodes swap the two rings of a pair, so that traffic stays on its rail.
  if (m.ring.cross_nic == 2 && ring.channels % 2 == 0 && node % 2 == 1) c ^= 1;
  return m.rings[c];
}

const std::vector<int>& Communicator::Impl::tree_in_node(int channel, int node) const {
  return machine(node).chains[channel % tree.channels];
}

int Communicator::Impl::tree_child_rank(int channel, int node, int child) const {
  const auto pattern = machine(node).tree.pattern;
  const int position = child == 0 ? (pattern == Pattern::tree ? 0 : 1) : (pattern == Pattern::split_tree ? 1 : 0);
  const auto& chain = tree_in_node(channel, node);
  return chain[std::min(position, locals - 1)];
}

std::vector<int> Communicator::Impl::whole_ring(int channel) const {
  std::vector<int> order;
  order.reserve(static_cast<std::size_t>(ranks));
  for (int node = 0; node < config.nodes; ++node) {
    for (const int local : ring_in_node(channel, node)) order.push_back(node * locals + local);
  }
  return order;
}

std::vector<int> Communicator::Impl::tree_parents(int channel) const {
  std::vector<int> parent(static_cast<std::size_t>(ranks), -1);
  for (int node = 0; node < config.nodes; ++node) {
    const auto& chain = tree_in_node(channel, node);
    for (int i = 1; i < locals; ++i) parent[node * locals + chain[i]] = node * locals + chain[i - 1];
    const auto place = double_tree(config.nodes, node, tree_index(channel));
    if (place.parent < 0) continue;
    parent[node * locals + chain[0]] =
        place.parent * locals + tree_child_rank(channel, place.parent, place.second ? 1 : 0);
  }
  return parent;
}

}  // namespace linkcast::models::nccl
