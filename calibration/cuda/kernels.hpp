// The device code of `calibrate measure`, as functions that enqueue it. Plain C++17: nvcc compiles it too. Every call
// returns what the launch said.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace linkcast::calibration::cuda {

inline constexpr int threads_per_block = 512;  // NCCL's, for Simple

cudaError_t enqueue_empty(cudaStream_t stream);
/// Holds a stream until `*flag` (mapped host memory) is not 0, at most `longest_ns`.
cudaError_t enqueue_gate(const int* flag, unsigned long long longest_ns, cudaStream_t stream);
/// `bytes`: a multiple of 16; buffers aligned to 16.
cudaError_t enqueue_copy(const void* from, void* to, std::size_t bytes, int blocks, cudaStream_t stream);
/// to = a + b, as floats.
cudaError_t enqueue_sum(const void* a, const void* b, void* to, std::size_t bytes, int blocks, cudaStream_t stream);
/// `loads` dependent loads: index = ring[index], from *at on; *at is where the next call begins.
cudaError_t enqueue_chase(const unsigned* ring, unsigned* at, int loads, cudaStream_t stream);

}  // namespace linkcast::calibration::cuda
