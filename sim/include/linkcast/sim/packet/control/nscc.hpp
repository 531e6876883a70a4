// NSCC, the sender's congestion control of Ultra Ethernet (RUD): a window from marks and queueing delay.
//
// With d = RTT - base RTT of a packet, target Q, and a = bandwidth-delay product / that of 100 Gb/s and 12 us:
//   not marked, d <  Q       I += alpha acked (Q - d), alpha = 4 MSS a (Q / 12 us) / Q; but if d < 1 us for all of a
//                            window: fast increase, W += 0.25 a acked, until it is not
//   not marked, d >= Q       I += 5 MSS a acked
//   marked, d >= Q           W <- W max(1 - gamma (D - Q) / D, 1/2), once an RTT, if the mean delay D > Q
//   marked, d <  Q           nothing (the sender takes another path)
//   every RTT or 8 packets   W += I / W, I = 0; W += 0.15 MSS a if an RTT has passed since the last time
//   a loss                   W -= its bytes, and quick adapt is due
//   quick adapt              where a period of RTT + Q ends, if it is due or d > 4 Q, and fewer bytes than 1/2^qa_gate
//   of
//                            the largest window were acknowledged in it: W = those bytes, and the feedback of what was
//                            under way then is ignored where it is marked or a loss
//   D                        mean of d with weight 1/80; unmarked packets with d > Q count as base RTT / 4
// The window is between a packet and max_window x bandwidth-delay product, where it starts.
// Source: uec.cpp of the Ultra Ethernet consortium's uet-htsim (commit 40ccb05). There base RTTs are learned.
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::nscc {

struct Settings {
  bool trimming = true;  // switches trim: Q is 0.75 base RTT, else 1
  Time target;           // Q; zero: by `trimming`
  double gamma = 0.8, max_cut = 0.5;
  double max_window = 1.5;  // bandwidth-delay products
  double delay_weight = 0.0125;
  bool quick_adapt = true;
  int qa_gate = 3;
  double qa_threshold = 4;                        // targets
  double proportional = 4, fair = 5, eta = 0.15;  // x MSS a
  double fast = 0.25;                             // x a
  Time idle_delay = Time::microseconds(1);        // less counts as none
  int adjust_packets = 8;
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
  Time target() const;
  Time mean_delay() const { return gap_of(mean_delay_); }

 private:
  bool quick_adapt(Time now, bool loss, bool skip, double delay);
  void fast_increase(double newly, double delay);
  void mean(double delay, bool marked);
  void adjust(Time now);
  double most() const;
  void bound();
  double scale() const;  // a

  const Settings* settings_;
  double line_;
  Time base_rtt_;
  std::uint32_t packet_;
  std::uint32_t in_flight_ = 0;  // as of the last acknowledgement
  double window_;
  double increase_ = 0;    // I
  double mean_delay_ = 0;  // D, ps
  double achieved_ = 0;    // bytes acknowledged in the quick adapt period
  float received_ = 0;     // bytes since the last adjustment
  float quiet_ = 0;        // bytes in a row without delay
  float ignored_ = 0, to_ignore_ = 0;
  Time qa_end_, last_cut_, last_adjust_;
  bool fast_ = false, qa_due_ = false, cut_ = false;
};
static_assert(sizeof(Flow) <= 128);

}  // namespace linkcast::sim::packet::nscc
