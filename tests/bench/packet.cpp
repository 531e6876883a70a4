// Packet-hops a second: 1,024 hosts on 32 leaves and 32 spines at 400 Gb/s, 4 KiB packets, PFC, ECN and DCQCN. Numbers
// go to docs/performance.md; nothing is asserted, because a machine that is busy would fail it.
#include <benchmark/benchmark.h>

#include <random>

#include "../support/packet_networks.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::sim;
using namespace linkcast::sim::packet;

testing::PacketNet cluster(int leaves) {
  NodeKind k = testing::pfc_switch();
  k.marking = {true, kib(800), kib(3200), 0.2};  // 400 Gb/s in SimAI's settings
  return testing::leaf_spine(leaves, leaves, leaves, k);
}

Transport roce() {
  Transport t;
  t.name = "roce";
  t.recovery = Recovery::go_back_n;
  t.control = dcqcn::Settings{};
  return t;
}

void count(benchmark::State& state, const Totals& t) {
  state.counters["hops/s"] =
      benchmark::Counter(static_cast<double>(t.packet_hops), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["hops"] = static_cast<double>(t.packet_hops);
  state.counters["events/hop"] = static_cast<double>(t.events) / static_cast<double>(t.packet_hops);
  state.counters["B/packet"] = static_cast<double>(t.memory_bytes) / static_cast<double>(t.packets_peak);
  state.counters["marks"] = static_cast<double>(t.marks);
}

// Every host sends 4 MiB to another; ECMP.
void permutation(benchmark::State& state) {
  const auto net = cluster(static_cast<int>(state.range(0)));
  std::mt19937 random{1};
  std::vector<std::size_t> to(net.hosts.size());
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = i;
  std::shuffle(to.begin(), to.end(), random);
  Totals totals;
  for (auto _ : state) {
    Network network{net.fabric, {roce()}, {}};
    for (std::size_t i = 0; i < to.size(); ++i) {
      const auto a = to[i], b = to[(i + 1) % to.size()];
      FlowSpec f;
      f.from = net.hosts[a];
      f.to = net.hosts[b];
      f.hash = i;
      network.post(network.open(f), Time{}, mib(4));
    }
    network.run_all();
    totals = network.totals();
  }
  count(state, totals);
}
BENCHMARK(permutation)->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

// Every host sends 64 KiB to every other in the order i + 1, i + 2, …, four messages at a time: more than fill the
// line.
class Shifted final : public Source {
 public:
  Shifted(std::size_t hosts, NodeId first) : hosts_{hosts}, first_{static_cast<std::uint32_t>(first)}, next_(hosts) {}
  void next(NodeId endpoint, Time now, FlowId done, std::vector<Post>& posts) override {
    const std::size_t i = static_cast<std::uint32_t>(endpoint) - first_;
    const int more = static_cast<std::uint32_t>(done) == 0xFFFFFFFF ? 4 : 1;
    for (int k = 0; k < more && next_[i] < hosts_ - 1; ++k)
      posts.push_back({FlowId{static_cast<std::uint32_t>(i * (hosts_ - 1) + next_[i]++)}, kib(64), now});
  }

 private:
  std::size_t hosts_;
  std::uint32_t first_;
  std::vector<std::size_t> next_;
};

void all_to_all(benchmark::State& state) {
  const auto leaves = static_cast<int>(state.range(0));
  const auto net = cluster(leaves);
  const std::size_t n = net.hosts.size();
  Totals totals;
  for (auto _ : state) {
    state.PauseTiming();
    Options options;
    options.partitions = static_cast<int>(state.range(3));
    options.threads = static_cast<int>(state.range(1));
    Network network{net.fabric, {roce()}, options};
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t d = 1; d < n; ++d) {
        FlowSpec f;
        f.from = net.hosts[i];
        f.to = net.hosts[(i + d) % n];
        f.hash = i * n + d;
        network.open(f);
      }
    }
    Shifted source{n, net.hosts[0]};
    network.set_source(&source);
    state.ResumeTiming();
    network.run_all(Time::microseconds(state.range(2)));
    totals = network.totals();
  }
  count(state, totals);
}
BENCHMARK(all_to_all)
    ->Args({8, 1, 1000, 1})
    ->Args({32, 1, 200, 1})
    ->Args({32, 1, 200, 8})
    ->Args({32, 2, 200, 8})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
