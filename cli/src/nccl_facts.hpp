// What `linkcast nccl` found, ready to print: graphs, channels, tuning table and picks, under NCCL's own names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/models/nccl/communicator.hpp"

namespace linkcast::cli {

struct Pick {
  std::int64_t from_bytes;
  std::string choice;    // "Ring/LL"
  double model_time_us;  // NCCL's estimate at from_bytes
};

template <class T>
using ByOp = std::vector<std::pair<std::string, T>>;  // "AllReduce", … in NCCL's order

struct NcclFacts {
  std::string topology;
  const models::nccl::Communicator* communicator;
  ByOp<std::map<std::string, models::nccl::Tune>> tune;
  ByOp<std::vector<Pick>> picks;  // powers of two from 256 B to 8 GiB, runs of one choice merged
};

NcclFacts nccl_facts(std::string topology, const models::nccl::Communicator& communicator);
std::string choice_name(const models::nccl::Choice& choice);

std::string nccl_text(const NcclFacts& facts);
std::string nccl_json(const NcclFacts& facts);

/// Why NCCL takes what it takes for one call: every candidate, the best first.
struct Explanation {
  models::nccl::Call call;
  models::nccl::Choice choice;
  std::vector<models::nccl::Choice> candidates;
};
std::string explanation_text(const NcclFacts& facts, const Explanation& explanation);
std::string explanation_json(const NcclFacts& facts, const Explanation& explanation);

}  // namespace linkcast::cli
