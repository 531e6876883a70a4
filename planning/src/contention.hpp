// The cables that several jobs share, and how fast each of them sends over them. A job is in one of its phases, or
// sends nothing; for every combination of phases the shares are max-min fair. Knows no job's time and no collective.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkcast/sim/fluid.hpp"

namespace linkcast::planning {

/// One pipelined flow as it runs when the job has the network for itself.
struct PhaseFlow {
  std::vector<sim::Usage> load;  // bytes per second on each cable
  double seconds = 0;            // its bytes take
};

/// What a job sends at once.
struct TrafficPhase {
  std::string communicator, operation;  // as in workloads::ReplayedTotal
  double on_wire = 1;                   // share of a call's time in which its bytes flow
  double occupancy = 0;                 // share of the job's time in which they do
  std::vector<PhaseFlow> flows;
  double seconds() const;  // of the slowest flow
};

using Phases = std::vector<TrafficPhase>;
/// By job: which of its phases, -1: none.
using PhaseState = std::vector<int>;
/// By job and phase.
using PhaseTable = std::vector<std::vector<double>>;

class Contention {
 public:
  struct Memory {
    std::size_t most = std::size_t{1} << 30;     // for what must be there; more is refused
    std::size_t known = std::size_t{256} << 20;  // for states that were solved: solved again where it is too little
  };
  /// `resources` in the numbers that the flows' loads use. `jobs` and `resources` must outlive it. Throws
  /// sim::InputError where that takes more than `memory.most` bytes.
  Contention(const sim::ResourceTable& resources, std::vector<const Phases*> jobs)
      : Contention{resources, std::move(jobs), Memory{}} {}
  Contention(const sim::ResourceTable& resources, std::vector<const Phases*> jobs, Memory memory);

  /// How much longer the bytes of each phase take when every job is in its phases for these shares of the time,
  /// independently of the others. A job with an empty row, or zeros, never sends.
  PhaseTable expected(const PhaseTable& occupancy);
  /// The same when all jobs with occupancy > 0 always send, in the phases that harm most.
  PhaseTable worst(const PhaseTable& occupancy);
  /// The fullest cable on the way of the slowest flow of a job in a state; nothing where the others do not slow it.
  std::optional<sim::ResourceId> bottleneck(const PhaseState& state, std::size_t job);
  /// Slowest flow against the slowest flow alone, in one state.
  double stretch(const PhaseState& state, std::size_t job);

  bool sampled() const { return sampled_; }
  std::size_t known_bytes() const { return known_bytes_; }
  static constexpr std::size_t most_states = 512, samples = 256;

 private:
  struct Shared {
    std::vector<std::pair<std::uint32_t, double>> flows;  // flow, bytes per second
    sim::ResourceId representative;
  };
  using Paces = std::vector<double>;  // by flow of all jobs; 1 where it does not send
  std::size_t first(std::size_t job, int phase) const { return first_[job][static_cast<std::size_t>(phase)]; }
  const Paces& paces(const PhaseState& state);
  double stretch_at(const Paces& paces, std::size_t job, int phase) const;
  /// States of the other jobs, each with its probability; `at[job]` stays.
  std::vector<std::pair<PhaseState, double>> states(const PhaseTable& occupancy, std::size_t job, int phase);

  std::vector<const Phases*> jobs_;
  std::vector<std::vector<std::size_t>> first_;  // by job and phase: its first flow
  std::size_t flows_ = 0;
  std::vector<Shared> shared_;
  sim::ResourceTable table_;                     // of shared_
  std::vector<std::vector<sim::Usage>> usages_;  // by flow, on table_
  // By state: paces of the flows that send then and share a cable, in billionths, one job after the other.
  using Known = std::vector<std::uint32_t>;
  std::vector<std::size_t> contended(const PhaseState& state) const;  // which flows those are
  Known solve(const std::vector<std::size_t>& flows) const;
  Memory memory_;
  std::map<PhaseState, Known> solved_;
  std::size_t known_bytes_ = 0;
  Paces now_;                     // of the state that was asked for last
  std::vector<std::size_t> set_;  // where it is not 1
  bool sampled_ = false;
};

}  // namespace linkcast::planning
