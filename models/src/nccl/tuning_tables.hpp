// The constants of NCCL's cost model by version (src/graph/tuning.cc of the tags v2.12.12 to v2.30.7).
// Microseconds and GB/s. Nothing but numbers.
#pragma once

#include <array>

#include "linkcast/models/nccl/types.hpp"

namespace linkcast::models::nccl {

using PerProtocol = std::array<double, 3>;  // LL, LL128, Simple
using PerScale = std::array<double, 3>;     // 1 node, 2 nodes, more

enum class Hardware { nvlink, pci, net };

struct TuneTables {
  std::array<PerProtocol, 7> base;                                  // by algorithm, in NCCL's order
  std::array<std::array<PerProtocol, 7>, 3> hw;                     // by Hardware, then algorithm
  std::array<PerScale, 4> ll_max;                                   // by generation: Volta, Ampere, Hopper, Blackwell
  std::array<PerScale, 4> ring_ll128, tree_ll128, tree, nvls_tree;  // per channel
};

TuneTables tune_tables(const Version& version);

/// Tree times are corrected for medium sizes: factors on the bandwidth at 64 B, 128 B, … (floor of log2).
inline constexpr double tree_correction[3][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

}  // namespace linkcast::models::nccl
