// Flows at fidelity packet: what they must have in common with rates, and what only packets do.
#include "catch.hpp"
#include "linkcast/workloads/flow_scenario.hpp"

using namespace linkcast;

namespace {

const std::string leaves =
    "topology: dgx-h100\nnodes: 4\nnetwork: {fabric: roce, type: leaf_spine, switch: sn5600, nodes_per_leaf: 2}\n";

workloads::FlowsResult run(const std::string& flows, const std::string& more = "fidelity: packet\n",
                           const std::string& machine = leaves, bool samples = false) {
  workloads::FlowsOptions options;
  options.samples = samples;
  return workloads::run_flows(workloads::read_flow_scenario(workloads::open_scenario_text(
                                  machine + more + "workload:\n  flows: " + flows + "\n", "s.yaml")),
                              options);
}

double us(sim::Time t) { return t.us(); }

}  // namespace

TEST_CASE("a flow alone takes as long in packets as at its rate") {
  const std::string flow = "{pattern: pairs, from: 'node[0].nic[0]', to: 'node[3].nic[5]', size: 16 MiB}";
  const auto packets = run(flow), rates = run(flow, "");
  CHECK(us(packets.end) == Approx(us(rates.end)).epsilon(0.01));
  CHECK(packets.groups[0].bytes == sim::mib(16));
  CHECK(packets.packets >= 4096);  // of 4 KiB, and their acknowledgements
  CHECK(packets.drops == 0);
}

TEST_CASE("an incast in packets loses nothing, ends at the line and queues at the receiver's port") {
  const auto r = run("{pattern: incast, senders: 8, size: 1 MiB}");
  const auto& g = r.groups[0];
  CHECK(g.messages == 8);
  CHECK(g.bytes == 8 * sim::mib(1));
  CHECK(r.drops == 0);
  // Nobody is faster than 50 GB/s of wire: 8 MiB take 168 us at least.
  CHECK(us(r.end) > 8.0 * (1 << 20) / 50e3);
  CHECK(us(r.end) < 8.0 * (1 << 20) / 50e3 * 1.2);
  CHECK(r.queueing > sim::Time{});
  CHECK(r.links.front().name == "cable leaf[0]->node[0].nic[0]");
  CHECK(r.links.front().queue_peak > sim::mib(1));
  CHECK(r.links.front().utilisation <= 1);
}

TEST_CASE("the same messages go at both fidelities") {
  for (const std::string flows : {"{pattern: random, sizes: hadoop, load: 0.3, duration: 300 us}",
                                  "{pattern: on_off, size: 64 KiB, load: 0.8, on_time: 20 us, off_time: 20 us, "
                                  "duration: 200 us}",
                                  "{pattern: all_to_all, size: 8 KiB, messages: 2}",
                                  "{pattern: permutation, sizes: {distribution: uniform, least: 1 KiB, most: 99 KiB}, "
                                  "messages: 5}"}) {
    const auto packets = run(flows), rates = run(flows, "");
    CAPTURE(flows);
    CHECK(packets.groups[0].messages == rates.groups[0].messages);
    CHECK(packets.groups[0].bytes == rates.groups[0].bytes);
    CHECK(packets.groups[0].flows == rates.groups[0].flows);
    CHECK(packets.groups[0].slowdown.min > 0.9);
  }
}

TEST_CASE("threads do not change what packets do") {
  const std::string flows =
      "[{pattern: all_to_all, size: 16 KiB, from: 'nic[0-3]'}, {pattern: random, size: 32 KiB, "
      "load: 0.4, duration: 100 us, from: 'nic[4-7]'}]";
  const auto one = run(flows, "fidelity: packet\npacket: {partitions: 2, threads: 1}\n");
  const auto two = run(flows, "fidelity: packet\npacket: {partitions: 2, threads: 2}\n");
  CHECK(one.end == two.end);
  CHECK(one.packet_hops == two.packet_hops);
  for (std::size_t g = 0; g < 2; ++g) {
    CHECK(one.groups[g].completion.mean == two.groups[g].completion.mean);
    CHECK(one.groups[g].completion.p99 == two.groups[g].completion.p99);
  }
}

TEST_CASE("a NIC with two ports sends each message over both") {
  const std::string machine =
      "topology: dgx-h100\nnodes: 4\nnetwork: {fabric: roce, type: dual_plane, switch: sn5600, "
      "nodes_per_unit: 2}\n";
  const std::string flow =
      "{pattern: pairs, from: 'node[0].nic[0]', to: 'node[3].nic[0]', size: 4 MiB, messages: 3, "
      "concurrency: 1}";
  const auto r = run(flow, "fidelity: packet\n", machine);
  CHECK(r.groups[0].messages == 3);
  CHECK(r.groups[0].bytes == 12 * sim::mib(1));
  const auto rates = run(flow, "", machine);
  CHECK(us(r.end) == Approx(us(rates.end)).epsilon(0.03));
  int ports = 0;
  for (const auto& l : r.links)
    if (l.name.find("cable node[0].nic[0]") == 0 && l.bytes > 6e6) ++ports;
  CHECK(ports == 2);
}

TEST_CASE("a time series has what every link carried") {
  const auto r = run("{pattern: incast, senders: 4, size: 256 KiB}", "fidelity: packet\npacket: {sample_every: 2 us}\n",
                     leaves, true);
  REQUIRE_FALSE(r.samples.empty());
  double sent = 0;
  sim::Time before;
  for (const auto& s : r.samples) {
    CHECK(s.at >= before);
    CHECK(s.at.ps() % sim::Time::microseconds(2).ps() == 0);
    before = s.at;
    if (r.sampled_links[s.link] == "cable leaf[0]->node[0].nic[0]") sent += static_cast<double>(s.sent);
  }
  // All but what went in the last interval.
  CHECK(sent > r.links.front().bytes - 2e-6 * 50e9 - 1);
  CHECK(sent <= r.links.front().bytes);
  CHECK(run("{pattern: incast, senders: 4, size: 256 KiB}").samples.empty());
}
