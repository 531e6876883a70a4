// Shares of cables that can be worked out by hand: half each, in proportion, averaged over time.
#include "../../planning/src/contention.hpp"

#include "../../planning/src/tiling.hpp"
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::sim::literals;
using planning::Contention;
using planning::PhaseFlow;
using planning::Phases;
using sim::ResourceId;

sim::ResourceTable cables(int count, sim::Rate rate = 10_GBps) {
  sim::ResourceTable t;
  for (int i = 0; i < count; ++i) t.add({"cable", rate, rate});
  return t;
}

/// A job with one phase of one flow: GB/s on each cable while it is alone, and how long its bytes take then.
Phases job(std::vector<std::pair<unsigned, double>> load, double seconds = 1) {
  planning::TrafficPhase phase;
  PhaseFlow flow;
  for (const auto& [cable, GBps] : load) flow.load.push_back({ResourceId{cable}, GBps * 1e9});
  flow.seconds = seconds;
  phase.flows.push_back(flow);
  return {phase};
}

TEST_CASE("what is known of states is bounded, and how much of it is kept changes no answer") {
  // Four jobs of six phases each on two cables: 7^3 = 343 states beside each phase.
  const auto table = cables(2);
  std::vector<Phases> jobs(4);
  for (std::size_t j = 0; j < jobs.size(); ++j)
    for (unsigned q = 0; q < 6; ++q) {
      jobs[j].push_back(job({{q % 2, 2 + q + static_cast<double>(j)}}).front());
      jobs[j].back().occupancy = 0.1;
    }
  std::vector<const Phases*> all;
  for (const auto& j : jobs) all.push_back(&j);
  const planning::PhaseTable occupancy(4, std::vector<double>(6, 0.1));
  Contention large{table, all}, small{table, all, {std::size_t{1} << 30, 1000}};
  CHECK(large.expected(occupancy) == small.expected(occupancy));
  CHECK(large.worst(occupancy) == small.worst(occupancy));
  CHECK(small.known_bytes() <= 1000);
  CHECK(large.known_bytes() > 100'000);  // 7^4 - 1 states of more than 128 bytes
  CHECK_THROWS_AS((Contention{table, all, {100, 100}}), sim::InputError);
}

TEST_CASE("two jobs that fill one cable get half each") {
  const auto table = cables(1);
  const auto a = job({{0, 10}}), b = job({{0, 10}});
  Contention c{table, {&a, &b}};
  // 10 + 10 GB/s on 10 GB/s: each goes at 1/2 of its pace and takes 2 times as long.
  CHECK(c.stretch({0, 0}, 0) == Approx(2).epsilon(1e-7));
  CHECK(c.stretch({0, 0}, 1) == Approx(2).epsilon(1e-7));
  CHECK(c.bottleneck({0, 0}, 0) == ResourceId{0});
  CHECK(c.stretch({0, -1}, 0) == 1.0);  // the other sends nothing
  CHECK_FALSE(c.bottleneck({0, -1}, 0).has_value());
}

TEST_CASE("a full cable slows all who want it in proportion") {
  const auto table = cables(1);
  const auto a = job({{0, 10}}), b = job({{0, 4}});
  Contention c{table, {&a, &b}};
  // (10 + 4) x = 10: x = 5/7, both take 7/5.
  CHECK(c.stretch({0, 0}, 0) == Approx(1.4).epsilon(1e-7));
  CHECK(c.stretch({0, 0}, 1) == Approx(1.4).epsilon(1e-7));
}

TEST_CASE("a job that another cable holds back leaves the rest to the others") {
  const auto table = cables(2);
  const auto a = job({{0, 6}}), b = job({{0, 6}, {1, 10}}), other = job({{1, 30}});
  Contention c{table, {&a, &b, &other}};
  // Cable 1: (10 + 30) x = 10: b goes at 1/4 and puts 1.5 GB/s on cable 0, where a has its 6.
  CHECK(c.stretch({0, 0, 0}, 1) == Approx(4).epsilon(1e-7));
  CHECK(c.stretch({0, 0, 0}, 0) == 1.0);
  CHECK(c.bottleneck({0, 0, 0}, 1) == ResourceId{1});
}

TEST_CASE("jobs on different cables, and cables with room for both, change nothing to the bit") {
  const auto table = cables(2);
  const auto a = job({{0, 10}}), b = job({{1, 10}});
  Contention apart{table, {&a, &b}};
  CHECK(apart.expected({{0.7}, {0.3}}) == planning::PhaseTable{{1.0}, {1.0}});
  CHECK(apart.worst({{0.7}, {0.3}}) == planning::PhaseTable{{1.0}, {1.0}});
  const auto c = job({{0, 5}}), d = job({{0, 5}});
  Contention room{table, {&c, &d}};
  CHECK(room.expected({{0.3}, {0.9}}) == planning::PhaseTable{{1.0}, {1.0}});
}

TEST_CASE("who sends half of the time takes a quarter of the other's pace") {
  const auto table = cables(1);
  const auto a = job({{0, 10}}), b = job({{0, 10}});
  Contention c{table, {&a, &b}};
  // The mean pace of a is 1/2 x 1 + 1/2 x 1/2 = 3/4, its bytes take 4/3; at worst they always meet: 2.
  const auto mean = c.expected({{1.0}, {0.5}});
  CHECK(mean[0][0] == Approx(4.0 / 3).epsilon(1e-7));
  CHECK(mean[1][0] == Approx(2).epsilon(1e-7));
  CHECK(c.worst({{1.0}, {0.5}})[0][0] == Approx(2).epsilon(1e-7));
  CHECK(c.expected({{1.0}, {0.0}})[0][0] == 1.0);  // it never sends
}

TEST_CASE("a phase lasts as long as its slowest flow") {
  const auto table = cables(2);
  auto a = job({{0, 10}}, 1);
  a[0].flows.push_back(job({{1, 10}}, 3)[0].flows[0]);
  const auto b = job({{0, 10}});
  Contention c{table, {&a, &b}};
  // The flow of 1 s takes 2 s now, which the one of 3 s hides.
  CHECK(c.stretch({0, 0}, 0) == 1.0);
}

TEST_CASE("many jobs are drawn, always the same, and near the mean") {
  const auto table = cables(1, 100_GBps);
  std::vector<Phases> jobs;
  planning::PhaseTable half;
  for (int i = 0; i < 12; ++i) jobs.push_back(job({{0, 20}})), half.push_back({0.5});
  std::vector<const Phases*> pointers;
  for (const auto& j : jobs) pointers.push_back(&j);
  Contention c{table, pointers};
  const auto first = c.expected(half);
  CHECK(c.sampled());
  Contention again{table, pointers};
  CHECK(again.expected(half) == first);
  // With k of 11 others the pace is min(1, 100 / (20 (k + 1))); its mean over the binomial distribution of k is 0.80.
  double mean = 0, odds = 1.0 / 2048;
  for (int k = 0; k <= 11; ++k) {
    mean += odds * std::min(1.0, 5.0 / (k + 1));
    odds *= (11.0 - k) / (k + 1);
  }
  CHECK(first[0][0] == Approx(1 / mean).epsilon(0.05));
}

TEST_CASE("siblings of a recorded communicator fill the world") {
  // Tensor 2, data 4, pipeline 2 of 16 ranks: data groups have stride 2 within each half.
  const auto data = planning::tile({{0, 2, 4, 6}, {8, 10, 12, 14}}, 16);
  CHECK(data.groups == std::vector<std::vector<int>>{{0, 2, 4, 6}, {8, 10, 12, 14}, {1, 3, 5, 7}, {9, 11, 13, 15}});
  CHECK(data.of == std::vector<std::size_t>{0, 1, 0, 1});
  CHECK(data.uncovered == 0);
  // A pipeline of two stages: eight of them.
  CHECK(planning::tile({{0, 8}}, 16).groups.size() == 8);
  // Nothing fits twice: {0, 3} leaves 1, 2 of a world of 4.
  CHECK(planning::tile({{0, 3}}, 4).uncovered == 2);
  CHECK(planning::tile({}, 4).uncovered == 4);
}

}  // namespace
