// One file of the PyTorch profiler (Kineto), read once and kept as little as can be: 48 bytes for what ran on the GPU,
// the calls of communication as the host made them, launches, steps. Knows no streams' meaning and no dependencies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "json_scan.hpp"
#include "torch_calls.hpp"

namespace linkcast::workloads::readers {

struct KinetoFile {
  struct OnGpu {
    std::int64_t start = 0, duration = 0;  // ns
    std::int64_t external = 0;
    std::uint32_t correlation = 0;
    std::uint32_t name = 0;
    std::int32_t call = -1;    // of `calls`: it is communication
    std::uint32_t after = 0;   // an earlier one that it waits for, counted from 1
    std::uint16_t stream = 0;  // of `streams`
    Work work = Work::other;
    bool nccl = false;
  };
  struct Launch {
    std::int64_t at = 0;
    std::uint32_t correlation = 0, thread = 0;
  };
  struct Mark {  // "nccl:all_reduce", a host range inside a call
    std::int64_t at = 0;
    std::uint32_t thread = 0, name = 0;
  };
  struct Wait {  // cudaStreamWaitEvent, with CUPTI's synchronisation activity
    std::uint16_t stream = 0, on_stream = 0;
    std::uint32_t correlation = 0, recorded = 0;
  };
  struct Step {
    std::int64_t start = 0, end = 0;
    std::uint32_t name = 0;
  };
  struct Stream {
    std::int64_t device = 0, number = 0;
    auto operator<=>(const Stream&) const = default;
  };

  std::string path;
  int rank = -1, world = 0;
  std::string pg_config;
  std::vector<OnGpu> gpu;  // by start, when read
  std::vector<TorchCall> calls;
  std::vector<Launch> launches;  // by correlation
  std::vector<Mark> marks;
  std::vector<Wait> waits;
  std::vector<Step> steps;
  std::vector<Stream> streams;
  std::int64_t events = 0, host_events = 0;
  bool calls_on_kernels = false, calls_named = false;  // generation C; B
};

/// Reads it; what cannot be used goes into the report. Throws sim::InputError where it cannot be opened.
KinetoFile read_kineto_file(const std::string& path, Names& names, ReadReport& report);

Work work_of_gpu_kernel(std::string_view name);

}  // namespace linkcast::workloads::readers
