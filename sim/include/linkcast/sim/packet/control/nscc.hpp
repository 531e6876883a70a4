// NSCC, the sender's congestion control of Ultra Ethernet: a window from marks and delay.
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::nscc {

struct Settings {
  bool trimming = true;  // switches trim: target delay 0.75 RTT, else 1 RTT
  Time target;           // zero: from trimming
  double gamma = 0.8, max_window = 1.5;
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

}  // namespace linkcast::sim::packet::nscc
