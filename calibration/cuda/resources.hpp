// CUDA's things as C++ objects: made in the constructor, given back in the destructor, every call checked. Each belongs
// to the device that was current when it was made, and makes that device current where it must.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "linkcast/sim/units.hpp"

namespace linkcast::calibration::cuda {

/// Throws sim::InputError with the call's name and CUDA's own words.
void check(cudaError_t result, const char* call);

/// Makes a device current for a scope.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

/// What has one owner. `Traits::give_back(handle)` must not throw.
template <class Handle, void (*GiveBack)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_{handle} {}
  ~Owned() {
    if (handle_) GiveBack(handle_);
  }
  Owned(Owned&& o) noexcept : handle_{std::exchange(o.handle_, Handle{})} {}
  Owned& operator=(Owned&& o) noexcept {
    std::swap(handle_, o.handle_);
    return *this;
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_{};
};

namespace give_back {
inline void stream(cudaStream_t s) { cudaStreamDestroy(s); }
inline void event(cudaEvent_t e) { cudaEventDestroy(e); }
inline void graph(cudaGraph_t g) { cudaGraphDestroy(g); }
inline void graph_exec(cudaGraphExec_t g) { cudaGraphExecDestroy(g); }
inline void device_memory(void* p) { cudaFree(p); }
inline void host_memory(void* p) { cudaFreeHost(p); }
}  // namespace give_back

using Stream = Owned<cudaStream_t, give_back::stream>;
using Event = Owned<cudaEvent_t, give_back::event>;
using Graph = Owned<cudaGraph_t, give_back::graph>;
using GraphExec = Owned<cudaGraphExec_t, give_back::graph_exec>;
using DeviceMemory = Owned<void*, give_back::device_memory>;
using HostMemory = Owned<void*, give_back::host_memory>;

Stream make_stream(int device);
Event make_event(int device);
DeviceMemory allocate(int device, sim::Bytes size);
/// Pinned, mapped into every GPU's addresses; zeroed.
HostMemory allocate_host(sim::Bytes size);
/// What was captured on a stream since cudaStreamBeginCapture.
GraphExec end_capture(const Stream& stream);
sim::Time between(const Event& start, const Event& stop);

}  // namespace linkcast::calibration::cuda
