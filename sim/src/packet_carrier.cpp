// See packet_carrier.hpp.
#include "packet_carrier.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <utility>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::sim {

class PacketCarrier::OfProgram final : public Ways {
 public:
  OfProgram(PacketCarrier& carrier, const ChunkPlan& plan, std::uint64_t tag)
      : carrier_{carrier}, plan_{plan}, tag_{tag}, of_connection_(plan.connections()), of_agent_(plan.agents()) {
    if (plan.folded()) throw InternalError("a folded program cannot move as packets");
  }
  ~OfProgram() override {
    for (auto& c : of_connection_) {
      for (const auto travel : c.travelling) carrier_.travels_[travel].program = nullptr;
      for (const auto& k : c.flows) carrier_.give_back(k.flows);
    }
    for (const auto& a : of_agent_)
      for (const auto& k : a) carrier_.give_back(k.flows);
  }
  OfProgram(const OfProgram&) = delete;

  bool tells_arrivals() const override { return true; }

  void start(Time now, const Move& m) override {
    const auto transfer = carrier_.begin(now, tag_ | m.agent, m.bytes, m.cap);
    for (const auto c : m.send) {
      const auto& usages = plan_.connection(c).usages;
      if (usages.empty()) continue;
      const auto travel = carrier_.begin_travel(this, tag_ | m.agent, c, now);
      of_connection_[c].travelling.push_back(travel);
      carrier_.post(now, flows(of_connection_[c].flows, m, ways_of(c), usages), m.bytes, transfer, travel);
      if (carrier_.travels_[travel].missing == 0) carrier_.empty_travels_.push_back(travel);
    }
    if (const auto& local = plan_.agent(m.agent).local; !local.empty())
      carrier_.post(now, flows(of_agent_[m.agent], m, nullptr, local), m.bytes, transfer, none);
    carrier_.begun(transfer, now);
  }

  std::deque<std::uint32_t>& travelling(std::uint32_t c) { return of_connection_[c].travelling; }

 private:
  /// Units of one kind have one cap, and so flows of their own.
  struct OfKind {
    std::uint16_t kind = 0;
    std::vector<std::uint32_t> flows;
  };
  struct OfConnection {
    std::deque<std::uint32_t> travelling;  // in the order of the units
    std::vector<OfKind> flows;
  };

  const std::vector<packet::Part>* ways_of(std::uint32_t c) const {
    const auto& ways = plan_.program().ways;
    return ways != nullptr && c < ways->of.size() && !ways->of[c].empty() ? &ways->of[c] : nullptr;
  }

  const std::vector<std::uint32_t>& flows(std::vector<OfKind>& known, const Move& m,
                                          const std::vector<packet::Part>* ways, const std::vector<Usage>& usages) {
    const auto at = std::ranges::find(known, m.kind, &OfKind::kind);
    if (at != known.end()) return at->flows;
    auto& pool = carrier_.flows_;
    known.push_back({m.kind, ways != nullptr ? pool.take(*ways, m.cap) : pool.take(pool.parts_of(usages), m.cap)});
    return known.back().flows;
  }

  PacketCarrier& carrier_;
  const ChunkPlan& plan_;
  std::uint64_t tag_;
  std::vector<OfConnection> of_connection_;
  std::vector<std::vector<OfKind>> of_agent_;
};

namespace {

/// Programs wait for each other in the instant in which something moves: one partition.
packet::Options of_one(packet::Options options) {
  options.partitions = options.threads = 1;
  return options;
}

}  // namespace

PacketCarrier::PacketCarrier(const packet::Setting& setting, std::size_t resources)
    : network_{*setting.fabric, setting.transports, of_one(setting.options)}, flows_{setting, network_, resources} {
  if (setting.resources.size() != resources) throw InternalError("packets on other resources than the replay's");
  network_.run(Time{}, notices_);  // from now on it keeps them
}

std::unique_ptr<Ways> PacketCarrier::ways(const ChunkPlan& plan, std::uint64_t tag) {
  return std::make_unique<OfProgram>(*this, plan, tag);
}

