// InfiniBand's congestion control (IBTA volume 1, annex A10): an index into a table of injection rate delays.
//
//   BECN                     CCTI <- min(CCTI + ccti_increase, ccti_limit); starts the timer if it does not run
//   every ccti_timer         CCTI <- CCTI - 1; the timer stops at ccti_min
//   after each packet        a delay of table[CCTI] times the time that the packet takes on the link
//
// The order of timer and increase is that of process_becn() in Linux's hfi1 driver, whose link delay is taken of the
// largest packet; here each packet's own counts, as in A10. When switches mark is theirs (threshold, marking rate).
#pragma once

#include <cstdint>
#include <vector>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::infiniband_cct {

/// Delays that grow with the square of the index: 7 i^2 / (95^2 x 0.218), whole packet times (entries with shift 0).
/// "mellanox default" of the table generator of LLNL's study (opensm-cc-conf-gen.rb). The first 17 entries are zero.
std::vector<double> quadratic_table(int entries = 128);
/// Entry i is i times `step`: the rate falls as 1 / (1 + step i).
std::vector<double> linear_table(int entries = 128, double step = 1);

struct Settings {
  std::vector<double> table = quadratic_table();  // multiplier / 2^shift of each entry; not empty
  int ccti_increase = 1;                          // Mellanox OFED's congestion control manager
  int ccti_min = 0;                               // likewise
  int ccti_limit = 127;                           // the last of 128 entries; no more than the table has
  /// In 1.024 us. The manager works it out from the number of nodes by an unpublished rule and the LLNL study swept 2
  /// to 8192; 150 is what the measurements of Gran et al. (IPDPS 2010) are remembered to use. Sweep it where it
  /// matters.
  int ccti_timer = 150;
};

class Flow {
 public:
  static constexpr bool every_ack = false, telemetry = false, notifications = true;

  Flow(const Settings& settings, const Path& path);  // the settings must outlive it

  Time sent(Time now, Bytes size) {
    if (delay_ == 0) return {};  // the timer can only lower it
    catch_up(now);
    return delay_ == 0 ? Time{} : gap_of(to_double(size) * ps_per_byte_ * (1 + delay_));
  }
  Bytes window() const { return no_window; }
  void acked(const Ack&) {}
  void notified(Time now);
  void lost(Time, Bytes) {}
  void timed_out(Time) {}
  Rate rate(Time now);
  int ccti(Time now);

 private:
  void catch_up(Time now) {
    if (now >= next_) decrease(now);
  }
  void decrease(Time now);
  void set_index(std::int32_t index);

  const Settings* settings_;
  double ps_per_byte_;  // of the line
  double delay_ = 0;
  Time next_ = Time::max();  // when the timer fires
  std::int32_t index_ = 0;
};

}  // namespace linkcast::sim::packet::infiniband_cct
