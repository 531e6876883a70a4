// Failure rates: the shipped file, a user's laid over it, what is said about wrong ones, and parts counted.
#include "linkcast/planning/failure_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "reliability_support.hpp"

namespace linkcast::planning {
namespace {

FailingPart cause(const std::vector<FailingPart>& parts, std::string_view name) {
  return *std::ranges::find(parts, name, &FailingPart::cause);
}

std::vector<FailingPart> laid_over(const std::string& rates) {
  const auto r = FailureRates::parse("schema: linkcast.failure-rates/1\nrates:\n" + rates, "mine.yaml");
  auto counts = llama_parts();
  counts.push_back({"switch cable leaf-spine", 16384});
  return failing_parts(counts, *r);
}

/// "line:column problem (help)", one a line.
std::string said(const sim::InputError& e) {
  std::string out;
  for (const auto& d : e.diagnostics()) {
    out += fmt::format("{}:{}:{} {} ({})\n", d.at.file, d.at.line, d.at.column, d.problem, d.help);
  }
  return out;
}

std::string wrong_rates(const std::string& rates) {
  try {
    laid_over(rates);
  } catch (const sim::InputError& e) {
    return said(e);
  }
  return "accepted";
}

/// `yaml` as the value of the scenario key `reliability`.
Reliability reliability(const std::string& yaml) {
  auto source = std::make_shared<workloads::SourceText>();
  source->name = "study.yaml";
  source->text = yaml;
  workloads::trace::Problems problems;
  const auto v = workloads::trace::parse_yaml(source, problems);
  auto r = Reliability::read(&v, problems);
  problems.throw_if_any();
  return r;
}

std::string wrong(const std::string& yaml) {
  try {
    reliability(yaml);
  } catch (const sim::InputError& e) {
    return said(e);
  }
  return "accepted";
}

}  // namespace

TEST_CASE("every shipped rate has a source and an order", "[planning][rates]") {
  const std::vector<PartCount> one{
      {"gpu", 1},         {"node", 1},         {"nic", 1},         {"nic cable", 1},
      {"leaf switch", 1}, {"spine switch", 1}, {"core switch", 1}, {"switch cable leaf-spine", 1}};
  const auto& rates = *FailureRates::shipped();
  const auto typical = failing_parts(one, rates);
  CHECK(typical.size() >= 20);
  for (const auto& p : typical) {
    INFO(p.cause);
    CHECK(p.source.size() > 10);
    CHECK(p.per_part_year > 0);
    const auto low = failing_parts(one, rates, RateLevel::low), high = failing_parts(one, rates, RateLevel::high);
    CHECK(cause(low, p.cause).per_part_year <= p.per_part_year);
    CHECK(cause(high, p.cause).per_part_year >= p.per_part_year);
  }
}

TEST_CASE("rates are written as people publish them", "[planning][rates]") {
  CHECK(cause(laid_over("  HBM: {rate: 10 per 1000 GPU-years}"), "HBM").per_part_year == Approx(0.01));
  CHECK(cause(laid_over("  HBM: {rate: 0.5 per GPU-year}"), "HBM").per_part_year == Approx(0.5));
  CHECK(cause(laid_over("  HBM: {rate: 0.68 %/year}"), "HBM").per_part_year == Approx(0.0068));
  CHECK(cause(laid_over("  HBM: {rate: MTBF 1e6 h}"), "HBM").per_part_year == Approx(8766e-6));
  CHECK(cause(laid_over("  HBM: {rate: MTBF 20 years}"), "HBM").per_part_year == Approx(0.05));
}

TEST_CASE("a user's figures lie over the shipped ones, key by key", "[planning][rates]") {
  const auto shipped = failing_parts(llama_parts(), *FailureRates::shipped());
  const auto mine = laid_over("  faulty GPU: {repair: 5 days}\n  flood: {of: node, rate: 1 %/year}");
  CHECK(cause(mine, "faulty GPU").repair == days(5));
  CHECK(cause(mine, "faulty GPU").per_part_year == cause(shipped, "faulty GPU").per_part_year);
  CHECK(cause(mine, "HBM").repair == days(1));
  CHECK(cause(mine, "flood").count == 2048);
  // None of them any more.
  const auto without = laid_over("  HBM: {rate: 0 %/year}");
  CHECK(std::ranges::find(without, "HBM", &FailingPart::cause) == without.end());
}

TEST_CASE("a kind of part stands for those between all tiers", "[planning][rates]") {
  const auto parts = laid_over("  HBM: {repair: 1 h}");
  CHECK(cause(parts, "switch cable").part == "switch cable leaf-spine");
  CHECK(cause(parts, "switch cable").count == 16384);
  CHECK(cause(parts, "leaf switch").nodes == 2);
}

TEST_CASE("every problem of a rates file is said at its place", "[planning][rates][bad input]") {
  const auto all = wrong_rates(
      "  faulty GPU: {rate: 61 per 1000 NIC-years, repiar: 1 day}\n"
      "  HBM: {rate: 0.3, effect: degrade, remedy: spares}\n"
      "  mine: {of: gpus, rate: 1 %/year, repair: 12}\n"
      "  other: {rate: {low: 2 %/year, typical: 1 %/year}, mended_by_restart: 0.3, slowdown: 0.5}\n"
      "  flap: {of: nic cable, rate: 1 %/year, effect: stalls}\n"
      "  slow: {of: nic cable, rate: -1 %/year, effect: degrades}\n");
  CHECK_THAT(all, ContainsText("mine.yaml:3:22 the rate is per NIC-year, but it is of 'gpu'"));
  CHECK_THAT(all, ContainsText("unknown key 'repiar' in the cause 'faulty GPU' (did you mean 'repair'?)"));
  CHECK_THAT(all, ContainsText("not a failure rate: '0.3' (write 61.1 per 1000 GPU-years, 0.68 %/year or MTBF 1e6 h)"));
  CHECK_THAT(all, ContainsText("unknown effect 'degrade' (did you mean 'degrades'?)"));
  CHECK_THAT(all, ContainsText("unknown remedy 'spares' (did you mean 'spare'?)"));
  CHECK_THAT(all, ContainsText("unknown part 'gpus' (did you mean 'gpu'?)"));
  CHECK_THAT(all, ContainsText("'repair' needs a unit: '12'"));
  CHECK_THAT(all, ContainsText("the cause 'other' has no 'of'"));
  CHECK_THAT(all, ContainsText("'mended_by_restart' must be a share in percent"));
  CHECK_THAT(all, ContainsText("'slowdown' must be a number from 1 on"));
  CHECK_THAT(all, ContainsText("'flap' stalls but has no 'stall'"));
  CHECK_THAT(all, ContainsText("a rate must be from 0 to one failure an hour: '-1 %/year'"));
  CHECK_THAT(all, ContainsText("'slow' has no 'repair'"));
  CHECK_THAT(wrong_rates("  HBM: {rate: {low: 2 %/year, typical: 1 %/year}}"), ContainsText("must not fall from low"));
  for (const auto* bad : {"nan per 1000 GPU-years", "1 per 0 GPU-years", "MTBF 0 h", "MTBF -5 h", "inf %/year",
                          "1e9 %/year", "1 per 1000", "[1, 2]", "{}"}) {
    INFO(bad);
    CHECK(wrong_rates(fmt::format("  HBM: {{rate: {}}}", bad)) != "accepted");
  }
}

TEST_CASE("a rates file of another schema, or none", "[planning][rates][bad input]") {
  CHECK_THROWS_AS(FailureRates::read("no-such-file.yaml"), sim::InputError);
  CHECK_THROWS_AS(FailureRates::parse("schema: linkcast.prices/1\nrates: {}\n", "x.yaml"), sim::InputError);
  CHECK_THROWS_AS(FailureRates::parse("[1, 2]", "x.yaml"), sim::InputError);
  CHECK_THROWS_AS(FailureRates::parse("", "x.yaml"), sim::InputError);
  CHECK_THROWS_AS(FailureRates::parse("schema: linkcast.failure-rates/1\nrates: 3\n", "x.yaml"), sim::InputError);
}

TEST_CASE("a scenario says how the job is operated", "[planning][reliability]") {
  const auto r = reliability(
      "{duration: 54 days, checkpoint_interval: 30 min, checkpoint_time: 90 s, detection_time: 2 min, restart_time: 0 "
      "s,"
      " spares: 12, repair_time: 3 days, predicted: 20 %, planned_every: 1 week, planned_time: 2 h, rates_at: high,"
      " trials: 10, seed: 7}");
  CHECK(r.duration == days(54));
  CHECK(r.checkpoint_interval == minutes(30));
  CHECK(r.checkpoint_time == seconds(90));
  CHECK(r.detection_time == minutes(2));
  CHECK(r.restart_time == sim::Time{});
  CHECK(r.spares == 12);
  CHECK(r.repair_time == days(3));
  CHECK(r.predicted == Approx(0.2));
  CHECK(r.planned_every == days(7));
  CHECK(r.planned_time == hours(2));
  CHECK(r.rates == RateLevel::high);
  CHECK(r.trials == 10);
  CHECK(r.seed == 7);
  CHECK(r.assumed.empty());
  // What was not said is named, with where it comes from.
  const auto none = reliability("{}");
  CHECK(none.duration == days(30));
  CHECK(none.assumed.size() == 6);
  workloads::trace::Problems problems;
  CHECK(Reliability::read(nullptr, problems).assumed.size() == 6);
  CHECK_FALSE(reliability("{checkpoint_interval: best}").checkpoint_interval.has_value());
}

TEST_CASE("times that follow each other are no longer together than a study", "[planning][reliability][bad input]") {
  CHECK_THAT(wrong("{checkpoint_interval: 60 days, checkpoint_time: 60 days}"),
             ContainsText("study.yaml:1:49") &&
                 ContainsText("'checkpoint_interval' and 'checkpoint_time' are longer than 100 days together: 60 days "
                              "and 60 days"));
  CHECK_THAT(wrong("{detection_time: 100 days, restart_time: 100 days}"),
             ContainsText("longer than 100 days together"));
  CHECK_THAT(wrong("{detection_time: 100 days}"), ContainsText("100 days and 5 min"));  // the default restart
  CHECK_NOTHROW(reliability("{detection_time: 50 days, restart_time: 50 days}"));
}

TEST_CASE("a key of `reliability` that is `~` is as if left out", "[planning][reliability]") {
  const auto r = reliability(
      "{duration: ~, checkpoint_interval: ~, detection_time: ~, spares: ~, repair_time: ~, predicted: ~, planned_time: "
      "~, "
      "rates_at: ~, trials: ~, seed: ~}");
  CHECK(r.duration == Reliability{}.duration);
  CHECK_FALSE(r.spares);
  CHECK(r.trials == 1000);
  CHECK(r.assumed.size() == 6);
}

TEST_CASE("every problem of `reliability` is said at its place", "[planning][reliability][bad input]") {
  const auto all = wrong(
      "duration: 30\ncheckpoint_interval: 10 ms\ncheckpoint_time: 5 minuts\ndetection_time: soon\nrestart_time: -3 s\n"
      "spares: -1\npredicted: 150 %\nplanned_time: 1 h\nrates_at: tipical\ntrials: 0\nseed: x\nrepair: 1 h\n");
  CHECK_THAT(all, ContainsText("study.yaml:1:11 'duration' needs a unit: '30'"));
  CHECK_THAT(all, ContainsText("'checkpoint_interval' must be a second or more"));
  CHECK_THAT(all, ContainsText("unknown unit 'minuts' in 'checkpoint_time'"));
  CHECK_THAT(all, ContainsText("'detection_time' must be a time with a unit: 'soon'"));
  CHECK_THAT(all, ContainsText("'restart_time' must be positive: '-3 s'"));
  CHECK_THAT(all, ContainsText("'spares' is -1: it must be from 0 to 100000"));
  CHECK_THAT(all, ContainsText("'predicted' is 150 %: it must be from 0 to 100 %"));
  CHECK_THAT(all, ContainsText("'planned_time' without 'planned_every'"));
  CHECK_THAT(all, ContainsText("unknown rates_at 'tipical'"));
  CHECK_THAT(all, ContainsText("'trials' is 0"));
  CHECK_THAT(all, ContainsText("'seed' must be a whole number"));
  CHECK_THAT(all, ContainsText("unknown key 'repair' in 'reliability'"));
  CHECK_THAT(wrong("duration: 101 days"), ContainsText("longer than 100 days"));
  CHECK_THAT(wrong("duration: 0 days"), ContainsText("must be positive"));
  CHECK_THAT(wrong("[1]"), ContainsText("must be a map"));
}

TEST_CASE("the parts of a cluster are counted", "[planning][rates]") {
  // 8 GPUs and 8 NICs a node; 64 nodes on 8 rails of two leaves each, 32 nodes at a leaf.
  topologies::ClusterOptions options;
  options.nodes = 64;
  const auto cluster = topologies::load_cluster("superpod-h100", options);
  std::map<std::string, std::int64_t> count;
  int below = 0;
  for (const auto& p : count_parts(cluster)) {
    count[p.part] = p.count;
    if (p.part == "leaf switch") below = p.nodes;
  }
  CHECK(count["gpu"] == 512);
  CHECK(count["node"] == 64);
  CHECK(count["nic cable"] == 512);
  CHECK(count["leaf switch"] == 16);
  CHECK(below == 32);
  // Half of the nodes: those of one scalable unit have one leaf of each rail.
  std::vector<int> nodes(32);
  for (int i = 0; i < 32; ++i) nodes[static_cast<std::size_t>(i)] = i;
  std::map<std::string, std::int64_t> job;
  for (const auto& p : count_parts(cluster.job(nodes))) job[p.part] = p.count;
  CHECK(job["gpu"] == 256);
  CHECK(job["leaf switch"] == 8);
  CHECK(job["nic cable"] == 256);
  CHECK(job["switch cable leaf-spine"] * 2 == count["switch cable leaf-spine"]);
}

TEST_CASE("what a study of single failures found out is laid over the parts", "[planning][rates]") {
  auto parts = laid_over("  HBM: {repair: 1 h}");
  const std::vector<Impact> impacts{
      {"switch cable leaf-spine", 1.3, false}, {"gpu", 9, true}, {"leaf switch", 1.2, false}};
  apply_impacts(impacts, parts);
  CHECK(cause(parts, "switch cable").slowdown == 1.3);
  CHECK(cause(parts, "faulty GPU").remedy == Remedy::spare);  // sound nodes take over
  CHECK(cause(parts, "faulty GPU").slowdown == 1);
  CHECK(cause(parts, "software bug").remedy == Remedy::restart);
  CHECK(cause(parts, "leaf switch").remedy == Remedy::restart);
  CHECK(cause(parts, "leaf switch").slowdown == 1.2);
  apply_impacts(std::vector<Impact>{{"switch cable leaf-spine", 1, true}}, parts);
  CHECK(cause(parts, "switch cable").effect == Effect::interrupts);
  CHECK(cause(parts, "switch cable").remedy == Remedy::repair);
}

}  // namespace linkcast::planning
