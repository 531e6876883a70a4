// Looks through the units of a chunk program once, before it runs: which connections an agent uses together, and
// how much of each resource the program itself can keep busy at once. Agents of one pattern have the same units up
// to names, so one of them is read whole and the others only where a connection shows up first.
#pragma once

#include <cstdint>
#include <vector>

#include "linkcast/sim/program.hpp"

namespace linkcast::sim {

enum class Role : std::uint8_t { receive, send };

struct Incidence {
  std::uint32_t connection;
  Role role;
  // Connections of one agent with the same role and group are used by exactly the same units, so that it makes no
  // difference to the agent which is which.
  std::uint64_t group;
};

struct Census {
  std::vector<std::uint32_t> first;  // by agent, into `incidences`; one more at the end
  std::vector<Incidence> incidences;
  std::vector<std::int64_t> self_load;  // by resource: sum over agents of their heaviest use of it, 2^-40
};

/// Throws InternalError where a unit names a connection or a kind that is not there or not its agent's, or agents
/// of one pattern differ.
Census take_census(const ResourceTable& resources, const ChunkProgram& program);

/// What one unit of `agent` that sends on `send` loads: equal resources are one entry, sorted by resource.
void unit_usages(const ChunkProgram& program, const Agent& agent, const std::vector<ConnectionId>& send,
                 std::vector<FixedUsage>& out);

}  // namespace linkcast::sim
