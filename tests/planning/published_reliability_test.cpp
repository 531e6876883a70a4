// Against what operators of large machines have published. `test_planning "[published]" -s` prints the comparison.
#include <algorithm>
#include <cmath>
#include <map>

#include "catch.hpp"
#include "linkcast/planning/goodput.hpp"
#include "reliability_support.hpp"

namespace linkcast::planning {
namespace {

double failures_per_year(std::span<const FailingPart> parts) {
  double sum = 0;
  for (const auto& p : parts) {
    if (p.effect == Effect::interrupts) sum += static_cast<double>(p.count) * p.per_part_year;
  }
  return sum;
}

std::vector<PartCount> machine(int gpus) {
  return {{"gpu", gpus}, {"node", gpus / 8}, {"nic", gpus}, {"nic cable", gpus}, {"leaf switch", gpus / 16, 2}};
}

double mttf_hours(int gpus, RateLevel level = RateLevel::typical) {
  return 8766 / failures_per_year(failing_parts(machine(gpus), *FailureRates::shipped(), level));
}

/// How the Llama 3 405B run was operated. The report (arXiv 2407.21783, section 3.3) gives 47 planned interruptions in
/// the 54 days and storage of 2 TB/s sustained; a checkpoint of 405e9 parameters of 14 bytes (weights, gradients not,
/// Adam's moments in fp32) takes 2.8 s. It does not give the checkpoint interval, the detection nor the restart time,
/// nor spares (24K GPUs in the cluster, 16K in the job): those are the defaults, and the best interval.
Reliability llama() {
  Reliability r;
  r.duration = days(54);
  r.checkpoint_time = sim::Time::from_us(2.8e6);
  r.spares = 64;
  r.planned_every = sim::Time::from_us(54.0 / 47 * 86400e6);
  return r;
}

}  // namespace

TEST_CASE("the interruptions of the Llama 3 report come out of per-part rates", "[planning][goodput][published]") {
  const auto parts = failing_parts(llama_parts(), *FailureRates::shipped());
  const auto g = simulate(llama(), parts);
  INFO("Llama 3: " << g.interruptions.mean << " interruptions, every " << g.mtbf_hours << " h, goodput "
                   << 100 * g.share.mean << " % (" << 100 * g.share.p5 << " to " << 100 * g.share.p95 << ")");
  // 419 unexpected interruptions in 54 days; one sample of a Poisson count: +- 2 sqrt(419) = 41.
  CHECK(g.interruptions.mean == Approx(419).margin(2 * std::sqrt(419)));
  // That is too wide to catch a wrong rate: the rates themselves sum to it.
  CHECK(g.interruptions.mean == Approx(419).epsilon(0.01));
  CHECK(g.interruptions.p5 < 419);
  CHECK(g.interruptions.p95 > 419);
  CHECK(g.mtbf_hours == Approx(3.1).margin(0.05));  // 54 days / 419

  std::map<std::string, double> count;
  for (const auto& c : g.by_cause) count[c.cause] += c.interruptions;
  const auto expect = [&](const char* cause, double n) {
    INFO(cause);
    // Standard error of the mean of 1000 trials, three times, and the rounding of the rate.
    CHECK(count[cause] == Approx(n).margin(3 * std::sqrt(n / 1000) + 0.002 * n));
  };
  expect("faulty GPU", 148), expect("HBM", 72), expect("software bug", 54), expect("host maintenance", 32);
  expect("GPU SRAM", 19), expect("GPU system processor", 17), expect("NIC", 7), expect("NCCL watchdog", 7);
  CHECK(count["NIC cable"] + count["leaf switch"] == Approx(35).margin(1));
}

TEST_CASE("the machine of the Llama 3 report, counted from its topology", "[planning][goodput][published]") {
  // meta-24k is the cluster that the report describes: racks of two servers of 8 GPUs below one switch.
  topologies::ClusterOptions options;
  options.nodes = 2048;
  const auto cluster = topologies::load_cluster("meta-24k", options);
  const auto counts = count_parts(cluster);
  for (const auto& expected : llama_parts()) {
    const auto found = std::ranges::find(counts, expected.part, &PartCount::part);
    INFO(expected.part);
    REQUIRE(found != counts.end());
    CHECK(found->count == expected.count);
    CHECK(found->nodes == expected.nodes);
  }
  auto r = llama();
  r.trials = 100;
  const auto g = simulate(r, parts_of_cluster(cluster, *FailureRates::shipped()));
  CHECK(g.interruptions.mean == Approx(419).epsilon(0.02));
  CHECK(g.share.p5 > 0.90);
}

TEST_CASE("the effective training time of the Llama 3 report is above 90 %", "[planning][goodput][published]") {
  const auto parts = failing_parts(llama_parts(), *FailureRates::shipped());
  CHECK(simulate(llama(), parts).share.p5 > 0.90);
  // Found only after MegaScale's 10 minutes instead: at the edge. What the figure hangs on is written down, not hidden.
  auto slow = llama();
  slow.detection_time = minutes(10);
  const auto g = simulate(slow, parts);
  INFO("with 10 min of detection: " << 100 * g.share.mean << " %");
  CHECK(g.share.mean == Approx(0.90).margin(0.01));
  // A checkpoint every half hour would not have done: half of it lost 7.8 times a day is 8 % of the day alone.
  auto rare = llama();
  rare.checkpoint_interval = minutes(30);
  CHECK(simulate(rare, parts).share.mean == Approx(0.87).margin(0.01));
}

TEST_CASE("other machines than the rates come from", "[planning][goodput][published]") {
  // None of these figures went into the typical rates. How far off they are is a fact about machines: RSC-1's nodes
  // failed 6.5 times in 1000 days and RSC-2's 2.34 times, Llama 3's 3.79 times.
  INFO("RSC-1 at 16,384 GPUs, projected MTTF 1.8 h: typical " << mttf_hours(16384) << " h, low to high "
                                                              << mttf_hours(16384, RateLevel::high) << " to "
                                                              << mttf_hours(16384, RateLevel::low) << " h");
  CHECK(mttf_hours(16384) / 1.8 == Approx(1.72).margin(0.05));
  CHECK(mttf_hours(16384, RateLevel::high) < 1.85);
  CHECK(mttf_hours(16384, RateLevel::low) > 1.8);

  // 1,024 GPUs: 7.9 h, which RSC-1's own 6.5 per 1000 node-days does not give either: 1000 / 6.5 / 128 days = 28.8 h.
  INFO("RSC-1 at 1,024 GPUs, MTTF 7.9 h: typical " << mttf_hours(1024) << " h");
  CHECK(mttf_hours(1024) / 7.9 == Approx(6.2).margin(0.2));

  // Crusoe: about 205 faults in 4 months on about 1,600 H200, all faults and not only those that stop a job.
  const double months4 = failures_per_year(failing_parts(machine(1600), *FailureRates::shipped())) / 3;
  const double high4 = failures_per_year(failing_parts(machine(1600), *FailureRates::shipped(), RateLevel::high)) / 3;
  INFO("Crusoe H200, about 205 faults: typical " << months4 << ", high " << high4);
  CHECK(205 / months4 == Approx(2.2).margin(0.1));
}

}  // namespace linkcast::planning
