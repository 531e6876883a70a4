// The processes of one measurement (a GPU each), as torchrun or mpirun start them: who this one is, and messages
// between rank 0 and every other. Knows no message's meaning.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkcast/calibration/real_machine.hpp"

namespace linkcast::calibration {

struct PlaceInJob {
  int rank = 0, size = 1, local_rank = 0;
  std::string address;  // of rank 0
  int port = 0;
};

/// From RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, or OMPI_COMM_WORLD_* in place of the first three.
/// Nothing: a single process. Throws sim::InputError with everything that is missing or contradicts.
std::optional<PlaceInJob> place_in_job(const Environment& environment);

/// "rank 3", "ranks 1, 4-7".
std::string ranks_in_words(std::span<const int> ascending);

/// A star of TCP connections. The port is the one after MASTER_PORT, which torchrun keeps for itself.
class ProcessGroup {
 public:
  using Clock = std::chrono::steady_clock;
  /// Returns when all are there. Throws sim::InputError that names who is missing where that takes longer than
  /// `patience`.
  ProcessGroup(const PlaceInJob& place, Clock::duration patience);
  ~ProcessGroup();
  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  /// Rank 0: to or from any other; the others: `peer` is 0. Throw sim::InputError where the other side is gone.
  void send(int peer, const std::string& message);
  std::string receive(int peer);
  /// Nothing where no message has begun to arrive by then.
  std::optional<std::string> receive(int peer, Clock::time_point until);

 private:
  void listen(Clock::time_point until);
  void connect(Clock::time_point until);
  PlaceInJob place_;
  std::vector<int> sockets_;  // by peer; -1: none
};

}  // namespace linkcast::calibration
