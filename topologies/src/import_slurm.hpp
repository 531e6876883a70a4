// What both of Slurm's topology files say.
#pragma once

#include <string_view>
#include <vector>

#include "import_tree.hpp"

namespace linkcast::topologies {

struct SlurmBlock {
  TreeName name;
  std::vector<TreeName> hosts;
};

struct SlurmTopology {
  Tree tree;                       // topology/tree
  std::vector<SlurmBlock> blocks;  // topology/block
  std::vector<int> block_sizes;
  bool link_speeds = false;
};

ImportedNetwork network_of(const SlurmTopology& topology, const ImportInput& in);

/// A host list at a place of the file. `total`: names read so far, which are bounded over the whole file.
void read_name_list(std::string_view text, int line, int column, const ImportInput& in, std::size_t& total,
                    std::vector<TreeName>& out);

}  // namespace linkcast::topologies
