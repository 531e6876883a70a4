// Replays of task graphs: times by hand, laziness, accounts along the critical path, observers, bad graphs.
#include <sstream>
#include <vector>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/link_use.hpp"
#include "linkcast/sim/timeline.hpp"
#include "programs.hpp"

using namespace linkcast::sim;
using namespace linkcast::sim::literals;
using namespace linkcast::test;

namespace {

class List final : public TaskSource {
 public:
  explicit List(std::vector<Task> tasks) : tasks_{std::move(tasks)} {}
  std::optional<Task> next() override {
    if (at_ == tasks_.size()) return std::nullopt;
    return tasks_[at_++];
  }
  std::size_t taken() const { return at_; }

 private:
  std::vector<Task> tasks_;
  std::size_t at_ = 0;
};

template <class Work>
Task task(std::uint64_t id, std::vector<std::uint64_t> after, Work work) {
  Task t;
  t.id = TaskId{id};
  t.label = "task " + std::to_string(id);
  t.lane = static_cast<std::int32_t>(id);
  for (const auto a : after) t.after.push_back(TaskId{a});
  t.work = std::move(work);
  return t;
}

PipelinedFlow flow(Bytes bytes, ResourceId on, Time latency = {}, Rate cap = Rate::unlimited()) {
  PipelinedFlow f;
  f.bytes = bytes;
  f.usages = {{on, 1.0}};
  f.cap = cap;
  f.fixed.add(Cause::latency, latency);
  return f;
}

ResourceTable one_link() {
  ResourceTable t;
  t.add({"link", 10_GBps, 12.5_GBps});
  return t;
}

}  // namespace

