// Bytes as packets: a unit is a message on each flow of each connection that it sends on (packet/ways.hpp), and on the
// flows that its agent's own usages are. It has left when the last byte of all has, and no sooner than its agent's cap
// allows; it has arrived when the last message of a connection is delivered. Knows no FIFO, no account.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "carrier.hpp"
#include "linkcast/sim/packet/network.hpp"
#include "linkcast/sim/packet/ways.hpp"
#include "packet_flows.hpp"

namespace linkcast::sim {

class PacketCarrier final : public Carrier {
 public:
  PacketCarrier(const packet::Setting& setting, std::size_t resources);

  std::unique_ptr<Ways> ways(const ChunkPlan& plan, std::uint64_t tag) override;
  void start(Time now, const PipelinedFlow& flow, std::uint64_t owner) override;
  Time next(Time until) override;
  void take(Time now, std::vector<Moved>& moved) override;
  std::vector<double> carried(Time now) override;

 private:
  class OfProgram;
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  /// What an owner started.
  struct Transfer {
    std::uint64_t owner = 0;
    std::uint32_t sending = 0;  // messages that have not left
    Time not_before;            // its cap
    Time paused;
    std::vector<std::uint32_t> flows;  // of a pipelined flow alone
  };
  /// A unit on one connection.
  struct Travel {
    OfProgram* program = nullptr;  // null: it went away, nobody waits
    std::uint64_t owner = 0;
    std::uint32_t connection = 0;
    std::uint32_t missing = 0;  // messages that are not delivered
    Time ready;                 // the latest delivery, less what of the way had passed
    Time paused;
  };
  /// A message of a flow that is not delivered yet.
  struct Message {
    std::uint32_t number, transfer, travel;
    Time paused_before;
    bool sent = false;
  };
  struct OfFlow {
    double owed = 0;                 // bytes, of rounding
    std::vector<Message> under_way;  // in order, few
    bool given_back = false;         // free for others when nothing of it is under way
  };

  std::uint32_t begin(Time now, std::uint64_t owner, Bytes bytes, Rate cap);
  std::uint32_t begin_travel(OfProgram* program, std::uint64_t owner, std::uint32_t connection, Time now);
  void post(Time now, std::span<const std::uint32_t> flows, Bytes bytes, std::uint32_t transfer, std::uint32_t travel);
  void begun(std::uint32_t transfer, Time now);
  void heed(const packet::Notice& notice, Time now, std::vector<Moved>& moved);
  void one_left(const Message& message, std::uint32_t flow, Time now, Time sent, std::vector<Moved>& moved);
  void leave(std::uint32_t transfer, std::vector<Moved>& moved);
  void one_arrived(const Message& message, std::uint32_t flow, Time now, std::vector<Moved>& moved);
  void arrive(OfProgram& program, std::uint32_t connection, Time now, std::vector<Moved>& moved);
  Time paused_on(std::uint32_t flow) const;
  void give_back(std::span<const std::uint32_t> flows);

  packet::Network network_;
  PacketFlows flows_;
  std::vector<OfFlow> of_flow_;
  std::vector<Transfer> transfers_;
  std::vector<Travel> travels_;
  std::vector<std::uint32_t> free_transfers_, free_travels_;
  std::vector<std::uint32_t> empty_travels_;   // that have no message, to be told of at once
  using Due = std::pair<Time, std::uint32_t>;  // of a cap, transfer
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<packet::Notice> notices_;
  Time notices_at_;
};

}  // namespace linkcast::sim
