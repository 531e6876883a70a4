// How fast the engine is: event queue, fluid network, chunk programs folded and whole. Numbers go to
// docs/performance.md; nothing here is asserted, because a machine that is busy would fail it.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <vector>

#include "linkcast/sim/event_queue.hpp"
#include "linkcast/sim/fold.hpp"
#include "linkcast/sim/replay.hpp"

namespace {

using namespace linkcast::sim;

// The hold model (Jones, An empirical comparison of priority-queue and event-set implementations, 1986): take out
// the next event, put one in at a random later time. Increments are exponential with a mean of 1 us.
void hold(benchmark::State& state) {
  std::mt19937_64 bits{1};
  std::exponential_distribution<double> step{1e-6};
  std::vector<std::int64_t> steps(1 << 16);
  for (auto& s : steps) s = static_cast<std::int64_t>(step(bits)) + 1;
  EventQueue queue;
  std::size_t at = 0;
  for (std::int64_t i = 0; i < state.range(0); ++i) queue.push(Time::picoseconds(steps[at++ & 0xFFFF]), 0);
  for (auto _ : state) {
    const Event e = queue.pop();
    queue.push(e.time + Time::picoseconds(steps[at++ & 0xFFFF]), e.payload);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(hold)->Arg(100)->Arg(10'000)->Arg(1'000'000);

// Flows that come and go on a crossbar of 8 ports, each with two links: every change solves a component.
void churn(benchmark::State& state) {
  ResourceTable table;
  for (int i = 0; i < 16; ++i) table.add({"port", Rate::from_GBps(450), Rate::from_GBps(450)});
  FluidNetwork network{table};
  std::mt19937_64 bits{1};
  std::vector<FlowId> ended;
  const auto start = [&](Time now) {
    const auto from = static_cast<std::uint32_t>(bits() % 8), to = static_cast<std::uint32_t>(8 + bits() % 8);
    const Usage usages[] = {{ResourceId{from}, 1.0}, {ResourceId{to}, 1.0}};
    network.start(now, usages, Bytes{static_cast<std::int64_t>(1 + bits() % 1'000'000)}, Rate::from_GBps(100));
  };
  for (std::int64_t i = 0; i < state.range(0); ++i) start(Time{});
  for (auto _ : state) {
    const Time now = network.next_completion();
    network.complete(now, ended);
    for (std::size_t i = 0; i < ended.size(); ++i) start(now);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(churn)->Arg(8)->Arg(64)->Arg(512);

struct Ring {
  ResourceTable resources;
  std::shared_ptr<ChunkProgram> program = std::make_shared<ChunkProgram>();
};

Ring make_ring(std::uint32_t ranks, std::uint32_t channels, std::int64_t units, bool one_slow) {
  Ring ring;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const double rate = one_slow && r == ranks / 2 ? 300 : 450;
    ring.resources.add({"out", Rate::from_GBps(rate), Rate::from_GBps(rate)});
  }
  auto& p = *ring.program;
  p.kinds = {{Time::nanoseconds(600), Rate::from_GBps(22), Cause::sm, false}};
  for (std::uint32_t c = 0; c < channels; ++c) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const auto base = c * ranks;
      const ConnectionId out{base + r}, in{base + (r + ranks - 1) % ranks};
      p.connections.push_back({AgentId{base + r},
                               AgentId{base + (r + 1) % ranks},
                               4,
                               Time::nanoseconds(800),
                               Time::nanoseconds(800),
                               {{ResourceId{r}, 1.0}}});
      p.agents.push_back({units,
                          0,
                          [=](std::int64_t i, Unit& u) {
                            if (i > 0) u.receive.push_back(in);
                            if (i + 1 == units) return;
                            u.send.push_back(out);
                            u.bytes = Bytes{65'536};
                          },
                          {},
                          false});
    }
  }
  return ring;
}

void ring_all_reduce(benchmark::State& state) {
  const auto ring = make_ring(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)),
                              state.range(2), state.range(4) != 0);
  ReplayOptions options;
  options.fold = state.range(3) != 0;
  std::uint64_t events = 0;
  for (auto _ : state) {
    Task task;
    task.work = std::shared_ptr<const ChunkProgram>{ring.program};
    events += replay(ring.resources, std::move(task), options).events;
  }
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(ring_all_reduce)
    ->ArgNames({"ranks", "channels", "units", "fold", "one_slow"})
    ->Args({8, 16, 448, 1, 0})
    ->Args({8, 16, 448, 0, 0})
    ->Args({8, 16, 448, 1, 1})
    ->Args({8, 32, 448, 0, 1})
    ->Args({512, 32, 2044, 1, 0})
    ->Args({512, 32, 2044, 1, 1})
    ->Args({512, 2, 2044, 0, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
