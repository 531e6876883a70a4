// See copies.hpp. All transfers of a request wait at a gate until everything is enqueued, so that they run side by side
// from the first byte, and each is timed by events on its own stream.
#include "copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "kernels.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "resources.hpp"

namespace linkcast::calibration::cuda {
namespace {

// The driver may wait for a stream while it stages a copy: such a gate opens by itself.
constexpr unsigned long long longest_gate_ns = 50'000'000;

std::size_t bytes(sim::Bytes size) { return static_cast<std::size_t>(size.count()); }

/// One transfer of a request: its memory, its stream, and how one copy is enqueued.
class Way {
 public:
  Way(const CopyRequest& request, Transfer t, int fill_blocks)
      : request_{request},
        t_{t},
        device_{t.from == host_memory || (request.pull && t.to != host_memory) ? t.to : t.from},
        stream_{make_stream(device_)},
        start_{make_event(device_)},
        stop_{make_event(device_)},
        blocks_{request.blocks > 0 ? request.blocks : fill_blocks} {
    from_ = place(t.from, from_memory_, from_host_);
    to_ = place(t.to, to_memory_, to_host_);
    if (request.reduce) more_ = allocate(device_, request.size);
  }

  int device() const { return device_; }
  cudaStream_t stream() const { return stream_.get(); }
  const Event& start() const { return start_; }
  const Event& stop() const { return stop_; }

  void enqueue() const {
    const auto n = bytes(request_.size);
    if (request_.engine == Engine::sm) {
      check(request_.reduce ? enqueue_sum(from_, more_.get(), to_, n, blocks_, stream())
                            : enqueue_copy(from_, to_, n, blocks_, stream()),
            "kernel launch (copy)");
    } else if (t_.from == host_memory || t_.to == host_memory) {
      check(cudaMemcpyAsync(to_, from_, n, cudaMemcpyDefault, stream()), "cudaMemcpyAsync");
    } else if (t_.from == t_.to) {
      check(cudaMemcpyAsync(to_, from_, n, cudaMemcpyDeviceToDevice, stream()), "cudaMemcpyAsync");
    } else {
      check(cudaMemcpyPeerAsync(to_, t_.to, from_, t_.from, n, stream()), "cudaMemcpyPeerAsync");
    }
  }

 private:
  void* place(int gpu, DeviceMemory& device, HostMemory& host) const {
    if (gpu == host_memory) {
      host = allocate_host(request_.size);
      return host.get();
    }
    device = allocate(gpu, request_.size);
    return device.get();
  }

