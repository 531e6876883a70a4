// Flow workloads: who sends what to whom, and what a run at fidelity flow makes of it. Numbers by hand.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "catch.hpp"
#include "linkcast/workloads/flow_scenario.hpp"

using namespace linkcast;
using workloads::FlowPattern;
using workloads::FlowSizes;

namespace {

/// Four DGX H100 (8 NICs of 400 Gb/s each) on one switch that blocks nothing, unless `machine` says otherwise.
workloads::FlowScenario read(const std::string& flows, const std::string& machine = "topology: dgx-h100\nnodes: 4\n") {
  return workloads::read_flow_scenario(
      workloads::open_scenario_text(machine + "workload:\n  flows: " + flows + "\n", "s.yaml"));
}

std::string error_of(const std::string& flows, const std::string& machine = "topology: dgx-h100\nnodes: 4\n") {
  try {
    read(flows, machine);
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text, part);
  return text.find(part) != text.npos;
}

std::vector<workloads::FlowMessage> all(const workloads::FlowScenario& s, const workloads::FlowGroup& g,
                                        std::size_t sender) {
  const auto peers = g.peers(s.ends, sender);
  workloads::FlowMessages messages{g, sender, peers.size(), workloads::first_peer(s.ends, g, sender, peers),
                                   s.ends.line(g.senders[sender])};
  std::vector<workloads::FlowMessage> out;
  while (const auto m = messages.next()) out.push_back(*m);
  return out;
}

}  // namespace

TEST_CASE("ends are the NICs of a cluster's machines, by node and NIC") {
  const auto s = read("{pattern: permutation, size: 1 MiB}");
  CHECK(s.ends.size() == 32);
  CHECK(s.ends.name(9) == "node[1].nic[1]");
  std::string problem;
  const auto found = s.ends.find("node[1-2].nic[0,7]", problem);
  CHECK(problem.empty());
  CHECK(found == std::vector<std::uint32_t>{8, 15, 16, 23});
  CHECK(s.ends.find("nic[3]", problem) == std::vector<std::uint32_t>{3, 11, 19, 27});
  CHECK(s.ends.find("node[3]", problem).size() == 8);
  CHECK(s.ends.find("all", problem).size() == 32);
  CHECK(s.ends.find("node[3-4]", problem).empty());
  CHECK(has(problem, "there is no node[4]"));
}

TEST_CASE("a permutation gives everybody one receiver on another machine, none twice") {
  for (int seed = 0; seed < 50; ++seed) {
    const auto s = read(fmt::format("{{pattern: permutation, size: 1 MiB, seed: {}}}", seed));
    const auto& g = s.groups.front();
    REQUIRE(g.to.size() == 32);
    CHECK(std::set<std::uint32_t>(g.to.begin(), g.to.end()).size() == 32);
    for (std::size_t i = 0; i < 32; ++i) CHECK(s.ends.place(g.senders[i]).node != s.ends.place(g.to[i]).node);
  }
  // Two machines: all of one send to all of the other, whatever was drawn.
  const auto two = read("{pattern: permutation, size: 1 MiB}", "topology: dgx-h100\nnodes: 2\n");
  for (std::size_t i = 0; i < 16; ++i) CHECK(two.groups[0].to[i] / 8 != two.groups[0].senders[i] / 8);
  CHECK(read("{pattern: permutation, size: 1 MiB, seed: 1}").groups[0].to !=
        read("{pattern: permutation, size: 1 MiB, seed: 2}").groups[0].to);
}

TEST_CASE("an incast takes its senders from other machines than the receiver's") {
  const auto s = read("{pattern: incast, senders: 10, receivers: 1, size: 1 MiB, messages: 3}");
  const auto& g = s.groups.front();
  CHECK(g.receivers == std::vector<std::uint32_t>{0});
  CHECK(g.senders == std::vector<std::uint32_t>{8, 9, 10, 11, 12, 13, 14, 15, 16, 17});
  CHECK(all(s, g, 0).size() == 3);
  CHECK(g.concurrency == 0);
}

