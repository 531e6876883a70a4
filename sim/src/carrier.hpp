// What moves the bytes of units and of pipelined flows: fluid rates (fluid_carrier.hpp) or packets
// (packet_carrier.hpp). Whoever starts something gives it an owner and hears of it by that. A clock asks for the next
// instant and then takes what happened in it. Knows no FIFO, no account.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "chunk_plan.hpp"
#include "linkcast/sim/program.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::sim {

/// Something that a start led to.
struct Moved {
  enum class What : std::uint8_t {
    left,     // the bytes are out of the hands of whoever sent them: it may go on
    arrived,  // the oldest unit under way on `connection` is at the other end
  };
  std::uint64_t owner = 0;
  What what = What::left;
  std::uint32_t connection = 0;  // of the plan
  Time on_the_way;               // arrived: what of the connection's latency has passed already
  // Where packets move: how long since the start some of the way was held back.
  std::optional<Time> paused;
};

/// A unit that an agent starts: it has bytes, and `route` or a connection that it sends on is not empty.
struct Move {
  std::uint32_t agent = 0;
  std::uint16_t kind = 0;
  Bytes bytes;
  std::span<const std::uint32_t> send;  // connections of the plan
  const Route& route;
  Rate cap;
};

/// The flows of one running program. May go before all that it started has arrived; nothing is heard of that then.
class Ways {
 public:
  virtual ~Ways() = default;
  virtual void start(Time now, const Move& move) = 0;
  /// Whether units are heard of when they arrive. Else they arrive in the instant in which they leave.
  virtual bool tells_arrivals() const = 0;
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  /// For a program that begins now. What it starts belongs to `tag` | agent.
  virtual std::unique_ptr<Ways> ways(const ChunkPlan& plan, std::uint64_t tag) = 0;
  virtual void start(Time now, const PipelinedFlow& flow, std::uint64_t owner) = 0;

  /// The next instant in which something happens, where that is not after `until`; else anything later.
  virtual Time next(Time until) = 0;
  /// What happens in that instant, in an order that depends on nothing but the input; empty when it is over.
  virtual void take(Time now, std::vector<Moved>& moved) = 0;
  /// Bytes that have crossed each resource so far.
  virtual std::vector<double> carried(Time now) = 0;
};

}  // namespace linkcast::sim
