// NCCL's double binary tree over the nodes of a communicator, one node at a time. Source: graph/trees.cc. Knows no
// ranks and no channels.
#pragma once

#include "linkcast/models/nccl/communicator.hpp"

namespace linkcast::models::nccl {

/// The place of `node` in tree 0 (in-order) or tree 1, in which inner nodes and leaves change places.
TreePlace double_tree(int nodes, int node, int tree);

}  // namespace linkcast::models::nccl
