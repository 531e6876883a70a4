// What an answer costs inside the process: loading a machine, NCCL's choices, one collective at both fidelities.
#include <benchmark/benchmark.h>

#include "linkcast/workloads/collective.hpp"

using namespace linkcast;

namespace {

models::nccl::Call all_reduce(std::int64_t bytes) {
  models::nccl::Call call;
  call.bytes = sim::Bytes{bytes};
  return call;
}

workloads::CollectiveModel model(const topologies::Fabric& fabric, workloads::Fidelity fidelity, bool fold,
                                 const char* algorithm) {
  workloads::CommunicatorOptions options;
  options.fidelity = fidelity;
  options.fold = fold;
  if (algorithm != nullptr) options.env.set("NCCL_ALGO", algorithm);
  return {fabric, options};
}

void load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(topologies::load("dgx-h100"));
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);

void choices(benchmark::State& state) {
  const auto fabric = topologies::load("dgx-h100");
  for (auto _ : state) benchmark::DoNotOptimize(model(fabric, workloads::Fidelity::flow, true, nullptr));
}
BENCHMARK(choices)->Unit(benchmark::kMillisecond);

/// 8 B to 16 GiB, 32 sizes.
void sweep(benchmark::State& state) {
  const auto m = model(topologies::load("dgx-h100"), workloads::Fidelity::flow, true, nullptr);
  for (auto _ : state)
    for (std::int64_t bytes = 8; bytes <= std::int64_t{1} << 34; bytes *= 2)
      benchmark::DoNotOptimize(m.run(all_reduce(bytes)));
}
BENCHMARK(sweep)->Unit(benchmark::kMillisecond);

void gibibyte_by_chunks(benchmark::State& state, const char* algorithm, bool fold) {
  const auto m = model(topologies::load("dgx-h100"), workloads::Fidelity::chunk, fold, algorithm);
  for (auto _ : state) benchmark::DoNotOptimize(m.run(all_reduce(std::int64_t{1} << 30)));
}
BENCHMARK_CAPTURE(gibibyte_by_chunks, ring_folded, "Ring", true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gibibyte_by_chunks, ring_whole, "Ring", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gibibyte_by_chunks, nvls_folded, "NVLS", true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gibibyte_by_chunks, nvls_whole, "NVLS", false)->Unit(benchmark::kMillisecond);

void gibibyte_512_gpus(benchmark::State& state, const char* algorithm) {
  const auto m = model(topologies::load(LINKCAST_SOURCE_DIR "/tests/bench/data/nvlink-512.yaml"),
                       workloads::Fidelity::chunk, true, algorithm);
  for (auto _ : state) benchmark::DoNotOptimize(m.run(all_reduce(std::int64_t{1} << 30)));
}
BENCHMARK_CAPTURE(gibibyte_512_gpus, ring, "Ring")->Unit(benchmark::kMillisecond)->Iterations(3);
BENCHMARK_CAPTURE(gibibyte_512_gpus, nvls, "NVLS")->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace

BENCHMARK_MAIN();
