// See process_groups.hpp.
#include "process_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {
namespace {

constexpr int most_ranks = 1 << 20;

/// Fills the members that are -1: rank r is first + r * step.
bool spaced(std::vector<int>& ranks, int world, int step, bool aligned) {
  const auto known = std::ranges::find_if(ranks, [](int w) { return w >= 0; });
  if (known == ranks.end()) return false;
  const auto n = static_cast<int>(ranks.size());
  const auto first = *known - static_cast<int>(known - ranks.begin()) * step;
  if (first < 0 || first + (n - 1) * step >= world) return false;
  if (aligned && step == 1 && first % n != 0) return false;
  if (aligned && step > 1 && first >= step) return false;
  for (int r = 0; r < n; ++r)
    if (ranks[static_cast<std::size_t>(r)] >= 0 && ranks[static_cast<std::size_t>(r)] != first + r * step) return false;
  for (int r = 0; r < n; ++r) ranks[static_cast<std::size_t>(r)] = first + r * step;
  return true;
}

void leftover(std::vector<int>& ranks) {
  std::set<int> taken(ranks.begin(), ranks.end());
  int next = 0;
  for (auto& w : ranks) {
    if (w >= 0) continue;
    while (taken.contains(next)) ++next;
    w = next++;
  }
}

}  // namespace

bool RecordedGroup::join(int rank, std::size_t process) {
  if (rank < 0 || rank >= ranks) return false;
  const auto [place, fresh] = places.try_emplace(process, rank);
  if (!fresh) return place->second == rank;
  if (members.try_emplace(rank, process).second) return true;
  places.erase(place);
  return false;
}

WorldOf world_of(const std::vector<RecordedGroup>& groups, std::size_t processes, int world, ReadReport& report) {
  WorldOf out;
  out.world.assign(processes, -1);
  int largest = 0;
  for (const auto& g : groups) largest = std::max(largest, g.ranks);
  std::vector<bool> taken(processes + static_cast<std::size_t>(std::min(largest, most_ranks)), false);
  const auto take = [&](std::size_t process, int rank) {
    if (out.world[process] >= 0 || static_cast<std::size_t>(rank) >= taken.size() ||
        taken[static_cast<std::size_t>(rank)])
      return;
    taken[static_cast<std::size_t>(rank)] = true;
    out.world[process] = rank;
    out.ranks = std::max(out.ranks, rank + 1);
  };
  for (const auto& g : groups)
    if (g.ranks == largest)
      for (const auto& [rank, process] : g.members) take(process, rank);
  int next = 0;
  std::size_t numbered = 0;
  for (const auto& g : groups) {
    for (const auto& [rank, process] : g.members) {
      if (out.world[process] >= 0) continue;
      while (static_cast<std::size_t>(next) < taken.size() && taken[static_cast<std::size_t>(next)]) ++next;
      take(process, next);
      ++numbered;
    }
  }
  if (numbered > 0)
    report.notes.push_back(
        fmt::format("{} processes are in no communicator of {} ranks, the largest: numbered in the order of the others",
                    numbered, largest));
  out.ranks = std::max(out.ranks, largest);
  if (world > 0) {
    if (out.ranks > world)
      throw sim::InputError(fmt::format("the recording has {} ranks, not {}", out.ranks, world),
                            "--world is too small");
    out.ranks = world;
  }
  if (out.ranks > most_ranks)
    throw sim::InputError(fmt::format("the recording claims {} ranks", out.ranks), "at most 1,048,576 are read");
  int guessed = 0;
  std::string example;
  std::int64_t members = 0;
  for (const auto& g : groups) {
    members += g.ranks;
    if (members > (std::int64_t{1} << 25))
      throw sim::InputError("the communicators of this recording have more than 33,554,432 members together");
    RecordedCommunicator c{g.name, g.description, std::vector<int>(static_cast<std::size_t>(g.ranks), -1)};
    for (const auto& [rank, process] : g.members)
      if (rank >= 0 && rank < g.ranks) c.ranks[static_cast<std::size_t>(rank)] = out.world[process];
    if (std::ranges::find(c.ranks, -1) != c.ranks.end()) {
      if (!spaced(c.ranks, out.ranks, 1, true) &&
          !(g.ranks > 0 && spaced(c.ranks, out.ranks, std::max(1, out.ranks / g.ranks), true)) &&
          !spaced(c.ranks, out.ranks, 1, false))
        leftover(c.ranks);
      if (g.ranks < out.ranks && guessed++ == 0)
        example = fmt::format("'{}' taken to be ranks {} to {}", g.name, c.ranks.front(), c.ranks.back());
    }
    out.communicators.push_back(std::move(c));
  }
  if (guessed > 0)
    report.notes.push_back(
        fmt::format("{} communicators have members that were not recorded: guessed ({})", guessed, example));
  return out;
}

}  // namespace linkcast::workloads::readers
