#include "linkcast/sim/packet/control/hpcc.hpp"

#include <algorithm>

namespace linkcast::sim::packet::hpcc {

Flow::Flow(const Settings& settings, const Path& path)
    : settings_{&settings},
      line_{bytes_per_ps(path.line)},
      base_rtt_{std::max(1.0, to_double(path.base_rtt))},
      packet_{to_double(path.packet)},
      rate_{line_},
      reference_{line_} {}

void Flow::acked(const Ack& ack) {
  if (ack.hops.empty()) return;
  const auto& s = *settings_;
  const auto count = std::min(ack.hops.size(), most_hops);
  const bool known = hops_ == count;
  double largest = 0, during = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Hop& hop = ack.hops[i];
    Record& before = records_[i];
    if (known && hop.at > before.at && hop.sent_bytes >= before.sent_bytes) {
      const double elapsed = to_double(hop.at - before.at), rate = bytes_per_ps(hop.rate);
      const double u = static_cast<double>(hop.sent_bytes - before.sent_bytes) / elapsed / rate +
                       std::min(hop.queue, before.queue) / (rate * base_rtt_);
      if (u > largest) {
        largest = u;
        during = elapsed;
      }
    }
    before = {hop.sent_bytes, hop.at, hop.queue};
  }
  hops_ = static_cast<std::uint32_t>(count);
  if (during == 0) return;

  const double share = std::min(during / base_rtt_, 1.0);
  u_ += share * (largest - u_);
  const double step = s.additive > Rate{} ? bytes_per_ps(s.additive) : line_ / 2500;
  const bool fit = u_ >= s.eta || stage_ >= s.max_stage;
  rate_ = (fit ? reference_ * s.eta / u_ : reference_) + step;
  rate_ = std::clamp(rate_, std::min(bytes_per_ps(s.min_rate), line_), line_);
  if (!ack.round) return;
  reference_ = rate_;
  stage_ = fit ? 0 : stage_ + 1;
}

}  // namespace linkcast::sim::packet::hpcc
