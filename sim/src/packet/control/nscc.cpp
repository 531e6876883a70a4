#include "linkcast/sim/packet/control/nscc.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::sim::packet::nscc {
namespace {

constexpr double reference_rtt = to_double(Time::microseconds(12));
constexpr double reference_bytes = bytes_per_ps(megabits(100'000)) * reference_rtt;

}  // namespace

Flow::Flow(const Settings& settings, const Path& path)
    : settings_{&settings},
      line_{bytes_per_ps(path.line)},
      base_rtt_{path.base_rtt},
      packet_{static_cast<std::uint32_t>(path.packet.count())} {
  window_ = most();
}

Time Flow::target() const {
  if (settings_->target > Time{}) return settings_->target;
  return settings_->trimming ? base_rtt_ * 3 / 4 : base_rtt_;
}

double Flow::most() const { return std::max<double>(packet_, settings_->max_window * line_ * to_double(base_rtt_)); }

double Flow::scale() const { return line_ * to_double(base_rtt_) / reference_bytes; }

void Flow::bound() { window_ = std::clamp<double>(window_, packet_, most()); }

void Flow::mean(double delay, bool marked) {
  const bool odd = !marked && delay > to_double(target());
  mean_delay_ += settings_->delay_weight * ((odd ? to_double(base_rtt_) / 4 : delay) - mean_delay_);
}

bool Flow::quick_adapt(Time now, bool loss, bool skip, double delay) {
  const auto& s = *settings_;
  if (!s.quick_adapt) return false;
  bool done = false;
  if (ignored_ < to_ignore_ && skip) {
    done = true;
  } else if (now > qa_end_) {
    const bool due = qa_due_ || loss || delay > s.qa_threshold * to_double(target());
    if (qa_end_ != Time{} && due && achieved_ < std::ldexp(most(), -s.qa_gate)) {
      window_ = std::max<double>(achieved_, packet_);
      to_ignore_ = static_cast<float>(in_flight_);
      ignored_ = 0;
      qa_due_ = false;
      done = true;
    }
    achieved_ = 0;
    qa_end_ = now + base_rtt_ + target();
  }
  if (done) increase_ = received_ = 0;
  return done;
}

void Flow::fast_increase(double newly, double delay) {
  if (delay < to_double(settings_->idle_delay)) {
    quiet_ += static_cast<float>(newly);
    if (quiet_ > window_ || fast_) {
      window_ += newly * settings_->fast * scale();
      fast_ = true;
      return;
    }
  } else {
    quiet_ = 0;
  }
  fast_ = false;
}

void Flow::acked(const Ack& ack) {
  const auto& s = *settings_;
  const double newly = to_double(ack.newly), wanted = to_double(target());
  const double delay = std::max(0.0, to_double(ack.rtt - base_rtt_));
  in_flight_ = static_cast<std::uint32_t>(ack.in_flight.count());
  mean(delay, ack.marked);
  achieved_ += newly;
  received_ += static_cast<float>(newly);
  ignored_ += static_cast<float>(newly);
  if (quick_adapt(ack.now, false, ack.marked, delay)) return;

  if (!ack.marked && delay >= wanted) {
    increase_ += s.fair * packet_ * scale() * newly;
  } else if (!ack.marked) {
    fast_increase(newly, delay);
    if (!fast_) increase_ += s.proportional * packet_ * scale() / reference_rtt * newly * (wanted - delay);
  } else if (delay >= wanted) {
    fast_ = false;
    quiet_ = 0;
    if (mean_delay_ > wanted && (!cut_ || ack.now - last_cut_ > base_rtt_)) {
      window_ *= std::max(1 - s.gamma * (mean_delay_ - wanted) / mean_delay_, s.max_cut);
      last_cut_ = ack.now;
      cut_ = true;
    }
  }
  bound();
  if (received_ > s.adjust_packets * static_cast<double>(packet_) || ack.now - last_adjust_ > base_rtt_)
    adjust(ack.now);
  bound();
}

void Flow::adjust(Time now) {
  window_ += increase_ / window_;
  if (now - last_adjust_ >= base_rtt_) {
    window_ += settings_->eta * packet_ * scale();
    last_adjust_ = now;
  }
  increase_ = received_ = 0;
}

void Flow::lost(Time now, Bytes size) {
  ignored_ += static_cast<float>(size.count());
  mean(to_double(base_rtt_), true);  // a trimmed packet met a full queue of one RTT
  qa_due_ = true;
  if (quick_adapt(now, true, true, 0)) return;
  window_ -= to_double(size);
  bound();
}

void Flow::timed_out(Time now) { lost(now, Bytes{packet_}); }

Rate Flow::rate(Time) const { return to_rate(std::min(line_, window_ / to_double(base_rtt_))); }

}  // namespace linkcast::sim::packet::nscc
