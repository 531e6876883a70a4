// What `calibrate measure` asks of a machine, and what it gets back. Two kinds of machine answer: the real one (CUDA,
// NVML, NCCL) and the twin (the simulator with hidden parameters and noise). Knows neither, and no plan: a request says
// what to do, never why.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkcast/calibration/measurements.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::calibration {

/// Of one thing done several times: the median, and the distance between the quartiles. `n` sample times, each of them
/// the mean of Repetitions::iterations in a row.
struct Timing {
  sim::Time median, spread;
  int n = 0;
};
/// Throws sim::InternalError for no samples.
Timing timing_of(std::vector<sim::Time> samples);

/// `warmup` iterations that are not timed, then `rounds` samples of `iterations` each.
struct Repetitions {
  int warmup = 2, rounds = 7, iterations = 1;
};

inline constexpr int host_memory = -1;  // in place of a GPU's number: pinned memory of its CPU

/// One copy; GPUs by number, in rank order.
struct Transfer {
  int from = 0, to = 0;
  auto operator<=>(const Transfer&) const = default;
};

/// Copies of one size that run side by side: one, both directions of a pair, a ring shift, all to one, …
struct CopyRequest {
  std::vector<Transfer> transfers;
  Engine engine = Engine::copy_engine;
  bool peer_access = true;  // false: the driver stages through host memory
  bool pull = false;        // the destination reads; else the source writes
  bool reduce = false;      // SM only: the sum of two buffers of the source goes out, as in a step of a ring
  int blocks = 0;           // SM only: thread blocks, each of NCCL's 512 threads; 0: as many as fill the GPU
  sim::Bytes size{0};
  Repetitions repeat;
};
/// A time for each transfer, in their order.
struct CopyResult {
  std::vector<Timing> each;
};

/// A chain of dependent loads: every one waits for the one before.
struct ChaseRequest {
  int gpu = 0;
  int memory = 0;            // whose: a GPU's number or host_memory
  sim::Bytes working_set{};  // larger than the L2 cache: memory itself
  Repetitions repeat;
};

enum class LaunchKind : unsigned char { kernel, graph };
/// An empty kernel, or a captured graph of one, on each GPU in turn by one thread, iteration after iteration without
/// waiting (as nccl-tests enqueues calls), until the last has ended: the host's time for one iteration.
struct LaunchRequest {
  LaunchKind kind = LaunchKind::kernel;
  std::vector<int> gpus;
  Repetitions repeat;
};

/// What is forced on NCCL. Empty and 0: NCCL chooses.
struct NcclChoice {
  std::string algorithm, protocol;  // as NCCL_ALGO and NCCL_PROTO spell them
  int channels = 0;
  auto operator<=>(const NcclChoice&) const = default;
};
struct CollectiveRequest {
  models::nccl::Op op = models::nccl::Op::all_reduce;
  sim::Bytes size{0};  // nccl-tests' "size"
  int ranks = 0;       // the first ones; 0: all
  NcclChoice choice;
  bool graph = false;     // a captured graph of `iterations` calls
  bool in_place = false;  // out of place else
  Repetitions repeat;
};
/// nccl-tests' "size" is a multiple of it: a float, and one for each rank where every rank has a part of the whole.
sim::Bytes least_size(models::nccl::Op op, int ranks);

/// `wall`: as nccl-tests, the host's time from the first call until all streams are done, for each call.
/// `events`: between two CUDA events on the slowest GPU's stream.
struct CollectiveResult {
  Timing wall, events;
  std::string algorithm, protocol;  // what NCCL took, where it is known
};

struct NvLinkFacts {
  int link = 0;
  bool up = false;
  int version = 0;
  std::string peer;  // "nvswitch", "gpu 0000:1b:00.0", "unknown"
};
struct PcieFacts {
  int generation = 0, width = 0, most_generation = 0, most_width = 0;  // 0: not known
};
struct FabricFacts {
  std::string state, cluster;  // "completed", …; UUID
  int clique = 0;
};
struct GpuFacts {
  std::string name, bus_id;
  int compute_capability = 0;  // 90
  int sms = 0, copy_engines = 0;
  sim::Bytes memory{0};
  PcieFacts pcie;
  std::vector<NvLinkFacts> nvlinks;
  int c2c_links = 0;
  std::optional<FabricFacts> fabric;
};
struct NicFacts {
  std::string name, state, link_layer;  // "mlx5_0:1", "ACTIVE", "InfiniBand"
  double gbps = 0;
};

/// What is there. `launch` says how the ranks live: one process for all, or a process each.
struct Discovery {
  std::string kind;  // "real", "twin"
  std::string host;
  std::optional<std::string> system;  // catalog name
  std::vector<GpuFacts> gpus;         // that copies may use, by number
  std::vector<std::vector<bool>> peer_access;
  std::vector<NicFacts> nics;
  int ranks = 0, nodes = 1;  // of collectives; 0 ranks: none can be run
  models::LaunchMode launch = models::LaunchMode::single_process;
  std::string driver, cuda_driver, cuda_runtime;
  std::optional<models::nccl::Version> nccl;
  std::map<std::string, std::string> env;  // NCCL_* only
  std::vector<std::string> missing;        // what cannot be measured here, why, and how to go on
};

/// What a machine lacks (peer access, an algorithm): asking again would get the same answer. Every other
/// sim::InputError may be of the moment.
class Lacking : public sim::InputError {
 public:
  using sim::InputError::InputError;
};

class Machine {
 public:
  virtual ~Machine() = default;
  virtual Discovery discover() = 0;
  /// All throw Lacking where the request is not possible on this machine, and sim::InputError where the hardware or a
  /// library fails: the text names the call that failed.
  virtual CopyResult copy(const CopyRequest& request) = 0;
  virtual Timing chase(const ChaseRequest& request) = 0;  // of one load
  virtual Timing launch(const LaunchRequest& request) = 0;
  virtual CollectiveResult collective(const CollectiveRequest& request) = 0;
  /// Time that has passed on this machine, in seconds: what a budget is measured with.
  virtual double elapsed_s() const = 0;
};

}  // namespace linkcast::calibration
