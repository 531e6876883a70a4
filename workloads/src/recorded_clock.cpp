// See write_recording.hpp: a recording read at its own pace.
#include <algorithm>
#include <queue>
#include <tuple>

#include "linkcast/workloads/write_recording.hpp"

namespace linkcast::workloads {

namespace {
constexpr std::size_t remembered = 1u << 16;  // operations of a rank that others may wait for
}

RecordedClock::Span RecordedClock::place(std::size_t r, const Operation& o) {
  auto& rank = ranks_[r];
  if (rank.streams.size() <= o.stream) rank.streams.resize(o.stream + 1);
  auto& stream = rank.streams[o.stream];
  auto start = stream;
  for (const auto id : o.after)
    if (const auto found = rank.ids.find(id); found != rank.ids.end()) start = std::max(start, found->second);
  const auto end = start + (o.kind == Operation::Kind::compute ? o.duration : o.measured);
  stream = end;
  rank.end = std::max(rank.end, end);
  if (o.id != 0) {
    if (rank.recent.size() < remembered) {
      rank.recent.push_back(o.id);
    } else {
      rank.ids.erase(rank.recent[rank.oldest]);
      rank.recent[rank.oldest] = o.id;
      rank.oldest = (rank.oldest + 1) % remembered;
    }
    rank.ids[o.id] = end;
  }
  return {start, end};
}

bool walk(const Recording& recording,
          const std::function<void(std::size_t r, const Operation& o, const RecordedClock::Span& span)>& each,
          const WalkOptions& options) {
  RecordedClock clock{recording.ranks.size()};
  const auto reader = recording.open();
  using Next = std::tuple<sim::Time, std::int64_t, std::size_t>;  // reached, operations so far, place
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  for (std::size_t r = 0; r < recording.ranks.size(); ++r) next.emplace(sim::Time{}, 0, r);
  std::int64_t total = 0;
  Operation o;
  while (!next.empty()) {
    const auto [at, count, r] = next.top();
    next.pop();
    o = Operation{};
    if (!reader->next(r, o)) continue;
    const auto span = clock.place(r, o);
    each(r, o, span);
    next.emplace(std::max(at, span.start), count + 1, r);
    if ((++total & 0xfff) != 0) continue;
    if (options.stop.stop_requested()) return false;
    if (options.progress) options.progress(total);
  }
  return true;
}

ReplayedOperation as_recorded(const Recording& recording, std::size_t r, const Operation& o,
                              const RecordedClock::Span& span) {
  ReplayedOperation x;
  x.rank = recording.ranks[r];
  x.stream = (*recording.streams)[std::min<std::size_t>(o.stream, recording.streams->size() - 1)];
  x.name = (*recording.names)[o.name];
  x.operation = &o;
  if (o.kind != Operation::Kind::compute) x.communicator = &recording.communicators[o.communicator];
  x.arrived = x.start = span.start;
  x.end = span.end;
  return x;
}

}  // namespace linkcast::workloads
