// DCQCN: the rate control of RoCE NICs (Zhu et al., SIGCOMM 2015), with the parameters of mlx5 firmware by their names.
//
// State of a flow: rate R, target T, congestion estimate a, stages t (timer) and b (byte counter).
//   every dce_tcp_rtt        a <- (1 - g) a + g [a CNP came since the last time]
//   CNP                      T <- R (if clamped, see below), R <- R max(1 - a/2, rpg_min_dec_fac), t = b = 0;
//                            at most once every rate_reduce_monitor_period: one that comes earlier waits for its end
//   every rpg_time_reset     t += 1, increase
//   every rpg_byte_reset     b += 1, increase
//   increase                 max(t, b) <= F: fast recovery; min(t, b) > F: T += rpg_hai_rate; else T += rpg_ai_rate;
//                            then R <- (R + T) / 2; F is rpg_threshold
// A flow at the line has no rate limiter: nothing is kept up to date for it. Its next CNP is a first one again.
//
// Sources: the paper, section 3; help texts of mlxconfig (mstflint, tools_layouts "open_roce_cc_ecn"); Mellanox
// community DOC-2790 "DCQCN parameters"; rdma-hw.cc of the HPCC repository ("Mellanox's version of DCQCN"), from which
// is what follows where the byte counter is off: one additive increase, then hyper increase.
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::dcqcn {

/// What dce_tcp_g / 1024 weighs in the update of a. DOC-2790 (version 19) writes a <- G/1024 a + (1 - G/1024): the old
/// value; then the default of 1019 is g = 1/205, near the paper's 1/256. The help text of mlxconfig writes it the other
/// way round, with its own older default of 64: then 1019 is g = 0.995 and a forgets all in a microsecond.
enum class GainReading : std::uint8_t { old_weight, new_weight };

/// Defaults: those of mlx5 (mlxconfig dumps). Times and sizes are positive unless zero has a meaning here.
struct Settings {
  Time rpg_time_reset = Time::microseconds(300);  // zero: no timer
  /// The firmware's number is 32767, "in bytes" by its help. But its field has 15 bits and the default of 802.1Qau,
  /// which the help gives as 150, is 150,000 B: the number is taken to be in units of 1000 B. Were it bytes, a 400 Gb/s
  /// flow would have an increase every 0.7 us and the timer would never matter.
  Bytes rpg_byte_reset{32'767'000};  // zero: no byte counter
  int rpg_threshold = 1;
  Rate rpg_ai_rate = megabits(5), rpg_hai_rate = megabits(50);
  Rate rpg_min_rate = megabits(1);
  Rate rpg_max_rate;         // where the limiter lets go; zero: the port's rate
  int rpg_gd = 11;           // R (1 - a / 2^rpg_gd) with a in 1/1024: 11 is a/2
  int rpg_min_dec_fac = 50;  // per cent of R that a cut leaves at least
  int dce_tcp_g = 1019;      // in 1/1024
  GainReading dce_tcp_g_reading = GainReading::old_weight;
  Time dce_tcp_rtt = Time::microseconds(1);
  Time rate_reduce_monitor_period = Time::microseconds(4);
  int initial_alpha_value = 1023;                      // in 1/1024
  Time min_time_between_cnps = Time::microseconds(4);  // the receiver's; 0, 2 or 4 in public dumps
  bool clamp_tgt_rate = false;                         // T <- R at every cut; else only if b > 0,
  bool clamp_tgt_rate_after_time_inc = true;           // or also if t > 0
  Rate rate_to_set_on_first_cnp;                       // R and T instead of a cut; zero: off
  /// The estimate starts once in a flow's life (HPCC repository), not whenever a CNP finds the flow at the line.
  bool first_cnp_once = false;

  static Settings mlx5() { return {}; }
  /// The paper's values, for its 40 Gb/s. Hyper increase: ten times the additive one, the ratio of mlx5.
  static Settings paper2015();
  /// The HPCC repository's configuration, scaled with the line as its scripts do.
  static Settings hpcc_repo(Rate line);
};

class Flow {
 public:
  static constexpr bool every_ack = false, telemetry = false, notifications = true;

  Flow(const Settings& settings, const Path& path);  // the settings must outlive it

  /// Zero at the line: the port is what limits. The gap stands once it is given; where it is so long that timers fall
  /// into it, the rate that rises meanwhile counts.
  Time sent(Time now, Bytes size) {
    if (!limited_) return {};
    return sent_limited(now, size);
  }
  Bytes window() const { return no_window; }
  void acked(const Ack&) {}
  void notified(Time now);
  void lost(Time, Bytes) {}
  void timed_out(Time) {}
  Rate rate(Time now);

  // For tests and statistics, as of the last call.
  double alpha(Time now);
  Rate target() const { return to_rate(target_); }

 private:
  Time sent_limited(Time now, Bytes size) {
    if (now >= next_) {
      catch_up(now);
      if (!limited_) return {};
    }
    bytes_left_ -= size.count();
    if (bytes_left_ <= 0) count_bytes();
    const double gap = to_double(size) * ps_per_byte_;
    if (to_double(now) + gap > to_double(next_)) return long_gap(now, size);
    return gap_of(gap);
  }
  void limit(Time now);
  void release();
  void cut(Time at);
  void increase();
  void count_bytes();
  void step();                  // the timer that is due at next_
  void catch_up(Time now);      // all timers up to and including now
  void update_alpha(Time now);  // likewise
  Time long_gap(Time now, Bytes size) const;
  void set_rate(double rate);
  double top() const;  // where the limiter lets go

  const Settings* settings_;
  double line_;  // bytes per ps, as all rates here
  double rate_, target_;
  double ps_per_byte_ = 0;
  double alpha_ = 0;
  Time next_ = Time::max();  // the earlier of the next two
  Time next_increase_ = Time::max(), cut_at_ = Time::max();
  Time next_alpha_, last_cut_;
  std::int64_t bytes_left_ = 0;
  std::int32_t time_stage_ = 0, byte_stage_ = 0;
  bool limited_ = false, cnp_seen_ = false, had_cnp_ = false;
};
static_assert(sizeof(Flow) <= 128);

}  // namespace linkcast::sim::packet::dcqcn
