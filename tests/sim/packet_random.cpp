// Random small leaf-spine networks with every flow control, routing, recovery and congestion control: every byte is
// delivered once, every port's sums add up, the engine's own assertions hold, partitions and threads agree.
#include <random>
#include <string>
#include <vector>

#include "packet_runs.hpp"
#include "print.hpp"

using namespace linkcast;
using namespace linkcast::sim;
using namespace linkcast::sim::packet;
using namespace linkcast::testing;

namespace {

struct Case {
  PacketNet net;
  std::vector<Transport> transports;
  struct Post {
    Time at;
    Bytes bytes;
  };
  struct Flow {
    FlowSpec spec;
    std::vector<Post> posts;
  };
  std::vector<Flow> flows;
  std::string what;
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_{seed} {}
  int operator()(int from, int to) { return std::uniform_int_distribution<>{from, to}(random_); }
  bool coin() { return (*this)(0, 1) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[(*this)(0, static_cast<int>(list.size()) - 1)];
  }

 private:
  std::mt19937 random_;
};

ControlSettings control(int which) {
  switch (which) {
    case 1:
      return dcqcn::Settings::mlx5();
    case 2:
      return infiniband_cct::Settings{};
    case 3:
      return dctcp::Settings{};
    case 4:
      return timely::Settings{};
    case 5:
      return swift::Settings{};
    case 6:
      return hpcc::Settings{};
    case 7:
      return nscc::Settings{};
    default:
      return Uncontrolled{};
  }
}

// Everything that may go together; what may not is refused, which other tests show.
Case draw_case(unsigned seed) {
  Draw draw{seed};
  NodeKind kind = pfc_switch();
  kind.control = draw.one_of({FlowControl::none, FlowControl::credit, FlowControl::pause});
  kind.choice = draw.one_of({Choice::hash, Choice::by_destination, Choice::spray, Choice::adaptive, Choice::flowlet});
  kind.flowlet_gap = Time::nanoseconds(draw(100, 20'000));
  kind.cut_through = draw.coin();
  kind.trims = draw.coin();
  const auto packet_bytes = Bytes{draw.one_of({512, 1024, 2048, 4096, 9000})};
  kind.input = (packet_bytes + Bytes{200}) * draw(1, 20);
  kind.shared = draw.coin() ? mib(64) : (packet_bytes + Bytes{82}) * draw(8, 60);
  kind.headroom = Bytes{60'000};
  if (kind.control == FlowControl::pause) kind.shared = std::max(kind.shared, kind.headroom);
  kind.reserve = packet_bytes * draw(0, 2);
  kind.alpha = 1.0 / draw(1, 8);
  kind.lossy_alpha = 1.0 / draw(1, 4);
  kind.resume_offset = packet_bytes * draw(0, 2);
  if (draw.coin()) kind.marking = {true, packet_bytes * draw(0, 5), packet_bytes * draw(5, 30), draw(1, 100) / 100.0};

  const bool data_lossless = kind.control == FlowControl::credit || draw.coin();
  const bool one_lane = data_lossless && draw.coin();
  VirtualLane first, second;
  first.strict = !one_lane && draw.coin();
  second.lossless = data_lossless;
  std::vector<VirtualLane> lanes{first};
  if (!one_lane) lanes.push_back(second);

  auto link = ethernet_400g();
  link.rate = Rate::bytes_per_second(std::int64_t{draw(3'000, 50'000)} * 1'000'003);
  link.delay = Time::picoseconds(draw(0, 400'000));
  link.header = Bytes{draw(0, 100)};
  const bool errors = draw(0, 3) == 0;
  if (errors) link.bit_error_rate = 1e-6, link.link_retry = draw.coin();

  const bool loses = (errors && !link.link_retry) || kind.control == FlowControl::none ||
                     (kind.control == FlowControl::pause && !data_lossless);
  const bool reorders = kind.choice != Choice::hash && kind.choice != Choice::by_destination;
  Case c{leaf_spine(draw(1, 3), draw(2, 4), draw(1, 3), kind, link, lanes), {}, {}, {}};
  for (int i = 0; i < 2; ++i) {
    Transport t;
    t.name = i == 0 ? "one" : "two";
    t.mtu = i == 0 ? packet_bytes : Bytes{draw(100, static_cast<int>(packet_bytes.count()))};
    t.lane = one_lane ? 0 : 1;
    t.control_lane = draw.coin() ? t.lane : std::uint8_t{0};
    t.ack_every = draw(1, 32);
    t.retransmit_timeout = Time::microseconds(draw(20, 300));
    t.paths = draw(0, 3) == 0 ? draw(1, 40) : 0;
    t.any_order = draw.coin();
    t.recovery = draw.one_of({Recovery::none, Recovery::go_back_n, Recovery::selective});
    if ((loses || ((reorders || t.paths > 0) && !t.any_order)) && t.recovery == Recovery::none)
      t.recovery = Recovery::selective;
    // Taking packets in order only and asking for all at every one that overtakes never ends where all overtake.
    if (t.recovery == Recovery::go_back_n && (reorders || t.paths > 0)) t.recovery = Recovery::selective;
    const int which = draw(0, 7);
    t.control = control(which == 6 && (reorders || t.paths > 0) ? 5 : which);
    if (t.recovery == Recovery::none && !loses && !reorders && t.paths == 0 && draw(0, 2) == 0) {
      t.acknowledged = false;
      t.control = Uncontrolled{};
    }
    c.what += "transport: recovery " + std::to_string(static_cast<int>(t.recovery)) + ", control " +
              std::to_string(t.control.index()) + ", any order " + std::to_string(t.any_order) + ", acknowledged " +
              std::to_string(t.acknowledged) + ", paths " + std::to_string(t.paths) + "; ";
    c.transports.push_back(t);
  }
  c.what += "flow control " + std::to_string(static_cast<int>(kind.control)) + ", choice " +
            std::to_string(static_cast<int>(kind.choice)) + ", trims " + std::to_string(kind.trims) + ", errors " +
            std::to_string(errors) + ", lossless " + std::to_string(data_lossless) + ", lanes " +
            std::to_string(lanes.size());

  std::vector<StationId> pcie;  // of each host: what hosts of different partitions share is not the same on threads
  for (std::size_t h = 0; h < c.net.hosts.size(); ++h)
    pcie.push_back(c.net.fabric.add_station(Rate::bytes_per_second(std::int64_t{draw(1, 30)} * 1'000'000'000), "pcie"));
  const int hosts = static_cast<int>(c.net.hosts.size()), target = draw(0, hosts - 1);
  const int flows = draw(1, 12);
  for (int i = 0; i < flows; ++i) {
    const int from = draw(0, hosts - 1);
    int to = draw.coin() ? target : draw(0, hosts - 1);
    if (to == from) to = (from + 1) % hosts;
    Case::Flow f{flow(c.net, from, to, static_cast<std::uint64_t>(draw(0, 1 << 20))), {}};
    f.spec.transport = static_cast<std::uint16_t>(draw(0, 1));
    if (draw(0, 4) == 0) f.spec.cap = Rate::bytes_per_second(std::int64_t{draw(1, 60)} * 1'000'000'000);
    if (draw(0, 4) == 0) f.spec.out = {{pcie[static_cast<std::size_t>(from)], 1}};
    if (kind.control != FlowControl::none && draw(0, 4) == 0)
      f.spec.in = {{pcie[static_cast<std::size_t>(to)], draw(1, 2) * 1.0}};
    const int messages = draw(1, 4);
    for (int m = 0; m < messages; ++m)
      f.posts.push_back({Time::nanoseconds(draw(0, 20'000)), Bytes{draw(0, 3) == 0 ? draw(0, 100) : draw(0, 400'000)}});
    std::sort(f.posts.begin(), f.posts.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    c.flows.push_back(std::move(f));
  }
  return c;
}

using Outcome = std::vector<std::int64_t>;

Outcome run(const Case& c, const Options& options) {
  Network net{c.net.fabric, c.transports, options};
  net.keep_times();
  std::vector<FlowId> ids;
  std::uint64_t posted = 0, delivered = 0;
  for (const auto& f : c.flows) ids.push_back(net.open(f.spec));
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (const auto& p : c.flows[i].posts) {
      net.post(ids[i], p.at, p.bytes);
      posted += static_cast<std::uint64_t>(p.bytes.count());
    }
  const Time end = net.run_all(Time::microseconds(10'000'000));
  CHECK(net.idle());
  Outcome out;
  const auto add = [&](auto x) { out.push_back(static_cast<std::int64_t>(x)); };
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto s = net.flow_stats(ids[i]);
    std::uint64_t mine = 0;
    for (const auto& p : c.flows[i].posts) mine += static_cast<std::uint64_t>(p.bytes.count());
    CHECK(s.payload_bytes == mine);
    delivered += s.payload_bytes;
    const auto times = net.times(ids[i]);
    CHECK(times.size() == c.flows[i].posts.size());
    for (std::size_t m = 0; m < times.size(); ++m) {
      CHECK(times[m].first == c.flows[i].posts[m].at);
      CHECK(times[m].second > times[m].first);
      if (m > 0) CHECK(times[m].second >= times[m - 1].second);
      add(times[m].second.ps());
    }
    if (!times.empty()) CHECK(s.last_done == times.back().second);
    for (const auto x : {s.packets, s.retransmits, s.timeouts, s.marked, s.notifications, s.payload_bytes}) add(x);
    add(s.last_done.ps());
  }
  CHECK(delivered == posted);
  std::uint64_t marks = 0, drops = 0, damaged = 0;
  for (std::uint32_t l = 0; l < c.net.fabric.links(); ++l) {
    const auto s = net.link_stats(LinkId{l});
    for (const auto x : {s.packets, s.wire_bytes, s.payload_bytes, s.marks, s.drops, s.trims, s.link_retries, s.damaged,
                         s.pauses, static_cast<std::uint64_t>(s.queue_peak.count())})
      add(x);
    add(s.paused.ps());
    add(s.queue_byte_seconds * 1e12);
    marks += s.marks;
    drops += s.drops;
    damaged += s.damaged;
    CHECK(s.wire_bytes >= s.payload_bytes);
    CHECK(s.queue_byte_seconds >= 0);
    CHECK(s.queue_byte_seconds <= static_cast<double>(s.queue_peak.count()) * end.seconds() * 1.000001 *
                                      static_cast<double>(c.net.fabric.lanes().size()));
  }
  const auto t = net.totals();
  CHECK(t.marks == marks);
  CHECK(t.drops == drops + damaged);
  for (const auto x : {t.events, t.packet_hops, t.packets, t.drops, t.marks, t.retransmits, t.notifications}) add(x);
  // The time series sums to the totals.
  if (options.sample_every > Time{}) {
    std::vector<std::uint64_t> wire(c.net.fabric.links()), marked(wire), dropped(wire);
    std::vector<Time> paused(c.net.fabric.links());
    Time before;
    for (const auto& s : net.samples()) {
      CHECK(s.at >= before);
      before = s.at;
      const auto l = static_cast<std::size_t>(s.link);
      wire[l] += s.wire_bytes;
      marked[l] += s.marks;
      dropped[l] += s.drops;
      paused[l] += s.paused;
      add(s.at.ps());
      add(s.link);
      add(s.queue);
      add(s.wire_bytes);
    }
    for (std::uint32_t l = 0; l < c.net.fabric.links(); ++l) {
      const auto s = net.link_stats(LinkId{l});
      CHECK(wire[l] == s.wire_bytes);
      CHECK(marked[l] == s.marks);
      CHECK(dropped[l] == s.drops);
      CHECK(paused[l] == s.paused);
    }
  }
  check_conservation(c.net.fabric, net);
  return out;
}

}  // namespace

TEST_CASE("random networks: all is delivered once and every sum adds up, whatever is combined") {
  const unsigned from = GENERATE(range(0U, 400U, 20U));
  for (unsigned seed = from; seed < from + 20; ++seed) {
    const auto c = draw_case(seed);
    Options o;
    o.seed = seed;
    o.sample_every = Time::microseconds(seed % 3 == 0 ? 0 : 1 + seed % 50);
    CAPTURE(seed, c.what);
    REQUIRE_NOTHROW(run(c, o));
  }
}

TEST_CASE("random networks: threads make no difference, to the last bit") {
  for (unsigned seed = 1000; seed < 1030; ++seed) {
    const auto c = draw_case(seed);
    Options o;
    o.seed = seed;
    o.sample_every = Time::microseconds(1 + seed % 20);
    o.partitions = 2 + static_cast<int>(seed % 3);
    CAPTURE(seed, o.partitions, c.what);
    const auto one = run(c, o);
    o.threads = 2;
    CHECK(one == run(c, o));
    o.threads = 4;
    if (seed % 4 == 0) CHECK(one == run(c, o));
  }
}
