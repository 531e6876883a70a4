// A cluster as packets see it: counts, rates and delays derived by hand, ways against those of the fluid network.
#include "linkcast/topologies/packet_fabric.hpp"

#include <numeric>
#include <set>

#include "network_fixture.hpp"

using namespace linkcast;
using namespace linkcast::topologies;
namespace packet = sim::packet;

namespace {

models::PacketSettings usual(const Cluster& c, double gbps = 400) {
  return models::packet_settings(c.network().model(), c.network().routing(), sim::Rate::from_GBps(gbps / 8));
}
PacketFabric fabric_of(const Cluster& c) { return PacketFabric{c, usual(c)}; }

/// 8 machines of one NIC, 4 below each of two leaves, 4 uplinks over 2 spines: 2 cables from each leaf to each spine.
std::string two_leaves(const std::string& more, const std::string& parts = {}) {
  return machine_with(1, "nodes: 8\nnetwork: {type: leaf_spine, nodes_per_leaf: 4, spines: 2, " + more + "}\n" + parts);
}

sim::Time delay_of(const PacketFabric& f, const std::vector<packet::LinkId>& links) {
  sim::Time t;
  for (const auto l : links) t += f.fabric().link(l).delay;
  return t;
}

void check_joined(const PacketFabric& f, const PacketWay& w) {
  REQUIRE_FALSE(w.links.empty());
  CHECK(f.fabric().link(w.links.front()).from == w.from);
  CHECK(f.fabric().link(w.links.back()).to == w.to);
  for (std::size_t i = 0; i + 1 < w.links.size(); ++i)
    CHECK(f.fabric().link(w.links[i]).to == f.fabric().link(w.links[i + 1]).from);
  REQUIRE_FALSE(w.back.empty());
  CHECK(f.fabric().link(w.back.front()).from == w.to);
  CHECK(f.fabric().link(w.back.back()).to == w.from);
}

double total_share(const std::vector<PacketWay>& ways) {
  return std::accumulate(ways.begin(), ways.end(), 0.0, [](double s, const PacketWay& w) { return s + w.share; });
}

/// Bytes by resource of the cluster for each byte of a flow, as the ways say it.
std::map<std::uint32_t, double> loads_of(const PacketFabric& f, const std::vector<PacketWay>& ways) {
  std::map<std::uint32_t, double> out;
  for (const auto& w : ways)
    for (const auto l : w.links) out[static_cast<std::uint32_t>(f.resource_of(l).value())] += w.share;
  return out;
}
std::map<std::uint32_t, double> loads_of(const Cluster& c, NicPlace a, NicPlace b, std::uint64_t flow) {
  std::map<std::uint32_t, double> out;
  c.network().add(a, b, 1.0, flow, [&](CableId cable, bool forward, double w) {
    out[static_cast<std::uint32_t>(c.cable(cable, forward))] += w;
  });
  return out;
}
void check_same(const std::map<std::uint32_t, double>& a, const std::map<std::uint32_t, double>& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& [r, w] : b) CHECK(a.at(r) == Approx(w));
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const sim::InputError& e) {
    std::string all;
    for (const auto& d : e.diagnostics()) all += d.problem + " | " + d.help + "\n";
    return all;
  }
  return "nothing";
}

std::vector<sim::Usage> usages_of(const Cluster& c, int node, const Route& r, double factor = 1) {
  std::vector<sim::Usage> out;
  for (const auto& hop : r.hops)
    out.push_back({c.resource(node, Fabric::resource(hop.link, hop.forward)), hop.weight * factor});
  return out;
}

}  // namespace

