// Chunk programs: times derived by hand, accounts that add up, deadlocks that are named, and folding that changes
// no time. Programs are built by small helpers that stand for no real library.
#include <memory>
#include <vector>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/fold.hpp"
#include "linkcast/sim/replay.hpp"
#include "programs.hpp"

using namespace linkcast::sim;
using namespace linkcast::sim::literals;
using namespace linkcast::test;

TEST_CASE("two agents, one FIFO: the sender is held by credits", "[sim][chunk]") {
  // Link 10 GB/s; 100,000 B take 10 us. overhead 1 us, latency 2 us, credit 3 us; one slot; three units.
  // Sender 0: takes up 0, flow 1..11, tail there at 13. Receiver: takes up 13, overhead to 14, no bytes: ends 14.
  // Credit back at 17. Sender 1: takes up 17, flow 18..28, tail 30, receiver ends 31, credit 34.
  // Sender 2: takes up 34, flow 35..45, tail 47, receiver ends 48.
  ResourceTable t;
  const auto link = t.add({"link", 10_GBps, 10_GBps});
  auto p = std::make_shared<ChunkProgram>();
  p->kinds = {{1_us}};
  p->connections = {{AgentId{0}, AgentId{1}, 1, 2_us, 3_us, {{link, 1.0}}}};
  p->agents.resize(2);
  p->agents[0] = {3, 0, [](std::int64_t, Unit& u) { u.bytes = 100'000_B, u.send = {ConnectionId{0}}; }, {}, false};
  p->agents[1] = {3, 1, [](std::int64_t, Unit& u) { u.receive = {ConnectionId{0}}; }, {}, false};
  const auto result = run(t, p);
  CHECK(result.end == 48_us);
  // Critical path: three flows of wire; the rest is overhead, latency and credits.
  CHECK(result.account[Cause::wire] == 30_us);
  CHECK(result.account[Cause::latency] == 18_us);
  CHECK(result.account.total() == result.end);
  CHECK(result.carried == std::vector{300'000.0});
}

TEST_CASE("with slots enough the link never rests", "[sim][chunk]") {
  // As above with 8 slots: the sender's units are 1 + 10 us apart; the last tail at 3 x 11 + 2, the receiver 1 later.
  ResourceTable t;
  const auto link = t.add({"link", 10_GBps, 10_GBps});
  auto p = std::make_shared<ChunkProgram>();
  p->kinds = {{1_us}};
  p->connections = {{AgentId{0}, AgentId{1}, 8, 2_us, 3_us, {{link, 1.0}}}};
  p->agents.resize(2);
  p->agents[0] = {3, 0, [](std::int64_t, Unit& u) { u.bytes = 100'000_B, u.send = {ConnectionId{0}}; }, {}, false};
  p->agents[1] = {3, 1, [](std::int64_t, Unit& u) { u.receive = {ConnectionId{0}}; }, {}, false};
  CHECK(run(t, p).end == 36_us);
}

TEST_CASE("a ring of three by hand", "[sim][chunk][fold]") {
  // Each agent: unit 0 sends, units 1..3 receive and send, unit 4 receives. 50,000 B at 10 GB/s: 5 us; overhead 1 us,
  // latency 2 us. All alike: a unit is taken up when the tail of the neighbour's one before is there, 2 us after its
  // own end. Unit 0: 0..6. Unit 1: from 8, to 14. Unit 2: from 16, to 22. Unit 3: from 24, to 30.
  // Unit 4 (no bytes): from 32, overhead: 33.
  const auto ring = make_ring({.ranks = 3,
                               .channels = 1,
                               .steps = 5,
                               .bytes = 50'000_B,
                               .slots = 4,
                               .overhead = 1_us,
                               .latency = 2_us,
                               .rate = 10_GBps,
                               .cap = 10_GBps});
  for (const bool fold : {true, false}) {
    CAPTURE(fold);
    const auto result = run(ring.resources, ring.program, fold);
    CHECK(result.end == 33_us);
    CHECK(result.account[Cause::wire] + result.account[Cause::protocol] == 20_us);  // four transfers
    CHECK(result.account[Cause::latency] == 13_us);
    CHECK(result.carried == std::vector{200'000.0, 200'000.0, 200'000.0});
  }
}

TEST_CASE("cut-through hands the head on while the tail is still coming", "[sim][chunk]") {
  // A chain 0 -> 1 -> 2 with 100,000 B at 10 GB/s (10 us), latency 1 us, no overhead.
  // 0: flow 0..10, head at 1, tail at 11. 1: flow 1..11, its input's tail at 11: ends 11. Head at 2 at 2, tail at 12.
  // 2: takes up at 2, no bytes, ends with the tail at 12. Store and forward: 10, 11..21, 22.
  ResourceTable t;
  const auto a = t.add({"0-1", 10_GBps, 10_GBps}), b = t.add({"1-2", 10_GBps, 10_GBps});
  for (const bool cut : {true, false}) {
    auto p = std::make_shared<ChunkProgram>();
    p->kinds = {{.overhead = Time{}, .cut_through = cut}};
    p->connections = {{AgentId{0}, AgentId{1}, 2, 1_us, 1_us, {{a, 1.0}}},
                      {AgentId{1}, AgentId{2}, 2, 1_us, 1_us, {{b, 1.0}}}};
    p->agents.resize(3);
    p->agents[0] = {1, 0, [](std::int64_t, Unit& u) { u.bytes = 100'000_B, u.send = {ConnectionId{0}}; }, {}, false};
    p->agents[1] = {
        1,
        1,
        [](std::int64_t, Unit& u) { u.bytes = 100'000_B, u.receive = {ConnectionId{0}}, u.send = {ConnectionId{1}}; },
        {},
        false};
    p->agents[2] = {1, 2, [](std::int64_t, Unit& u) { u.receive = {ConnectionId{1}}; }, {}, false};
    CHECK(run(t, p).end == (cut ? 12_us : 22_us));
  }
}

TEST_CASE("an agent's own rate is booked to its cause, beyond what the wire takes", "[sim][chunk]") {
  // 60,000 B: bare 10 GB/s 6 us, framed 8 GB/s 7.5 us, the copy at 5 GB/s 12 us; fixed 4 us of launch.
  ResourceTable t;
  const auto link = t.add({"link", 8_GBps, 10_GBps});
  auto p = std::make_shared<ChunkProgram>();
  p->kinds = {{.overhead = 1_us, .cap = 5_GBps, .cap_cause = Cause::sm}};
  p->connections = {{AgentId{0}, AgentId{1}, 1, Time{}, Time{}, {{link, 1.0}}}};
  p->agents.resize(2);
  p->agents[0] = {1, 0, [](std::int64_t, Unit& u) { u.bytes = 60'000_B, u.send = {ConnectionId{0}}; }, {}, false};
  p->agents[1] = {0, 1, {}, {}, false};
  p->fixed.add(Cause::launch, 4_us);
  const auto result = run(t, p);
  CHECK(result.end == 17_us);
  CHECK(result.account[Cause::launch] == 4_us);
  CHECK(result.account[Cause::latency] == 1_us);
  CHECK(result.account[Cause::wire] == 6_us);
  CHECK(result.account[Cause::protocol] == Time::nanoseconds(1500));
  CHECK(result.account[Cause::sm] == Time::nanoseconds(4500));
  CHECK(result.account[Cause::congestion] == Time{});
}

TEST_CASE("what a pipeline's first unit takes on its way is fill", "[sim][chunk]") {
  // Chain of three, 10 units of 10,000 B at 10 GB/s: 1 us each, no latency. The second agent starts after 1 us; the
  // last one, which receives only, ends when unit 9 has come through: 10 + 1 us.
  ResourceTable t;
  const auto a = t.add({"0-1", 10_GBps, 10_GBps}), b = t.add({"1-2", 10_GBps, 10_GBps});
  auto p = std::make_shared<ChunkProgram>();
  p->kinds = {{}};
  p->connections = {{AgentId{0}, AgentId{1}, 20, Time{}, Time{}, {{a, 1.0}}},
                    {AgentId{1}, AgentId{2}, 20, Time{}, Time{}, {{b, 1.0}}}};
  p->agents.resize(3);
  p->agents[0] = {10, 0, [](std::int64_t, Unit& u) { u.bytes = 10'000_B, u.send = {ConnectionId{0}}; }, {}};
  p->agents[1] = {
      10,
      1,
      [](std::int64_t, Unit& u) { u.bytes = 10'000_B, u.receive = {ConnectionId{0}}, u.send = {ConnectionId{1}}; },
      {}};
  p->agents[2] = {10, 2, [](std::int64_t, Unit& u) { u.receive = {ConnectionId{1}}; }, {}};
  const auto result = run(t, p);
  CHECK(result.end == 11_us);
  CHECK(result.account[Cause::fill] == 1_us);
  CHECK(result.account[Cause::wire] == 10_us);
}

TEST_CASE("a deadlock of FIFOs is our error and names who waits for whom", "[sim][chunk]") {
  ResourceTable t;
  auto p = std::make_shared<ChunkProgram>();
  p->kinds = {{}};
  p->connections = {{AgentId{0}, AgentId{1}, 1, Time{}, Time{}, {}}, {AgentId{1}, AgentId{0}, 1, Time{}, Time{}, {}}};
  p->agents.resize(2);
  p->agents[0] = {1, 0, [](std::int64_t, Unit& u) { u.receive = {ConnectionId{1}}, u.send = {ConnectionId{0}}; }, {}};
  p->agents[1] = {1, 1, [](std::int64_t, Unit& u) { u.receive = {ConnectionId{0}}, u.send = {ConnectionId{1}}; }, {}};
  CHECK_THROWS_WITH(run(t, p), Catch::Contains("deadlock: agent 0 waits at unit 0 of 1 for a unit from agent 1"));
}

TEST_CASE("a program that uses another agent's connection is refused", "[sim][chunk]") {
  ResourceTable t;
  auto p = std::make_shared<ChunkProgram>();
  p->kinds = {{}};
  p->connections = {{AgentId{0}, AgentId{1}, 1, Time{}, Time{}, {}}};
  p->agents.resize(2);
  p->agents[0] = {1, 0, [](std::int64_t, Unit& u) { u.receive = {ConnectionId{0}}; }, {}};
  p->agents[1] = {1, 1, [](std::int64_t, Unit& u) { u.receive = {ConnectionId{0}}; }, {}};
  CHECK_THROWS_AS(run(t, p), InternalError);
}

TEST_CASE("a ring folds to one agent whatever its ranks and channels", "[sim][fold]") {
  for (const int ranks : {3, 8}) {
    for (const int channels : {1, 4}) {
      const auto ring = make_ring({.ranks = ranks, .channels = channels, .steps = 20, .bytes = 65'536_B});
      const auto folding = fold(ring.resources, *ring.program);
      CHECK(folding.agents.size == std::vector{static_cast<std::uint32_t>(ranks * channels)});
      CHECK(folding.resources.size == std::vector{static_cast<std::uint32_t>(ranks)});
      check_folding_changes_nothing(ring);
    }
  }
}

TEST_CASE("a slow link splits only the classes that it touches", "[sim][fold]") {
  auto ring = make_ring({.ranks = 8, .channels = 4, .steps = 40, .bytes = 65'536_B, .slow_link = 5});
  const auto folding = fold(ring.resources, *ring.program);
  // Every rank has its own distance to the slow link, channels stay alike.
  CHECK(folding.agents.size == std::vector<std::uint32_t>(8, 4));
  check_folding_changes_nothing(ring);
}

TEST_CASE("channels that run both ways around share links and still fold", "[sim][fold]") {
  const auto ring = make_ring(
      {.ranks = 6, .channels = 5, .steps = 30, .bytes = 100'001_B, .shared_ports = true, .cut_through = true});
  CHECK(fold(ring.resources, *ring.program).agents.size.size() == 1);
  check_folding_changes_nothing(ring);
}

TEST_CASE("interchangeable children of a tree fold together", "[sim][fold]") {
  // Root 0 receives from and sends to its two children in the same units: it cannot tell them apart.
  const auto tree = make_tree(3, 12, 30'000_B);
  const auto folding = fold(tree.resources, *tree.program);
  CHECK(folding.agents.size == std::vector<std::uint32_t>{1, 2, 4, 8});
  check_folding_changes_nothing(tree);
}

TEST_CASE("random programs: folding changes no time, bytes or account", "[sim][fold][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 150)));
  CAPTURE(seed);
  check_folding_changes_nothing(make_random(seed));
}

TEST_CASE("circles of ranks that alternate between peers: folding changes nothing", "[sim][fold][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 200)));
  CAPTURE(seed);
  const auto made = make_circle(seed);
  check_folding_changes_nothing(made);
}

TEST_CASE("two replays are identical", "[sim][chunk]") {
  const auto program = make_random(7);
  const auto once = run(program.resources, program.program, false);
  const auto again = run(program.resources, program.program, false);
  CHECK(once.end == again.end);
  CHECK(once.account == again.account);
  CHECK(once.events == again.events);
  CHECK(once.carried == again.carried);
}

TEST_CASE("512 ranks x 32 channels x 1022 steps x 2 slices cost what one agent costs", "[sim][fold]") {
  const auto ring = make_ring({.ranks = 512, .channels = 32, .steps = 2044, .bytes = 65'536_B});
  const auto result = run(ring.resources, ring.program);
  // One agent: one event and one flow for each of its units.
  CHECK(result.events < 3 * 2044);
  // Every link carries what its 32 channels send: all units but the last have bytes.
  CHECK(result.carried[0] == 65'536.0 * 2043 * 32);
  CHECK(result.account.total() == result.end);
}
