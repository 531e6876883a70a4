#include "linkcast/sim/packet/control/dcqcn.hpp"

#include <algorithm>
#include <limits>

namespace linkcast::sim::packet::dcqcn {
namespace {

// The rates of mlx5 are whole Mb/s: a limiter that is as near to the line is at it. Else it would get there only when
// the halves of what is missing are lost in rounding, some 50 periods later.
constexpr double resolution = bytes_per_ps(megabits(1));
constexpr std::int32_t most_stages = std::numeric_limits<std::int32_t>::max();

double power(double base, std::int64_t n) {
  double result = 1;
  for (; n > 0 && result > 0; n >>= 1, base *= base) {
    if (n & 1) result *= base;
  }
  return result;
}

}  // namespace

Settings Settings::paper2015() {
  Settings s;
  s.rpg_time_reset = Time::microseconds(55);
  s.rpg_byte_reset = Bytes{10'000'000};
  s.rpg_threshold = 5;
  s.rpg_ai_rate = megabits(40);
  s.rpg_hai_rate = megabits(400);
  s.rpg_min_dec_fac = 0;
  s.dce_tcp_g = 4;  // 1/256
  s.dce_tcp_g_reading = GainReading::new_weight;
  s.dce_tcp_rtt = s.rate_reduce_monitor_period = s.min_time_between_cnps = Time::microseconds(50);
  s.initial_alpha_value = 1024;
  s.clamp_tgt_rate = true;
  s.first_cnp_once = true;
  return s;
}

Settings Settings::hpcc_repo(Rate line) {
  const double share = line.GBps() * 8 / 25;  // of 25 Gb/s
  Settings s;
  s.rpg_byte_reset = Bytes{0};
  s.rpg_ai_rate = megabits(5) * share;
  s.rpg_hai_rate = megabits(50) * share;
  s.rpg_min_rate = megabits(100);
  s.rpg_min_dec_fac = 0;
  s.dce_tcp_g = 4;
  s.dce_tcp_g_reading = GainReading::new_weight;
  s.initial_alpha_value = 1024;
  s.min_time_between_cnps = Time{};
  s.first_cnp_once = true;
  return s;
}

Flow::Flow(const Settings& settings, const Path& path)
    : settings_{&settings}, line_{bytes_per_ps(path.line)}, rate_{line_}, target_{line_} {}

double Flow::top() const {
  const auto most = settings_->rpg_max_rate;
  return most > Rate{} ? std::min(bytes_per_ps(most), line_) : line_;
}

void Flow::set_rate(double rate) {
  rate_ = rate;
  ps_per_byte_ = 1 / rate;
}

void Flow::release() {
  limited_ = false;
  rate_ = target_ = line_;
  ps_per_byte_ = 0;
  next_ = next_increase_ = cut_at_ = Time::max();
}

void Flow::limit(Time now) {
  const auto& s = *settings_;
  limited_ = true;
  target_ = top();
  set_rate(top());
  if (!had_cnp_ || !s.first_cnp_once) {
    alpha_ = s.initial_alpha_value / 1024.0;
    next_alpha_ = now + s.dce_tcp_rtt;
    cnp_seen_ = false;
  }
  had_cnp_ = true;
  last_cut_ = now - s.rate_reduce_monitor_period;
}

void Flow::notified(Time now) {
  if (limited_) catch_up(now);
  const bool first = !limited_;
  if (first) limit(now);
  update_alpha(now);
  const auto& s = *settings_;
  if (first && s.rate_to_set_on_first_cnp > Rate{}) {
    cut(now);  // for all that it sets besides the rate
    target_ = std::min(bytes_per_ps(s.rate_to_set_on_first_cnp), top());
    set_rate(target_);
  } else if (now >= last_cut_ + s.rate_reduce_monitor_period) {
    cut(now);
  } else if (cut_at_ == Time::max()) {
    cut_at_ = last_cut_ + s.rate_reduce_monitor_period;
    next_ = std::min(next_, cut_at_);
  }
  cnp_seen_ = true;
}

void Flow::cut(Time at) {
  const auto& s = *settings_;
  update_alpha(at);
  if (s.clamp_tgt_rate || byte_stage_ > 0 || (s.clamp_tgt_rate_after_time_inc && time_stage_ > 0)) target_ = rate_;
  const double least = std::min(bytes_per_ps(s.rpg_min_rate), rate_);
  const double kept =
      std::max(1 - alpha_ * 1024 / static_cast<double>(std::int64_t{1} << s.rpg_gd), s.rpg_min_dec_fac / 100.0);
  set_rate(std::max(least, rate_ * kept));
  time_stage_ = byte_stage_ = 0;
  bytes_left_ = s.rpg_byte_reset.count() > 0 ? s.rpg_byte_reset.count() : std::numeric_limits<std::int64_t>::max();
  next_increase_ = s.rpg_time_reset > Time{} ? at + s.rpg_time_reset : Time::max();
  last_cut_ = at;
  cut_at_ = Time::max();
  next_ = next_increase_;
}

void Flow::increase() {
  const auto& s = *settings_;
  const auto f = s.rpg_threshold;
  if (std::max(time_stage_, byte_stage_) > f) {
    const bool counted = s.rpg_byte_reset.count() > 0;
    const bool hyper = counted ? std::min(time_stage_, byte_stage_) > f : time_stage_ > f + 1;
    target_ = std::min(target_ + bytes_per_ps(hyper ? s.rpg_hai_rate : s.rpg_ai_rate), top());
  }
  set_rate((rate_ + target_) / 2);
  if (rate_ >= top() - resolution) release();
}

void Flow::count_bytes() {
  while (limited_ && bytes_left_ <= 0) {
    bytes_left_ += settings_->rpg_byte_reset.count();
    if (byte_stage_ < most_stages) ++byte_stage_;
    increase();
  }
}

void Flow::step() {
  if (cut_at_ <= next_increase_) {
    cut(cut_at_);
    return;
  }
  next_increase_ += settings_->rpg_time_reset;
  next_ = std::min(next_increase_, cut_at_);
  if (time_stage_ < most_stages) ++time_stage_;
  increase();
}

void Flow::catch_up(Time now) {
  while (next_ <= now) {
    const double rate = rate_, target = target_;
    step();
    // Rates of increase that are zero leave nothing to do: all later periods would do the same.
    if (rate_ == rate && target_ == target && time_stage_ > settings_->rpg_threshold + 1 &&
        next_ <= std::min(now, cut_at_)) {
      next_increase_ += settings_->rpg_time_reset * ((now - next_increase_).ps() / settings_->rpg_time_reset.ps());
      next_ = std::min(next_increase_, cut_at_);
    }
  }
}

void Flow::update_alpha(Time now) {
  if (now < next_alpha_) return;
  const auto& s = *settings_;
  const auto periods = 1 + (now - next_alpha_).ps() / s.dce_tcp_rtt.ps();
  const double g = s.dce_tcp_g / 1024.0;
  const double keep = s.dce_tcp_g_reading == GainReading::old_weight ? g : 1 - g;
  alpha_ = keep * alpha_ + (cnp_seen_ ? 1 - keep : 0);
  cnp_seen_ = false;
  alpha_ *= power(keep, periods - 1);
  next_alpha_ += s.dce_tcp_rtt * periods;
}

Time Flow::long_gap(Time now, Bytes size) const {
  Flow ahead = *this;
  double at = to_double(now), left = to_double(size);
  while (ahead.limited_ && at + left * ahead.ps_per_byte_ > to_double(ahead.next_)) {
    left -= (to_double(ahead.next_) - at) * ahead.rate_;
    at = to_double(ahead.next_);
    ahead.step();
  }
  return gap_of(at - to_double(now) + std::max(left, 0.0) / ahead.rate_);
}

Rate Flow::rate(Time now) {
  catch_up(now);
  return to_rate(rate_);
}

double Flow::alpha(Time now) {
  if (!had_cnp_) return 0;
  catch_up(now);
  update_alpha(now);
  return alpha_;
}

}  // namespace linkcast::sim::packet::dcqcn
