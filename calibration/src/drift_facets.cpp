// See drift_facets.hpp.
#include "drift_facets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace linkcast::calibration {
namespace {

using ByFacets = std::map<Facets, std::vector<const Labelled*>>;

ByFacets grouped(const std::vector<Labelled>& side) {
  ByFacets out;
  for (const auto& l : side) out[l.facets].push_back(&l);
  return out;
}

std::string shown(const std::string& value) { return value.empty() ? "none" : value; }

/// "the new measurement has it with ranks 16 instead of 8".
std::string why_alone(const Facets& facets, const ByFacets& others, std::string_view other_side) {
  const Facets* nearest = nullptr;
  std::size_t fewest = 0;
  for (const auto& [candidate, labelled] : others) {
    if (candidate.size() != facets.size() || candidate.front() != facets.front()) continue;
    std::size_t differ = 0;
    for (std::size_t i = 0; i < facets.size(); ++i) differ += candidate[i] != facets[i];
    if (nearest == nullptr || differ < fewest) nearest = &candidate, fewest = differ;
  }
  if (nearest == nullptr) return fmt::format("not in the {} measurements", other_side);
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < facets.size(); ++i) {
    if ((*nearest)[i] == facets[i]) continue;
    differences.push_back(
        fmt::format("{} {} instead of {}", facets[i].first, shown((*nearest)[i].second), shown(facets[i].second)));
  }
  return fmt::format("the {} measurements have it with {}", other_side, fmt::join(differences, ", "));
}

std::set<std::string> files(const std::vector<const Labelled*>& of) {
  std::set<std::string> out;
  for (const auto* l : of) out.insert(l->file);
  return out;
}

std::vector<std::size_t> indices(const std::vector<const Labelled*>& of, const std::string* file) {
  std::vector<std::size_t> out;
  for (const auto* l : of)
    if (file == nullptr || l->file == *file) out.push_back(l->index);
  return out;
}

void pair_group(const Facets& facets, const std::vector<const Labelled*>& baseline,
                const std::vector<const Labelled*>& now, Pairings& out) {
  const auto before = files(baseline), after = files(now);
  std::vector<std::string> both;
  std::set_intersection(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(both));
  if (both.empty() || (before.size() == 1 && after.size() == 1)) {
    out.pairs.push_back({facets, {}, indices(baseline, nullptr), indices(now, nullptr)});
    return;
  }
  for (const auto& file : both) out.pairs.push_back({facets, file, indices(baseline, &file), indices(now, &file)});
  const auto leftovers = [&](const std::set<std::string>& side, const std::set<std::string>& other, const char* name) {
    for (const auto& file : side)
      if (!other.contains(file)) out.alone.emplace_back(facets, fmt::format("{}: only in the {}", file, name));
  };
  leftovers(before, after, "baseline");
  leftovers(after, before, "new measurements");
}

}  // namespace

Pairings pair_up(const std::vector<Labelled>& baseline, const std::vector<Labelled>& now) {
  const auto before = grouped(baseline), after = grouped(now);
  Pairings out;
  for (const auto& [facets, labelled] : before) {
    const auto found = after.find(facets);
    if (found == after.end())
      out.alone.emplace_back(facets, why_alone(facets, after, "new"));
    else
      pair_group(facets, labelled, found->second, out);
  }
  for (const auto& [facets, labelled] : after)
    if (!before.contains(facets)) out.alone.emplace_back(facets, why_alone(facets, before, "baseline"));
  return out;
}

std::string file_of(const std::string& id) {
  auto out = id;
  if (const auto at = out.rfind(":in_place"); at != std::string::npos) out.erase(at);
  const auto hash = out.rfind('#');
  if (hash != std::string::npos && hash + 1 < out.size() &&
      std::all_of(out.begin() + static_cast<std::ptrdiff_t>(hash) + 1, out.end(),
                  [](char c) { return c >= '0' && c <= '9'; }))
    out.erase(hash);
  return out;
}

}  // namespace linkcast::calibration
