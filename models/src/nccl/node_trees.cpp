// See node_trees.hpp. O(log nodes) for one node, so that a hundred thousand nodes need no table.
#include "nccl/node_trees.hpp"

namespace linkcast::models::nccl {

namespace {
// In-order: odd nodes are leaves; a node's lowest set bit is its height.
TreePlace in_order(int nodes, int node) {
  TreePlace place;
  int bit = 1;
  while (bit < nodes && (bit & node) == 0) bit <<= 1;
  if (node == 0) {  // the root has one child, which is larger and so a second one
    place.child[1] = nodes > 1 ? bit >> 1 : -1;
    return place;
  }
  place.parent = (node ^ bit) | (bit << 1);
  if (place.parent >= nodes) place.parent = node ^ bit;
  place.second = node > place.parent;
  int low = bit >> 1;
  if (low == 0) return place;
  place.child[0] = node - low;
  place.child[1] = node + low;
  while (place.child[1] >= nodes) {
    place.child[1] = low == 0 ? -1 : node + low;
    low >>= 1;
  }
  return place;
}
}  // namespace

TreePlace double_tree(int nodes, int node, int tree) {
  if (tree == 0) return in_order(nodes, node);
  // Mirrored for an even number of nodes, shifted by one for an odd number.
  const bool shift = nodes % 2 == 1;
  TreePlace place = in_order(nodes, shift ? (node - 1 + nodes) % nodes : nodes - 1 - node);
  for (int* n : {&place.parent, &place.child[0], &place.child[1]}) {
    if (*n >= 0) *n = shift ? (*n + 1) % nodes : nodes - 1 - *n;
  }
  return place;
}

}  // namespace linkcast::models::nccl
