// NCCL's cost model: latency and bandwidth of every (collective, algorithm, protocol), and which of them a user's
// variables or the machine rule out. It ranks; it does not predict. Knows graphs, not links.
#pragma once

#include <array>
#include <cstdint>

#include "nccl/rules.hpp"
#include "nccl/search.hpp"
#include "nccl/tuning_tables.hpp"

namespace linkcast::models::nccl {

/// What the cost model needs to know of a communicator.
struct TuneInput {
  Version version;
  int nodes = 1, ranks = 1;
  int cc_min = 0, cc_max = 0;
  bool x86 = true, amd = false, intel = false, arm = false, power = false;
  bool mixed_vendor = false;  // CPUs of several makers: they count as AMD where LL is limited
  bool has_switch = false;
  bool nvls = false;  // supported on this machine
  bool collnet = false;
  int collnet_heads = 0;
  bool unpack = false;  // the network leaves unpacking to the GPU: no PAT
  bool collnet_chain_usable = true;
  int comm_channels = 1;
  const Found* ring = nullptr;
  const Found* tree = nullptr;
  const Found* nvls_graph = nullptr;  // never null; channels may be 0
  const Found* collnet_chain = nullptr;
  const Found* collnet_direct = nullptr;
};

class TuneModel {
 public:
  TuneModel(const TuneInput& input, const Environment& env);

  float latency(int c, int a, int p) const { return latency_[c][a][p]; }
  float bandwidth(int c, int a, int p) const { return bandwidth_[c][a][p]; }
  int max_threads(int a, int p) const { return threads_[a][p]; }
  long long thread_threshold(int a, int p) const { return thresholds_[a][p]; }
  /// Microseconds; negative where not available.
  float time(int c, int a, int p, std::int64_t bytes) const;

 private:
  void thread_limits(const Environment& env);
  void fill(const Environment& env);
  void forbid(const Environment& env);
  float bus_bandwidth(int c, int a, int p) const;
  float to_algorithm_bandwidth(int c, int a, float bus) const;
  float path_latency(int c, int a, int p, double net_overhead) const;
  bool considered(int c, int a, int p, const Environment& env) const;
  const Found& graph(int a) const;
  bool since(int minor, int patch = 0) const { return in_.version >= Version{2, minor, patch}; }

  TuneInput in_;
  TuneTables tables_;
  float latency_[collectives][algorithms][protocols] = {};
  float bandwidth_[collectives][algorithms][protocols] = {};
  float ring_backup_[collectives][protocols] = {};
  int threads_[algorithms][protocols] = {};
  long long thresholds_[algorithms][protocols] = {};
};

}  // namespace linkcast::models::nccl
