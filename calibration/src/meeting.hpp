// How the ranks of a measurement came out of making their first communicator together, and what to say where they did
// not. Knows neither NCCL nor sockets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::calibration {

struct Meeting {
  int ranks = 0;
  double waited_s = 0;
  std::vector<int> silent;            // have not said how it went: they did not come, or hang
  std::vector<int> waiting;           // were there, and waited in vain
  std::map<int, std::string> failed;  // with the reason
};

/// Nothing where all have met.
std::optional<sim::InputError> problem_of(const Meeting& meeting);

}  // namespace linkcast::calibration
