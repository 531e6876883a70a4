// See network_detours.hpp.
//
// Traffic is spread over all ways at once, each by its narrowest stage: the bundle straight to the other group, and the
// narrower of the two bundles through each third one. That is oblivious routing in the manner of Valiant (1982), of
// which no pattern of traffic gets less than half of what the cables allow; who knows all traffic does better by mixing
// it with shortest ways (network_all_to_all.cpp).
#include "network_detours.hpp"

#include <algorithm>
#include <map>

#include "network_tiers.hpp"
#include "network_ways.hpp"

namespace linkcast::topologies {

std::shared_ptr<const Detours> Detours::of(const Network::Data& d) {
  if (!d.cache) return nullptr;
  std::call_once(d.cache->detours_found, [&] {
    std::shared_ptr<Detours> made{new Detours{d}};
    if (made->find_groups() && made->whole()) d.cache->detours = std::move(made);
  });
  return d.cache->detours;
}

Detours::Detours(const Network::Data& d) : d_{d} {}

/// One tier in groups (a torus has none), with cables between switches. What joins groups is sorted by bundles.
bool Detours::find_groups() {
  if (d_.trunks.empty()) return false;
  std::map<std::int32_t, std::int32_t> numbers;
  for (const auto& s : d_.switches) {
    if (s.tier != 0 || s.group < 0 || s.rail >= 0 || s.plane >= 0) return false;
    const auto next = static_cast<std::int32_t>(numbers.size());
    groups_.push_back(numbers.try_emplace(s.group, next).first->second);
  }
  count_ = numbers.size();
  if (count_ == d_.switches.size() || count_ > 2048) return false;
  cross_.resize(count_ * count_);
  between_.resize(count_ * count_);
  known_.resize(count_ * count_, false);
  for (std::uint32_t s = 0; s < d_.switches.size(); ++s) {
    for (const auto& t : d_.trunks_of(s)) {
      if (groups_[s] == groups_[t.to]) continue;
      cross_[static_cast<std::size_t>(groups_[s]) * count_ + static_cast<std::size_t>(groups_[t.to])].push_back(
          {t.arc, s, t.to, static_cast<double>(rate_of(d_, d_.cables[t.arc / 2]))});
    }
  }
  return true;
}

/// Routers of a group that have any cable reach each other inside it: then every exit can be reached.
bool Detours::whole() const {
  std::vector<bool> started(count_, false), seen(d_.switches.size(), false);
  for (std::uint32_t s = 0; s < d_.switches.size(); ++s) {
    if (seen[s] || d_.trunks_of(s).empty()) continue;
    const auto group = static_cast<std::size_t>(groups_[s]);
    if (started[group]) return false;
    started[group] = true;
    std::vector<std::uint32_t> queue{s};
    seen[s] = true;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const auto& t : d_.trunks_of(queue[i])) {
        if (seen[t.to] || groups_[t.to] != groups_[s]) continue;
        seen[t.to] = true;
        queue.push_back(t.to);
      }
    }
  }
  return true;
}

std::vector<Detours::Hop> Detours::inside(std::uint32_t a, std::uint32_t b) const {
  const auto to_neighbours = [&](std::uint32_t sw) {
    std::vector<Cross> out;
    for (const auto& t : d_.trunks_of(sw)) {
      if (groups_[t.to] != groups_[sw]) continue;
      out.push_back({t.arc, sw, t.to, static_cast<double>(rate_of(d_, d_.cables[t.arc / 2]))});
    }
    std::ranges::sort(out, [](const Cross& x, const Cross& y) {
      return std::pair{x.to, x.arc} < std::pair{y.to, y.arc};
    });
    return out;
  };
  const auto from_a = to_neighbours(a), from_b = to_neighbours(b);
  const auto bundle = [](const std::vector<Cross>& all, std::uint32_t to) {
    const auto range = std::ranges::equal_range(all, to, {}, &Cross::to);
    double rate = 0;
    for (const auto& c : range) rate += c.rate;
    return std::pair{range, rate};
  };
  std::vector<Hop> out;
  double total = 0;
  for (auto at = from_a.begin(); at != from_a.end();) {
    const auto m = at->to;
    const auto [first, first_rate] = bundle(from_a, m);
    at = first.end();
    const auto [second, second_rate] = bundle(from_b, m);
    if (m != b && second_rate <= 0) continue;
    const auto weight = m == b ? first_rate : std::min(first_rate, second_rate);
    total += weight;
    for (const auto& c : first) out.push_back({c.arc, weight * c.rate / first_rate});
    if (m == b) continue;
    for (const auto& c : second) out.push_back({c.arc ^ 1, weight * c.rate / second_rate});
  }
  for (auto& hop : out) hop.share /= total;
  return out;
}

