// InfiniBand's congestion control (IBTA volume 1, annex A10): an index into a table of injection rate delays.
#pragma once

#include <cstdint>
#include <vector>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::infiniband_cct {

struct Settings {
  std::vector<double> table;  // delay after a packet, in times of its own; empty: `entries` of them, `step` more each
  int entries = 128;
  double step = 1;
  int ccti_increase = 1;
  int ccti_min = 0;
  int ccti_limit = 127;
  int ccti_timer = 150;  // of 1.024 us
};

class Flow {
 public:
  static constexpr bool every_ack = false, telemetry = false, notifications = true;

  Flow(const Settings& settings, const Path& path);
  Time sent(Time now, Bytes size);
  Bytes window() const { return no_window; }
  void acked(const Ack&) {}
  void notified(Time now);
  void lost(Time, Bytes) {}
  void timed_out(Time) {}
  Rate rate(Time now);
};

}  // namespace linkcast::sim::packet::infiniband_cct
