// DCQCN: the rate control of RoCE NICs (Zhu et al., SIGCOMM 2015), with the parameters of mlx5 firmware by their names.
#pragma once

#include <cstdint>

#include "linkcast/sim/packet/control/pace.hpp"

namespace linkcast::sim::packet::dcqcn {

/// dce_tcp_g is in 1/1024. The help text of mlxconfig calls it the weight of the new sample; its default of 1019 makes
/// sense as the weight of the old value (5/1024 for the new one, near the paper's 1/256).
enum class GainReading : std::uint8_t { old_weight, new_weight };

struct Settings {
  Time rpg_time_reset = Time::microseconds(300);
  Bytes rpg_byte_reset{32767};  // zero: no byte counter
  int rpg_threshold = 1;
  Rate rpg_ai_rate = megabits(5), rpg_hai_rate = megabits(50);
  Rate rpg_min_rate = megabits(1), rpg_max_rate;  // zero: the port's
  int rpg_gd = 11;
  int rpg_min_dec_fac = 50;  // per cent
  int dce_tcp_g = 1019;
  GainReading dce_tcp_g_reading = GainReading::old_weight;
  Time dce_tcp_rtt = Time::microseconds(1);
  Time rate_reduce_monitor_period = Time::microseconds(4);
  int initial_alpha_value = 1023;
  Time min_time_between_cnps = Time::microseconds(4);
  bool clamp_tgt_rate = false, clamp_tgt_rate_after_time_inc = true;
  Rate rate_to_set_on_first_cnp;  // zero: as it is

  static Settings mlx5() { return {}; }
  static Settings paper2015();
  static Settings hpcc_repo(Rate line);
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

}  // namespace linkcast::sim::packet::dcqcn
