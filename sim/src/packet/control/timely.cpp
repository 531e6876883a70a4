#include "linkcast/sim/packet/control/timely.hpp"

#include <algorithm>

namespace linkcast::sim::packet::timely {

Flow::Flow(const Settings& settings, const Path& path)
    : settings_{&settings},
      line_{bytes_per_ps(path.line)},
      rate_{line_},
      base_rtt_{std::max(1.0, to_double(path.base_rtt))} {}

void Flow::acked(const Ack& ack) {
  if (!ack.round) return;
  const auto before = previous_;
  previous_ = ack.rtt;
  if (before == Time{}) return;
  const auto& s = *settings_;
  const double rtt = to_double(ack.rtt);
  change_ += s.alpha * (to_double(ack.rtt - before) - change_);
  const double gradient = change_ / base_rtt_;
  const double step = s.additive > Rate{} ? bytes_per_ps(s.additive) : line_ / 1000;
  if (ack.rtt < s.t_low) {
    rate_ += step;
  } else if (ack.rtt > s.t_high) {
    rate_ *= 1 - s.beta * (1 - to_double(s.t_high) / rtt);
    falling_ = 0;
  } else if (gradient <= 0) {
    falling_ = std::min(falling_ + 1, s.hai_threshold);
    rate_ += falling_ >= s.hai_threshold ? step * s.hai_factor : step;
  } else {
    rate_ *= std::max(0.0, 1 - s.beta * gradient);
    falling_ = 0;
  }
  rate_ = std::clamp(rate_, std::min(bytes_per_ps(s.min_rate), line_), line_);
}

}  // namespace linkcast::sim::packet::timely
