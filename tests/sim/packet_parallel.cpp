// Partitions and threads: the same to the last bit with everything on, messages from a source, and a time series that
// sums to the totals.
#include <algorithm>
#include <vector>

#include "packet_runs.hpp"
#include "print.hpp"

using namespace linkcast;
using namespace linkcast::sim;
using namespace linkcast::sim::packet;
using namespace linkcast::testing;

namespace {

/// Each host sends `rounds` messages to others in turn, the next when the last is acknowledged and a pause is over.
class Rounds final : public Source {
 public:
  Rounds(std::vector<std::vector<FlowId>> flows, int rounds, Bytes bytes)
      : flows_{std::move(flows)}, sent_(flows_.size(), 0), right_(flows_.size(), 1), rounds_{rounds}, bytes_{bytes} {}

  void next(NodeId endpoint, Time now, FlowId done, std::vector<Post>& posts) override {
    const auto h = static_cast<std::size_t>(endpoint);
    if (sent_[h] == 0) {
      right_[h] = now == Time{};
    } else {
      const auto& mine = flows_[h];
      if (done != mine[static_cast<std::size_t>(sent_[h] - 1) % mine.size()]) right_[h] = 0;
    }
    if (sent_[h] == rounds_) return;
    posts.push_back({flows_[h][static_cast<std::size_t>(sent_[h]++) % flows_[h].size()], bytes_,
                     now + Time::nanoseconds(static_cast<std::int64_t>(h) * 10)});
  }
  bool starts_right() const {
    return std::ranges::all_of(right_, [](char c) { return c != 0; });
  }

