// Folding: what behaves alike is simulated once.
//
// Agents, connections and resources are coloured so that two nodes of one colour have the same parameters and, for
// each other colour, the same number of neighbours of it, by the same kind of edge. Such a partition is equitable:
// started alike, all members of a class do the same at every instant, and the max-min allocation is constant on
// classes, because progressive filling treats members alike at each step. So one agent of each class, with flows
// that load one resource of each class as much as all members of their class together do, has the very same times.
//
// The partition is the coarsest one that refines the initial colours (Paige & Tarjan, Three partition refinement
// algorithms, 1987: of a class that splits the largest part keeps its colour, so a node is looked at again
// O(log n) times). Knows no time.
#pragma once

#include <cstdint>
#include <vector>

#include "linkcast/sim/fluid.hpp"
#include "linkcast/sim/program.hpp"

namespace linkcast::sim {

struct Census;

/// A partition into classes. Classes are numbered by their lowest member, which represents them.
struct Classes {
  std::vector<std::uint32_t> of;              // by member
  std::vector<std::uint32_t> representative;  // by class
  std::vector<std::uint32_t> size;            // by class
};

struct Folding {
  Classes agents, connections, resources;
};

Folding fold(const ResourceTable& resources, const ChunkProgram& program);
Folding fold(const ResourceTable& resources, const ChunkProgram& program, const Census& census);

}  // namespace linkcast::sim
