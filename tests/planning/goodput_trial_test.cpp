// What one trial counts, by hand: checkpoints, an interruption, spares, slow and stalled parts.
#include "catch.hpp"

#include "linkcast/sim/diagnostic.hpp"
#include "reliability_support.hpp"

namespace linkcast::planning {
namespace {

Trial played(const Reliability& r, const std::vector<FailingPart>& parts, std::vector<Failure> failures) {
  const auto t = play(r, parts, failures);
  CHECK(total(t) == r.duration);
  return t;
}

}  // namespace

TEST_CASE("without failures only checkpoints cost time", "[planning][goodput]") {
  // Ten times 50 minutes of training and 10 of checkpoint.
  const auto t = played(ten_hours(), {}, {});
  CHECK(t.useful == minutes(500));
  CHECK(t.checkpoint == minutes(100));
  CHECK(t.interruptions == 0);
}

TEST_CASE("an interruption costs the work since the last checkpoint, detection and restart", "[planning][goodput]") {
  // 3:30: the checkpoint at 3:00 holds 150 minutes of work, 30 are lost; back at 4:00. Then six cycles of 50 + 10.
  const auto t = played(ten_hours(), {part(Effect::interrupts)}, {{minutes(210)}});
  CHECK(t.useful == minutes(150 + 300));
  CHECK(t.lost_work == minutes(30));
  CHECK(t.restart == minutes(30));
  CHECK(t.checkpoint == minutes(30 + 60));
  CHECK(t.interruptions == 1);
}

TEST_CASE("a checkpoint that is not complete holds nothing", "[planning][goodput]") {
  // 3:55 is 5 minutes into the fourth checkpoint.
  const auto t = played(ten_hours(), {part(Effect::interrupts)}, {{minutes(235)}});
  CHECK(t.lost_work == minutes(50));
  CHECK(t.restart == minutes(30));
  // Three checkpoints, five minutes of the fourth, and those of the 335 minutes from 4:25 on: five.
  CHECK(t.checkpoint == minutes(30 + 5 + 50));
}

TEST_CASE("a failure during the restart begins it anew", "[planning][goodput]") {
  // Down from 3:30; again at 3:45, so up at 4:15.
  const auto t = played(ten_hours(), {part(Effect::interrupts)}, {{minutes(210)}, {minutes(225)}});
  CHECK(t.restart == minutes(15 + 30));
  CHECK(t.lost_work == minutes(30));
  CHECK(t.interruptions == 2);
}

TEST_CASE("a cause with its own detection time is found then", "[planning][goodput]") {
  auto p = part(Effect::interrupts);
  p.detection = minutes(60);
  CHECK(played(ten_hours(), {p}, {{minutes(210)}}).restart == minutes(60 + 24));
}

TEST_CASE("a job waits where no spare node is left", "[planning][goodput]") {
  auto r = ten_hours();
  const std::vector parts{part(Effect::interrupts, Remedy::spare, hours(2))};
  const std::vector<Failure> twice{{hours(1)}, {hours(2)}};
  SECTION("no spare: each failure waits for its own repair") {
    r.spares = 0;
    // From 1:06 until 3:00 for the first; the second at 2:00 is repaired at 4:00. Waiting: 1:06 to 2:00 and 2:06 to
    // 4:00.
    const auto t = played(r, parts, twice);
    CHECK(t.spares == minutes(54 + 114));
    CHECK(t.restart == minutes(6 + 6 + 24));
  }
  SECTION("one spare: the second failure waits for the first node") {
    r.spares = 1;  // 2:06 until 3:00
    CHECK(played(r, parts, twice).spares == minutes(54));
  }
  SECTION("two spares: nothing waits") {
    r.spares = 2;
    CHECK(played(r, parts, twice).spares == sim::Time{});
  }
  SECTION("as many as it takes: both nodes are in repair at once") {
    const auto t = played(r, parts, twice);
    CHECK(t.spares == sim::Time{});
    CHECK(t.in_repair == 2);
    // The first is back at 3:00, as the third fails.
    CHECK(played(r, parts, {{hours(1)}, {hours(2)}, {hours(3)}}).in_repair == 2);
    CHECK(played(r, parts, {{hours(1), 0, true}}).in_repair == 0);
  }
  SECTION("what a restart mends needs no node") {
    r.spares = 0;
    CHECK(played(r, parts, {{hours(1), 0, true}}).spares == sim::Time{});
  }
  SECTION("a leaf switch takes the nodes below it") {
    auto leaf = parts;
    leaf[0].nodes = 3;
    r.spares = 2;
    CHECK(played(r, leaf, {{hours(1)}}).spares == minutes(114));  // 1:06 until 3:00
    r.spares = 3;
    CHECK(played(r, leaf, {{hours(1)}}).spares == sim::Time{});
  }
  SECTION("one repair time for all") {
    r.spares = 0;
    r.repair_time = hours(1);  // 1:06 until 2:00, then the second failure: 2:06 until 3:00
    CHECK(played(r, parts, twice).spares == minutes(54 + 54));
  }
}

TEST_CASE("a part that nothing replaces is waited for", "[planning][goodput]") {
  auto r = ten_hours();
  r.spares = 100;
  CHECK(played(r, {part(Effect::interrupts, Remedy::repair, hours(2))}, {{hours(1)}}).spares == minutes(114));
}

TEST_CASE("a slow part holds up every step until it is repaired", "[planning][goodput]") {
  auto r = ten_hours();
  r.checkpoint_interval = hours(20);  // none
  const std::vector parts{part(Effect::degrades, Remedy::restart, hours(4), 2),
                          part(Effect::degrades, Remedy::restart, hours(2), 4)};
  CHECK(played(r, parts, {{hours(1), 0}}).degraded == hours(2));  // half of four hours
  // Both: from 2:00 to 4:00 the slower one counts, 3/4 of two hours; the other has 1:00 to 2:00 and 4:00 to 5:00.
  const auto both = played(r, parts, {{hours(1), 0}, {hours(2), 1}});
  CHECK(both.degraded == minutes(90 + 60));
  CHECK(both.useful == minutes(450));
  CHECK(both.interruptions == 0);
}

TEST_CASE("an interruption loses only what slow steps had done", "[planning][goodput]") {
  auto r = ten_hours();
  r.checkpoint_interval = hours(20);
  const std::vector parts{part(Effect::degrades, Remedy::restart, hours(4), 2), part(Effect::interrupts)};
  const auto t = played(r, parts, {{hours(0), 0}, {hours(2), 1}});
  CHECK(t.lost_work == hours(1));
  // Slow until 4:00, running again from 2:30: an hour before the failure and 45 minutes after it.
  CHECK(t.degraded == minutes(60 + 45));
}

TEST_CASE("a job that goes round a broken part runs slower after the restart", "[planning][goodput]") {
  auto r = ten_hours();
  r.checkpoint_interval = hours(20);
  const std::vector parts{part(Effect::interrupts, Remedy::restart, hours(2), 2)};
  CHECK(played(r, parts, {{hours(1)}}).degraded == minutes(45));  // 1:30 until 3:00, half
  CHECK(played(r, parts, {{hours(1), 0, true}}).degraded == sim::Time{});
}

TEST_CASE("a stall stops training and loses no work", "[planning][goodput]") {
  auto p = part(Effect::stalls);
  p.stall = minutes(10);
  const auto t = played(ten_hours(), {p}, {{hours(1)}, {minutes(65)}});  // together from 1:00 to 1:15
  CHECK(t.degraded == minutes(15));
  CHECK(t.lost_work == sim::Time{});
  CHECK(t.interruptions == 0);
}

TEST_CASE("a failure seen coming costs a checkpoint instead of work", "[planning][goodput]") {
  const auto t = played(ten_hours(), {part(Effect::interrupts)}, {{minutes(210), 0, false, true}});
  CHECK(t.lost_work == sim::Time{});
  CHECK(t.restart == minutes(24));
  // 3 checkpoints, that one, and those of the 356 minutes from 4:04 on: five, and 6 minutes of the sixth.
  CHECK(t.checkpoint == minutes(30 + 10 + 56));
}

TEST_CASE("a checkpoint that a second failure hits saves nothing", "[planning][goodput]") {
  // Seen coming at 3:30, with 30 minutes of work since the checkpoint at 3:00. At 3:35, half-way through its
  // checkpoint, something else fails: the 30 minutes are lost. At 3:45 the checkpoint, of 10 minutes, is complete.
  const std::vector parts{part(Effect::interrupts)};
  CHECK(played(ten_hours(), parts, {{minutes(210), 0, false, true}, {minutes(215)}}).lost_work == minutes(30));
  CHECK(played(ten_hours(), parts, {{minutes(210), 0, false, true}, {minutes(225)}}).lost_work == sim::Time{});
  CHECK(played(ten_hours(), parts, {{minutes(210), 0, false, true}, {minutes(220)}}).lost_work == sim::Time{});
  // One checkpoint serves two failures that were both seen coming: nothing lost, nothing to detect, up at 4:04.
  const auto both = played(ten_hours(), parts, {{minutes(210), 0, false, true}, {minutes(215), 0, false, true}});
  CHECK(both.lost_work == sim::Time{});
  CHECK(both.restart == minutes(24));
  // Maintenance at 3:50 writes its checkpoint until 4:00; at 3:55 a failure.
  auto r = ten_hours();
  r.planned_every = minutes(230), r.planned_time = minutes(16);
  CHECK(played(r, parts, {{minutes(235)}}).lost_work == minutes(50));
}

TEST_CASE("maintenance begins with a checkpoint and is no interruption", "[planning][goodput]") {
  auto r = ten_hours();
  r.planned_every = hours(4);  // at 4:00 and 8:00
  r.planned_time = minutes(16);
  const auto t = played(r, {}, {});
  CHECK(t.restart == minutes(2 * (16 + 24)));
  CHECK(t.lost_work == sim::Time{});
  CHECK(t.interruptions == 0);
  // Four checkpoints, that of the maintenance at 4:00, up at 4:50; three until 7:50, the maintenance at 8:00 has its
  // own, up at 8:50; one more.
  CHECK(t.checkpoint == minutes(40 + 10 + 30 + 10 + 10));
}

TEST_CASE("repairs and detection may end long after the study", "[planning][goodput]") {
  Reliability r;
  r.duration = days(100);
  r.checkpoint_interval = days(100);
  r.detection_time = r.restart_time = days(100);
  const auto t = played(r, {part(Effect::interrupts, Remedy::repair, days(100))}, {{days(99)}});
  CHECK(t.lost_work == days(99));
  CHECK(t.restart == days(1));
}

TEST_CASE("a cycle of training and checkpoint may be longer than the time that can be told", "[planning][goodput]") {
  Reliability r;
  r.duration = days(100);
  r.checkpoint_interval = r.checkpoint_time = days(100);
  CHECK(played(r, {}, {}).useful == days(100));
}

}  // namespace linkcast::planning
