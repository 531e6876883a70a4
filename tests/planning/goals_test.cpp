// Goals: how they are written, and how surely they are met.
#include "linkcast/planning/goals.hpp"

#include <cmath>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/scenario_file.hpp"

using namespace linkcast;
using planning::Goal;
using planning::Metric;

namespace {

std::vector<Goal> goals(const std::string& yaml) {
  const auto file = workloads::open_scenario_text("goals: " + yaml, "study.yaml");
  workloads::trace::Problems problems;
  auto out = planning::read_goals(problems, *file.root.get("goals"));
  problems.throw_if_any();
  return out;
}

std::string refusal(const std::string& yaml) {
  try {
    goals(yaml);
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "accepted";
}

Goal goal(const std::string& text) { return goals("[\"" + text + "\"]").front(); }

}  // namespace

TEST_CASE("goals are read with their units, in base units", "[goals]") {
  CHECK(goal("step_time <= 2.1 s").value == Approx(2.1));
  CHECK(goal("step_time <= 850 ms").value == Approx(0.85));
  CHECK(goal("capex <= 40 M USD").value == Approx(40e6));
  CHECK(goal("power <= 1.2 MW").value == Approx(1.2e6));
  CHECK(goal("goodput >= 92 %").value == Approx(0.92));
  CHECK_FALSE(goal("goodput >= 92 %").at_most);
  const auto busbw = goal("busbw(all_reduce, 1 GiB) >= 350 GB/s");
  CHECK(busbw.metric == Metric::busbw);
  CHECK(busbw.op == models::nccl::Op::all_reduce);
  CHECK(busbw.size == sim::gib(1));
  CHECK(busbw.value == Approx(350e9));
  // 400 Gb/s are 50 GB/s
  CHECK(goal("algbw(alltoall, 64 MiB) >= 400 Gb/s").value == Approx(50e9));
}

TEST_CASE("what is wrong with goals is said at their places, all at once, with what to write", "[goals]") {
  const auto text = refusal("[\"step_tme <= 2 s\", \"step_time <= 2\", \"power <= 3 USD\", \"busbw >= 3 GB/s\"]");
  CHECK(text.find("study.yaml:1:9: error: goal 'step_tme <= 2 s': there is no metric 'step_tme'") != text.npos);
  CHECK(text.find("did you mean 'step_time'?") != text.npos);
  CHECK(text.find("step_time needs a unit") != text.npos);
  CHECK(text.find("'USD' is no unit of power") != text.npos);
  CHECK(text.find("busbw of which collective and size?") != text.npos);
  CHECK(refusal("[\"capex = 3 USD\"]").find("compares by <= or >=") != std::string::npos);
  CHECK(refusal("[\"capex <= many USD\"]").find("is no number") != std::string::npos);
  CHECK(refusal("[\"busbw(all_redduce, 1 GiB) >= 1 GB/s\"]").find("did you mean 'all_reduce'?") != std::string::npos);
  CHECK(refusal("[\"busbw(all_reduce, 1) >= 1 GB/s\"]") != "accepted");
  CHECK(refusal("[\"mfu(2) >= 1 %\"]").find("takes nothing in brackets") != std::string::npos);
  CHECK(refusal("[[1]]").find("a goal is a text") != std::string::npos);
}

TEST_CASE("confidence follows from the expected error", "[goals]") {
  const auto g = goal("step_time <= 2 s");
  // At the goal itself a coin decides.
  CHECK(planning::judge(g, {2.0, 26}).confidence == Approx(0.5));
  // p90 of 26 %: ln 1.26 = 1.645 sigma. 2 / 1.26 = 1.587 s lies 1.645 sigma below the goal: 95 % of a normal.
  CHECK(planning::judge(g, {2.0 / 1.26, 26}).confidence == Approx(0.95).margin(0.001));
  CHECK(planning::judge(g, {2.0 * 1.26, 26}).confidence == Approx(0.05).margin(0.001));
  // Exact figures know.
  CHECK(planning::judge(g, {1.99, 0}).confidence == 1);
  CHECK(planning::judge(g, {2.01, 0}).confidence == 0);
  const auto j = planning::judge(g, {2.1, 26});
  CHECK_FALSE(j.met);
  CHECK(j.margin_percent == Approx(-5));
  CHECK(planning::judge(goal("goodput >= 90 %"), {0.93, 5}).confidence > 0.5);
}