 private:
  std::vector<std::vector<FlowId>> flows_;
  std::vector<int> sent_;    // by host: hosts may be of different threads
  std::vector<char> right_;  // likewise
  int rounds_;
  Bytes bytes_;
};

NodeKind everything_on() {
  auto k = pfc_switch();
  k.shared = mib(2);
  k.alpha = 0.125;
  k.marking = {true, kib(40), kib(200), 0.2};
  return k;
}

Transport with_dcqcn() {
  auto t = transport(Recovery::go_back_n);
  auto s = dcqcn::Settings::mlx5();
  s.rpg_ai_rate = Rate::bytes_per_second(50'000'000);
  t.control = s;
  t.lane = 1;
  return t;
}

struct Result {
  std::vector<std::int64_t> numbers;
  Totals totals;
};

Result run(const PacketNet& n, const Options& o) {
  Network net{n.fabric, {with_dcqcn()}, o};
  net.keep_times();
  const int hosts = static_cast<int>(n.hosts.size());
  std::vector<std::vector<FlowId>> flows(n.hosts.size());
  for (int h = 0; h < hosts; ++h)
    for (int step = 1; step < hosts; step += 2)
      flows[static_cast<std::size_t>(h)].push_back(
          net.open(flow(n, h, (h + step) % hosts, static_cast<std::uint64_t>(h * hosts + step))));
  Rounds source{flows, 5, Bytes{200'000}};
  net.set_source(&source);
  net.run_all();
  CHECK(source.starts_right());
  CHECK(net.idle());
  Result r;
  const auto add = [&](auto x) { r.numbers.push_back(static_cast<std::int64_t>(x)); };
  std::size_t messages = 0;
  for (const auto& mine : flows)
    for (const auto f : mine) {
      const auto times = net.times(f);
      messages += times.size();
      for (const auto& t : times) add(t.first.ps()), add(t.second.ps());
      const auto s = net.flow_stats(f);
      add(s.marked), add(s.notifications), add(s.packets), add(s.payload_bytes);
    }
  CHECK(messages == static_cast<std::size_t>(hosts) * 5);
  for (std::uint32_t l = 0; l < n.fabric.links(); ++l) {
    const auto s = net.link_stats(LinkId{l});
    add(s.packets), add(s.wire_bytes), add(s.marks), add(s.pauses), add(s.paused.ps()), add(s.queue_peak.count());
  }
  for (const auto& s : net.samples()) add(s.at.ps()), add(s.link), add(s.queue), add(s.wire_bytes), add(s.paused.ps());
  r.totals = net.totals();
  for (const auto x : {r.totals.events, r.totals.packet_hops, r.totals.packets, r.totals.marks, r.totals.drops,
                       r.totals.retransmits, r.totals.notifications})
    add(x);
  check_conservation(n.fabric, net);
  return r;
}

PacketNet network(int leaves) {
  VirtualLane control;
  control.strict = true;
  return leaf_spine(leaves, 4, 2, everything_on(), ethernet_400g(), {control, VirtualLane{}});
}

}  // namespace

TEST_CASE("parallel: 1, 2 and 4 threads give the same, with pauses, marks, DCQCN, timers, samples and a source") {
  const int partitions = GENERATE(2, 3, 4);
  const auto n = network(4);
  Options o;
  o.partitions = partitions;
  o.sample_every = Time::microseconds(10);
  const auto one = run(n, o);
  CHECK(one.totals.marks > 0);
  CHECK(one.totals.notifications > 0);
  CHECK(one.totals.drops == 0);
  CAPTURE(partitions);
  o.threads = 2;
  CHECK(run(n, o).numbers == one.numbers);
  if (partitions < 4) return;
  o.threads = 4;
  CHECK(run(n, o).numbers == one.numbers);
}

TEST_CASE("parallel: partitions change nothing but the order at ties") {
  // Where no two packets meet at one instant the times are those of one partition: two flows without a common link.
  const auto n = network(4);
  std::vector<std::vector<Time>> done;
  for (const int partitions : {1, 2, 64}) {
    Options o;
    o.partitions = partitions;
    o.threads = 2;
    Network net{n.fabric, {with_dcqcn()}, o};
    const auto f = net.open(flow(n, 0, 13)), g = net.open(flow(n, 5, 10));
    net.post(f, Time{}, mib(2));
    net.post(g, Time::nanoseconds(77), mib(2));
    net.run_all();
    done.push_back({net.flow_stats(f).last_done, net.flow_stats(g).last_done});
  }
  CHECK(done[0][0] == 4 * cable + 512 * packet_time);
  for (const auto& d : done) CHECK(d == done[0]);
}

TEST_CASE("parallel: an error in one partition reaches the caller, and running in pieces is running at once") {
  const auto n = network(4);
  Options o;
  o.partitions = 4;
  o.threads = 2;
  o.most_packets = 50;
  {
    Network net{n.fabric, {with_dcqcn()}, o};
    for (int h = 1; h < 16; ++h) net.post(net.open(flow(n, h, 0)), Time{}, mib(1));
    CHECK_THROWS_AS(net.run_all(), InputError);
  }
  o.most_packets = std::size_t{1} << 20;
  std::vector<Time> whole, pieces;
  for (auto* out : {&whole, &pieces}) {
    Network net{n.fabric, {with_dcqcn()}, o};
    std::vector<FlowId> flows;
    for (int h = 1; h < 16; ++h) flows.push_back(net.open(flow(n, h, 0)));
    for (const auto f : flows) net.post(f, Time{}, kib(200));
    if (out == &pieces)
      for (int us = 1; us < 800; us += 61) net.run_all(Time::microseconds(us));
    net.run_all();
    for (const auto f : flows) out->push_back(net.flow_stats(f).last_done);
  }
  CHECK(whole == pieces);
}

TEST_CASE("samples: rows come at their times, with what changed since, and tell the queue of that moment") {
  // Two hosts into one: from 600 ns on the queue grows by a packet every 83.56 ns. At 10 us it holds what came, less
  // what left: (10 us - 300 ns) / 83.56 ns = 116 packets of each sender have come.
  auto kind = pfc_switch();
  const int partitions = GENERATE(1, 2);
  const auto n = leaf_spine(2, 2, 1, kind);
  Options o;
  o.sample_every = Time::microseconds(10);
  o.partitions = partitions;
  Network net{n.fabric, {transport()}, o};
  const auto f = net.open(flow(n, 1, 0)), g = net.open(flow(n, 2, 0));
  net.post(f, Time{}, mib(1));
  net.post(g, Time{}, mib(1));
  net.run_all();
  const Time end = std::max(net.flow_stats(f).last_done, net.flow_stats(g).last_done);
  // The local one comes after 300 ns, the other after 900; 512 packets in all.
  CHECK(end == 2 * cable + 512 * packet_time);
  std::uint64_t wire = 0;
  bool first = true;
  for (const auto& s : net.samples()) {
    if (s.link != n.down[0]) continue;
    wire += s.wire_bytes;
    if (s.at < end) CHECK(s.at.ps() % 10'000'000 == 0);
    if (!first) continue;
    first = false;
    CHECK(s.at == Time::microseconds(10));
    // Begun by then: (10,000 - 300) / 83.56 = 116.08: 117 of them.
    CHECK(s.wire_bytes == 117U * 4'178);
    // Come: 117 and (10,000 - 900) / 83.56 = 108.9: 109; 117 have left.
    CHECK(s.queue == 109U * 4'178);
  }
  CHECK_FALSE(first);
  CHECK(wire == net.link_stats(n.down[0]).wire_bytes);
  // One partition or two: idle for a while, then more.
  net.post(f, Time::microseconds(200), mib(1));
  net.run_all();
  std::uint64_t more = 0;
  for (const auto& s : net.samples())
    if (s.link == n.down[0]) more += s.wire_bytes;
  CHECK(more == net.link_stats(n.down[0]).wire_bytes);
}

TEST_CASE("samples: the integral of the queue is that of the closed form") {
  // Two hosts with N packets each into one, the same instant: the queue rises by a packet in each packet time until N
  // have come of each, then it falls: area N^2 / 2 + N^2 / 2 packet times x packets.
  const auto n = leaf_spine(1, 3, 0, pfc_switch());
  Network net{n.fabric, {transport()}, {}};
  const int packets = 200;
  for (int h = 1; h < 3; ++h) net.post(net.open(flow(n, h, 0)), Time{}, Bytes{packets * mtu});
  net.run_all();
  const auto s = net.link_stats(n.down[0]);
  CHECK(s.queue_byte_seconds == Approx(1.0 * packets * packets * 4178 * packet_time.seconds()).epsilon(0.01));
  CHECK(s.queue_peak.count() == Approx(packets * 4178).epsilon(0.02));
}
