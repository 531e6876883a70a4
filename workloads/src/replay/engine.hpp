// The event loop of replay_recording: operations in flight, what they wait for, what runs at which pace. Times are
// whole picoseconds; events of one instant happen in the order in which they were made. Knows no file and no cluster:
// what a call takes comes from GroupCosts.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "group_costs.hpp"
#include "linkcast/workloads/replay_recording.hpp"

namespace linkcast::workloads::replaying {

/// Time on a path by what it was spent on: computing, nothing, and the communicators by their labels.
using Path = std::array<sim::Time, 16>;
inline constexpr std::size_t path_compute = 0, path_idle = 1, path_first_label = 2;

inline sim::Time total_of(const Path& p) {
  sim::Time t;
  for (const auto x : p) t += x;
  return t;
}

struct Flight;

/// What runs: a compute of one rank, a collective, or a message.
struct Activity {
  std::vector<Flight*> members;
  const Cost* cost = nullptr;  // null: compute
  std::uint32_t communicator = 0;
  ReplayedTotal* total = nullptr;       // that it is counted in; null: in none
  sim::Time start, updated, remaining;  // remaining: at pace 1
  double pace = 1;
  std::uint64_t version = 0;
  bool running = false;
};

/// An operation that was read and has not ended.
struct Flight {
  Operation o;
  std::uint32_t rank = 0;   // its place in Recording::ranks
  std::int64_t index = 0;   // of its rank's operations, as they were read
  std::int64_t number = 0;  // of the rank's calls of its communicator, or of its messages of one kind: what meets what
  std::int32_t missing = 0;
  bool reached = false, done = false;  // reached: its turn on the stream has come
  sim::Time arrived;
  Path path{};  // up to `arrived`
  std::vector<Flight*> waiters;
};

class Engine {
 public:
  Engine(const Recording& recording, const topologies::Cluster& cluster, const RecordingReplayOptions& options);
  RecordingResult run();

 private:
  struct Stream {
    std::deque<Flight*> queue;  // what has ended stays until all before it have
    std::size_t reached = 0;    // of the queue, from its front
    Path path{};                // of the last that ended on it
    sim::Time ended;
  };
  struct Rank {
    std::vector<Stream> streams;
    std::unordered_map<std::uint64_t, Flight*> ids;
    std::vector<std::int64_t> calls;  // by communicator
    std::vector<Activity*> running;
    double channels = 0;                 // of all communication that runs
    std::array<double, 2> demand{0, 0};  // sum of its shares on links: inside the node, between nodes
    int computes = 0, waits = 0, messages_waited = 0;
    std::int64_t read = 0, in_flight = 0;
    std::size_t window = 0;
    bool ended = false;
    sim::Time since;
    ReplayedRank account;
    std::vector<sim::Time> exposed;  // by label
  };
  struct Meeting {
    std::vector<Flight*> arrived;
  };
  struct Group {  // a communicator
    std::deque<Meeting> open;
    std::int64_t first = 0;  // index of open.front()
    int replayed = 0;        // of its members
    int ended = 0;           // of those, whose recordings have ended
    bool busy = false;
    std::size_t label = 0;
    std::vector<std::size_t> members;  // places in Recording::ranks
  };
  struct MessageKey {
    std::uint32_t communicator;
    int from, to;
    std::int64_t tag;
    bool operator==(const MessageKey&) const = default;
  };
  struct MessageHash {
    std::size_t operator()(const MessageKey& k) const {
      std::uint64_t h = k.communicator * 0x9e3779b97f4a7c15ULL ^ static_cast<std::uint64_t>(k.from) << 32 ^
                        static_cast<std::uint32_t>(k.to) ^ static_cast<std::uint64_t>(k.tag) << 17;
      return static_cast<std::size_t>((h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ULL);
    }
  };
  struct Waiting {
    std::map<std::int64_t, Flight*> sends, receives;  // by number: those whose turn has come
    std::int64_t sent = 0, received = 0;              // that were read
  };
  struct Event {
    sim::Time at;
    std::uint64_t order;
    Activity* activity;
    std::uint64_t version;
    bool operator>(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  struct TotalKey {
    std::size_t label;
    int op;  // -1: a message
    int ranks;
    std::int64_t bytes;
    auto operator<=>(const TotalKey&) const = default;
  };

  void fetch(std::size_t r);
  void admit(std::size_t r, Operation&& o);
  void number(Flight* f);
  void take_turns(Stream& s);
  void take_turn(Flight* f, Stream& s);
  void post(Flight* f);
  MessageKey key_of(const Flight& f) const;
  bool replayed_peer(const Flight& f) const;
  void try_meeting(std::uint32_t communicator);
  bool without_rest(std::uint32_t communicator) const;
  void try_message(Flight* f);
  void start(std::vector<Flight*> members, const Cost* cost, std::uint32_t communicator, sim::Time duration,
             ReplayedTotal* total);
  ReplayedTotal* count_call(const TotalKey& key, const Cost& cost, sim::Time measured);
  sim::Time stretched(sim::Time time, const Cost& cost, const ReplayedTotal& total) const;
  void end(Activity* a);
  void ended_flight(Flight* f, const Path& path);
  void repace(std::size_t r);
  double pace_of(const Activity& a) const;
  void schedule(Activity* a);
  void advance(Rank& r);
  void release_ended();
  bool release_message();
  [[noreturn]] void explain();
  sim::Time compute_time(const Flight& f);
  int world_rank(const Flight& f) const { return recording_.ranks[f.rank]; }

  const Recording& recording_;
  const RecordingReplayOptions& options_;
  GroupCosts costs_;
  std::unique_ptr<OperationReader> reader_;
  std::vector<Rank> ranks_;
  std::unordered_map<int, std::size_t> place_;  // world rank -> place in recording_.ranks
  std::vector<Group> groups_;
  std::vector<std::string> labels_;
  std::vector<std::unordered_map<int, int>> member_;  // by communicator: world rank -> member
  std::unordered_map<MessageKey, Waiting, MessageHash> messages_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Activity*> free_activities_;
  std::vector<Flight*> free_flights_;
  std::deque<Activity> activities_;
  std::deque<Flight> flights_;
  std::map<TotalKey, ReplayedTotal> totals_;
  std::int64_t unmatched_ = 0, lonely_messages_ = 0;
  sim::Time now_;
  std::uint64_t order_ = 0;
  double sms_ = 0, peak_ = 0, memory_ = 0;
  RecordingResult result_;
};

}  // namespace linkcast::workloads::replaying