void PacketCarrier::start(Time now, const PipelinedFlow& flow, std::uint64_t owner) {
  const auto transfer = begin(now, owner, flow.bytes, flow.cap);
  auto flows = flows_.take(flows_.parts_of(flow.usages), flow.cap);
  post(now, flows, flow.bytes, transfer, none);
  transfers_[transfer].flows = std::move(flows);
  begun(transfer, now);
}

std::uint32_t PacketCarrier::begin(Time now, std::uint64_t owner, Bytes bytes, Rate cap) {
  if (free_transfers_.empty()) {
    free_transfers_.push_back(static_cast<std::uint32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const auto t = free_transfers_.back();
  free_transfers_.pop_back();
  transfers_[t] = {owner, 0, now + transfer_time(bytes, cap), Time{}, {}};
  return t;
}

std::uint32_t PacketCarrier::begin_travel(OfProgram* program, std::uint64_t owner, std::uint32_t connection, Time now) {
  if (free_travels_.empty()) {
    free_travels_.push_back(static_cast<std::uint32_t>(travels_.size()));
    travels_.emplace_back();
  }
  const auto t = free_travels_.back();
  free_travels_.pop_back();
  travels_[t] = {program, owner, connection, 0, now, Time{}};
  return t;
}

// Packets carry whole bytes. The fraction that a flow's message lacks, or has too much, is made good by its next one.
void PacketCarrier::post(Time now, std::span<const std::uint32_t> flows, Bytes bytes, std::uint32_t transfer,
                         std::uint32_t travel) {
  for (const auto f : flows) {
    if (f >= of_flow_.size()) of_flow_.resize(flows_.size());
    const double due = flows_.weight(f) * static_cast<double>(bytes.count()) + of_flow_[f].owed;
    const Bytes message{std::max<std::int64_t>(std::llround(due), f == flows.front() ? 1 : 0)};
    of_flow_[f].owed = due - static_cast<double>(message.count());
    if (message <= Bytes{}) continue;
    const auto number = network_.post(flows_.id(f), now, message);
    of_flow_[f].under_way.push_back({number, transfer, travel, paused_on(f), false});
    flows_.count(f, message);
    auto& t = transfers_[transfer];
    ++t.sending;
    t.not_before = std::max(t.not_before, now + flows_.least(f, message));
    if (travel != none) ++travels_[travel].missing;
  }
}

void PacketCarrier::begun(std::uint32_t transfer, Time now) {
  const auto& t = transfers_[transfer];
  if (t.sending == 0) due_.emplace(std::max(now, t.not_before), transfer);
}

Time PacketCarrier::next(Time until) {
  for (;;) {
    if (!notices_.empty()) return notices_at_;
    const Time bound = due_.empty() ? until : std::min(until, due_.top().first);
    notices_at_ = network_.run(bound, notices_);
    // Nothing waits for acknowledgements.
    std::erase_if(notices_, [](const auto& n) { return n.kind == packet::Notice::Kind::acknowledged; });
    if (!notices_.empty()) continue;
    const Time more = network_.next_time();
    if (more <= bound && more != Time::max()) continue;
    if (!due_.empty()) return due_.top().first;
    if (until == Time::max() && !network_.idle()) {
      const auto cycle = network_.find_cycle();
      std::string names;
      for (const auto l : cycle) names += (names.empty() ? "" : ", ") + flows_.setting().fabric->name_of(l);
      if (!cycle.empty()) throw packet::Deadlock("packets wait for each other in a circle: " + names, cycle);
    }
    return Time::max();
  }
}

void PacketCarrier::take(Time now, std::vector<Moved>& moved) {
  moved.clear();
  if (notices_.empty()) notices_at_ = network_.run(now, notices_);
  for (const auto& n : notices_) heed(n, now, moved);
  notices_.clear();
  while (!due_.empty() && due_.top().first <= now) {
    const auto transfer = due_.top().second;
    due_.pop();
    leave(transfer, moved);
  }
  for (const auto travel : empty_travels_) {
    auto& t = travels_[travel];
    if (t.program != nullptr)
      arrive(*t.program, t.connection, now, moved);
    else
      free_travels_.push_back(travel);
  }
  empty_travels_.clear();
}

void PacketCarrier::heed(const packet::Notice& notice, Time now, std::vector<Moved>& moved) {
  if (notice.kind == packet::Notice::Kind::acknowledged) return;
  const auto f = flows_.of(notice.flow);
  auto& of = of_flow_[f];
  const auto at = std::ranges::find(of.under_way, notice.message, &Message::number);
  if (at == of.under_way.end()) throw InternalError("a message that nobody sent");
  if (!std::exchange(at->sent, true)) one_left(*at, f, now, notice.at, moved);
  if (notice.kind == packet::Notice::Kind::sent) return;
  const Message message = *at;
  of.under_way.erase(at);
  one_arrived(message, f, now, moved);
  if (of.given_back && of.under_way.empty()) {
    of.given_back = false;
    flows_.give_back(f);
  }
}

// The network says when the last byte will be out as soon as it has begun with the packet.
void PacketCarrier::one_left(const Message& message, std::uint32_t flow, Time now, Time sent,
                             std::vector<Moved>& moved) {
  auto& t = transfers_[message.transfer];
  t.paused = std::max(t.paused, paused_on(flow) - message.paused_before);
  t.not_before = std::max(t.not_before, sent);
  if (--t.sending > 0) return;
  if (t.not_before > now)
    due_.emplace(t.not_before, message.transfer);
  else
    leave(message.transfer, moved);
}

void PacketCarrier::leave(std::uint32_t transfer, std::vector<Moved>& moved) {
  auto& t = transfers_[transfer];
  moved.push_back({t.owner, Moved::What::left, 0, Time{}, t.paused});
  give_back(t.flows);
  t.flows.clear();
  free_transfers_.push_back(transfer);
}

void PacketCarrier::one_arrived(const Message& message, std::uint32_t flow, Time now, std::vector<Moved>& moved) {
  if (message.travel == none) return;
  auto& t = travels_[message.travel];
  t.ready = std::max(t.ready, now - flows_.latency(flow));
  t.paused = std::max(t.paused, paused_on(flow) - message.paused_before);
  if (--t.missing > 0) return;
  if (t.program != nullptr)
    arrive(*t.program, t.connection, now, moved);
  else
    free_travels_.push_back(message.travel);
}

// Units of different kinds are on different flows: one that is there waits for those before it.
void PacketCarrier::arrive(OfProgram& program, std::uint32_t connection, Time now, std::vector<Moved>& moved) {
  auto& queue = program.travelling(connection);
  while (!queue.empty() && travels_[queue.front()].missing == 0) {
    const auto& t = travels_[queue.front()];
    moved.push_back({t.owner, Moved::What::arrived, connection, now - t.ready, t.paused});
    free_travels_.push_back(queue.front());
    queue.pop_front();
  }
}

Time PacketCarrier::paused_on(std::uint32_t flow) const {
  Time sum;
  for (const auto l : flows_.watched(flow)) sum += network_.link_stats(l).paused;
  return sum;
}

void PacketCarrier::give_back(std::span<const std::uint32_t> flows) {
  for (const auto f : flows) {
    if (f < of_flow_.size() && !of_flow_[f].under_way.empty())
      of_flow_[f].given_back = true;
    else
      flows_.give_back(f);
  }
}

std::vector<double> PacketCarrier::carried(Time) {
  auto sum = flows_.carried_by_stations();
  const auto& resource = flows_.setting().resource_of_link;
  for (std::uint32_t l = 0; l < resource.size(); ++l) {
    if (resource[l] == packet::Setting::no_resource) continue;
    sum[resource[l]] += static_cast<double>(network_.link_stats(packet::LinkId{l}).payload_bytes);
  }
  return sum;
}

}  // namespace linkcast::sim