TEST_CASE("a flow alone takes its fixed parts and its bytes", "[sim][replay]") {
  // 100,000 B at 10 GB/s: 10 us, of which 8 us at the bare 12.5 GB/s.
  const auto t = one_link();
  const auto result = replay(t, task(1, {}, flow(100'000_B, ResourceId{0}, 3_us)));
  CHECK(result.end == 13_us);
  CHECK(result.account[Cause::latency] == 3_us);
  CHECK(result.account[Cause::wire] == 8_us);
  CHECK(result.account[Cause::protocol] == 2_us);
  CHECK(result.carried == std::vector{100'000.0});
  CHECK(replay(t, task(1, {}, flow(0_B, ResourceId{0}, 3_us))).end == 3_us);
}

TEST_CASE("two flows share a link; the one that outlasts books its congestion", "[sim][replay]") {
  // 1: 100,000 B, 2: 50,000 B, both from 0. 5 GB/s each until 2 ends at 10 us; then 1 has 50,000 B left: 15 us.
  const auto t = one_link();
  List list{{task(1, {}, flow(100'000_B, ResourceId{0})), task(2, {}, flow(50'000_B, ResourceId{0}))}};
  const auto result = replay(t, list);
  CHECK(result.end == 15_us);
  CHECK(result.account[Cause::wire] == 8_us);
  CHECK(result.account[Cause::protocol] == 2_us);
  CHECK(result.account[Cause::congestion] == 5_us);
}

TEST_CASE("the account follows the critical path through dependencies", "[sim][replay]") {
  // 1: compute 5. 2: flow of 10 us. 3 after both: compute 4. End 14; 1 is not on the path.
  const auto t = one_link();
  List list{{task(1, {}, Compute{5_us}), task(2, {}, flow(100'000_B, ResourceId{0})), task(3, {1, 2}, Compute{4_us}),
             task(4, {3}, Barrier{})}};
  const auto result = replay(t, list);
  CHECK(result.end == 14_us);
  CHECK(result.account[Cause::compute] == 4_us);
  CHECK(result.account[Cause::wire] + result.account[Cause::protocol] == 10_us);
  CHECK(result.tasks == 4);
}

TEST_CASE("tasks are taken as the window empties, and late ones start when taken", "[sim][replay]") {
  const auto t = one_link();
  std::vector<Task> tasks;
  for (std::uint64_t i = 0; i < 100; ++i) {
    tasks.push_back(task(i, i == 0 ? std::vector<std::uint64_t>{} : std::vector{i - 1}, Compute{1_us}));
  }
  List list{tasks};
  struct Watch final : Observer {
    const List* list = nullptr;
    std::size_t most_ahead = 0, ended = 0;
    void task_started(const Task&, Time) override { most_ahead = std::max(most_ahead, list->taken() - ended); }
    void task_ended(const Task&, Time, Time, const Account&) override { ++ended; }
  } watch;
  watch.list = &list;
  ReplayOptions options;
  options.window = 4;
  options.observers = {&watch};
  const auto result = replay(t, list, options);
  CHECK(result.end == 100_us);
  CHECK(result.account[Cause::compute] == 100_us);
  CHECK(watch.most_ahead <= 4);

  // A window of one makes independent tasks follow each other: still explained to the picosecond.
  List independent{{task(1, {}, Compute{3_us}), task(2, {}, Compute{2_us}), task(5, {1}, Compute{2_us})}};
  options.window = 1;
  options.observers.clear();
  CHECK(replay(t, independent, options).account.total() == 7_us);
}

TEST_CASE("programs that follow each other fold; programs side by side share and stay exact", "[sim][replay]") {
  const auto ring = make_ring({.ranks = 4, .channels = 2, .steps = 12, .bytes = 65'536_B, .rate = 10_GBps});
  std::shared_ptr<const ChunkProgram> program = ring.program;
  const auto once = run(ring.resources, program);
  List twice{{task(1, {}, program), task(2, {1}, program)}};
  const auto after = replay(ring.resources, twice);
  CHECK(after.end == once.end + once.end);
  CHECK(after.carried[0] == 2 * once.carried[0]);

  List both{{task(1, {}, program), task(2, {}, program)}};
  const auto beside = replay(ring.resources, both);
  CHECK(beside.end > once.end);
  CHECK(beside.end <= after.end);
  CHECK(beside.carried[0] == Approx(2 * once.carried[0]));
  CHECK(beside.account[Cause::congestion] > Time{});
  CHECK(beside.account.total() == beside.end);
}

TEST_CASE("a flow beside a chunk program slows it through the shared link", "[sim][replay]") {
  const auto ring = make_ring({.ranks = 4, .channels = 1, .steps = 12, .bytes = 65'536_B, .rate = 10_GBps});
  std::shared_ptr<const ChunkProgram> program = ring.program;
  List mixed{{task(1, {}, program), task(2, {}, flow(10_MiB, ResourceId{2}))}};
  const auto result = replay(ring.resources, mixed);
  const auto alone = run(ring.resources, program);
  List again{{task(1, {}, program), task(2, {}, flow(1_B, ResourceId{2})), task(3, {1}, Barrier{})}};
  CHECK(result.end > alone.end);
  CHECK(result.carried[2] == Approx(alone.carried[2] + 10 * 1048576.0));
  CHECK(replay(ring.resources, again).end >= alone.end);
}

TEST_CASE("a dependency on what never comes is the input's mistake", "[sim][replay]") {
  const auto t = one_link();
  List missing{{task(1, {}, Barrier{}), task(3, {2}, Barrier{})}};
  CHECK_THROWS_AS(replay(t, missing), InputError);
  List itself{{task(1, {1}, Barrier{})}};
  CHECK_THROWS_AS(replay(t, itself), InputError);
  List twice{{task(1, {}, Barrier{}), task(1, {}, Barrier{})}};
  CHECK_THROWS_AS(replay(t, twice), InputError);
}

TEST_CASE("more time than 64 bits hold is the input's mistake", "[sim][replay]") {
  // 2^63 ps are 9,223,372 s: two computes of 5,000,000 s pass them.
  const Compute long_one{Time::microseconds(5'000'000'000'000)};
  const auto resources = one_link();
  List fits{{task(0, {}, long_one)}};
  CHECK(replay(resources, fits).end == long_one.duration);
  List passes{{task(0, {}, long_one), task(1, {0}, long_one)}};
  CHECK_THROWS_AS(replay(resources, passes), InputError);
}

TEST_CASE("no tasks take no time", "[sim][replay]") {
  List none{{}};
  const auto result = replay(one_link(), none);
  CHECK(result.end == Time{});
  CHECK(result.tasks == 0);
}

TEST_CASE("a timeline is exact and byte-stable", "[sim][timeline]") {
  Timeline timeline;
  timeline.name_lane(1, "rank \"1\"");
  ReplayOptions options;
  options.observers = {&timeline};
  List list{{task(1, {}, Compute{Time::picoseconds(1'500'001)}), task(2, {1}, flow(100'000_B, ResourceId{0}, 1_us)),
             task(3, {2}, Barrier{})}};
  replay(one_link(), list, options);
  std::ostringstream out;
  timeline.write(out);
  CHECK(out.str() ==
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"pid\":0,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"rank \\\"1\\\"\"}},\n"
        "{\"ph\":\"M\",\"pid\":0,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"lane 2\"}},\n"
        "{\"ph\":\"X\",\"pid\":0,\"tid\":1,\"ts\":0.000000,\"dur\":1.500001,\"name\":\"task "
        "1\",\"cat\":\"compute\",\"args\":{\"task\":1}},\n"
        "{\"ph\":\"X\",\"pid\":0,\"tid\":2,\"ts\":1.500001,\"dur\":11.000000,\"name\":\"task "
        "2\",\"cat\":\"flow\",\"args\":{\"task\":2}}\n"
        "]}\n");
}

TEST_CASE("link use names the busiest link first", "[sim][link_use]") {
  ResourceTable t;
  const auto idle = t.add({"idle", 10_GBps, 10_GBps}), wide = t.add({"wide", 40_GBps, 40_GBps}),
             narrow = t.add({"narrow", 10_GBps, 10_GBps});
  PipelinedFlow f = flow(100'000_B, narrow);
  f.usages.push_back({wide, 2.0});
  const auto use = link_use(t, replay(t, task(1, {}, f)));
  REQUIRE(use.size() == 2);
  CHECK(use[0].resource == narrow);
  CHECK(use[0].utilisation == Approx(1.0));
  CHECK(use[1].name == "wide");
  CHECK(use[1].bytes == 200'000.0);
  CHECK(use[1].utilisation == Approx(0.5));
  CHECK(use[1].resource != idle);
}
