// Swift (Kumar et al., SIGCOMM 2020): a window from the end-to-end delay against a target.
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::swift {

struct Settings {
  double ai = 1, beta = 0.8, max_mdf = 0.5;
  Time base_target = Time::microseconds(20);
  Time per_hop;                                     // zero: base_target / 6.55
  double range = 5;                                 // of flow scaling, in base targets
  double fs_min_window = 0.1, fs_max_window = 100;  // packets
  double min_window = 0.1, max_window = 0;          // packets; zero: none
  int retransmit_reset = 5;                         // timeouts in a row
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

}  // namespace linkcast::sim::packet::swift
