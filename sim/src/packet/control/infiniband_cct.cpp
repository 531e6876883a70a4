#include "linkcast/sim/packet/control/infiniband_cct.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::sim::packet::infiniband_cct {
namespace {

Time period(const Settings& s) { return Time::nanoseconds(1024) * s.ccti_timer; }

}  // namespace

std::vector<double> quadratic_table(int entries) {
  std::vector<double> table;
  for (int i = 0; i < entries; ++i) table.push_back(std::floor(7.0 * i * i / (95.0 * 95.0) / 0.218));
  return table;
}

std::vector<double> linear_table(int entries, double step) {
  std::vector<double> table;
  for (int i = 0; i < entries; ++i) table.push_back(step * i);
  return table;
}

Flow::Flow(const Settings& settings, const Path& path)
    : settings_{&settings}, ps_per_byte_{1 / bytes_per_ps(path.line)} {
  set_index(settings.ccti_min);
}

void Flow::set_index(std::int32_t index) {
  const auto last = static_cast<std::int32_t>(settings_->table.size()) - 1;
  index_ = std::clamp(index, 0, std::min(settings_->ccti_limit, last));
  delay_ = settings_->table[static_cast<std::size_t>(index_)];
}

void Flow::decrease(Time now) {
  const auto each = period(*settings_);
  const auto times = std::min<std::int64_t>(1 + (now - next_).ps() / each.ps(), index_ - settings_->ccti_min);
  set_index(index_ - static_cast<std::int32_t>(times));
  next_ = index_ > settings_->ccti_min ? next_ + each * times : Time::max();
}

void Flow::notified(Time now) {
  catch_up(now);
  set_index(index_ + settings_->ccti_increase);
  if (next_ == Time::max() && settings_->ccti_timer > 0 && index_ > settings_->ccti_min)
    next_ = now + period(*settings_);
}

Rate Flow::rate(Time now) {
  catch_up(now);
  return to_rate(1 / (ps_per_byte_ * (1 + delay_)));
}

int Flow::ccti(Time now) {
  catch_up(now);
  return index_;
}

}  // namespace linkcast::sim::packet::infiniband_cct
