// See flow_run.hpp and flows_result.hpp: sums over messages.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "flow_run.hpp"

namespace linkcast::workloads {
namespace {

constexpr double most_messages = 1e8;  // 16 bytes each for its time and its slowdown, and as much while it runs

/// The place of the q-th percentile among n sorted values: the nearest rank.
std::size_t rank_of(double q, std::size_t n) {
  const auto at = static_cast<std::size_t>(std::ceil(q * static_cast<double>(n) / 100 - 1e-6));
  return std::clamp<std::size_t>(at, 1, n) - 1;
}

double share(sim::Bytes bytes, sim::Time time, sim::Rate line) {
  return time <= sim::Time{}
             ? 1
             : static_cast<double>(bytes.count()) / (time.seconds() * static_cast<double>(line.bytes_per_second()));
}

double messages_of(const FlowScenario& scenario, const FlowGroup& g) {
  double sum = 0;
  for (std::size_t s = 0; s < g.senders.size(); ++s) {
    const double each = g.messages ? static_cast<double>(*g.messages) : 1e300;
    if (!is_open(g.pattern)) {
      const auto flows = g.to.empty() ? static_cast<double>(g.receivers.size()) : 1.0;
      // Without a number: as many as the line carries in that time.
      const double line = static_cast<double>(scenario.ends.line(g.senders[s]).bytes_per_second());
      sum += g.duration ? std::min(each * flows, line * g.duration->seconds() / g.sizes.mean() + flows) : each * flows;
      continue;
    }
    const double line = static_cast<double>(scenario.ends.line(g.senders[s]).bytes_per_second());
    double seconds = g.duration ? g.duration->seconds() : 1e300;
    if (g.pattern == FlowPattern::on_off && g.duration) seconds *= g.on.seconds() / (g.on + g.off).seconds();
    sum += std::min(each, g.load * line * seconds / g.sizes.mean());
  }
  return sum;
}

/// When the last of a number of messages that come by themselves is to be expected.
double last_message_seconds(const FlowScenario& scenario, const FlowGroup& g) {
  if (!is_open(g.pattern) || g.duration || !g.messages) return 0;
  double slowest = 1e300;
  for (const auto e : g.senders)
    slowest = std::min(slowest, static_cast<double>(scenario.ends.line(e).bytes_per_second()));
  double seconds = static_cast<double>(*g.messages) * g.sizes.mean() / (g.load * slowest);
  if (g.pattern == FlowPattern::on_off) seconds *= (g.on + g.off).seconds() / g.on.seconds();
  return seconds;
}

}  // namespace

TimeSpread time_spread(std::vector<sim::Time>& values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&](double q) { return values[rank_of(q, values.size())]; };
  __extension__ using Wide = __int128;
  Wide sum = 0;
  for (const auto t : values) sum += t.ps();
  const auto mean = sim::Time::picoseconds(static_cast<std::int64_t>(sum / static_cast<Wide>(values.size())));
  return {values.front(), at(50), at(90), at(99), at(99.9), values.back(), mean};
}

RatioSpread ratio_spread(std::vector<double>& values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  double sum = 0;
  for (const double v : values) sum += v;
  const auto at = [&](double q) { return values[rank_of(q, values.size())]; };
  return {values.front(), at(50), sum / static_cast<double>(values.size()), at(99), values.back()};
}

std::string LinkNames::distinct(std::string name) {
  const int n = ++seen_[name];
  return n == 1 ? name : fmt::format("{} #{}", name, n);
}

