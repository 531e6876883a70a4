// Swift (Kumar et al., SIGCOMM 2020): a window from the end-to-end delay against a target.
//
//   target = base_target + hops x per_hop + clamp(A / sqrt(W) + B, 0, range), W in packets, with A and B so that the
//            last term is `range` at fs_min_window and 0 at fs_max_window (flows with small windows wait for more)
//   delay < target           W <- W + ai x acked / W (in packets; W >= 1), else W <- W + ai x acked
//   else, once an RTT        W <- W max(1 - beta (delay - target) / delay, 1 - max_mdf)
//   a loss                   W <- W (1 - max_mdf), once an RTT; so do timeouts, and from the retransmit_reset-th in a
//                            row it is min_window
// Below one packet the window is a pace: one packet each RTT / W. The delay is the packet's RTT, as in the source of
// the constants: swift.cpp of csg-htsim, whose authors call many of them guesses (the paper does not give them).
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::swift {

struct Settings {
  double ai = 1, beta = 0.8, max_mdf = 0.5;
  Time base_target = Time::microseconds(20);
  Time per_hop;                                     // zero: base_target / 6.55
  double range = 5;                                 // in base targets
  double fs_min_window = 0.1, fs_max_window = 100;  // packets
  double min_window = 0.1, max_window = 1000;       // packets
  double initial_window = 0;                        // packets; zero: line rate x base RTT
  int retransmit_reset = 5;
};

class Flow {
 public:
  static constexpr bool every_ack = true, telemetry = false, notifications = false;

  Flow(const Settings& settings, const Path& path);  // the settings must outlive it

  Time sent(Time, Bytes size) { return window_ >= 1 ? Time{} : gap_of(rtt_ * to_double(size) / (packet_ * window_)); }
  /// Never less than a packet: below, sent() spaces them.
  Bytes window() const { return Bytes{static_cast<std::int64_t>(packet_ * (window_ > 1 ? window_ : 1.0))}; }
  void acked(const Ack& ack);
  void notified(Time) {}
  void lost(Time now, Bytes size);
  void timed_out(Time now);
  Rate rate(Time) const;  // the window's
  Time target() const;

 private:
  void reduce(Time now, double factor);

  const Settings* settings_;
  double line_, packet_, base_rtt_;
  double window_;  // packets
  double rtt_;     // smoothed, ps
  Time fixed_;     // part of the target
  Time last_cut_;
  std::int32_t timeouts_ = 0;
  bool cut_ = false;  // last_cut_ is one
};
static_assert(sizeof(Flow) <= 128);

}  // namespace linkcast::sim::packet::swift
