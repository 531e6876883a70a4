// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257): a window cut in proportion to the share of marked bytes.
//
//   every round              a <- (1 - g) a + g F, F the share of bytes whose acknowledgement was marked
//   a mark                   W <- W (1 - a/2), once an RTT
//   a round without a cut    W <- W + additive x base RTT
//   a loss                   W <- W / 2, once an RTT; a timeout: one packet, then slow start to half of what it was
// It starts at the path's bandwidth-delay product, as RDMA transports do, and grows only while the window is used.
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::dctcp {

struct Settings {
  double g = 1.0 / 16;            // both papers and RFC
  Rate additive = megabits(615);  // one packet of 1000 B in an RTT of 13 us (HPCC repository); zero: a packet a round
  double initial_window = 0;      // packets; zero: line rate x base RTT
};

class Flow {
 public:
  static constexpr bool every_ack = true, telemetry = false, notifications = false;

  Flow(const Settings& settings, const Path& path);  // the settings must outlive it

  Time sent(Time, Bytes) { return {}; }
  Bytes window() const { return Bytes{static_cast<std::int64_t>(window_)}; }
  void acked(const Ack& ack);
  void notified(Time) {}
  void lost(Time now, Bytes size);
  void timed_out(Time now);
  Rate rate(Time) const;  // the window's
  double alpha() const { return alpha_; }

 private:
  bool may_cut(Time now) const { return now >= next_cut_; }

  const Settings* settings_;
  double line_, packet_, base_rtt_;
  double window_, threshold_ = 0;  // bytes; below the threshold: slow start
  double alpha_ = 1;               // RFC 8257, 4.2
  double acked_ = 0, marked_ = 0;  // bytes, in this round
  Time rtt_, next_cut_;
};
static_assert(sizeof(Flow) <= 128);

}  // namespace linkcast::sim::packet::dctcp
