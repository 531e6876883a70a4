// `calibrate check` by properties: order and names do not matter, sides are mirror images, and the rates that it
// promises (false alarms, faults found) hold over many machines with noise.
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "catch.hpp"
#include "drift_data.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::calibration;
using models::nccl::Op;

constexpr std::size_t kGpus = 6;

/// One matrix, four collectives, a few of whose parts are slower or faster.
Measurements machine(std::uint64_t seed, double sd, std::size_t slow_gpu = 99, double slow = 1) {
  test::Noise noise{seed, sd};
  Measurements m;
  m.matrices = {
      test::matrix(kGpus, noise, [&](auto i, auto j) { return i == slow_gpu || j == slow_gpu ? slow : 1.0; })};
  for (const auto op : {Op::all_reduce, Op::all_gather, Op::alltoall}) m.series.push_back(test::series(op, noise));
  return m;
}

TEST_CASE("the order of measurements does not matter, nor which GPU has which number") {
  CHECK(rc::check("drift is the same in any order", [] {
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
    const auto gpu = *rc::gen::inRange<std::size_t>(0, kGpus);
    std::vector<std::size_t> to(kGpus);
    for (std::size_t i = 0; i < kGpus; ++i) to[i] = i;
    std::shuffle(to.begin(), to.end(), std::mt19937_64{seed});

    const auto before = machine(2 * seed, 0.01), after = machine(2 * seed + 1, 0.01, gpu, 0.8);
    const auto shuffled = [&](Measurements m) {
      std::reverse(m.series.begin(), m.series.end());
      for (auto& s : m.series) std::reverse(s.points.begin(), s.points.end());
      const auto cells = m.matrices[0].cells;
      for (std::size_t i = 0; i < kGpus; ++i)
        for (std::size_t j = 0; j < kGpus; ++j) m.matrices[0].cells[to[i]][to[j]] = cells[i][j];
      return m;
    };
    const auto plain = find_drift(before, after), other = find_drift(shuffled(before), shuffled(after));
    RC_ASSERT(plain.tests == other.tests);
    RC_ASSERT(plain.findings.size() == other.findings.size());
    RC_ASSERT(!plain.findings.empty());
    RC_ASSERT(plain.findings[0].place == "GPU " + std::to_string(gpu));
    RC_ASSERT(other.findings[0].place == "GPU " + std::to_string(to[gpu]));
    RC_ASSERT(std::abs(plain.findings[0].change.log_ratio - other.findings[0].change.log_ratio) < 1e-9);
    RC_ASSERT(std::abs(plain.findings[0].change.probability - other.findings[0].change.probability) < 1e-9);
  }));
}

TEST_CASE("the other way round the same is found with the other sign") {
  CHECK(rc::check("drift is antisymmetric", [] {
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
    const auto percent = *rc::gen::inRange(50, 150);
    const auto before = machine(2 * seed, 0.01), after = machine(2 * seed + 1, 0.01, 2, percent / 100.0);
    const auto there = find_drift(before, after), back = find_drift(after, before);
    RC_ASSERT(there.compared.size() == back.compared.size());
    for (std::size_t i = 0; i < there.compared.size(); ++i) {
      const auto &a = there.compared[i].change, &b = back.compared[i].change;
      RC_ASSERT(std::abs(a.log_ratio + b.log_ratio) < 1e-9);
      RC_ASSERT(std::abs(a.low + b.high) < 1e-9);
      RC_ASSERT(std::abs(a.false_alarm - b.false_alarm) < 1e-9);
      RC_ASSERT(std::abs(a.probability - b.probability) < 1e-9);
    }
    RC_ASSERT(there.findings.size() == back.findings.size());
    RC_ASSERT(there.slower() == back.faster());
  }));
}

TEST_CASE("of 200 unchanged machines with 2 to 3 % noise at most one in a hundred is called changed") {
  int alarms = 0;
  for (std::uint64_t k = 0; k < 200; ++k) {
    const double sd = 0.02 + 0.01 * static_cast<double>(k % 3) / 2;
    const auto drift = find_drift(machine(2 * k, sd), machine(2 * k + 1, sd));
    alarms += drift.slower() || drift.faster();
  }
  CHECK(alarms <= 2);
}

TEST_CASE("a GPU whose links lose a tenth is found and named in 95 of 100, and nothing else is blamed") {
  int named = 0, others = 0;
  for (std::uint64_t k = 0; k < 100; ++k) {
    test::Noise noise{k, 0.025};
    const auto gpu = k % 8;
    Measurements before, after;
    before.matrices = {test::matrix(8, noise)};
    after.matrices = {test::matrix(8, noise, [&](auto i, auto j) { return i == gpu || j == gpu ? 0.9 : 1.0; })};
    for (const auto& f : find_drift(before, after).findings)
      ++(f.change.slower() && f.place == "GPU " + std::to_string(gpu) ? named : others);
  }
  CHECK(named >= 95);
  CHECK(others <= 2);
}

TEST_CASE("a change within the tolerance is no drift, however sure it is") {
  for (std::uint64_t k = 0; k < 20; ++k) {
    const auto drift = find_drift(machine(2 * k, 0.001), machine(2 * k + 1, 0.001, 1, 0.97));
    CHECK(drift.findings.empty());
  }
}

}  // namespace
