#include "linkcast/sim/packet/control/swift.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::sim::packet::swift {

Flow::Flow(const Settings& settings, const Path& path)
    : settings_{&settings},
      line_{bytes_per_ps(path.line)},
      packet_{to_double(path.packet)},
      base_rtt_{to_double(path.base_rtt)},
      window_{settings.initial_window > 0 ? settings.initial_window : line_ * base_rtt_ / packet_},
      rtt_{base_rtt_} {
  window_ = std::clamp(window_, settings.min_window, settings.max_window);
  const double base = to_double(settings.base_target);
  const double hop = settings.per_hop > Time{} ? to_double(settings.per_hop) : base / 6.55;
  fixed_ = gap_of(base + path.hops * hop);
}

Time Flow::target() const {
  const auto& s = *settings_;
  const double range = s.range * to_double(s.base_target);
  const double a = range / (1 / std::sqrt(s.fs_min_window) - 1 / std::sqrt(s.fs_max_window));
  const double scaled = a / std::sqrt(window_) - a / std::sqrt(s.fs_max_window);
  return fixed_ + gap_of(std::clamp(scaled, 0.0, range));
}

void Flow::reduce(Time now, double factor) {
  const double before = window_;
  window_ = std::max(window_ * factor, settings_->min_window);
  if (window_ < before) {
    last_cut_ = now;
    cut_ = true;
  }
}

void Flow::acked(const Ack& ack) {
  const auto& s = *settings_;
  const bool may_cut = !cut_ || to_double(ack.now - last_cut_) >= rtt_;
  rtt_ += (to_double(ack.rtt) - rtt_) / 8;
  timeouts_ = 0;
  const double packets = to_double(ack.newly) / packet_;
  const auto wanted = target();
  if (ack.rtt < wanted) {
    window_ = std::min(window_ + s.ai * packets / std::max(window_, 1.0), s.max_window);
  } else if (may_cut) {
    const double over = to_double(ack.rtt - wanted) / to_double(ack.rtt);
    reduce(ack.now, std::max(1 - s.beta * over, 1 - s.max_mdf));
  }
}

void Flow::lost(Time now, Bytes) {
  if (!cut_ || to_double(now - last_cut_) >= rtt_) reduce(now, 1 - settings_->max_mdf);
}

void Flow::timed_out(Time now) {
  if (++timeouts_ >= settings_->retransmit_reset) {
    reduce(now, 0);
  } else {
    lost(now, Bytes{});
  }
}

Rate Flow::rate(Time) const { return to_rate(std::min(line_, window_ * packet_ / base_rtt_)); }

}  // namespace linkcast::sim::packet::swift
