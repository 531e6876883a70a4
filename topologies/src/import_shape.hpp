// What a list of cables shows about the plan behind them: which switches are leaves, spines and cores, which rail a
// leaf serves, which leaves make a scalable unit. Knows no file format.
#pragma once

#include <vector>

#include "import_parts.hpp"

namespace linkcast::topologies {

/// Fills tier, rail and group of every switch. `adapters[s]`: how many adapters hang on switch s, those of hosts
/// without a name included. Adds a problem's text to `notes.unknown` where the plan cannot be seen (a switch that leads
/// nowhere).
void find_shape(ImportedNetwork& network, const std::vector<int>& adapters, ImportNotes& notes);

/// Switches by tier, group, rail and name; cables by their ends. Cables between the same ends at one rate become one
/// with a count.
void put_in_order(ImportedNetwork& network);

/// "a, b, c and 12 more".
std::string some_of(const std::vector<std::string>& names, std::size_t longest = 6);
/// "1 leaf", "31 leaves".
std::string counted(std::size_t n, std::string_view one, std::string_view many);

}  // namespace linkcast::topologies
