// NCCL collectives on the GPUs of this process, timed as nccl-tests does: by the host's clock around calls back to
// back, and by events on every stream. Knows nothing of how processes find each other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "linkcast/calibration/measure.hpp"
#include "nccl_library.hpp"

namespace linkcast::calibration::cuda {

/// Of one process: a sample for each round. `wall` of all its GPUs together, `events` of the slowest of them.
struct LocalSamples {
  std::vector<sim::Time> wall, events;
};

class Collectives {
 public:
  /// `devices`: of this process; they are the ranks from `first_rank` on, of `ranks` in all.
  Collectives(const NcclLibrary& nccl, std::vector<int> devices, int first_rank, int ranks);
  ~Collectives();

  /// Whether a request needs another communicator than the last one. Then run() needs an id that is new, on every
  /// process.
  bool needs_communicator(const CollectiveRequest& request) const;
  /// Bytes that all processes must be given.
  std::string new_id() const;
  /// Gives the communicator back: `sound` false where a call failed or may hang. The next run needs a new one.
  void release(bool sound);
  /// Called on all processes with the same request. An `id` makes a new communicator; empty: the last one. `barrier` is
  /// called before every round, and returns when all processes have called theirs. Processes without a rank in the
  /// request return at once, without samples.
  LocalSamples run(const CollectiveRequest& request, const std::string& id, const std::function<void()>& barrier);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace linkcast::calibration::cuda
