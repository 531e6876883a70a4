// Reads patterns, see census.hpp. Knows no time and no network.
#include "census.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "linkcast/sim/diagnostic.hpp"
#include "mix.hpp"

namespace linkcast::sim {
namespace {

// Units that are read at most for all patterns together. Beyond it, connections of an agent count as distinguishable
// wherever they do not show up in the same place: a finer partition, as right as the coarsest one.
constexpr std::int64_t reading_budget = 100'000;

struct Sighting {
  std::int64_t unit = 0;
  Role role = Role::receive;
  std::uint32_t place = 0;  // in the unit's list
  std::uint64_t group = 0;
};

struct Pattern {
  std::uint32_t read_from = 0;
  std::vector<Sighting> sightings;   // where connections show up first, by unit
  std::vector<std::int64_t> routes;  // units with the different lists of sends
};

class Reader {
 public:
  Reader(const ResourceTable& resources, const ChunkProgram& program)
      : program_{program}, budget_{reading_budget}, heaviest_(resources.size(), 0) {
    census_.self_load.resize(resources.size(), 0);
    degree_.resize(program.agents.size(), 0);
    for (const auto& c : program.connections) {
      if (index(c.from) >= degree_.size() || index(c.to) >= degree_.size()) {
        throw InternalError("chunk program: a connection of an agent that is not there");
      }
      if (c.slots < 1) throw InternalError("chunk program: a connection without slots");
      ++degree_[index(c.from)];
      ++degree_[index(c.to)];
    }
  }

  Census read() {
    for (std::uint32_t a = 0; a < program_.agents.size(); ++a) {
      census_.first.push_back(static_cast<std::uint32_t>(census_.incidences.size()));
      const auto [entry, is_new] = patterns_.try_emplace(program_.agents[a].pattern);
      if (is_new) read_pattern(a, entry->second);
      follow(a, entry->second);
    }
    census_.first.push_back(static_cast<std::uint32_t>(census_.incidences.size()));
    return std::move(census_);
  }

 private:
  template <class Id>
  static std::size_t index(Id id) {
    return static_cast<std::size_t>(id);
  }

  void fetch(std::uint32_t a, std::int64_t i) {
    unit_.receive.clear();
    unit_.send.clear();
    unit_.kind = 0;
    unit_.bytes = Bytes{};
    program_.agents[a].at(i, unit_);
    const auto ours = [&](ConnectionId c, bool sends) {
      return index(c) < program_.connections.size() &&
             index(sends ? program_.connections[index(c)].from : program_.connections[index(c)].to) == a;
    };
    const bool good = unit_.kind < program_.kinds.size() && unit_.bytes >= Bytes{} &&
                      std::ranges::all_of(unit_.receive, [&](ConnectionId c) { return ours(c, false); }) &&
                      std::ranges::all_of(unit_.send, [&](ConnectionId c) { return ours(c, true); });
    if (!good) throw InternalError(fmt::format("chunk program: unit {} of agent {} names what is not its own", i, a));
  }

  void read_pattern(std::uint32_t a, Pattern& pattern) {
    pattern.read_from = a;
    std::unordered_map<std::uint64_t, std::size_t> known;  // connection and role -> sighting
    std::vector<std::uint64_t> routes;
    const std::int64_t units = program_.agents[a].units;
    for (std::int64_t i = 0; i < units; ++i) {
      if (budget_ <= 0 && pattern.sightings.size() >= degree_[a]) break;
      --budget_;
      fetch(a, i);
      for (const Role role : {Role::receive, Role::send}) {
        const auto& list = role == Role::receive ? unit_.receive : unit_.send;
        for (std::uint32_t place = 0; place < list.size(); ++place) {
          const auto key = index(list[place]) * 2 + static_cast<std::size_t>(role);
          const auto [entry, is_new] = known.try_emplace(key, pattern.sightings.size());
          if (is_new) pattern.sightings.push_back({i, role, place, 0});
          auto& group = pattern.sightings[entry->second].group;
          group = mix(group, static_cast<std::uint64_t>(i));
        }
      }
      std::uint64_t route = 0;
      for (const auto c : unit_.send) route = mix(route, index(c));
      if (std::ranges::find(routes, route) == routes.end() && routes.size() < 64) {
        routes.push_back(route);
        pattern.routes.push_back(i);
      }
    }
    if (budget_ <= 0) {
      for (auto& s : pattern.sightings) s.group = mix(mix(static_cast<std::uint64_t>(s.unit)), s.place);
    }
  }

  void follow(std::uint32_t a, const Pattern& pattern) {
    std::int64_t fetched = -1;
    for (const auto& s : pattern.sightings) {
      if (s.unit >= program_.agents[a].units) break;
      if (s.unit != fetched) fetch(a, fetched = s.unit);
      const auto& list = s.role == Role::receive ? unit_.receive : unit_.send;
      if (s.place >= list.size()) {
        throw InternalError(fmt::format("chunk program: agents {} and {} have pattern {} but differ in unit {}",
                                        pattern.read_from, a, program_.agents[a].pattern, s.unit));
      }
      census_.incidences.push_back({static_cast<std::uint32_t>(list[s.place]), s.role, s.group});
    }
    load(a, pattern);
  }

  void load(std::uint32_t a, const Pattern& pattern) {
    touched_.clear();
    for (const auto i : pattern.routes) {
      if (i >= program_.agents[a].units) break;
      fetch(a, i);
      unit_usages(program_, program_.agents[a], unit_.send, usages_);
      for (const auto& u : usages_) {
        auto& most = heaviest_[index(u.resource)];
        if (most == 0) touched_.push_back(u.resource);
        most = std::max(most, u.weight);
      }
    }
    for (const auto r : touched_) census_.self_load[index(r)] += std::exchange(heaviest_[index(r)], 0);
  }

  const ChunkProgram& program_;
  std::int64_t budget_;
  Census census_;
  std::vector<std::uint32_t> degree_;
  std::unordered_map<std::uint32_t, Pattern> patterns_;
  std::vector<std::int64_t> heaviest_;  // by resource, of the agent at hand
  std::vector<ResourceId> touched_;
  std::vector<FixedUsage> usages_;
  Unit unit_;
};

}  // namespace

void unit_usages(const ChunkProgram& program, const Agent& agent, const std::vector<ConnectionId>& send,
                 std::vector<FixedUsage>& out) {
  out.clear();
  const auto add = [&out](const std::vector<Usage>& usages) {
    for (const auto& u : usages) out.push_back({u.resource, fixed_weight(u.weight)});
  };
  for (const auto c : send) add(program.connections[static_cast<std::size_t>(c)].usages);
  add(agent.local);
  std::ranges::sort(out, {}, &FixedUsage::resource);
  std::size_t kept = 0;
  for (const auto& u : out) {
    if (kept > 0 && out[kept - 1].resource == u.resource) {
      out[kept - 1].weight += u.weight;
    } else {
      out[kept++] = u;
    }
  }
  out.resize(kept);
}

Census take_census(const ResourceTable& resources, const ChunkProgram& program) {
  return Reader{resources, program}.read();
}

}  // namespace linkcast::sim
