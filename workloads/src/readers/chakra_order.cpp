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
    place_.erase(held->second.node.id);
    ready_.push_back(std::move(held->second.node));
    held_.erase(held);
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
    std::ranges::sort(out.deps);
    out.deps.erase(std::ranges::unique(out.deps).begin(), out.deps.end());
    std::size_t missing = 0;
    std::erase_if(out.deps, [&](std::uint64_t id) {
      if (seen_.contains(id)) return false;
      if (all_->contains(id)) {
        ++missing;
        return false;
      }
      report_->skip("a dependency on a node that is not in the file", where(out));
      return true;
    });
    if (missing == 0) {
      emit(out);
      return true;
    }
    const auto key = count_++;
    for (const auto id : out.deps)
      if (!seen_.contains(id)) waiting_[id].push_back(key);
    place_[out.id] = key;
    held_.emplace(key, Held{std::move(out), missing});
  }
}

/// Nothing can be given: a circle among those that are held, or a dependency too far ahead.
void Ordered::widen() {
  std::vector<std::uint64_t> way;
  std::unordered_map<std::uint64_t, std::size_t> on_way;
  auto key = held_.begin()->first;
  while (true) {
    auto& held = held_.at(key);
    if (const auto before = on_way.find(key); before != on_way.end()) {
      std::string circle;
      std::size_t shown = 0;
      for (auto i = before->second; i < way.size() && shown < 12; ++i, ++shown) {
        const auto& n = held_.at(way[i]).node;
        circle += fmt::format("{} '{}' waits for ", n.id, n.name.substr(0, 60));
      }
      const auto& first = held.node;
      throw sim::InputError(fmt::format("{}: dependencies in a circle: {}{}{}", where(first), circle,
                                        way.size() - before->second > shown ? "... waits for " : "", first.id),
                            "a trace that was cut together wrongly; one of these dependencies has to go");
    }
    on_way[key] = way.size();
    way.push_back(key);
    std::uint64_t next = 0;
    bool found = false;
    for (const auto id : held.node.deps) {
      if (seen_.contains(id)) continue;
      if (const auto at = place_.find(id); at != place_.end()) {
        next = at->second;
        found = true;
      }
    }
    if (found) {
      key = next;
      continue;
    }
    report_->skip(fmt::format("a node that waits for one more than {} nodes further on", window), where(held.node));
    place_.erase(held.node.id);
    ready_.push_back(std::move(held.node));
    held_.erase(key);
    return;
  }
}

}  // namespace linkcast::workloads::readers::chakra
