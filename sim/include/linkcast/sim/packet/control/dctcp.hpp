// DCTCP (Alizadeh et al., SIGCOMM 2010): a window cut in proportion to the share of marked bytes.
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::dctcp {

struct Settings {
  double g = 1.0 / 16;
  Rate additive = megabits(615);  // per round; as window: this times the base RTT
  double min_window = 1;          // packets
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

}  // namespace linkcast::sim::packet::dctcp
