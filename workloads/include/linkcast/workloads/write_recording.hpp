// A recording as Linkcast's own file (docs/trace.md, linkcast.trace/2), and at the times that it implies by itself.
// Knows no topology and no foreign format.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "linkcast/workloads/replay_recording.hpp"

namespace linkcast::workloads {

/// When operations ran, as far as a recording says it: streams in order, `after`, durations as recorded; each rank for
/// itself. Communication takes what was measured, or nothing.
class RecordedClock {
 public:
  struct Span {
    sim::Time start, end;
  };
  explicit RecordedClock(std::size_t ranks) : ranks_(ranks) {}
  Span place(std::size_t r, const Operation& o);
  sim::Time end(std::size_t r) const { return ranks_[r].end; }

 private:
  struct Rank {
    std::vector<sim::Time> streams;
    std::unordered_map<std::uint64_t, sim::Time> ids;
    std::vector<std::uint64_t> recent;  // a ring: what was issued long ago has ended
    std::size_t oldest = 0;
    sim::Time end;
  };
  std::vector<Rank> ranks_;
};

struct WalkOptions {
  std::function<void(std::int64_t operations)> progress;
  std::stop_token stop;
};

/// Reads all ranks side by side, in the order of their recorded times. False: stopped.
bool walk(const Recording& recording,
          const std::function<void(std::size_t r, const Operation& o, const RecordedClock::Span& span)>& each,
          const WalkOptions& options = {});

/// `recording` as it was recorded, for timelines.
ReplayedOperation as_recorded(const Recording& recording, std::size_t r, const Operation& o,
                              const RecordedClock::Span& span);

/// JSON Lines of schema linkcast.trace/2: everything that a Recording has. False: stopped.
bool write_recording(const Recording& recording, std::ostream& out, const WalkOptions& options = {});

}  // namespace linkcast::workloads
