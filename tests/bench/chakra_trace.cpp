// How fast a Chakra trace streams through its reader, and in how much memory: a trace of `range` nodes is written to
// the folder for temporary files, in layers of four computes, an all-reduce and two messages that depend on each other.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "../support/chakra_writer.hpp"
#include "linkcast/workloads/recording.hpp"

using namespace linkcast;

namespace {

std::string written(std::uint64_t nodes) {
  using namespace test::chakra;
  const auto path = std::filesystem::temp_directory_path() /
                    ("linkcast-bench-" + std::to_string(getpid()) + "-" + std::to_string(nodes) + ".0.et");
  std::ofstream out{path, std::ios::binary};
  out << metadata();
  const auto size = [](std::int64_t n) { return attribute("comm_size", n); };
  for (std::uint64_t id = 0; id < nodes; ++id) {
    const auto last = id == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{id - 1};
    const auto tag = attribute("comm_tag", static_cast<std::int64_t>(id % 100), 7);
    switch (id % 7) {
      case 4:
        out << collective(id, 0, 1 << 20, last);
        break;
      case 5:
        out << node(id, "send", 5, last, 0, size(4096) + attribute("comm_dst", 1, 7) + tag);
        break;
      case 6:
        out << node(id, "receive", 6, last, 0, size(4096) + attribute("comm_src", 7, 7) + tag);
        break;
      default:
        out << node(id, "gemm", 4, last, 3, attribute("is_cpu_op", 0, 27));
    }
  }
  return path.string();
}

void read(benchmark::State& state) {
  const auto path = written(static_cast<std::uint64_t>(state.range(0)));
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  std::int64_t read = 0;
  for (auto _ : state) {
    const auto recording = workloads::open_recording({path});
    const auto reader = recording.open();
    workloads::Operation o;
    while (reader->next(0, o)) ++read;
  }
  getrusage(RUSAGE_SELF, &after);
  state.SetItemsProcessed(read);
  state.SetBytesProcessed(static_cast<std::int64_t>(std::filesystem::file_size(path)) * state.iterations());
  state.counters["peak_MB_more"] = static_cast<double>(after.ru_maxrss - before.ru_maxrss) / 1024;
  std::filesystem::remove(path);
}
BENCHMARK(read)->Arg(1'000'000)->Arg(10'000'000)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace

BENCHMARK_MAIN();