TEST_CASE("an all-to-all goes to everybody else, shifted, so that each receives from one at a time") {
  const auto s = read("{pattern: all_to_all, size: 64 KiB}");
  const auto& g = s.groups.front();
  CHECK(g.concurrency == 16);
  std::vector<std::set<std::uint32_t>> first(17);
  for (std::size_t i = 0; i < 32; ++i) {
    const auto peers = g.peers(s.ends, i);
    const auto messages = all(s, g, i);
    REQUIRE(messages.size() == 24);  // 32 less its own machine's 8
    std::set<std::uint32_t> to;
    for (const auto& m : messages) to.insert(peers[m.peer]);
    CHECK(to.size() == 24);
    for (std::size_t k = 0; k < 17; ++k) first[k].insert(peers[messages[k].peer]);
  }
  // In the first 24 - 7 steps, before lists wrap, all 32 receivers differ.
  for (const auto& receivers : first) CHECK(receivers.size() == 32);
}

TEST_CASE("pairs are as written, also within a machine") {
  const auto s = read(
      "{pattern: pairs, from: ['node[0].nic[0]', 'node[0].nic[1]'], to: ['node[0].nic[2]', "
      "'node[3].nic[0]'], size: 1 MiB}");
  CHECK(s.groups[0].senders == std::vector<std::uint32_t>{0, 1});
  CHECK(s.groups[0].to == std::vector<std::uint32_t>{2, 24});
}

