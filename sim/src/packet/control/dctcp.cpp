#include "linkcast/sim/packet/control/dctcp.hpp"

#include <algorithm>

namespace linkcast::sim::packet::dctcp {

Flow::Flow(const Settings& settings, const Path& path)
    : settings_{&settings},
      line_{bytes_per_ps(path.line)},
      packet_{to_double(path.packet)},
      base_rtt_{to_double(path.base_rtt)},
      window_{settings.initial_window > 0 ? settings.initial_window * packet_ : line_ * base_rtt_},
      rtt_{path.base_rtt} {
  window_ = std::max(window_, packet_);
}

void Flow::acked(const Ack& ack) {
  const double newly = to_double(ack.newly);
  const bool used = to_double(ack.in_flight) + newly + packet_ > window_;
  rtt_ = ack.rtt;
  acked_ += newly;
  if (ack.marked) marked_ += newly;
  if (ack.round) {
    if (acked_ > 0) alpha_ += settings_->g * (marked_ / acked_ - alpha_);
    acked_ = marked_ = 0;
  }
  if (ack.marked && may_cut(ack.now)) {
    window_ = std::max(packet_, window_ * (1 - alpha_ / 2));
    threshold_ = 0;
    next_cut_ = ack.now + ack.rtt;
  }
  if (window_ < threshold_) {
    window_ = std::min(window_ + newly, threshold_);
  } else if (ack.round && may_cut(ack.now) && used) {
    window_ += settings_->additive > Rate{} ? bytes_per_ps(settings_->additive) * base_rtt_ : packet_;
  }
}

void Flow::lost(Time now, Bytes) {
  if (!may_cut(now)) return;
  window_ = std::max(packet_, window_ / 2);
  threshold_ = 0;
  next_cut_ = now + rtt_;
}

void Flow::timed_out(Time now) {
  threshold_ = std::max(2 * packet_, window_ / 2);
  window_ = packet_;
  next_cut_ = now + rtt_;
}

Rate Flow::rate(Time) const { return to_rate(std::min(line_, window_ / base_rtt_)); }

}  // namespace linkcast::sim::packet::dctcp
