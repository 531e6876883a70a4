// See findings.hpp.
#include "findings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::topologies {
namespace {
constexpr std::size_t most_places = 4;
}

void Findings::add(Severity severity, const std::string& what, std::string place) {
  const auto [at, fresh] = known_.try_emplace({severity, what}, entries_.size());
  if (fresh) entries_.push_back({severity, what, {}, 0});
  auto& entry = entries_[at->second];
  ++entry.count;
  if (entry.places.size() < most_places) entry.places.push_back(std::move(place));
}

void Findings::add(Severity severity, std::string text) { entries_.push_back({severity, std::move(text), {}, 0}); }

std::string places_text(const std::vector<std::string>& first, std::size_t count) {
  if (count == 1) return first.front();
  const bool all = count <= first.size();
  const auto named = all ? count - 1 : std::min<std::size_t>(first.size(), 2);
  std::string out;
  for (std::size_t i = 0; i < named; ++i) out += (i > 0 ? ", " : "") + first[i];
  return out + (all ? " and " + first[count - 1] : fmt::format(" and {} more", count - named));
}

std::vector<Finding> Findings::take() && {
  std::ranges::stable_sort(entries_, std::ranges::greater{}, &Entry::severity);
  std::vector<Finding> out;
  for (const auto& e : entries_)
    out.push_back({e.severity, e.count == 0 ? e.what : places_text(e.places, e.count) + ": " + e.what});
  return out;
}

}  // namespace linkcast::topologies