/// How a third group hands on what came by `in`: on the same router where it can, else bundle to bundle with a turn
/// that differs by pair of groups, lest all of them use the same cables inside. Not every cable to every other one:
/// that would square the list.
void Detours::pass(const std::vector<Cross>& in, const std::vector<Cross>& out, double share, std::size_t turn,
                   std::vector<Inner>& inner) const {
  std::map<std::uint32_t, double> came, goes;
  double in_rate = 0, out_rate = 0;
  for (const auto& c : in) in_rate += c.rate;
  for (const auto& c : out) out_rate += c.rate;
  for (const auto& c : in) came[c.to] += share * c.rate / in_rate;
  for (const auto& c : out) goes[c.from] += share * c.rate / out_rate;
  std::vector<Gate> from, to;
  for (const auto& [sw, part] : came) {
    const auto same = goes.find(sw);
    const auto stays = same == goes.end() ? 0.0 : std::min(part, same->second);
    if (part > stays) from.push_back({sw, part - stays});
    if (same != goes.end()) same->second -= stays;
  }
  for (const auto& [sw, part] : goes)
    if (part > 0) to.push_back({sw, part});
  if (from.empty() || to.empty()) return;
  std::ranges::rotate(to, to.begin() + static_cast<std::ptrdiff_t>(turn % to.size()));
  for (std::size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    const auto part = std::min(from[i].share, to[j].share);
    if (from[i].sw != to[j].sw && part > 1e-12 * share) inner.push_back({from[i].sw, to[j].sw, part});
    from[i].share -= part;
    to[j].share -= part;
    if (from[i].share <= 1e-12 * share) ++i;
    if (to[j].share <= 1e-12 * share) ++j;
  }
}

Detours::Between Detours::find(std::int32_t from, std::int32_t to) const {
  const auto rate = [&](std::int32_t g, std::int32_t h) {
    double sum = 0;
    for (const auto& c : cross(g, h)) sum += c.rate;
    return sum;
  };
  Between out;
  std::map<std::uint32_t, double> exits, entries;
  const auto count = static_cast<std::int32_t>(count_);
  std::vector<double> weight(count_, 0.0);  // by the group gone through; `to` itself: straight
  double total = 0;
  for (std::int32_t k = 0; k < count; ++k) {
    if (k == from) continue;
    const auto narrowest = k == to ? rate(from, to) : std::min(rate(from, k), rate(k, to));
    total += weight[static_cast<std::size_t>(k)] = narrowest;
  }
  const auto cross_over = [&](const std::vector<Cross>& bundle, double share, bool leaves, bool arrives) {
    double sum = 0;
    for (const auto& c : bundle) sum += c.rate;
    for (const auto& c : bundle) {
      const auto part = share * c.rate / sum;
      out.hops.push_back({c.arc, part});
      if (leaves) exits[c.from] += part;
      if (arrives) entries[c.to] += part;
    }
  };
  for (std::int32_t k = 0; k < count; ++k) {
    const auto share = weight[static_cast<std::size_t>(k)] / total;
    if (!(share > 0)) continue;
    cross_over(cross(from, k), share, true, k == to);
    if (k == to) continue;
    pass(cross(from, k), cross(k, to), share, static_cast<std::size_t>(from + to) / 2, out.inner);
    cross_over(cross(k, to), share, false, true);
  }
  for (const auto& [sw, share] : exits) out.exits.push_back({sw, share});
  for (const auto& [sw, share] : entries) out.entries.push_back({sw, share});
  return out;
}

std::shared_ptr<const Detours::Between> Detours::between(std::int32_t from, std::int32_t to) const {
  const auto at = static_cast<std::size_t>(from) * count_ + static_cast<std::size_t>(to);
  const std::scoped_lock lock{mutex_};
  if (!known_[at]) {
    known_[at] = true;
    auto found = find(from, to);
    if (!found.hops.empty()) between_[at] = std::make_shared<const Between>(std::move(found));
  }
  return between_[at];
}

void Detours::walk(std::uint32_t from, std::uint32_t to, double bytes, std::vector<Hop>& out) const {
  if (from == to) return;
  if (const auto ways = ways_between(d_, from, to))
    for (const auto& arc : ways->arcs) out.push_back({arc.arc, bytes * arc.share});
}

bool Detours::spread(std::uint32_t a, std::uint32_t b, std::vector<Hop>& out) const {
  out.clear();
  if (a == b) return false;
  if (groups_[a] == groups_[b]) {
    out = inside(a, b);
    return !out.empty();
  }
  if (d_.trunks_of(a).empty() || d_.trunks_of(b).empty()) return false;
  const auto way = between(groups_[a], groups_[b]);
  if (!way) return false;
  for (const auto& exit : way->exits) walk(a, exit.sw, exit.share, out);
  out.insert(out.end(), way->hops.begin(), way->hops.end());
  for (const auto& hop : way->inner) walk(hop.from, hop.to, hop.share, out);
  for (const auto& entry : way->entries) walk(entry.sw, b, entry.share, out);
  return true;
}

}  // namespace linkcast::topologies
