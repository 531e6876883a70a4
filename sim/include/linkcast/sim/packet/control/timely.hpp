// TIMELY (Mittal et al., SIGCOMM 2015): a rate from the gradient of the RTT.
//
// Once a round, with D the weighted mean of the RTT's changes, D <- (1 - alpha) D + alpha (rtt - previous), and the
// gradient G = D / base RTT:
//   rtt < t_low              R <- R + additive
//   rtt > t_high             R <- R (1 - beta (1 - t_high / rtt))
//   G <= 0                   R <- R + N additive, N = hai_factor from the hai_threshold-th such round in a row, else 1
//   else                     R <- R max(0, 1 - beta G)
// The paper acts on completions of 16 to 64 KB; once an RTT is the HPCC repository's way (rdma-hw.cc), as the
// constants.
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::timely {

struct Settings {
  double alpha = 0.875, beta = 0.8;
  Time t_low = Time::microseconds(50), t_high = Time::microseconds(500);
  Rate additive;  // zero: 10 Mb/s for each 10 Gb/s of line (HPCC's run.py; the paper's value at its 10 Gb/s)
  int hai_threshold = 5, hai_factor = 5;
  Rate min_rate = megabits(100);
};

class Flow {
 public:
  static constexpr bool every_ack = true, telemetry = false, notifications = false;

  Flow(const Settings& settings, const Path& path);  // the settings must outlive it

  Time sent(Time, Bytes size) { return rate_ >= line_ ? Time{} : gap_of(to_double(size) / rate_); }
  Bytes window() const { return no_window; }
  void acked(const Ack& ack);
  void notified(Time) {}
  void lost(Time, Bytes) {}
  void timed_out(Time) {}
  Rate rate(Time) const { return to_rate(rate_); }

 private:
  const Settings* settings_;
  double line_, rate_, base_rtt_;
  double change_ = 0;  // D, ps
  Time previous_;      // zero: none yet
  std::int32_t falling_ = 0;
};

}  // namespace linkcast::sim::packet::timely
