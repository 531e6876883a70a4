// The matrix that `nvidia-smi topo -m` prints, out of the raw output and out of what people paste: colours, prompts,
// Markdown, wrapped rows, columns that were cut off. Knows what the words mean, and no machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import_parts.hpp"

namespace linkcast::topologies {

/// From near to far. `unknown`: cut off.
enum class PathClass : unsigned char { unknown, self, pix, pxb, phb, node, sys, nvlink };
std::string_view name_of(PathClass c);

struct MatrixCell {
  PathClass path = PathClass::unknown;
  int nvlinks = 0;
  int line = 0, column = 0;
};

struct TopoMatrix {
  std::vector<std::string> names;  // "GPU0", …, then the NICs, in the order of their numbers
  std::vector<std::string> nics;   // what the legend calls them: "mlx5_0"
  int gpus = 0;
  std::vector<std::vector<MatrixCell>> cells;
  std::vector<std::string> cpu_affinity, numa_affinity;  // of the GPUs; empty where not said
  std::string product;                                   // "NVIDIA H100 80GB HBM3", where a line around it says so
  int line = 0, column = 1;                              // where it begins

  const MatrixCell& at(std::size_t i, std::size_t j) const { return cells[i][j]; }
};

/// What is wrong goes to in.problems: cells that are no such word, cells that differ from their mirror image, missing
/// rows, names that appear twice.
TopoMatrix read_topo_matrix(const ImportInput& in);

}  // namespace linkcast::topologies