TEST_CASE("every cable is a link each way", "[topologies][packet]") {
  const auto c = cluster_of(two_leaves("switch: sn5600, fabric: roce, uplink_rate: 400 Gb/s"));
  const auto f = fabric_of(c);
  // Between machines 8 NIC cables and 2 x 2 x 2 uplinks, 16 cables; in each machine one bundle of NVLink between the
  // two GPUs and a way in its host: 16 + 8 + 8 cables, two links each.
  CHECK(f.fabric().links() == 2 * (16 + 8 + 8));
  // 8 NIC ports, 4 switches, 16 GPUs, two ends of each host's way.
  CHECK(f.fabric().nodes() == 8 + 4 + 16 + 16);
  const auto& n = c.network();
  for (std::uint32_t i = 0; i < n.cables().size(); ++i) {
    const auto& cable = n.cables()[i];
    const auto there = f.links_of(CableId{i}, true), back = f.links_of(CableId{i}, false);
    REQUIRE(there.size() == cable.count);
    REQUIRE(back.size() == cable.count);
    for (std::size_t k = 0; k < there.size(); ++k) {
      CHECK(f.fabric().reverse(there[k]) == back[k]);
      CHECK(f.fabric().link(there[k]).rate == n.cable_models()[cable.model].bare);
      CHECK(f.fabric().link(there[k]).header == sim::Bytes{82});
      CHECK(f.resource_of(there[k]) == c.cable(CableId{i}, true));
      CHECK(f.fabric().name_of(back[k]) == c.resource_name(c.cable(CableId{i}, false)));
    }
    const auto same = f.links_of(c.cable(CableId{i}, false));
    CHECK(std::ranges::equal(same, back));
  }
}

TEST_CASE("under ECMP a flow takes the cables that the fluid network takes", "[topologies][packet]") {
  for (const std::string routing : {"ecmp", "by_destination"}) {
    const auto c = cluster_of(two_leaves("switch: sn5600, fabric: roce, uplink_rate: 400 Gb/s, routing: " + routing));
    const auto f = fabric_of(c);
    std::set<packet::LinkId> parallel;
    for (const int to : {1, 4, 5, 6, 7}) {
      for (std::uint64_t flow = 0; flow < 16; ++flow) {
        const auto ways = f.ways(NicPlace{0, 0}, NicPlace{to, 0}, flow);
        REQUIRE(ways.size() == 1);
        CHECK(ways[0].share == 1);
        check_joined(f, ways[0]);
        check_same(loads_of(f, ways), loads_of(c, {0, 0}, {to, 0}, flow));
        // 1 switch or 3; each link's delay is its cable's and the switch's that it leads to.
        const auto way = c.network().way(NicPlace{0, 0}, NicPlace{to, 0});
        CHECK(ways[0].links.size() == static_cast<std::size_t>(way->switches) + 1);
        CHECK(delay_of(f, ways[0].links) == way->latency);
        CHECK(delay_of(f, ways[0].back) == way->latency);
        if (to != 1) parallel.insert(ways[0].links[1]);
      }
    }
    // Over 64 flows (by destination: 4), all 4 uplinks of the leaf are found.
    CHECK(parallel.size() == 4);
  }
}

TEST_CASE("adaptive routing goes by tables", "[topologies][packet]") {
  const auto c = cluster_of(two_leaves("switch: qm9700"));
  const auto f = fabric_of(c);
  const auto ways = f.ways(NicPlace{0, 0}, NicPlace{5, 0}, 3);
  REQUIRE(ways.size() == 1);
  CHECK(ways[0].links.empty());
  CHECK(ways[0].from == f.endpoint(c.network().ports_of(0, 0)[0]));
  const auto leaf = f.fabric().link(f.fabric().out_links(ways[0].from)[0]).to;
  CHECK(f.fabric().routes(leaf, ways[0].to).size() == 4);  // all uplinks
  CHECK(f.fabric().kind(leaf).choice == packet::Choice::adaptive);
  CHECK(f.fabric().kind(leaf).control == packet::FlowControl::credit);
}

