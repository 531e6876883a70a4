// HPCC (Li et al., SIGCOMM 2019): a window from the telemetry that switches write into packets.
//
// At every acknowledgement, over the hops i with the record before it, dt_i and B_i the link's rate, T the base RTT:
//   u_i = sent_i / (dt_i B_i) + min(q_i, q_i before) / (B_i T)
//   U <- (1 - t/T) U + (t/T) u, of the hop with the largest u, t = min(dt, T)
//   U >= eta or inc >= max_stage:  W = Wc eta / U + Wai, inc' = 0;   else W = Wc + Wai, inc' = inc + 1
// and once a round Wc <- W, inc <- inc'. Packets are paced at R = W / T. Wai is additive x T.
// Source of rule and constants: rdma-hw.cc (UpdateRateHp) and run.py of the HPCC repository.
// The packets of a flow have to take one way: records of other links than before say nothing.
#pragma once

#include <array>
#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::hpcc {

struct Settings {
  double eta = 0.95;
  int max_stage = 5;
  Rate additive;  // zero: 10 Mb/s for each 25 Gb/s of line
  Rate min_rate = megabits(100);
};

class Flow {
 public:
  static constexpr bool every_ack = true, telemetry = true, notifications = false;
  static constexpr std::size_t most_hops = 8;  // later ones are not looked at

  Flow(const Settings& settings, const Path& path);  // the settings must outlive it

  Time sent(Time, Bytes size) { return rate_ >= line_ ? Time{} : gap_of(to_double(size) / rate_); }
  /// Never less than a packet.
  Bytes window() const {
    return Bytes{static_cast<std::int64_t>(rate_ * base_rtt_ > packet_ ? rate_ * base_rtt_ : packet_)};
  }
  void acked(const Ack& ack);
  void notified(Time) {}
  void lost(Time, Bytes) {}
  void timed_out(Time) {}
  Rate rate(Time) const { return to_rate(rate_); }
  double utilisation() const { return u_; }

 private:
  struct Record {
    std::uint64_t sent_bytes = 0;
    Time at;
    std::uint32_t queue = 0;
  };

  const Settings* settings_;
  double line_, base_rtt_, packet_;
  double rate_, reference_;  // W / T, Wc / T
  double u_ = 1;             // as the repository starts
  std::int32_t stage_ = 0;
  std::uint32_t hops_ = 0;  // with a record
  std::array<Record, most_hops> records_;
};

}  // namespace linkcast::sim::packet::hpcc
