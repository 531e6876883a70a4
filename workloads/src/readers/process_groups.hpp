// Which rank of the world each process is, and of which ranks each communicator is made, from recordings that only say
// "I am rank r of the n of communicator c". Knows no file format.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers {

struct RecordedGroup {
  std::string name, description;
  int ranks = 0;
  std::map<int, std::size_t> members;  // rank in it -> process
  std::map<std::size_t, int> places;   // process -> rank in it

  /// False: that process is another rank of it, or another process is that rank.
  bool join(int rank, std::size_t process);
};

struct WorldOf {
  int ranks = 0;
  std::vector<int> world;  // by process
  std::vector<RecordedCommunicator> communicators;
};

/// The largest communicator numbers the world. Members of which nothing was recorded are guessed (neighbours, else
/// equally spaced, else whoever is left) and told to the report. `world`: 0, or ranks there are. Throws
/// sim::InputError: more ranks than that, or than 2^20.
WorldOf world_of(const std::vector<RecordedGroup>& groups, std::size_t processes, int world, ReadReport& report);

}  // namespace linkcast::workloads::readers
