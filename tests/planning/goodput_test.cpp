// Many trials: what they must agree with (Daly's equation, Poisson statistics), what must never get worse, and how the
// answer is written.
#include "linkcast/planning/goodput.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "reliability_support.hpp"

namespace linkcast::planning {
namespace {

/// Interrupts the job every `mtbf` hours on average.
FailingPart every(double mtbf_hours) {
  auto p = part(Effect::interrupts);
  p.count = 1000;
  p.per_part_year = 8766 / mtbf_hours / 1000;
  return p;
}

/// Something of everything.
std::vector<FailingPart> mixture() {
  auto spare = every(8);
  spare.cause = "node", spare.remedy = Remedy::spare, spare.repair = hours(30), spare.mended_by_restart = 0.3;
  auto waits = every(100);
  waits.cause = "core", waits.remedy = Remedy::repair, waits.repair = hours(5);
  auto slow = every(20);
  slow.cause = "cable", slow.effect = Effect::degrades, slow.repair = hours(7), slow.slowdown = 1.37;
  auto round = every(50);
  round.cause = "leaf", round.repair = hours(9), round.slowdown = 1.1;
  auto stall = every(3);
  stall.cause = "flap", stall.effect = Effect::stalls, stall.stall = seconds(6);
  return {spare, waits, slow, round, stall};
}

}  // namespace

TEST_CASE("useful and lost time add up to the duration in every trial", "[planning][goodput]") {
  Reliability r;
  r.spares = 2;
  r.predicted = 0.2;
  r.planned_every = days(5), r.planned_time = hours(1);
  const auto parts = mixture();
  for (int i = 0; i < 200; ++i) {
    const auto t = simulate_one(r, parts, i);
    REQUIRE(total(t) == r.duration);
    REQUIRE(t.useful > sim::Time{});
    for (const auto x : {t.checkpoint, t.lost_work, t.restart, t.spares, t.degraded}) REQUIRE(x >= sim::Time{});
  }
  const auto g = simulate(r, parts);
  CHECK(g.share.mean + g.lost.checkpoint + g.lost.lost_work + g.lost.restart + g.lost.spares + g.lost.degraded ==
        Approx(1).epsilon(1e-12));
}

TEST_CASE("a study that would take minutes is refused, with what to change", "[planning][goodput][bad input]") {
  const auto said = [](const Reliability& r, const std::vector<FailingPart>& parts) -> std::string {
    try {
      simulate(r, parts, 1);
    } catch (const sim::InputError& e) {
      return e.what();
    }
    return {};
  };
  Reliability r;
  r.duration = days(100);
  // A failure every 0.01 h: 240,000 in 100 days. 1e8 / 240,001 trials.
  auto p = every(0.01);
  CHECK_THAT(said(r, {p}), ContainsText("1000 trials of 2.4e+05 failures each are too many") &&
                               ContainsText("write trials: 416 or fewer"));
  // A part slow for 50 days: 120,000 of them at once, each looked at in each of 240,000 events.
  p.effect = Effect::degrades, p.slowdown = 1.1, p.repair = days(50);
  r.trials = 10;
  CHECK_THAT(said(r, {p}), ContainsText("with 1.2e+05 parts slow at once") && ContainsText("shorter `repair_time`"));
  r.planned_every = sim::Time::from_us(1e3);
  CHECK_THAT(said(r, {}), ContainsText("8.64e+09 times of planned maintenance") && ContainsText("`planned_every`"));
  r.planned_every = days(1);
  CHECK(said(r, {every(1)}).empty());
}

TEST_CASE("the answer is the same on any number of threads, and another seed's is not", "[planning][goodput]") {
  Reliability r;
  r.trials = 101;
  r.spares = 1;
  const auto one = json_report(simulate(r, mixture(), 1));
  CHECK(json_report(simulate(r, mixture(), 2)) == one);
  CHECK(json_report(simulate(r, mixture(), 7)) == one);
  r.seed = 2;
  CHECK(json_report(simulate(r, mixture(), 1)) != one);
}

TEST_CASE("a cause draws the same failures whatever else fails", "[planning][goodput]") {
  Reliability r;
  r.trials = 50;
  const auto parts = mixture();
  const auto all = simulate(r, parts);
  const auto alone = simulate(r, std::span{parts}.subspan(2, 1));
  for (const auto& c : all.by_cause) {
    if (c.cause == "cable") CHECK(c.failures == alone.by_cause.at(0).failures);
  }
}

TEST_CASE("as many interruptions come as the rates say", "[planning][goodput]") {
  Reliability r;
  r.trials = 2000;
  // 720 h / 9 h = 80 a month; the mean of 2000 trials has a standard error of sqrt(80 / 2000) = 0.2.
  const auto g = simulate(r, std::vector{every(9)});
  CHECK(g.interruptions.mean == Approx(80).margin(0.6));
  // Poisson: the 5 % and 95 % points of 80 are 66 and 95.
  CHECK(g.interruptions.p5 == Approx(66).margin(1));
  CHECK(g.interruptions.p95 == Approx(95).margin(1));
  CHECK(simulate(r, std::vector{every(4.5)}).interruptions.mean == Approx(160).margin(0.9));
}

TEST_CASE("Daly's formula has the optima that his paper prints", "[planning][goodput]") {
  // Daly 2006, figures 3 to 5: a dump of 5 minutes at an MTBF of 24 h, 6 h and 15 min.
  CHECK(daly_seconds(300, 86400) / 60 == Approx(117).margin(0.5));
  CHECK(daly_seconds(300, 21600) / 60 == Approx(57).margin(0.5));
  CHECK(daly_seconds(300, 900) / 60 == Approx(9.1).margin(0.05));
  CHECK(daly_seconds(300, 100) == 100);  // a dump longer than twice the MTBF
  CHECK(young_seconds(300, 86400) == Approx(7200));
}

TEST_CASE("trials agree with Daly's equation where nothing waits and nothing is slow", "[planning][goodput]") {
  for (const double mtbf : {1.0, 3.1, 24.0}) {
    for (const int interval : {10, 60}) {
      Reliability r;
      r.checkpoint_interval = minutes(interval);
      r.checkpoint_time = seconds(90);
      const auto g = simulate(r, std::vector{every(mtbf)});
      INFO("MTBF " << mtbf << " h, every " << interval << " min");
      // By hand for 24 h and 60 min: 60 / (60 + 1.5), less (10 + 61.5 / 2) min of 24 h: 0.9756 x 0.9717 = 0.948.
      if (mtbf == 24.0 && interval == 60) CHECK(g.analytic == Approx(0.948).margin(0.001));
      // The month ends amid an interval whose work counts: half an interval of 720 h at most, 0.07 %. A month's share
      // has a standard deviation of about 1 % at an MTBF of 1 h: 0.03 % in the mean of 1000.
      CHECK(g.share.mean == Approx(g.analytic).margin(0.0015));
    }
  }
}

TEST_CASE("the best interval is better than half and double of it", "[planning][goodput]") {
  Reliability r;
  r.checkpoint_time = seconds(120);
  const std::vector parts{every(3)};
  const auto best = simulate(r, parts);
  CHECK(best.checkpoint_interval.seconds() == Approx(daly_seconds(120, 3 * 3600)));
  for (const double factor : {0.5, 2.0}) {
    auto other = r;
    other.checkpoint_interval = sim::Time::from_us(best.checkpoint_interval.us() * factor);
    CHECK(simulate(other, parts).share.mean < best.share.mean);
  }
}

TEST_CASE("more spares never lose more", "[planning][goodput]") {
  const auto parts = mixture();
  Reliability r;
  for (int i = 0; i < 100; ++i) {
    sim::Time before;
    for (const int spares : {0, 1, 2, 4, 8, 32}) {
      r.spares = spares;
      const auto useful = simulate_one(r, std::span{parts}.first(1), i).useful;
      REQUIRE(useful >= before);
      before = useful;
    }
    r.spares.reset();
    const auto free = simulate_one(r, std::span{parts}.first(1), i);
    REQUIRE(free.useful >= before);
    r.spares = free.in_repair;  // enough, and one less is not
    REQUIRE(simulate_one(r, std::span{parts}.first(1), i).spares == sim::Time{});
    r.spares = free.in_repair - 1;
    REQUIRE(simulate_one(r, std::span{parts}.first(1), i).spares > sim::Time{});
  }
}

TEST_CASE("twice the failures, less goodput", "[planning][goodput]") {
  Reliability r;
  r.trials = 200;
  double before = 1;
  for (const double mtbf : {48.0, 24.0, 12.0, 6.0, 3.0, 1.5}) {
    const auto g = simulate(r, std::vector{every(mtbf)});
    CHECK(g.share.mean < before);
    CHECK(g.share.p5 <= g.share.p50);
    CHECK(g.share.p50 <= g.share.p95);
    before = g.share.mean;
  }
}

TEST_CASE("no failures at all", "[planning][goodput]") {
  Reliability r;
  r.trials = 3;
  const auto none = simulate(r, {});
  CHECK(none.share.mean == 1);  // without failures the best is to write no checkpoint
  r.checkpoint_interval = minutes(50);
  r.checkpoint_time = minutes(10);
  const auto g = simulate(r, {});
  CHECK(g.share.mean == Approx(50.0 / 60));
  CHECK(g.mtbf_hours == 0);
  const auto j = nlohmann::json::parse(json_report(g));
  CHECK(j["mtbf_hours"].is_null());
  CHECK(j["daly_interval_s"].is_null());
  CHECK(j["lost_percent"]["checkpoint"] == Approx(100.0 / 6));
}

TEST_CASE("rates that no machine has are an error", "[planning][goodput]") {
  auto p = every(1);
  p.count = 1'000'000'000;
  CHECK_THROWS_AS(simulate(Reliability{}, std::vector{p}), sim::InputError);
  p.count = 100'000;  // 72,000 failures in a month
  Reliability r;
  r.trials = 100'000;
  CHECK_THROWS_AS(simulate(r, std::vector{p}), sim::InputError);
}

TEST_CASE("the answer as JSON and for people", "[planning][goodput]") {
  Reliability r;
  r.trials = 20;
  r.spares = 1;
  const auto g = simulate(r, mixture());
  const auto j = nlohmann::json::parse(json_report(g));
  CHECK(j["mean"].get<double>() == Approx(100 * g.share.mean).epsilon(1e-5));
  CHECK(j["trials"] == 20);
  CHECK(j["duration_s"] == 2592000);
  double lost = 0, interruptions = 0;
  for (const auto& [key, value] : j["lost_percent"].items()) lost += value.get<double>();
  for (const auto& c : j["by_cause"]) interruptions += c["interruptions"].get<double>();
  CHECK(j["mean"].get<double>() + lost == Approx(100).margin(1e-3));
  CHECK(interruptions == Approx(j["interruptions"]["mean"].get<double>()).epsilon(1e-4));
  const auto text = to_text(g);
  CHECK(text.find("Goodput ") == 0);
  CHECK(text.find("20 trials, seed 1") != std::string::npos);
}

}  // namespace linkcast::planning
