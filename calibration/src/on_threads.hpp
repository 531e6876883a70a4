// Independent work over a number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace linkcast::calibration {

/// Runs `work(i)` for i in [0, n) on a number of threads. The first exception by index is thrown when all have ended.
template <class Work>
void on_threads(std::size_t n, int threads, const Work& work) {
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(threads), n);
  std::vector<std::exception_ptr> failures(n);
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (auto i = next++; i < n; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t t = 1; t < count; ++t) pool.emplace_back(run);
  run();
  for (auto& thread : pool) thread.join();
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace linkcast::calibration
