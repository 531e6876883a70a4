// See chakra_order.hpp.
#include "chakra_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers::chakra {

bool IdSet::add(std::uint64_t id) {
  auto& word = pages_[id >> 9][(id >> 6) & 7];
  const auto bit = std::uint64_t{1} << (id & 63);
  const bool fresh = (word & bit) == 0;
  word |= bit;
  return fresh;
}

bool IdSet::contains(std::uint64_t id) const {
  const auto page = pages_.find(id >> 9);
  return page != pages_.end() && (page->second[(id >> 6) & 7] >> (id & 63) & 1) != 0;
}

std::string Ordered::where(const Node& n) const { return fmt::format("{}: byte {}", path_, n.at); }

void Ordered::emit(const Node& n) {
  seen_.add(n.id);
  const auto waiters = waiting_.find(n.id);
  if (waiters == waiting_.end()) return;
  for (const auto key : waiters->second) {
    const auto held = held_.find(key);
    if (held == held_.end() || --held->second.missing > 0) continue;
    release(key);
  }
  waiting_.erase(waiters);
}

bool Ordered::next(Node& out) {
  while (true) {
    if (!ready_.empty()) {
      out = std::move(ready_.front());
      ready_.pop_front();
      emit(out);
      return true;
    }
    if (over_ || held_.size() >= window) {
      if (held_.empty()) return false;
      widen();
      continue;
    }
    if (!source_(out)) {
      over_ = true;
      continue;
    }
    if (!known_.add(out.id)) {
      report_->skip("a node with the number of an earlier one", where(out));
      continue;
    }
    std::size_t missing = 0;
    if (ready(out, missing)) {
      emit(out);
      return true;
    }
    const auto key = count_++;
    for (const auto id : out.deps)
      if (!seen_.contains(id)) waiting_[id].push_back(key);
    place_[out.id] = key;
    held_.emplace(key, Held{std::move(out), missing});
    std::vector<std::uint64_t> circle;
    while (held_.contains(key) && circle_from(key, circle)) break_circle(circle);
  }
}

/// Both kinds of dependencies become `deps`; `control` keeps those that are of that kind only.
bool Ordered::ready(Node& n, std::size_t& missing) {
  std::ranges::sort(n.deps);
  std::ranges::sort(n.control);
  std::erase_if(n.control, [&](std::uint64_t id) { return std::ranges::binary_search(n.deps, id); });
  n.deps.insert(n.deps.end(), n.control.begin(), n.control.end());
  std::ranges::sort(n.deps);
  n.deps.erase(std::ranges::unique(n.deps).begin(), n.deps.end());
  std::erase_if(n.deps, [&](std::uint64_t id) {
    if (id == n.id && std::ranges::binary_search(n.control, id)) {
      report_->skip("a control dependency that closes a circle", where(n));
      return true;
    }
    if (seen_.contains(id)) return false;
    if (all_->contains(id)) {
      ++missing;
      return false;
    }
    report_->skip("a dependency on a node that is not in the file", where(n));
    return true;
  });
  return missing == 0;
}

void Ordered::release(std::uint64_t key) {
  const auto held = held_.find(key);
  place_.erase(held->second.node.id);
  ready_.push_back(std::move(held->second.node));
  held_.erase(held);
}

/// The held nodes from `key` back to it, each waiting for the next. Looks at few of them: longer circles are found when
/// nothing else is left.
bool Ordered::circle_from(std::uint64_t key, std::vector<std::uint64_t>& circle) const {
  constexpr std::size_t most = 256;
  std::unordered_map<std::uint64_t, std::uint64_t> from;
  std::vector<std::uint64_t> open{key};
  for (std::size_t i = 0; i < open.size() && i < most; ++i)
    for (const auto id : held_.at(open[i]).node.deps) {
      const auto at = place_.find(id);
      if (at == place_.end()) continue;
      if (at->second == key) {
        circle.clear();
        for (auto k = open[i]; k != key; k = from.at(k)) circle.push_back(k);
        circle.push_back(key);
        std::ranges::reverse(circle);
        return true;
      }
      if (from.emplace(at->second, open[i]).second) open.push_back(at->second);
    }
  return false;
}

/// Drops a control dependency of the circle. Throws sim::InputError where all of them are of data.
void Ordered::break_circle(const std::vector<std::uint64_t>& circle) {
  for (std::size_t i = 0; i < circle.size(); ++i) {
    auto& held = held_.at(circle[i]);
    const auto id = held_.at(circle[(i + 1) % circle.size()]).node.id;
    const auto control = std::ranges::find(held.node.control, id);
    if (control == held.node.control.end()) continue;
    held.node.control.erase(control);
    std::erase(held.node.deps, id);
    std::erase(waiting_[id], circle[i]);
    report_->skip("a control dependency that closes a circle", where(held.node));
    if (--held.missing == 0) release(circle[i]);
    return;
  }
  std::string text;
  std::size_t shown = 0;
  for (; shown < std::min<std::size_t>(circle.size(), 12); ++shown) {
    const auto& n = held_.at(circle[shown]).node;
    text += fmt::format("{} '{}' waits for ", n.id, n.name.substr(0, 60));
  }
  const auto& first = held_.at(circle.front()).node;
  throw sim::InputError(fmt::format("{}: dependencies in a circle: {}{}{}", where(first), text,
                                    circle.size() > shown ? "... waits for " : "", first.id),
                        "a trace that was cut together wrongly; one of these dependencies has to go");
}

/// Nothing can be given: a circle among those that are held, or a dependency too far ahead.
void Ordered::widen() {
  std::vector<std::uint64_t> way;
  std::unordered_map<std::uint64_t, std::size_t> on_way;
  auto key = held_.begin()->first;
  while (true) {
    if (const auto before = on_way.find(key); before != on_way.end()) {
      break_circle({way.begin() + static_cast<std::ptrdiff_t>(before->second), way.end()});
      return;
    }
    on_way[key] = way.size();
    way.push_back(key);
    const auto& node = held_.at(key).node;
    std::uint64_t next = 0;
    bool found = false;
    for (const auto id : node.deps)
      if (const auto at = place_.find(id); at != place_.end()) {
        next = at->second;
        found = true;
      }
    if (!found) {
      report_->skip(fmt::format("a node that waits for one more than {} nodes further on", window), where(node));
      release(key);
      return;
    }
    key = next;
  }
}

}  // namespace linkcast::workloads::readers::chakra