void check_flow_count(const FlowScenario& scenario) {
  double all = 0;
  for (const auto& g : scenario.groups) all += messages_of(scenario, g);
  if (all > most_messages)
    throw sim::InputError(fmt::format("{:.3g} messages: more than {:.0e} are not kept", all, most_messages),
                          "fewer messages, larger ones, or a shorter duration");
  for (const auto& g : scenario.groups)
    if (const double seconds = last_message_seconds(scenario, g); seconds > 86'400)
      throw sim::InputError(fmt::format("'{}' takes {:.3g} s for its messages: longer than a day", g.name, seconds),
                            "fewer messages, a higher load, or a duration");
  if (scenario.fidelity != Fidelity::packet) return;
  // At some five hops for each packet and ten million hops a second (docs/performance.md), 10^10 packets are 1.5 hours.
  double packets = 0;
  for (const auto& g : scenario.groups) {
    const auto mtu = static_cast<double>(scenario.packet.mtu.count());
    double of_group = messages_of(scenario, g) * std::max(1.0, g.sizes.mean() / mtu);
    if (g.duration) {  // no more than the senders' lines carry in that time, and what they have begun
      double lines = 0;
      for (const auto e : g.senders) lines += static_cast<double>(scenario.ends.line(e).bytes_per_second());
      of_group = std::min(of_group, lines * g.duration->seconds() / mtu + messages_of(scenario, g));
    }
    packets += of_group;
  }
  constexpr double most_packets = 1e10;
  if (packets > most_packets)
    throw sim::InputError(
        fmt::format("about {:.2g} packets: {:.0f} hours of simulation", packets, packets * 5 / 1e7 / 3600),
        "smaller messages, fewer of them, a duration, a larger packet.mtu; or fidelity flow");
}

FlowSender::FlowSender(const FlowScenario& scenario, const FlowGroup& g, std::size_t i)
    : group{&g},
      index{i},
      peers{g.peers(scenario.ends, i)},
      first{first_peer(scenario.ends, g, i, peers)},
      line{scenario.ends.line(g.senders[i])} {}

FlowMessages FlowSender::messages() const { return {*group, index, peers.size(), first, line}; }

FlowTally::FlowTally(const FlowScenario& scenario, const FlowGroup& group) : scenario_{scenario}, group_{group} {
  out_.name = group.name;
  out_.pattern = name_of(group.pattern);
  out_.senders = group.senders.size();
  auto receivers = group.to.empty() ? group.receivers : group.to;
  std::ranges::sort(receivers);
  out_.receivers = static_cast<std::size_t>(std::ranges::unique(receivers).begin() - receivers.begin());
}

sim::Time FlowTally::latency(std::uint32_t from, std::uint32_t to) const {
  const auto way = scenario_.cluster.network().way(scenario_.ends.place(from), scenario_.ends.place(to));
  if (!way)
    throw sim::InputError(
        fmt::format("nothing connects {} with {}", scenario_.ends.name(from), scenario_.ends.name(to)),
        "choose 'from' and 'to' that reach each other");
  return way->latency;
}

sim::Time FlowTally::alone(std::uint32_t from, std::uint32_t to, sim::Bytes bytes) const {
  const auto rate =
      std::min({scenario_.ends.line(from), scenario_.ends.line(to), scenario_.cluster.network().model().flow_rate});
  return latency(from, to) + sim::transfer_time(bytes, rate);
}

void FlowTally::message(std::uint32_t from, std::uint32_t to, sim::Bytes bytes, sim::Time posted, sim::Time delivered) {
  out_.start = out_.messages == 0 ? posted : std::min(out_.start, posted);
  out_.end = std::max(out_.end, delivered);
  out_.bytes += bytes;
  ++out_.messages;
  times_.push_back(delivered - posted);
  slowdowns_.push_back(static_cast<double>((delivered - posted).ps()) /
                       static_cast<double>(std::max<std::int64_t>(1, alone(from, to, bytes).ps())));
}

void FlowTally::flow(std::uint32_t from, std::uint32_t to, sim::Bytes bytes, sim::Time first, sim::Time last) {
  ++out_.flows;
  flow_shares_.push_back(share(bytes, last - first, std::min(scenario_.ends.line(from), scenario_.ends.line(to))));
}

void FlowTally::sender(std::uint32_t from, sim::Bytes bytes, sim::Time first, sim::Time last) {
  sender_shares_.push_back(share(bytes, last - first, scenario_.ends.line(from)));
}

FlowGroupResult FlowTally::result() {
  out_.completion = time_spread(times_);
  out_.slowdown = ratio_spread(slowdowns_);
  out_.flow_share = ratio_spread(flow_shares_);
  out_.sender_share = ratio_spread(sender_shares_);
  if (out_.end > out_.start)
    out_.throughput = sim::Rate::bytes_per_second(
        std::llround(static_cast<double>(out_.bytes.count()) / (out_.end - out_.start).seconds()));
  return std::move(out_);
}

}  // namespace linkcast::workloads
