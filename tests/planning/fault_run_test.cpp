// Faults that come and go during a run, with speeds that are made up so that every figure can be worked out by hand.
#include "linkcast/planning/fault_run.hpp"

#include "catch.hpp"
#include "faults_support.hpp"

using namespace linkcast;
using namespace linkcast::planning;

namespace {

sim::Time seconds(double s) { return sim::Time::from_us(s * 1e6); }

Fault fault(FaultKind kind, ElementKind element, double at, double lasts = 0) {
  Fault f;
  f.kind = kind;
  f.element.kind = element;
  f.element.name = "part";
  f.at = seconds(at);
  if (lasts > 0) f.lasts = seconds(lasts);
  return f;
}

Reliability without_checkpoints() {
  Reliability r;
  r.detection_time = seconds(2);
  r.restart_time = seconds(3);
  r.checkpoint_time = seconds(1);
  r.spares = 0;
  return r;
}

/// A step takes a second, two with a fault that is no dead GPU or node.
struct Speed {
  const std::vector<Fault>& faults;
  double slow = 2;
  StateSpeed operator()(const std::vector<std::size_t>& active) const {
    StateSpeed s{false, {}, seconds(1)};
    for (const auto i : active) {
      if (faults[i].element.kind == ElementKind::gpu && faults[i].kind == FaultKind::fail)
        return {true, "a GPU is dead", {}};
      s.step = seconds(slow);
    }
    return s;
  }
};

double lost(const FaultRun& run, const std::string& cause) {
  for (const auto& [name, t] : run.lost)
    if (name == cause) return static_cast<double>(t.ps()) * 1e-12;
  return 0;
}

double accounted(const FaultRun& run) {
  double sum = run.steps * static_cast<double>(run.sound_step.ps()) * 1e-12;
  for (const auto& [name, t] : run.lost) sum += static_cast<double>(t.ps()) * 1e-12;
  return sum;
}

FaultRun run_of(const std::vector<Fault>& faults, RunLimits limits, const Reliability& r, double slow = 2) {
  return play(faults, limits, r, Speed{faults, slow});
}

}  // namespace

TEST_CASE("progress is that of each state for as long as it lasts", "[fault-run]") {
  // 40 s at one step a second, 20 s at half of that, 40 s again: 40 + 10 + 40.
  const auto run =
      run_of({fault(FaultKind::slow, ElementKind::gpu, 40, 20)}, {seconds(100), {}}, without_checkpoints());
  CHECK(run.steps == Approx(90));
  CHECK(lost(run, "slower steps") == Approx(10));
  CHECK(run.effective() == Approx(0.9));
  CHECK(accounted(run) == Approx(100));
  CHECK(run.spans.size() == 3);
}

TEST_CASE("a step during which something changes is counted by its parts", "[fault-run]") {
  // Half a step in half a second; the other 2.5 steps take two seconds each: 5.5 s.
  const auto run = run_of({fault(FaultKind::slow, ElementKind::gpu, 0.5)}, {{}, 3.0}, without_checkpoints());
  CHECK(static_cast<double>(run.duration.ps()) * 1e-12 == Approx(5.5));
  CHECK(run.steps == Approx(3));
}

TEST_CASE("a dead NIC stalls the job until its connections are back", "[fault-run]") {
  std::vector<Fault> faults{fault(FaultKind::fail, ElementKind::nic, 10)};
  CHECK(run_of(faults, {seconds(100), {}}, without_checkpoints(), 1).steps == Approx(100 - 5.67));
  faults[0].stall = seconds(30);
  const auto run = run_of(faults, {seconds(100), {}}, without_checkpoints(), 1);
  CHECK(run.steps == Approx(70));
  CHECK(lost(run, "stalls") == Approx(30));
  // A narrow link does not stall.
  faults = {fault(FaultKind::degrade, ElementKind::nic, 10)};
  CHECK(run_of(faults, {seconds(100), {}}, without_checkpoints(), 1).steps == Approx(100));
}

