// See resources.hpp.
#include "resources.hpp"

#include <fmt/format.h>

#include <cstring>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::calibration::cuda {

void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // else the next call would report it again
  throw sim::InputError(fmt::format("{} failed: {} ({})", call, cudaGetErrorString(result), cudaGetErrorName(result)),
                        result == cudaErrorMemoryAllocation ? "other programs on the GPU? nvidia-smi shows them"
                                                            : "nvidia-smi and the kernel's log (Xid) say more");
}

OnDevice::OnDevice(int device) {
  check(cudaGetDevice(&before_), "cudaGetDevice");
  check(cudaSetDevice(device), "cudaSetDevice");
}
OnDevice::~OnDevice() { cudaSetDevice(before_); }

Stream make_stream(int device) {
  const OnDevice on(device);
  cudaStream_t s = nullptr;
  check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return Stream{s};
}

Event make_event(int device) {
  const OnDevice on(device);
  cudaEvent_t e = nullptr;
  check(cudaEventCreate(&e), "cudaEventCreate");
  return Event{e};
}

DeviceMemory allocate(int device, sim::Bytes size) {
  const OnDevice on(device);
  void* p = nullptr;
  check(cudaMalloc(&p, static_cast<std::size_t>(size.count())), "cudaMalloc");
  DeviceMemory memory{p};
  check(cudaMemset(p, 0, static_cast<std::size_t>(size.count())), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return memory;
}

HostMemory allocate_host(sim::Bytes size) {
  void* p = nullptr;
  check(cudaHostAlloc(&p, static_cast<std::size_t>(size.count()), cudaHostAllocMapped | cudaHostAllocPortable),
        "cudaHostAlloc");
  std::memset(p, 0, static_cast<std::size_t>(size.count()));
  return HostMemory{p};
}

GraphExec end_capture(const Stream& stream) {
  cudaGraph_t g = nullptr;
  check(cudaStreamEndCapture(stream.get(), &g), "cudaStreamEndCapture");
  const Graph graph{g};
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph.get(), 0), "cudaGraphInstantiate");
  return GraphExec{exec};
}

sim::Time between(const Event& start, const Event& stop) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, start.get(), stop.get()), "cudaEventElapsedTime");
  return sim::Time::from_us(static_cast<double>(ms) * 1e3);
}

}  // namespace linkcast::calibration::cuda