  const CopyRequest& request_;
  Transfer t_;
  int device_;
  Stream stream_;
  Event start_, stop_;
  int blocks_;
  DeviceMemory from_memory_, to_memory_, more_;
  HostMemory from_host_, to_host_;
  void *from_ = nullptr, *to_ = nullptr;
};

int multiprocessors(int device) {
  int n = 0;
  check(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  return n;
}

void synchronize(cudaStream_t stream) { check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

}  // namespace

Copies::Copies(int gpus) : gpus_{gpus} {}

void Copies::check_gpu(int gpu) const {
  if (gpu < 0 || gpu >= gpus_)
    throw sim::InputError(fmt::format("no GPU {} for this process", gpu), fmt::format("it sees {}, from 0", gpus_));
}

bool Copies::can_access(int from, int to) const {
  if (from == to) return true;
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from, to), "cudaDeviceCanAccessPeer");
  return can != 0;
}

void Copies::set_access(int from, int to, bool on) const {
  if (from == to) return;
  const OnDevice here(from);
  if (on) {
    if (!can_access(from, to))
      throw Lacking(fmt::format("GPU {} has no peer access to GPU {}", from, to),
                    "'nvidia-smi topo -p2p rw' says why; such pairs go through host memory");
    const auto result = cudaDeviceEnablePeerAccess(to, 0);
    if (result == cudaErrorPeerAccessAlreadyEnabled)  // by an earlier request, or by NCCL
      cudaGetLastError();
    else
      check(result, "cudaDeviceEnablePeerAccess");
  } else {
    const auto result = cudaDeviceDisablePeerAccess(to);
    if (result == cudaErrorPeerAccessNotEnabled)
      cudaGetLastError();
    else
      check(result, "cudaDeviceDisablePeerAccess");
  }
}

CopyResult Copies::copy(const CopyRequest& r) {
  if (r.transfers.empty()) throw sim::InputError("a copy without a transfer");
  if (r.engine == Engine::sm && r.size.count() % 16 != 0)
    throw sim::InputError(fmt::format("{} bytes: kernels copy multiples of 16", r.size.count()));
  std::vector<Way> ways;
  ways.reserve(r.transfers.size());
  for (const auto& t : r.transfers) {
    const bool host = t.from == host_memory || t.to == host_memory;
    for (const int g : {t.from, t.to})
      if (g != host_memory) check_gpu(g);
    if (t.from == host_memory && t.to == host_memory) throw sim::InputError("a copy from host to host memory");
    if (!host) {
      set_access(t.from, t.to, r.peer_access);
      set_access(t.to, t.from, r.peer_access);
    }
    // Two blocks of 512 threads on each multiprocessor hide the latency of a link.
    ways.emplace_back(r, t, 2 * multiprocessors(t.from == host_memory ? t.to : t.from));
  }
  const auto flag_memory = allocate_host(sim::Bytes{64});
  auto* flag = static_cast<volatile int*>(flag_memory.get());
  const auto* gate = static_cast<const int*>(flag_memory.get());

  // Also loads every kernel, which must not happen while a gate is shut.
  for (const auto& way : ways) {
    const OnDevice here(way.device());
    *flag = 1;
    check(enqueue_gate(gate, longest_gate_ns, way.stream()), "kernel launch (gate)");
    for (int i = 0; i < std::max(r.repeat.warmup, 1); ++i) way.enqueue();
  }
  for (const auto& way : ways) synchronize(way.stream());

  std::vector<std::vector<sim::Time>> samples(ways.size());
  for (int round = 0; round < r.repeat.rounds; ++round) {
    *flag = 0;
    for (const auto& way : ways) {
      const OnDevice here(way.device());
      check(enqueue_gate(gate, longest_gate_ns, way.stream()), "kernel launch (gate)");
      check(cudaEventRecord(way.start().get(), way.stream()), "cudaEventRecord");
      for (int i = 0; i < r.repeat.iterations; ++i) way.enqueue();
      check(cudaEventRecord(way.stop().get(), way.stream()), "cudaEventRecord");
    }
    *flag = 1;
    for (std::size_t w = 0; w < ways.size(); ++w) {
      synchronize(ways[w].stream());
      samples[w].push_back(between(ways[w].start(), ways[w].stop()) / r.repeat.iterations);
    }
  }
  CopyResult out;
  for (auto& s : samples) out.each.push_back(timing_of(std::move(s)));
  return out;
}

Timing Copies::chase(const ChaseRequest& r) {
  constexpr int loads = 1 << 14;
  constexpr std::size_t apart = 64;  // words: 256 bytes, so that no two links share a cache line or a sector
  check_gpu(r.gpu);
  const auto places = bytes(r.working_set) / (apart * sizeof(unsigned));
  if (places < 2) throw sim::InputError("a working set below 512 bytes is no chain");
  // One cycle through all places in random order (Sattolo's shuffle), the same in every run.
  std::vector<unsigned> order(places);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937_64 random{places};
  for (auto i = places - 1; i > 0; --i) std::swap(order[i], order[random() % i]);
  std::vector<unsigned> ring(places * apart);
  for (std::size_t i = 0; i < places; ++i) ring[i * apart] = order[i] * static_cast<unsigned>(apart);

  const OnDevice here(r.gpu);
  DeviceMemory device;
  HostMemory host;
  const unsigned* start = nullptr;
  const auto size = sim::Bytes{static_cast<std::int64_t>(ring.size() * sizeof(unsigned))};
  if (r.memory == host_memory) {
    host = allocate_host(size);
    std::ranges::copy(ring, static_cast<unsigned*>(host.get()));
    start = static_cast<const unsigned*>(host.get());
  } else {
    check_gpu(r.memory);
    set_access(r.gpu, r.memory, true);
    device = allocate(r.memory, size);
    check(cudaMemcpy(device.get(), ring.data(), bytes(size), cudaMemcpyHostToDevice), "cudaMemcpy");
    start = static_cast<const unsigned*>(device.get());
  }
  const auto at = allocate(r.gpu, sim::Bytes{256});
  const auto stream = make_stream(r.gpu);
  const auto begin = make_event(r.gpu), end = make_event(r.gpu);
  const auto run = [&] {
    check(enqueue_chase(start, static_cast<unsigned*>(at.get()), loads, stream.get()), "kernel launch (chase)");
  };
  for (int i = 0; i < std::max(r.repeat.warmup, 1); ++i) run();
  std::vector<sim::Time> samples;
  for (int round = 0; round < r.repeat.rounds; ++round) {
    check(cudaEventRecord(begin.get(), stream.get()), "cudaEventRecord");
    for (int i = 0; i < r.repeat.iterations; ++i) run();
    check(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
    synchronize(stream.get());
    samples.push_back(between(begin, end) / (static_cast<std::int64_t>(r.repeat.iterations) * loads));
  }
  return timing_of(std::move(samples));
}

Timing Copies::launch(const LaunchRequest& r) {
  struct Gpu {
    int device;
    Stream stream;
    GraphExec graph;
  };
  std::vector<Gpu> gpus;
  for (const int g : r.gpus) {
    check_gpu(g);
    const OnDevice here(g);
    gpus.push_back({g, make_stream(g), {}});
    if (r.kind == LaunchKind::kernel) continue;
    const auto& stream = gpus.back().stream;
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    check(enqueue_empty(stream.get()), "kernel launch (empty, captured)");
    gpus.back().graph = end_capture(stream);
  }
  const auto iterate = [&](int times) {
    for (int i = 0; i < times; ++i) {
      for (const auto& gpu : gpus) {
        check(cudaSetDevice(gpu.device), "cudaSetDevice");
        if (r.kind == LaunchKind::graph)
          check(cudaGraphLaunch(gpu.graph.get(), gpu.stream.get()), "cudaGraphLaunch");
        else
          check(enqueue_empty(gpu.stream.get()), "kernel launch (empty)");
      }
    }
    for (const auto& gpu : gpus) synchronize(gpu.stream.get());
  };
  iterate(std::max(r.repeat.warmup, 1));
  std::vector<sim::Time> samples;
  for (int round = 0; round < r.repeat.rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    iterate(r.repeat.iterations);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    samples.push_back(sim::Time::from_us(took.count() / r.repeat.iterations));
  }
  return timing_of(std::move(samples));
}

}  // namespace linkcast::calibration::cuda