TEST_CASE("a credit buffer holds what is on the way", "[topologies][packet]") {
  // 100 m and 70 ns of error correction between switches of 150 ns: 2 x (450 + 70 + 150) ns x 50 GB/s = 67,000 B;
  // three packets of 4124 B: 79,373 B, in credits of 64 B 79,424 B. Shorter cables do not make it smaller.
  CHECK(models::usual_credit_input(sim::Rate::from_GBps(50), sim::Bytes{4124}) == sim::Bytes{79'424});
  const auto near = cluster_of(two_leaves("switch: qm9700, lengths: [2 m, 10 m, 10 m]"));
  CHECK(fabric_of(near).fabric().kinds()[1].input == sim::Bytes{79'424});
  // 500 m: 2 x (2250 + 70 + 150) ns x 50 GB/s = 247,000 B; with the packets 259,373 B: 259,392 B.
  const auto far = cluster_of(two_leaves("switch: qm9700, lengths: [2 m, 500 m, 10 m]"));
  CHECK(fabric_of(far).fabric().kinds()[1].input == sim::Bytes{259'392});
}

TEST_CASE("a NIC sends what the fluid network gives it", "[topologies][packet]") {
  const auto c = cluster_of(two_leaves("switch: qm9700"));
  const auto f = fabric_of(c);
  const auto port = c.network().ports_of(3, 0)[0];
  const auto station = f.port_station(port);
  REQUIRE(station);
  // 50 GB/s, of which 4096 of 4124 B are payload, less what a NIC loses.
  const auto residual = c.network().model().residual;
  CHECK(residual < 1);
  CHECK(f.fabric().station_rate(*station).GBps() == Approx(50 * 4096.0 / 4124 * residual));
  CHECK(f.fabric().station_rate(*station) == c.resources()[c.cable(CableId{3}, true)].capacity);
  CHECK_FALSE(f.host_station(port, true));
  auto settings = usual(c);
  settings.host_rate = sim::Rate::from_GBps(20);
  const PacketFabric slow{c, settings};
  CHECK(slow.fabric().station_rate(slow.host_station(port, false).value()).GBps() == Approx(20));
}

TEST_CASE("only machines of the job have endpoints", "[topologies][packet]") {
  const auto whole = cluster_of(two_leaves("switch: qm9700"));
  const std::vector<int> nodes{6, 1};
  const auto c = whole.job(nodes);
  const auto f = fabric_of(c);
  CHECK(f.fabric().links() == 2 * (2 + 8 + 2 + 2));
  CHECK(f.endpoint(c.network().ports_of(0, 0)[0]) == packet::no_node);
  const auto here = c.network().ports_of(6, 0)[0];
  CHECK(f.port_of(f.endpoint(here)) == here);
  CHECK(f.links_of(CableId{0}, true).empty());
  CHECK(f.ways(NicPlace{0, 0}, NicPlace{6, 0}, 0).empty());
  CHECK(f.ways(NicPlace{1, 0}, NicPlace{6, 0}, 0).size() == 1);
  // Node 0 of the job is node 6.
  CHECK(f.fabric().name_of(f.gpu(0, DeviceId{f.cluster().machine(0).gpus()[0]})) == "node[6] gpu[0]");
}

TEST_CASE("what is down has no links, what is slow a lower rate", "[topologies][packet]") {
  const auto c = cluster_of(two_leaves("switch: sn5600, fabric: roce, uplink_rate: 400 Gb/s") +
                            "overrides:\n  - {switch: \"spine[1]\", state: down}\n");
  const auto f = fabric_of(c);
  CHECK(f.fabric().links() == 2 * (8 + 4 + 8 + 8));
  CHECK(f.ways(NicPlace{0, 0}, NicPlace{7, 0}, 1)[0].links.size() == 4);

  const std::vector<SlowCable> slow{{0.5, 2, 0}};
  const auto s = with_slow_cables(cluster_of(two_leaves("switch: sn5600, fabric: roce, uplink_rate: 400 Gb/s")), slow);
  const auto g = fabric_of(s);
  CHECK(g.fabric().link(g.links_of(CableId{2}, true)[0]).rate.GBps() == Approx(25));
  CHECK(g.fabric().link(g.links_of(CableId{1}, true)[0]).rate.GBps() == 50);
  const auto port = s.network().ports_of(2, 0)[0];
  CHECK(g.fabric().station_rate(*g.port_station(port)).GBps() ==
        Approx(s.resources()[s.cable(CableId{2}, true)].capacity.GBps()));
}

TEST_CASE("ports of a NIC share a flow as the fluid network has it", "[topologies][packet]") {
  const auto c = cluster_of(machine_with(
      2, "nodes: 4\nnetwork: {type: dual_plane, switch: sn5600, fabric: roce, nodes_per_unit: 2, planes: 2}\n"));
  const auto f = fabric_of(c);
  const auto ways = f.ways(NicPlace{0, 1}, NicPlace{3, 1}, 5);
  REQUIRE(ways.size() == 2);
  CHECK(total_share(ways) == Approx(1));
  CHECK(ways[0].from != ways[1].from);
  check_same(loads_of(f, ways), loads_of(c, {0, 1}, {3, 1}, 5));
}

TEST_CASE("a lane over NVSwitches is a way over each", "[topologies][packet]") {
  const Cluster c{load("dgx-h100")};
  const auto f = fabric_of(c);
  const auto& m = c.machine(0);
  const auto a = m.gpus()[1], b = m.gpus()[6];
  const auto route = m.route(a, b, Transport::nvlink);
  REQUIRE(route);
  const auto usages = usages_of(c, 0, *route);
  const auto ways = f.lane_ways(0, a, b, usages);
  // Links of every GPU to the four chips: 4, 5, 5, 4 of 18.
  REQUIRE(ways.size() == 4);
  CHECK(ways[0].share == Approx(5.0 / 18));
  CHECK(ways[1].share == Approx(5.0 / 18));
  CHECK(ways[3].share == Approx(4.0 / 18));
  CHECK(total_share(ways) == Approx(1));
  for (const auto& w : ways) {
    check_joined(f, w);
    CHECK(w.links.size() == 2);
    CHECK(delay_of(f, w.links) == route->latency);
    CHECK(f.fabric().kind(f.fabric().link(w.links[0]).to).control == packet::FlowControl::credit);
  }
  const auto loads = loads_of(f, ways);
  for (const auto& u : usages) CHECK(loads.at(static_cast<std::uint32_t>(u.resource)) == Approx(u.weight));

  // LL sends twice the data: the shares are parts of what is sent.
  CHECK(total_share(f.lane_ways(0, a, b, usages_of(c, 0, *route, 2))) == Approx(2));
  // Not that way round, and not half of it.
  CHECK(f.lane_ways(0, b, a, usages).empty());
  CHECK(f.lane_ways(0, a, b, std::span{usages}.first(1)).empty());
  // PCIe is a station.
  const auto staged = m.route(a, b, Transport::host_memory);
  CHECK(f.lane_ways(0, a, b, usages_of(c, 0, *staged)).empty());
  for (const auto& u : usages_of(c, 0, *staged)) {
    REQUIRE(f.station(u.resource));
    CHECK(f.links_of(u.resource).empty());
    CHECK(f.fabric().station_rate(*f.station(u.resource)) == c.resources()[u.resource].capacity);
  }
}

TEST_CASE("one link alone carries what a switch reduces or multicasts", "[topologies][packet]") {
  const Cluster c{load("dgx-h100")};
  const auto f = fabric_of(c);
  const auto& m = c.machine(0);
  const auto route = m.route(m.gpus()[0], m.gpus()[1], Transport::nvlink);
  for (const auto& u : usages_of(c, 0, *route)) {
    const auto ways = f.alone(u.resource);
    REQUIRE(ways.size() == 1);
    check_joined(f, ways[0]);
    REQUIRE(ways[0].links.size() == 2);
    // Of the two one is the link, the other holds nothing back: the same rate, no delay.
    int own = 0;
    for (const auto l : ways[0].links) {
      own += f.resource_of(l) == u.resource;
      CHECK(f.fabric().link(l).rate == c.resources()[u.resource].capacity);
      if (!f.resource_of(l)) CHECK(f.fabric().link(l).delay == sim::Time{});
    }
    CHECK(own == 1);
  }
  CHECK(f.alone(usages_of(c, 0, *m.route(m.gpus()[0], m.gpus()[1], Transport::host_memory))[0].resource).empty());

  const auto ib = cluster_of(two_leaves("switch: qm9700"));
  const PacketFabric reducing{ib, usual(ib), true};
  for (std::uint32_t i = 0; i < ib.network().cables().size(); ++i) {
    for (const bool forward : {true, false}) {
      const auto ways = reducing.alone(ib.cable(CableId{i}, forward));
      REQUIRE(ways.size() == ib.network().cables()[i].count);
      CHECK(total_share(ways) == Approx(1));
      for (const auto& w : ways) check_joined(reducing, w);
    }
  }
  CHECK(fabric_of(ib).alone(ib.cable(CableId{9}, true)).empty());
}

TEST_CASE("NVLink has a lossless lane, also beside a network that loses", "[topologies][packet]") {
  for (const auto& [fabric, lanes, lane] : {std::tuple{"roce", 2, 1}, {"efa", 3, 2}, {"ib", 1, 0}}) {
    const auto c = cluster_of(two_leaves(std::string{"switch: sn5600, fabric: "} + fabric));
    const auto f = fabric_of(c);
    CHECK(f.fabric().lanes().size() == static_cast<std::size_t>(lanes));
    CHECK(f.nvlink_transport().lane == lane);
    CHECK(f.fabric().lanes()[f.nvlink_transport().lane].lossless);
    CHECK_FALSE(f.nvlink_transport().acknowledged);
  }
}

TEST_CASE("in rings of switches lanes rise", "[topologies][packet]") {
  const auto c =
      cluster_of(machine_with(1, "nodes: 16\nnetwork: {type: torus, switch: qm9700, dims: [4, 4], routing: ecmp}\n"));
  const auto f = fabric_of(c);
  // The farthest routers of a 4 x 4 torus are 2 + 2 cables apart: five lanes.
  CHECK(f.fabric().lanes().size() == 5);
  CHECK(f.fabric().lane_by_hop());
  CHECK_FALSE(f.fabric().detours());
  const auto ways = f.ways(NicPlace{0, 0}, NicPlace{10, 0}, 1);
  REQUIRE(ways.size() == 1);
  CHECK(ways[0].links.size() == 1 + 4 + 1);
  // A network whose boxes drop waits for nobody.
  const auto lossy =
      cluster_of(machine_with(1, "nodes: 16\nnetwork: {type: torus, switch: sn5600, dims: [4, 4], fabric: tcp}\n"));
  CHECK_FALSE(fabric_of(lossy).fabric().lane_by_hop());
  CHECK_FALSE(fabric_of(cluster_of(two_leaves("switch: qm9700"))).fabric().lane_by_hop());
}

TEST_CASE("a dragonfly's adaptive routing may go round by every router", "[topologies][packet]") {
  const auto text = [](const std::string& routing) {
    return machine_with(1,
                        "nodes: 12\nnetwork: {type: dragonfly, switch: rosetta, fabric: slingshot, groups: 3, "
                        "routers_per_group: 4, nodes_per_router: 1, global_links: 4, routing: " +
                            routing + "}\n");
  };
  const auto whole = cluster_of(text("adaptive"));
  const std::vector<int> nodes{0, 5};
  const auto c = whole.job(nodes);
  const auto f = fabric_of(c);
  CHECK(f.fabric().detours());
  CHECK(f.fabric().lanes().size() == 7);
  // Of 12 routers 10 have no machine of the job: each has an endpoint to be known by. Two ports, 12 routers, 4 GPUs, 4
  // ends of ways in hosts.
  CHECK(f.fabric().nodes() == 2 + 12 + 4 + 4 + 10);
  CHECK(f.ways(NicPlace{0, 0}, NicPlace{5, 0}, 1)[0].links.empty());
  const auto g = fabric_of(cluster_of(text("ecmp")));
  CHECK_FALSE(g.fabric().detours());
  CHECK(g.fabric().lanes().size() == 4);
}

TEST_CASE("buffers are the switch part's, the scenario's, or by the cables", "[topologies][packet]") {
  const auto shared_of = [](const PacketFabric& f) { return f.fabric().kinds()[1].shared; };
  const auto sonic = cluster_of(two_leaves("switch: sn5600, fabric: roce, lengths: [5 m, 5 m, 5 m]"));
  const auto f = fabric_of(sonic);
  CHECK(f.fabric().kinds()[1].name == "sn5600");
  // Uplinks of 800 Gb/s, 5 m: 257,024 B in SONiC's table. What the model needs there is 100 GB/s x 2 x (22.5 + 70 +
  // 600) ns = 138,500 B and three packets of 4178 B: less. Each of two lanes of 6 ports keeps that and 4 KiB.
  CHECK(shared_of(f) == sim::Bytes{158'200'000 - 6 * 2 * (257'024 + 4096)});
  CHECK(f.fabric().kinds()[1].headroom == sim::Bytes{257'024});
  CHECK(f.fabric().kinds()[1].marking.kmin == sim::mib(1));
  CHECK(f.fabric().kinds()[1].choice == packet::Choice::hash);

  const auto own = cluster_of(two_leaves("switch: box, fabric: roce, lengths: [5 m, 5 m, 5 m]",
                                         "parts:\n  network_switches:\n    box: {radix: 64, rate: 400 Gb/s, latency: "
                                         "600 ns, buffer: 64 MiB}\n"));
  // No table: 50 GB/s x 2 x (22.5 + 70 + 600) ns = 69,250 B, one more for rounding, a pause frame of 64 B, three
  // packets of 4178 B. 8 ports.
  CHECK(shared_of(fabric_of(own)) == sim::mib(64) - sim::Bytes{8 * 2 * (69'251 + 64 + 3 * 4178 + 4096)});
  CHECK(fabric_of(own).fabric().kinds()[1].headroom == sim::Bytes{69'251 + 64 + 3 * 4178});
  auto settings = usual(own);
  settings.buffer.shared = sim::mib(2);
  CHECK(shared_of(PacketFabric{own, settings}) == sim::mib(2));
  // Nothing known: 24.7 us of 4 NIC ports and 4 uplinks of 400 Gb/s, 400 GB/s.
  const auto unknown = cluster_of(two_leaves("switch: edr-36, fabric: roce, uplink_rate: 100 Gb/s"));
  CHECK(shared_of(fabric_of(unknown)).count() > 0);

  settings.buffer.headroom = sim::Bytes{1000};
  CHECK(message_of([&] { PacketFabric{own, settings}; }).find("headroom of 1000 B is too small") != std::string::npos);
  settings = usual(own);
  settings.buffer.shared = sim::Bytes{4000};
  CHECK(message_of([&] { PacketFabric{own, settings}; }).find("holds no packet") != std::string::npos);
}

TEST_CASE("a table of headroom is read, and what is wrong with it is said", "[topologies][packet]") {
  const auto part = [](const std::string& headroom) {
    return two_leaves("switch: box, fabric: roce, lengths: [5 m, 20 m, 5 m]",
                      "parts:\n  network_switches:\n    box:\n      radix: 64\n      rate: 400 Gb/s\n      latency: "
                      "1 ns\n      headroom: " +
                          headroom + "\n");
  };
  // At 20 m half way between 10 and 30 m: 300 KB.
  const auto good = cluster_of(part("{lengths: [10 m, 30 m], rows: [{rate: 400 Gb/s, sizes: [200 KB, 400 KB]}]}"));
  CHECK(fabric_of(good).fabric().kinds()[1].headroom == sim::Bytes{300'000});
  for (const auto& [text, problem] :
       {std::pair{"{lengths: [10 m, 30 m], rows: [{rate: 400 Gb/s, sizes: [200 KB]}]}", "must be 2 sizes"},
        {"{lengths: [30 m, 10 m], rows: []}", "'lengths' must grow"},
        {"{lengths: 5, rows: []}", "must be a list of cable lengths"},
        {"{lengths: [5 m]}", "rows"},
        {"{lengths: [5 m], rows: [{rate: 400 Gb/s, sizes: [5]}]}", "sizes"},
        {"{lengths: [5 m], rows: [{rate: 400 Gb/s, sizes: [5 KB], size: 3}]}", "size"}}) {
    const auto problems = problems_of(part(text));
    REQUIRE(problems.size() == 1);
    INFO(problems[0].problem);
    CHECK(problems[0].problem.find(problem) != std::string::npos);
    CHECK(problems[0].at.line > 0);
  }
}

TEST_CASE("a network that does not fit into memory is refused before it is built", "[topologies][packet]") {
  const auto c = cluster_of(two_leaves("switch: qm9700"));
  auto settings = usual(c);
  settings.memory = sim::kib(4);
  CHECK(message_of([&] { PacketFabric{c, settings}; }).find("at fidelity packet takes about") != std::string::npos);
  // What is estimated is near what the fabric says of itself.
  const auto estimated = PacketFabric::estimated_memory_bytes(c);
  const auto counted = fabric_of(c).fabric().estimated_memory_bytes();
  CHECK(estimated > counted);
  CHECK(estimated < 3 * counted);
}

TEST_CASE("machines of the catalog become packet networks", "[topologies][packet]") {
  for (const auto* name :
       {"dgx2-v100", "dgx1-v100", "gb200-nvl72", "pcie-rtx4090", "aws-p4d", "gcp-a3-mega", "polaris"}) {
    INFO(name);
    ClusterOptions options;
    options.nodes = 2;
    const auto c = load_cluster(name, options);
    const auto f = fabric_of(c);
    const auto ways = f.ways(NicPlace{0, 0}, NicPlace{1, 0}, 0);
    CHECK(total_share(ways) == Approx(1));
    const auto& m = c.machine(1);
    const auto a = m.gpus()[0], b = m.gpus()[1];
    const auto route = m.route(a, b, Transport::nvlink);
    if (!route) continue;
    const auto lanes = f.lane_ways(1, a, b, usages_of(c, 1, *route));
    CHECK(total_share(lanes) == Approx(1));
    sim::Time slowest;
    for (const auto& w : lanes) slowest = std::max(slowest, delay_of(f, w.links));
    CHECK(slowest == route->latency);
  }
}
