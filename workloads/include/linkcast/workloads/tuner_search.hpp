// Finds by simulation what a tuner plugin should choose: for each collective and size the fastest algorithm, protocol
// and number of channels. Knows no file.
#pragma once

#include <functional>
#include <vector>

#include "linkcast/models/nccl/tuner.hpp"
#include "linkcast/workloads/collective.hpp"

namespace linkcast::workloads {

struct TunedSize {
  sim::Bytes size;
  models::nccl::Selection nccl, best;  // what NCCL takes by itself, and what was found; channels are numbers
  sim::Time nccl_time, best_time;      // the second is never more than the first
};

/// Tries every algorithm and protocol that NCCL has for the call, each on NCCL's own number of channels and on 1, 2, 4,
/// …, all. Keeps the choice of the size before, or NCCL's own, where nothing is faster by more than one percent. Ends
/// early when `stop` says so. The model should be without host (launch_floor 0), which hides what differs.
std::vector<TunedSize> tune(const CollectiveModel& model, models::nccl::Op op, const std::vector<sim::Bytes>& sizes,
                            const std::function<bool()>& stop = {});

/// Sizes of one choice in a row become a rule for these nodes and ranks; between two sizes the bound is their geometric
/// mean. The first begins at 0, the last has no end: what matches no rule gets one channel from NCCL's example plugin.
std::vector<models::nccl::TunerRule> tuner_rules(models::nccl::Op op, const std::vector<TunedSize>& tuned, int nodes,
                                                 int ranks);

}  // namespace linkcast::workloads
