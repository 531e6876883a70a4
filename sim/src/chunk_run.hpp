// A chunk program at work: agents that wait for their FIFOs, move a unit and pass it on. Runs inside a clock, an
// event queue and a network that may be shared with others. Knows no GPU; whether it is folded only the plan knows, and
// whether fluid or packets carry its units only the carrier.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carrier.hpp"
#include "chunk_plan.hpp"
#include "linkcast/sim/account.hpp"
#include "linkcast/sim/event_queue.hpp"

namespace linkcast::sim {

/// Where a run puts its events and moves its units. The events' payloads, and the owners of what moves, are
/// `tag | agent`.
struct ChunkHost {
  EventQueue& queue;
  Carrier& carrier;
  std::uint64_t tag = 0;
};

class ChunkRun {
 public:
  /// Starts at `now`, which `account` explains. The plan must outlive the run.
  ChunkRun(const ChunkPlan& plan, ChunkHost host, Time now, const Account& account);

  void on_event(std::uint32_t agent, Time now);
  void on_moved(std::uint32_t agent, Time now, const Moved& moved);

  bool finished() const { return working_ == 0; }
  /// When the last agent ended, and why it took that long.
  Time end() const { return end_; }
  const Account& account() const { return account_; }
  /// What stands still, for the message of a deadlock.
  std::string blocked() const;

 private:
  enum class Phase : std::uint8_t { waiting, overhead, transfer, tails, ending, done };

  struct Worker {
    std::int64_t next = 0;  // the unit at hand
    Account account;        // of how it got to its present instant
    Account message;        // of the tail that it is sending
    Time flow_start, own_end;
    std::uint32_t route = 0;  // into routes_ of this agent
    std::uint32_t missing = 0;
    Phase phase = Phase::waiting;
    std::uint16_t kind = 0;
    Bytes bytes;
    std::vector<std::uint32_t> receive, send;  // plan connections
    std::vector<std::pair<std::vector<ConnectionId>, Route>> routes;
  };

  /// Counters grow for ever; entries of FIFO number n lie at n modulo slots.
  struct Fifo {
    std::uint32_t from = 0, to = 0, first = 0, slots = 1;
    Time latency, credit_latency;
    std::int64_t sent = 0;      // units for which the sender has taken a slot
    std::int64_t heads = 0;     // ... whose head's arrival is known
    std::int64_t left = 0;      // ... that the sender has passed on
    std::int64_t arrived = 0;   // ... whose bytes are there, as far as no earlier one is missing
    std::int64_t tails = 0;     // ... whose tail's arrival is known
    std::int64_t taken = 0;     // ... that the receiver has taken up
    std::int64_t released = 0;  // ... whose slot's release is known
    bool receiver_waits = false, sender_waits = false;
  };
  struct Arrival {
    Time time;
    Account account;
  };
  /// Of a unit that is heard of when it arrives.
  struct Landing {
    bool known = false;
    Time time;  // with what is left of the connection's latency
    Time paused;
  };

  const UnitKind& kind_of(const Worker& w) const { return plan_.program().kinds[w.kind]; }
  std::size_t slot(const Fifo& f, std::int64_t n) const { return f.first + static_cast<std::size_t>(n % f.slots); }

  void fetch(std::uint32_t a, Time now);
  void choose_route(std::uint32_t a);
  void take_up(std::uint32_t a);
  void begin_transfer(std::uint32_t a, Time now);
  void end_transfer(std::uint32_t a, Time now, std::optional<Time> paused = std::nullopt);
  void land(std::uint32_t c, Time now, const Moved& moved);
  void tell_tails(std::uint32_t c, Time now);
  void conclude(std::uint32_t a, Time now, bool at_once);
  void pass_on(std::uint32_t a, Time now);
  void wake(std::uint32_t a, Time now);
  void check_account(std::uint32_t a, Time now) const;
  void schedule(std::uint32_t a, Time at) { host_.queue.push(at, host_.tag | a); }

  const ChunkPlan& plan_;
  ChunkHost host_;
  std::vector<Worker> workers_;
  std::vector<Fifo> fifos_;
  std::vector<Arrival> heads_, tails_, credits_;  // heads only where some kind cuts through
  std::vector<Landing> landings_;                 // only where the carrier tells arrivals
  std::unique_ptr<Ways> ways_;
  bool cuts_through_ = false;
  Unit unit_;
  std::uint32_t working_ = 0;
  std::uint32_t last_ = 0xFFFFFFFFU;  // the agent that account_ is of
  Time end_;
  Account account_;
};

}  // namespace linkcast::sim
