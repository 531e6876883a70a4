// The choice of algorithms that Amazon's network plugin puts before NCCL's own on its H100 and H200 machines: regions
// in the plane of message size and number of ranks. Knows no link.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "linkcast/models/nccl/types.hpp"

namespace linkcast::models::nccl {

struct TunerPick {
  Algorithm algorithm;
  Protocol protocol;
};

/// What the tuner ("p5", "p5en") takes for a call, all regions that contain it in the plugin's order; empty where NCCL
/// chooses. It is made for eight ranks per node on more than two nodes.
std::vector<TunerPick> region_tuner(std::string_view tuner, Op op, std::int64_t bytes, int ranks, int nodes);

}  // namespace linkcast::models::nccl
