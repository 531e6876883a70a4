// Packets that wait for each other in a circle: found, named, and avoided by lanes that rise on the way.
#include <set>
#include <vector>

#include "packet_runs.hpp"
#include "print.hpp"

using namespace linkcast;
using namespace linkcast::sim;
using namespace linkcast::sim::packet;
using namespace linkcast::testing;

namespace {

/// Switches in a ring, a host on each. Every host sends to the one that is two switches on, the same way round: each
/// link of the ring carries packets that need the next one.
struct Ring {
  Fabric fabric;
  std::vector<NodeId> hosts, switches;
  std::vector<LinkId> up, ring, down;  // ring[i]: from switch i to the next
};

Ring ring(int size, const NodeKind& kind, std::size_t lanes = 1) {
  Ring r{Fabric{std::vector<VirtualLane>(lanes)}, {}, {}, {}, {}, {}};
  NodeKind host = kind;
  host.name = "host";
  const auto hosts = r.fabric.add_kind(host), switches = r.fabric.add_kind(kind);
  for (int i = 0; i < size; ++i) r.hosts.push_back(r.fabric.add_endpoint(hosts));
  for (int i = 0; i < size; ++i) r.switches.push_back(r.fabric.add_switch(switches));
  for (std::size_t i = 0; i < r.hosts.size(); ++i) {
    r.up.push_back(r.fabric.add_cable(r.hosts[i], r.switches[i], ethernet_400g()));
    r.down.push_back(r.fabric.reverse(r.up.back()));
  }
  for (std::size_t i = 0; i < r.hosts.size(); ++i)
    r.ring.push_back(r.fabric.add_cable(r.switches[i], r.switches[(i + 1) % r.hosts.size()], ethernet_400g()));
  r.fabric.route_shortest();
  return r;
}

std::vector<FlowId> two_on(const Ring& r, Network& net) {
  const std::size_t n = r.hosts.size();
  std::vector<FlowId> flows;
  for (std::size_t i = 0; i < n; ++i) {
    FlowSpec f;
    f.from = r.hosts[i];
    f.to = r.hosts[(i + 2) % n];
    f.way = {r.up[i], r.ring[i], r.ring[(i + 1) % n], r.down[(i + 2) % n]};
    // Acknowledgements the other way round.
    f.way_back = {r.up[(i + 2) % n], r.fabric.reverse(r.ring[(i + 1) % n]), r.fabric.reverse(r.ring[i]), r.down[i]};
    flows.push_back(net.open(f));
  }
  return flows;
}

NodeKind little_pause() {
  auto kind = pfc_switch();
  kind.shared = kib(256);
  kind.alpha = 1.0 / 64;  // stops an input at 4 KiB: a packet
  kind.resume_offset = kib(4);
  return kind;
}

/// Runs and returns the circle, which has to be there.
std::vector<LinkId> circle_of(Network& net) {
  try {
    net.run_all();
  } catch (const Deadlock& d) {
    CHECK_THAT(d.what(), ContainsText("deadlock"));
    CHECK_THAT(d.what(), ContainsText("switch["));
    CHECK(net.find_cycle() == d.cycle());
    CHECK_FALSE(net.idle());
    return d.cycle();
  }
  FAIL("no deadlock");
  return {};
}

void check_circle(const Ring& r, const std::vector<LinkId>& cycle) {
  CHECK(std::set<LinkId>(cycle.begin(), cycle.end()) == std::set<LinkId>(r.ring.begin(), r.ring.end()));
  REQUIRE(cycle.size() == r.ring.size());
  for (std::size_t i = 0; i < cycle.size(); ++i)
    CHECK(r.fabric.link(cycle[i]).to == r.fabric.link(cycle[(i + 1) % cycle.size()]).from);
}

}  // namespace

TEST_CASE("deadlock: a ring with credits locks up and the circle is named") {
  const int size = GENERATE(3, 5);
  const bool timers = GENERATE(false, true);
  const auto r = ring(size, credit_switch(Bytes{3 * 4'224}));
  auto t = transport(timers ? Recovery::go_back_n : Recovery::none);
  t.retransmit_timeout = Time::microseconds(50);
  Network net{r.fabric, {t}, {}};
  for (const auto f : two_on(r, net)) net.post(f, Time{}, mib(4));
  CAPTURE(size, timers);
  check_circle(r, circle_of(net));
}

TEST_CASE("deadlock: so does one under pause") {
  const bool timers = GENERATE(false, true);
  const auto r = ring(3, little_pause());
  auto t = transport(timers ? Recovery::selective : Recovery::none);
  Network net{r.fabric, {t}, {}};
  for (const auto f : two_on(r, net)) net.post(f, Time{}, mib(4));
  CAPTURE(timers);
  check_circle(r, circle_of(net));
}

TEST_CASE("deadlock: lanes that rise at every switch let a ring run") {
  // A way has four links: four lanes. 3 flows of 1,024 packets over ring links that carry two flows each: 2,048 packets
  // on each take 171.1 us at least.
  const bool credits = GENERATE(true, false);
  auto r = ring(3, credits ? credit_switch(Bytes{16 * 4'224}) : little_pause(), 4);
  r.fabric.set_lane_by_hop(true);
  Network net{r.fabric, {transport()}, {}};
  const auto flows = two_on(r, net);
  for (const auto f : flows) net.post(f, Time{}, mib(4));
  CAPTURE(credits);
  REQUIRE_NOTHROW(net.run_all());
  CHECK(net.idle());
  CHECK(net.find_cycle().empty());
  for (const auto f : flows) {
    CHECK(net.flow_stats(f).payload_bytes == 4U << 20);
    CHECK(net.flow_stats(f).last_done >= 2048 * packet_time);
    if (credits) CHECK(net.flow_stats(f).last_done.us() < 1.2 * 171.1);
  }
  check_conservation(r.fabric, net);
}

TEST_CASE("deadlock: one with steps is told too, and a ring that is not full runs") {
  const auto r = ring(3, credit_switch(Bytes{3 * 4'224}));
  SECTION("by steps: the network stands still and says where") {
    Network net{r.fabric, {transport()}, {}};
    for (const auto f : two_on(r, net)) net.post(f, Time{}, mib(4));
    std::vector<Notice> notices;
    bool told = false;
    try {
      while (net.next_time() != Time::max()) net.run(Time::max(), notices);
    } catch (const Deadlock&) {
      told = true;
    }
    CHECK_FALSE(net.idle());
    check_circle(r, net.find_cycle());
    (void)told;
  }
  SECTION("two of the three flows close no circle") {
    Network net{r.fabric, {transport()}, {}};
    const auto flows = two_on(r, net);
    net.post(flows[0], Time{}, mib(4));
    net.post(flows[1], Time{}, mib(4));
    REQUIRE_NOTHROW(net.run_all());
    CHECK(net.idle());
  }
  SECTION("three flows of few packets do not fill the buffers") {
    Network net{r.fabric, {transport()}, {}};
    for (const auto f : two_on(r, net)) net.post(f, Time{}, Bytes{2 * mtu});
    REQUIRE_NOTHROW(net.run_all());
    CHECK(net.idle());
  }
}

TEST_CASE("deadlock: partitions see it too") {
  const int threads = GENERATE(1, 2);
  const auto r = ring(3, credit_switch(Bytes{3 * 4'224}));
  auto t = transport(Recovery::go_back_n);
  Options o;
  o.partitions = 3;
  o.threads = threads;
  Network net{r.fabric, {t}, o};
  for (const auto f : two_on(r, net)) net.post(f, Time{}, mib(1));
  check_circle(r, circle_of(net));
}
