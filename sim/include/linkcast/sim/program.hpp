// What a replay executes: tasks with dependencies. A transfer is either one pipelined flow (fidelity `flow`)
// or a chunk program (fidelity `chunk`): agents that hand units to each other through FIFOs with credits. At fidelity
// `packet` it is the same program, whose units are messages of packets (packet/ways.hpp).
// The engine's whole vocabulary; knows no GPU, no NCCL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "linkcast/sim/account.hpp"
#include "linkcast/sim/fluid.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::sim {

namespace packet {
struct Ways;
}

/// A pipelined collective in steady state: one rate that loads many links at once.
/// It lasts: the fixed parts of `fixed`, then bytes / rate under max-min sharing.
struct PipelinedFlow {
  Bytes bytes;                // what the rate is counted in; 0 is allowed (only the fixed parts)
  std::vector<Usage> usages;  // bytes on each resource for each of `bytes`
  Rate cap = Rate::unlimited();
  Cause cap_cause = Cause::sm;
  Account fixed;  // launch, latency, fill, …: spent before the bytes flow
};

enum class AgentId : std::uint32_t {};
enum class ConnectionId : std::uint32_t {};

/// How an agent works on one unit.
struct UnitKind {
  Time overhead;                 // before the bytes move: waiting loops, fences, posting; booked as latency
  Rate cap = Rate::unlimited();  // the agent's own copy/reduce rate, in payload bytes
  Cause cap_cause = Cause::sm;
  bool cut_through = false;  // may begin when the head of its input has arrived (flags travel with the data:
                             // LL, LL128) and ends no earlier than the tail
};

/// One step of an agent: wait until every `receive` holds a unit and every `send` has a free slot, spend the
/// overhead, move `bytes` (loading the links of every send, and `local` resources), then pass the unit on.
struct Unit {
  std::uint16_t kind = 0;             // index into ChunkProgram::kinds
  Bytes bytes;                        // 0: only the overhead
  std::vector<ConnectionId> receive;  // FIFOs to take one unit from
  std::vector<ConnectionId> send;     // FIFOs to put one unit into
};

/// A FIFO between two agents.
struct Connection {
  AgentId from, to;
  std::int32_t slots = 1;     // units that may be under way or unread
  Time latency;               // from the end of the send until the receiver may use it
  Time credit_latency;        // from the end of the receive until the slot is free again
  std::vector<Usage> usages;  // per payload byte
};

/// The units of one agent, generated on demand: `units` of them, `at(i)` for 0 <= i < units.
/// Two agents with equal `pattern` must have equal units up to the names of their connections, in the same
/// order (the n-th receive of one corresponds to the n-th receive of the other): folding relies on it.
struct Agent {
  std::int64_t units = 0;
  std::uint32_t pattern = 0;
  std::function<void(std::int64_t i, Unit& out)> at;
  std::vector<Usage> local;  // resources that every unit of this agent loads besides its sends
  bool pipelined = true;     // false: no fill (every agent has work from the start, as in a ring)
};

struct ChunkProgram {
  std::vector<UnitKind> kinds;
  std::vector<Connection> connections;
  std::vector<Agent> agents;
  Account fixed;                       // spent before the first unit (launch, base latency)
  std::shared_ptr<packet::Ways> ways;  // of its connections, where packets move; null: none has any
};

struct Compute {
  Time duration;
};
/// Ends when its dependencies have; costs nothing.
struct Barrier {};

enum class TaskId : std::uint64_t {};

/// Ids grow; dependencies point to smaller ids only.
struct Task {
  TaskId id{};
  std::string label;
  std::int32_t lane = 0;  // where a timeline shows it: a rank, usually
  std::vector<TaskId> after;
  std::variant<Barrier, Compute, PipelinedFlow, std::shared_ptr<const ChunkProgram>> work;
};

/// Makes tasks while the replay consumes them, so that memory follows the work in flight.
class TaskSource {
 public:
  virtual ~TaskSource() = default;
  /// The next task, or nothing when there are no more.
  virtual std::optional<Task> next() = 0;
};

}  // namespace linkcast::sim
