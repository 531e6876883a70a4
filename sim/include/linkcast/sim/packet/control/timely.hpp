// TIMELY (Mittal et al., SIGCOMM 2015): a rate from the gradient of the RTT.
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::timely {

struct Settings {
  double alpha = 0.875, beta = 0.8;
  Time t_low = Time::microseconds(50), t_high = Time::microseconds(500);
  Rate additive = megabits(10);
  int hai_threshold = 5;  // completions
  int hai_factor = 5;
  Rate min_rate = megabits(10);
};

class Flow {
 public:
  static constexpr bool every_ack = true, telemetry = false, notifications = false;

  Flow(const Settings& settings, const Path& path);
  Time sent(Time now, Bytes size);
  Bytes window() const;
  void acked(const Ack& ack);
  void notified(Time) {}
  void lost(Time now, Bytes size);
  void timed_out(Time now);
  Rate rate(Time now);
};

}  // namespace linkcast::sim::packet::timely
