// What cannot work is said before anything runs: buffers that hold no packet, headroom that the cable does not allow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/packet/fabric.hpp"
#include "pause_frame.hpp"

namespace linkcast::sim::packet {
namespace {

class Problems {
 public:
  void add(std::string problem, std::string help) {
    Diagnostic d;
    d.problem = std::move(problem);
    d.help = std::move(help);
    if (std::ranges::none_of(list_, [&](const Diagnostic& o) { return o.problem == d.problem; }))
      list_.push_back(std::move(d));
  }
  void raise() const {
    if (list_.empty()) return;
    if (list_.size() == 1) throw InputError(list_[0].problem, list_[0].help);
    throw InputError(list_, {});
  }

 private:
  std::vector<Diagnostic> list_;
};

void check_kind(const NodeKind& k, Bytes packet, Problems& out) {
  const auto say = [&](const std::string& what, const std::string& help) { out.add(k.name + ": " + what, help); };
  if (k.control == FlowControl::credit) {
    // A packet takes whole credits, of 64 B each.
    if (const auto needed = (packet.count() + 63) / 64 * 64; k.input.count() < needed)
      say(fmt::format("an input buffer of {} B holds no packet of {} B", k.input.count(), packet.count()),
          fmt::format("make `input` at least {} B, a packet with its headers in credits of 64 B, or the mtu smaller",
                      needed));
    return;
  }
  if (k.shared < packet)
    say(fmt::format("a shared buffer of {} B holds no packet of {} B", k.shared.count(), packet.count()),
        "make `shared` larger, or the mtu smaller");
  if (k.alpha <= 0 || k.lossy_alpha <= 0)
    say("alpha must be positive: it is the share of the free buffer that one input may take", "1/8 to 8 are usual");
  if (k.control == FlowControl::pause && k.headroom > k.shared)
    say(fmt::format("headroom of {} B is larger than the buffer of {} B", k.headroom.count(), k.shared.count()),
        "the headroom of one input must fit in the switch");
  if (k.reserve < Bytes{} || k.headroom < Bytes{} || k.resume_offset < Bytes{})
    say("reserve, headroom and resume_offset are sizes: none is negative", "");
  if (k.marking.on && (k.marking.kmin > k.marking.kmax || k.marking.kmin < Bytes{}))
    say(fmt::format("marking begins at {} B and is full at {} B", k.marking.kmin.count(), k.marking.kmax.count()),
        "kmin must not be above kmax");
  if (k.marking.on && !(k.marking.pmax > 0 && k.marking.pmax <= 1)) say("pmax is a probability", "above 0, at most 1");
}

}  // namespace

// What still arrives after an input has said stop: what is on the way there and back, the packet that the sender had
// begun and the one that crossed the threshold; and the pause itself takes its time.
Bytes Fabric::headroom_needed(LinkId l, Bytes mtu) const {
  const LinkSpec& spec = link(l);
  const LinkId back = reverse(l);
  const Time round = spec.delay + (back == no_link ? spec.delay : link(back).delay);
  const double on_the_way =
      spec.rate.is_unlimited() ? 0 : static_cast<double>(spec.rate.bytes_per_second()) * round.seconds();
  return Bytes{static_cast<std::int64_t>(on_the_way) + 1 + pause_frame} + 3 * (mtu + spec.header);
}

void Fabric::check(Bytes mtu) const {
  Problems problems;
  if (mtu.count() < 1 || mtu.count() > 65'535)
    problems.add(fmt::format("an mtu of {} B", mtu.count()), "packets carry 1 to 65,535 bytes");
  std::vector<Bytes> header(kinds_.size());
  for (const auto& l : link_) {
    auto& h = header[node_kind_[index(l.to)]];
    h = std::max(h, l.header);
  }
  for (std::size_t k = 0; k < kinds_.size(); ++k) check_kind(kinds_[k], mtu + header[k], problems);

  const bool lossless = std::ranges::any_of(lanes_, [](const VirtualLane& v) { return v.lossless; });
  std::vector<Bytes> worst(kinds_.size());
  std::vector<LinkId> where(kinds_.size(), no_link);
  for (std::uint32_t i = 0; i < links(); ++i) {
    const LinkSpec& l = link_[i];
    if (l.rate.bytes_per_second() <= 0)
      problems.add(name_of(LinkId{i}) + " has no rate", "a link carries something");
    else if (!l.rate.is_unlimited() && transfer_time(mtu + l.header, l.rate) > Time::microseconds(4'000))
      problems.add(
          name_of(LinkId{i}) + fmt::format(": a packet takes more than 4 ms at {} B/s", l.rate.bytes_per_second()),
          "a faster link, or a smaller mtu");
    if (l.header.count() >= 1 << 20) problems.add(name_of(LinkId{i}) + ": a header of a megabyte", "");
    if (l.delay < Time{} || l.header < Bytes{}) problems.add(name_of(LinkId{i}) + ": negative delay or header", "");
    if (!(l.bit_error_rate >= 0 && l.bit_error_rate < 0.01))
      problems.add(name_of(LinkId{i}) + ": bit_error_rate must lie between 0 and 0.01", "bad links have about 1e-8");
    if (l.bit_error_rate > 0 && l.bit_error_rate < 0.01 &&
        std::pow(1 - l.bit_error_rate, 8.0 * static_cast<double>((mtu + l.header).count())) < 0.1) {
      problems.add(fmt::format("{}: at a bit_error_rate of {} hardly a packet of {} B gets through", name_of(LinkId{i}),
                               l.bit_error_rate, mtu.count()),
                   "bad links have about 1e-8");
    }
    const auto k = node_kind_[index(l.to)];
    if (!lossless || kinds_[k].control != FlowControl::pause) continue;
    const Bytes need = headroom_needed(LinkId{i}, mtu);
    if (need > worst[k]) worst[k] = need, where[k] = LinkId{i};
  }
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (worst[k] <= kinds_[k].headroom) continue;
    problems.add(fmt::format("{}: headroom of {} B is too small for {}", kinds_[k].name, kinds_[k].headroom.count(),
                             name_of(where[k])),
                 fmt::format("a lossless lane would lose packets: what is on the cable when the pause is sent are up "
                             "to {} B",
                             worst[k].count()));
  }
  problems.raise();
}

}  // namespace linkcast::sim::packet