TEST_CASE("random messages come by Poisson, at the load that was asked for") {
  // A line of 400 Gb/s carries 50 GB/s less headers; 40 % of that in messages of 100 kB for 20 ms.
  const auto s = read("{pattern: random, sizes: {distribution: list, sizes: [100 KB]}, load: 0.4, duration: 20 ms}");
  const auto& g = s.groups.front();
  const double line = static_cast<double>(s.ends.line(0).bytes_per_second());
  const double expected = 0.4 * line * 0.020 / 1e5;  // some 3,900 a sender
  double sum = 0, squares = 0, count = 0;
  std::vector<int> to(24, 0);
  for (std::size_t i = 0; i < 32; ++i) {
    const auto messages = all(s, g, i);
    for (std::size_t k = 0; k < messages.size(); ++k) {
      CHECK(messages[k].bytes == sim::Bytes{100'000});
      CHECK(messages[k].at <= sim::Time::microseconds(20'000));
      const double gap = (messages[k].at - (k == 0 ? sim::Time{} : messages[k - 1].at)).us();
      sum += gap, squares += gap * gap, ++count;
      ++to[messages[k].peer];
    }
  }
  // The count of a Poisson process errs by its root; five of them.
  CHECK(std::fabs(count - 32 * expected) < 5 * std::sqrt(32 * expected));
  // Gaps are exponential: their standard deviation is their mean.
  const double mean = sum / count;
  CHECK(std::sqrt(squares / count - mean * mean) == Approx(mean).epsilon(0.02));
  for (const int n : to) CHECK(std::fabs(n - count / 24) < 5 * std::sqrt(count / 24));
}

TEST_CASE("on and off: nothing is posted while it is off") {
  const auto s = read(
      "{pattern: on_off, size: 100 KB, load: 0.5, on_time: 100 us, off_time: 300 us, start: 50 us, "
      "duration: 4 ms}");
  const auto& g = s.groups.front();
  std::size_t count = 0;
  for (std::size_t i = 0; i < 32; ++i)
    for (const auto& m : all(s, g, i)) {
      const auto since = (m.at - sim::Time::microseconds(50)).ps() % sim::Time::microseconds(400).ps();
      CHECK(since <= sim::Time::microseconds(100).ps());
      ++count;
    }
  // On a quarter of 4 ms: 1 ms at half the line.
  const double expected = 32 * 0.5 * static_cast<double>(s.ends.line(0).bytes_per_second()) * 1e-3 / 1e5;
  CHECK(std::fabs(static_cast<double>(count) - expected) < 5 * std::sqrt(expected));
}

TEST_CASE("sizes follow their distribution") {
  workloads::FlowRandom random{7};
  const auto mean_of = [&](const FlowSizes& s, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += static_cast<double>(s.draw(random).count());
    return sum / n;
  };
  // Trapezoids of the published points: 0.15 x 5,000 + 0.05 x 15,000 + 0.1 x 25,000 + 0.1 x 40,000 + 0.13 x 65,000 +
  // 0.07 x 140,000 + 0.1 x 600,000 + 0.1 x 1.5e6 + 0.1 x 3.5e6 + 0.07 x 7.5e6 + 0.03 x 2e7 = 1,711,250.
  const auto web = *FlowSizes::published("websearch");
  CHECK(web.mean() == Approx(1'711'250));
  CHECK(mean_of(web, 200'000) == Approx(web.mean()).epsilon(0.02));
  const auto hadoop = *FlowSizes::published("hadoop");
  CHECK(mean_of(hadoop, 200'000) == Approx(hadoop.mean()).epsilon(0.05));
  CHECK_FALSE(FlowSizes::published("cat-videos"));
  const auto flat = FlowSizes::uniform(sim::Bytes{1000}, sim::Bytes{3000});
  CHECK(flat.mean() == Approx(2000));
  for (int i = 0; i < 1000; ++i) {
    const auto x = flat.draw(random).count();
    CHECK((x >= 1000 && x <= 3000));
  }
  // Three small ones for each large one: (3 x 1 + 1 x 9) / 4 = 3.
  const auto list = FlowSizes::list({{sim::Bytes{1}, 3}, {sim::Bytes{9}, 1}});
  CHECK(list.mean() == Approx(3));
  CHECK(mean_of(list, 100'000) == Approx(3).epsilon(0.02));
}

TEST_CASE("an incast shares the receiver's line; what it carries adds up") {
  const auto s = read("{pattern: incast, senders: 16, receivers: 1, size: 1 MiB}");
  const auto r = workloads::run_flows(s);
  REQUIRE(r.groups.size() == 1);
  const auto& g = r.groups[0];
  CHECK(g.messages == 16);
  CHECK(g.bytes == 16 * sim::mib(1));
  // All end together: 16 MiB at the line, and the way's latency.
  const auto last = sim::transfer_time(16 * sim::mib(1), s.ends.line(0));
  const auto way = s.cluster.network().way(s.ends.place(8), s.ends.place(0));
  REQUIRE(way);
  CHECK(g.completion.min == g.completion.max);
  CHECK(std::llabs((g.completion.max - last - way->latency).ps()) <= 16);
  CHECK(g.slowdown.max == Approx(16).epsilon(0.02));  // alone: a sixteenth, and the same latency
  CHECK(g.sender_share.mean == Approx(1.0 / 16).epsilon(0.02));
  double into = 0;
  for (const auto& l : r.links)
    if (l.name.ends_with("->node[0].nic[0]")) into += l.bytes;
  CHECK(into == Approx(16.0 * (1 << 20)));
  CHECK(r.links.front().utilisation <= 1);
}

TEST_CASE("an ideal switch gives a permutation and an all-to-all the whole line") {
  const auto s = read("[{pattern: permutation, size: 16 MiB}, {pattern: all_to_all, size: 1 MiB, start: 1 s}]");
  const auto r = workloads::run_flows(s);
  CHECK(r.groups[0].sender_share.min == Approx(1).epsilon(0.01));
  CHECK(r.groups[0].slowdown.max == Approx(1).epsilon(1e-6));
  CHECK(r.groups[1].flows == 32 * 24);
  CHECK(r.groups[1].sender_share.min > 0.95);
  CHECK(r.groups[1].start == sim::Time::microseconds(1'000'000));
}

TEST_CASE("messages of one flow go one after the other") {
  const std::string machine =
      "topology: dgx-h100\nnodes: 4\nnetwork: {type: leaf_spine, switch: qm9700, nodes_per_leaf: 2}\n";
  const auto one = workloads::run_flows(
      read("{pattern: pairs, from: 'node[0].nic[0]', to: 'node[1].nic[0]', size: 1 MiB, messages: 4}", machine));
  const auto& c = one.groups[0].completion;
  // The k-th of four waits for those before it: 1, 2, 3, 4 transfers and the latency.
  CHECK((c.max - c.min).ps() == Approx(3.0 * (c.p50 - c.min).ps()).epsilon(1e-6));
  CHECK(c.p50 > c.min);
  // One under way at a time: the next is posted when the last one's acknowledgement is back, and none waits.
  const auto paced = workloads::run_flows(
      read("{pattern: pairs, from: 'node[0].nic[0]', to: 'node[1].nic[0]', size: 1 MiB, messages: 4, concurrency: 1}",
           machine));
  CHECK(paced.groups[0].completion.min == paced.groups[0].completion.max);
  CHECK(paced.end > one.end);
}

TEST_CASE("flows that end at one instant, each with another message behind it") {
  // Four receivers' lines with eight senders each: all of a receiver's end together, twice.
  const auto s = read("{pattern: incast, from: 'node[1]', to: 'node[0].nic[0-3]', size: 1 MiB, messages: 2}");
  const auto r = workloads::run_flows(s);
  CHECK(r.groups[0].messages == 64);
  CHECK(r.groups[0].bytes == 64 * sim::mib(1));
  // A receiver takes 8 x 2 MiB at its line; eight senders could give four of them twice that.
  CHECK(r.end.seconds() ==
        Approx(16.0 * (1 << 20) / static_cast<double>(s.ends.line(0).bytes_per_second())).epsilon(1e-3));
}

TEST_CASE("a group with a duration posts until then and ends what it began") {
  const auto s = read("{pattern: pairs, from: 'node[0].nic[0]', to: 'node[1].nic[0]', size: 1 MiB, duration: 1 ms}");
  const auto r = workloads::run_flows(s);
  const double possible = 1e-3 * static_cast<double>(s.ends.line(0).bytes_per_second()) / (1 << 20);
  CHECK(r.groups[0].messages >= static_cast<std::int64_t>(possible) - 1);
  CHECK(r.groups[0].messages <= static_cast<std::int64_t>(possible) + 3);
  CHECK(r.end >= sim::Time::microseconds(1000));
}

TEST_CASE("percentiles are the nearest rank") {
  std::vector<sim::Time> t;
  for (int i = 1000; i >= 1; --i) t.push_back(sim::Time::picoseconds(i));
  const auto s = workloads::time_spread(t);
  CHECK(s.min.ps() == 1);
  CHECK(s.p50.ps() == 500);
  CHECK(s.p99.ps() == 990);
  CHECK(s.p999.ps() == 999);
  CHECK(s.max.ps() == 1000);
  CHECK(s.mean.ps() == 500);  // 500.5, in whole picoseconds
}

TEST_CASE("what is wrong with flows is said at its place, all at once") {
  const auto text = error_of("{pattern: permutatoin, size: 1 MB, messges: 3, load: 0.3}");
  CHECK(has(text, "did you mean 'permutation'?"));
  CHECK(has(text, "unknown key 'messges'"));
  CHECK(has(text, "s.yaml:4:"));
  CHECK(has(error_of("{pattern: incast}"), "the flows have no 'size'"));
  CHECK(has(error_of("{pattern: random, size: 1 MiB}"), "'random' goes on for ever"));
  CHECK(has(error_of("{pattern: random, size: 1 MiB}"), "'random' needs 'load'"));
  CHECK(has(error_of("{pattern: random, size: 1 MiB, load: 1.5, duration: 1 ms}"), "at most 1"));
  CHECK(has(error_of("{pattern: incast, size: 1 MiB, load: 0.5}"), "'load' belongs to random and on_off"));
  CHECK(has(error_of("{pattern: on_off, size: 1 MiB, load: 0.5, duration: 1 ms}"), "has no 'on_time'"));
  CHECK(has(error_of("{pattern: incast, size: 1 MiB, senders: 25}"), "25 senders: there are 24 NICs for them"));
  CHECK(has(error_of("{pattern: incast, size: 1 MiB, from: 'node[9]'}"), "there is no node[9]"));
  CHECK(has(error_of("{pattern: permutation, size: 1 MiB, from: ['node[0]', 'node[0].nic[1]']}"), "named twice"));
  CHECK(has(error_of("{pattern: permutation, size: 1 MiB, from: 'node[0]', to: 'node[0]'}"), "no permutation"));
  CHECK(has(error_of("{pattern: pairs, size: 1 MiB, from: 'node[0]', to: 'nic[1]'}"), "are no pairs"));
  CHECK(has(error_of("{pattern: permutation, size: 1 MiB, sizes: websearch}"), "keep one"));
  CHECK(has(error_of("{pattern: permutation, sizes: websaerch}"), "did you mean 'websearch'?"));
  CHECK(has(error_of("{pattern: permutation, sizes: {distribution: uniform, least: 2 MiB, most: 1 MiB}}"),
            "'least' is larger"));
  CHECK(has(error_of("[]"), "no flows"));
  CHECK(has(error_of("{pattern: permutation, size: 1 MiB}", "topology: dgx-h100\n"), "no NIC on a network"));
  CHECK(has(error_of("{pattern: permutation, size: 1 MiB}", "topology: dgx-h100\nnodes: 4\nfidelity: chunk\n"),
            "flows have no chunks"));
  CHECK_THROWS_WITH(workloads::run_flows(read("{pattern: all_to_all, size: 1 B, messages: 1000000}")),
                    ContainsText("more than 1e+08 are not kept"));
  CHECK(has(error_of("{pattern: pairs, from: [], to: [], size: 1 MiB}"), "nobody sends"));
  // On for a picosecond in every second.
  const std::string rare = "{pattern: on_off, size: 1 KiB, load: 0.5, on_time: 1 ps, off_time: 1 s, ";
  CHECK_THROWS_WITH(workloads::run_flows(read(rare + "messages: 400}")), ContainsText("longer than a day"));
  CHECK(workloads::run_flows(read(rare + "duration: 1 ms}")).groups[0].messages == 0);
}

TEST_CASE("the packet section lies over the usual settings of the scenario's network") {
  const auto packet = [](const std::string& rest) {
    return read("{pattern: permutation, size: 1 MiB}", "topology: dgx-h100\nnodes: 2\n" + rest).packet;
  };
  CHECK(packet("network: roce\n").flow_control == sim::packet::FlowControl::pause);
  CHECK(packet("network: ib\n").flow_control == sim::packet::FlowControl::credit);
  CHECK(packet("network: {fabric: roce, type: leaf_spine, switch: sn5600, nodes_per_leaf: 1}\nrouting: spray\n")
            .routing == sim::packet::Choice::spray);
  const auto tuned = packet("network: roce\npacket: {control: {rpg_ai_rate: 100 Mb/s}, mtu: 1 KiB}\n");
  const auto* d = std::get_if<sim::packet::dcqcn::Settings>(&tuned.control);
  REQUIRE(d != nullptr);
  CHECK(d->rpg_ai_rate == sim::Rate::bytes_per_second(12'500'000));
  CHECK(d->rpg_gd == sim::packet::dcqcn::Settings{}.rpg_gd);
  CHECK(tuned.mtu == sim::kib(1));
  CHECK(has(error_of("{pattern: permutation, size: 1 MiB}", "topology: dgx-h100\nnodes: 2\npacket: {bufer: {}}\n"),
            "did you mean 'buffer'?"));
}
