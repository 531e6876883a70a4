// How often parts fail and what that does to a job: a dated, sourced file (planning/data/failure_rates.yaml) that a
// user can lay his own over, and the failing parts of a cluster counted with it. Runs nothing, knows no workload's
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/planning/cost.hpp"
#include "linkcast/sim/units.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::planning {

/// What a failure does to a job that trains in lock step.
enum class Effect : unsigned char {
  interrupts,  // the job stops, and starts again from its last checkpoint
  degrades,    // the job runs on, slower, until the part is repaired
  stalls       // the job stands still for a moment and runs on: a link that flaps
};
std::string_view name_of(Effect e);

/// What a job that was interrupted needs before it can start again.
enum class Remedy : unsigned char {
  restart,  // nothing: the fault is gone, or traffic goes round it
  spare,    // sound nodes in place of those that the failure took
  repair    // the part itself: nothing can take its place
};
std::string_view name_of(Remedy r);

/// Which of the three values of each rate to count with.
enum class RateLevel : unsigned char { low, typical, high };
std::string_view name_of(RateLevel l);

/// All parts of one kind that fail from one cause.
struct FailingPart {
  std::string cause;         // "faulty GPU": names the random stream, so it is unique
  std::string part;          // "gpu", "node", "nic", "nic cable", "switch cable leaf-spine", "leaf switch"
  std::int64_t count = 0;    // how many such parts the job depends on
  double per_part_year = 0;  // failures of one of them in a year of 365.25 days
  Effect effect = Effect::interrupts;
  Remedy remedy = Remedy::restart;  // of what a restart does not mend
  int nodes = 1;                    // how many nodes one failure takes: those below a leaf switch
  double mended_by_restart = 0;     // share of interruptions after which the same part works again
  double slowdown = 1;              // step time over that of the sound job, from the restart (or failure) to the repair
  sim::Time repair;                 // from the failure until the part is back
  sim::Time stall;                  // Effect::stalls
  std::optional<sim::Time> detection;  // where this cause is found later or sooner than others
  std::string source;
};

/// Shared, immutable.
class FailureRates {
 public:
  static std::shared_ptr<const FailureRates> shipped();
  /// A file of schema linkcast.failure-rates/1 laid over the shipped one. Throws sim::InputError with every problem.
  static std::shared_ptr<const FailureRates> read(const std::string& path);
  static std::shared_ptr<const FailureRates> parse(std::string_view text, const std::string& where);
  /// The value of the scenario key `rates`: a path from the scenario's `folder`, wherever it was written (the file, or
  /// --set), or a map of the file's `rates`. Problems go to `problems`, those inside a file of rates with their own
  /// places.
  static std::shared_ptr<const FailureRates> of_scenario(const workloads::trace::Value& v, const std::string& folder,
                                                         workloads::trace::Problems& problems);

  struct Data;
  explicit FailureRates(std::shared_ptr<const Data> data) : data_{std::move(data)} {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// How many of each kind of part a job depends on.
struct PartCount {
  std::string part;  // as in FailingPart
  std::int64_t count = 0;
  int nodes = 1;  // that one of them takes with it
};
std::vector<PartCount> count_parts(const topologies::Cluster& cluster);

/// Parts with a rate, in the file's order. A part kind without parts here is left out.
std::vector<FailingPart> failing_parts(std::span<const PartCount> parts, const FailureRates& rates,
                                       RateLevel level = RateLevel::typical);
std::vector<FailingPart> parts_of_cluster(const topologies::Cluster& cluster, const FailureRates& rates,
                                          RateLevel level = RateLevel::typical);

/// What a study of single failures found out about one kind of part.
struct Impact {
  std::string part;     // as in FailingPart
  double slowdown = 1;  // of the job while such a part is down
  bool outage = false;  // the job cannot run without it
};
/// Lays what was found over the parts. A part that degrades gets the slowdown, or where it is an outage interrupts the
/// job until its repair. After the failure of a switch that interrupts it the job runs with the slowdown until the
/// repair, on the nodes that it has. Parts that a spare node replaces stay as they are: the job runs on sound nodes.
void apply_impacts(std::span<const Impact> impacts, std::vector<FailingPart>& parts);

}  // namespace linkcast::planning
