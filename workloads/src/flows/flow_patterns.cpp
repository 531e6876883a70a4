// See flow_patterns.hpp.
#include "linkcast/workloads/flow_patterns.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::workloads {

std::string_view name_of(FlowPattern p) {
  switch (p) {
    case FlowPattern::permutation:
      return "permutation";
    case FlowPattern::incast:
      return "incast";
    case FlowPattern::all_to_all:
      return "all_to_all";
    case FlowPattern::random:
      return "random";
    case FlowPattern::on_off:
      return "on_off";
    case FlowPattern::pairs:
      break;
  }
  return "pairs";
}

std::vector<std::uint32_t> FlowGroup::peers(const FlowEnds& ends, std::size_t s) const {
  if (!to.empty()) return {to[s]};
  std::vector<std::uint32_t> out;
  const int own = ends.place(senders[s]).node;
  for (const auto r : receivers)
    if (ends.place(r).node != own) out.push_back(r);
  return out;
}

std::optional<std::vector<std::uint32_t>> permutation_of(const FlowEnds& ends,
                                                         const std::vector<std::uint32_t>& senders,
                                                         const std::vector<std::uint32_t>& receivers,
                                                         std::uint64_t seed) {
  if (receivers.size() < senders.size()) return std::nullopt;
  FlowRandom random{FlowRandom::mixed(seed, 0x7065726dULL)};
  const auto n = senders.size();
  auto to = receivers;
  const auto node = [&](std::uint32_t end) { return ends.place(end).node; };
  const auto bad = [&](std::size_t i) { return node(senders[i]) == node(to[i]); };
  for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[random.below(i)]);
  // A sender with a receiver on its own machine swaps with another that both are content with. That ends quickly
  // unless machines are few and hold nearly all of the ends; then one is looked for in order.
  for (std::size_t i = 0; i < n; ++i) {
    if (!bad(i)) continue;
    const auto fits = [&](std::size_t j) {
      return node(senders[i]) != node(to[j]) && (j >= n || node(senders[j]) != node(to[i]));
    };
    std::size_t found = to.size();
    for (int attempt = 0; attempt < 64 && found == to.size(); ++attempt)
      if (const auto j = random.below(to.size()); fits(j)) found = j;
    for (std::size_t j = 0; j < to.size() && found == to.size(); ++j)
      if (fits(j)) found = j;
    if (found == to.size()) return std::nullopt;
    std::swap(to[i], to[found]);
  }
  to.resize(n);
  return to;
}

std::size_t first_peer(const FlowEnds& ends, const FlowGroup& group, std::size_t s,
                       const std::vector<std::uint32_t>& peers) {
  if (group.pattern != FlowPattern::all_to_all || peers.empty()) return 0;
  const auto self = group.senders[s];
  const auto after = static_cast<std::size_t>(std::ranges::upper_bound(peers, self) - peers.begin());
  std::size_t beside = 0;  // ends of its own machine before it
  for (auto e = self; e > 0 && ends.place(e - 1).node == ends.place(self).node; --e) ++beside;
  return (after + beside) % peers.size();
}

std::uint64_t flow_hash(const FlowGroup& group, std::uint32_t from, std::uint32_t to) {
  return FlowRandom::mixed(group.seed, (std::uint64_t{from} << 32) | to);
}

FlowMessages::FlowMessages(const FlowGroup& group, std::size_t sender, std::size_t peers, std::size_t first_peer,
                           sim::Rate line)
    : group_{&group},
      random_{FlowRandom::mixed(group.seed, sender + 1)},
      peers_{static_cast<std::uint32_t>(peers)},
      first_{static_cast<std::uint32_t>(first_peer)},
      most_{std::numeric_limits<std::int64_t>::max()} {
  if (group.messages) most_ = *group.messages * (is_open(group.pattern) ? 1 : static_cast<std::int64_t>(peers));
  if (peers == 0) most_ = 0;
  if (is_open(group.pattern)) gap_ = group.sizes.mean() / (group.load * static_cast<double>(line.bytes_per_second()));
}

/// The instant at which a sender has been on for that long.
sim::Time FlowMessages::at_busy(double seconds) const {
  const auto busy = sim::Time::picoseconds(static_cast<std::int64_t>(std::min(seconds * 1e12, 9e18)));
  if (group_->pattern != FlowPattern::on_off) return group_->start + busy;
  const auto periods = static_cast<double>(busy.ps() / group_->on.ps());
  // Beyond what simulated time holds is after every end.
  if (periods * group_->off.seconds() > 1e6) return sim::Time::max();
  return group_->start + busy + static_cast<std::int64_t>(periods) * group_->off;
}

std::optional<FlowMessage> FlowMessages::next() {
  if (made_ >= most_) return std::nullopt;
  FlowMessage m;
  if (is_open(group_->pattern)) {
    busy_ += random_.exponential(gap_);
    if (busy_ > 1e6) return std::nullopt;  // beyond what simulated time holds
    m.at = at_busy(busy_);
    if (m.at > group_->last_post() || m.at == sim::Time::max()) {
      most_ = 0;
      return std::nullopt;
    }
    m.peer = static_cast<std::uint32_t>(random_.below(peers_));
  } else {
    m.at = group_->start;
    m.peer = static_cast<std::uint32_t>((static_cast<std::uint64_t>(made_) + first_) % peers_);
  }
  m.bytes = group_->sizes.draw(random_);
  ++made_;
  return m;
}

}  // namespace linkcast::workloads
