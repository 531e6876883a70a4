// Long work that Ctrl-C ends and a bar follows: it runs on a thread of its own, while the calling one looks for signals
// and tells how far it is. Knows no work.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <optional>
#include <stop_token>

namespace linkcast::bindings {

struct Watch {
  std::stop_source stop;
  std::atomic<std::int64_t> done{0}, all{0};
};

/// `work(watch)`, which ends early when asked to. `progress(done, all)`: a callable, or None. Called with the
/// interpreter lock. Throws what the work throws, and KeyboardInterrupt.
template <class Work>
auto watched(const pybind11::object& progress, const Work& work) {
  constexpr auto between_looks = std::chrono::milliseconds{50};
  Watch watch;
  std::exception_ptr interruption;  // raised by a signal's handler, or by the bar
  auto future = std::async(std::launch::async, [&] { return work(watch); });
  {
    pybind11::gil_scoped_release unlocked;
    while (future.wait_for(between_looks) != std::future_status::ready) {
      if (interruption) continue;
      pybind11::gil_scoped_acquire locked;
      try {
        if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set{};
        if (!progress.is_none()) progress(watch.done.load(), watch.all.load());
      } catch (...) {
        interruption = std::current_exception();
        watch.stop.request_stop();
      }
    }
  }
  if (interruption) {
    future.wait();
    std::rethrow_exception(interruption);
  }
  auto out = future.get();
  if (!progress.is_none()) progress(watch.done.load(), watch.all.load());
  return out;
}

}  // namespace linkcast::bindings
