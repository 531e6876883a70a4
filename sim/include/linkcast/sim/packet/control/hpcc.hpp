// HPCC (Li et al., SIGCOMM 2019): a window from the telemetry that switches write into packets.
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::hpcc {

struct Settings {
  double eta = 0.95;
  int max_stage = 5;
  Rate additive;  // zero: 10 Mb/s for each 25 Gb/s of line
  Rate min_rate = megabits(100);
};

class Flow {
 public:
  static constexpr bool every_ack = true, telemetry = true, notifications = false;

  Flow(const Settings& settings, const Path& path);
  Time sent(Time now, Bytes size);
  Bytes window() const;
  void acked(const Ack& ack);
  void notified(Time) {}
  void lost(Time now, Bytes size);
  void timed_out(Time now);
  Rate rate(Time now);
};

}  // namespace linkcast::sim::packet::hpcc
