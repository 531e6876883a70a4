// A bar with the time that is left, on stderr where that is a terminal. Knows no command.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "log.hpp"

namespace linkcast::cli {

class Progress {
 public:
  Progress(Log& log, std::string what) : log_{log}, what_{std::move(what)} {}
  ~Progress() { log_.status({}); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void part(std::uint64_t done, std::uint64_t all);
  void count(std::int64_t done, const char* things);  // of nobody knows how many

 private:
  using Clock = std::chrono::steady_clock;
  bool due();
  Log& log_;
  std::string what_;
  Clock::time_point begun_ = Clock::now(), shown_{};
};

}  // namespace linkcast::cli
