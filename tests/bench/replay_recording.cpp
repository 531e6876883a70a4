// The replay of recordings: operations a second on one node, all eight ranks recorded or one that stands for all.
#include <benchmark/benchmark.h>

#include "linkcast/workloads/replay_recording.hpp"

using namespace linkcast;
using workloads::Operation;

namespace {

/// `count` times: a compute, then an all_reduce on a stream of its own that the compute after next waits for.
class Overlapped final : public workloads::OperationReader {
 public:
  Overlapped(std::size_t ranks, std::int64_t count) : left_(ranks, 2 * count), count_{2 * count} {}
  bool next(std::size_t r, Operation& out) override {
    if (left_[r] == 0) return false;
    const auto i = static_cast<std::uint64_t>(count_ - left_[r]--);
    out = Operation{};
    out.id = i + 1;
    if (i % 2 == 0) {
      out.duration = sim::Time::microseconds(300);
      if (i > 4) out.after = {i - 2};
    } else {
      out.kind = Operation::Kind::collective;
      out.bytes = sim::mib(16 + static_cast<std::int64_t>(i % 8));
      out.stream = 1;
      out.after = {i};
    }
    return true;
  }

 private:
  std::vector<std::int64_t> left_;
  std::int64_t count_;
};

void replay(benchmark::State& state) {
  const auto ranks = static_cast<std::size_t>(state.range(0));
  const std::int64_t count = 200'000;
  workloads::Recording recording;
  recording.world = 8;
  recording.communicators = {{"dp", "", {0, 1, 2, 3, 4, 5, 6, 7}}};
  for (std::size_t r = 0; r < ranks; ++r) recording.ranks.push_back(static_cast<int>(r));
  recording.streams->push_back("comm");
  recording.open = [=] { return std::make_unique<Overlapped>(ranks, count); };
  const topologies::Cluster cluster{topologies::load("dgx-h100")};
  std::int64_t collectives = 0, operations = 0;
  for (auto _ : state) {
    const auto result = workloads::replay_recording(recording, cluster);
    collectives += result.collectives;
    operations += result.operations;
  }
  state.counters["collectives/s"] = benchmark::Counter(static_cast<double>(collectives), benchmark::Counter::kIsRate);
  state.counters["operations/s"] = benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
}
BENCHMARK(replay)->ArgName("ranks")->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond);

}  // namespace
BENCHMARK_MAIN();