TEST_CASE("an outage loses the work since the last checkpoint, the repair and the restart", "[fault-run]") {
  auto r = without_checkpoints();
  r.checkpoint_interval = seconds(20);
  // Trains 0-20, writes 20-21, trains 21-41, writes 41-42, trains 42-50: 8 steps that are lost. Down 50-60, detected
  // and restarted 60-65, trains 65-85, writes 85-86, trains 86-100: 14. Kept: 20 + 20 + 20 + 14.
  const auto run = run_of({fault(FaultKind::fail, ElementKind::gpu, 50, 10)}, {seconds(100), {}}, r);
  CHECK(run.steps == Approx(74));
  CHECK(lost(run, "work done again") == Approx(8));
  CHECK(lost(run, "waiting for the repair") == Approx(10));
  CHECK(lost(run, "detection and restart") == Approx(5));
  CHECK(lost(run, "writing checkpoints") == Approx(3));
  CHECK(accounted(run) == Approx(100));
}

TEST_CASE("a spare node takes the place of one that is lost", "[fault-run]") {
  auto r = without_checkpoints();
  r.checkpoint_interval = seconds(20);
  r.spares = 1;
  // As above without the wait: 42-50 lost, restarted 50-55, trains 55-75, writes, trains 76-96, writes, 97-100: 3.
  const auto run = run_of({fault(FaultKind::fail, ElementKind::gpu, 50)}, {seconds(100), {}}, r);
  CHECK(run.steps == Approx(20 + 20 + 20 + 20 + 3));
  CHECK(lost(run, "waiting for the repair") == Approx(0));
  CHECK(accounted(run) == Approx(100));
}

TEST_CASE("a run whose outage nobody repairs never ends, and says so", "[fault-run]") {
  const auto run = run_of({fault(FaultKind::fail, ElementKind::gpu, 10)}, {{}, 100.0}, without_checkpoints());
  CHECK_FALSE(run.finished);
  CHECK(run.steps == Approx(0));  // none was saved
}

TEST_CASE("times that add up to more than can be told are later than the run", "[fault-run]") {
  // Repaired 90 + 90 days after the start, back 200 days after that: the run ends at 100 days, as told.
  const double day = 86'400;
  auto r = without_checkpoints();
  r.detection_time = r.restart_time = seconds(100 * day);
  const auto run = run_of(
      {fault(FaultKind::fail, ElementKind::gpu, 10, 1), fault(FaultKind::fail, ElementKind::gpu, 90 * day, 90 * day)},
      {seconds(100 * day), {}}, r);
  CHECK(run.duration == seconds(100 * day));
  CHECK(lost(run, "waiting for the repair") == Approx(1 + 10 * day));
  CHECK(accounted(run) == Approx(100 * day));
}

TEST_CASE("steps that do not end within the time that can be told are refused", "[fault-run]") {
  const auto said = [](double steps, double slow) -> std::string {
    try {
      run_of({fault(FaultKind::slow, ElementKind::gpu, 10)}, {{}, steps}, without_checkpoints(), slow);
    } catch (const sim::InputError& e) {
      return e.what();
    }
    return {};
  };
  // A second each: 8,640,000 in 100 days.
  CHECK_THAT(said(8.64e7, 1), ContainsText("take 1e+03 days at least") && ContainsText("duration: 30 days"));
  CHECK_THAT(said(5e6, 3), ContainsText("do not end within 100 days"));  // 58 days, but for the fault
  CHECK(said(1e6, 3).empty());
}

TEST_CASE("faults at a time are read with the run that they are in", "[fault-run]") {
  Evaluator evaluator;
  const auto run = [&](const std::string& more) {
    return run_with_faults(scenario_of(two_units + all_reduce + more), evaluator);
  };
  const auto said = [&](const std::string& more) -> std::string {
    try {
      run(more);
    } catch (const sim::InputError& e) {
      return e.what();
    }
    return {};
  };
  const std::string nic = "faults: [{degrade: \"node[0].nic[0]\", to: 0.5, at: 1 s}]\n";
  const auto r = run(nic + "duration: 2 s\n");
  CHECK(r.effective() < 1);
  CHECK(r.effective() > 0.5);
  CHECK(accounted(r) == Approx(2));
  CHECK_THAT(said(nic), ContainsText("say `duration: 1 h` or `steps: 1000`"));
  CHECK_THAT(said(nic + "duration: 2 s\nsteps: 7\n"), ContainsText("keep one of them"));
  CHECK_THAT(said(nic + "duration: 1 s\n"), ContainsText("when the run is over"));
  CHECK_THAT(said(nic + "duration: 5\n"), ContainsText("unit"));
}
