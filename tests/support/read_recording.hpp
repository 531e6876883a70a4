// Reading a recording to its end, for tests of readers.
#pragma once

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::test {

inline std::string traces(const std::string& name) { return LINKCAST_SOURCE_DIR "/tests/data/traces/" + name; }

/// The operations of one rank, by its place.
inline std::vector<workloads::Operation> operations(const workloads::Recording& recording, std::size_t rank = 0) {
  std::vector<workloads::Operation> out;
  const auto reader = recording.open();
  workloads::Operation o;
  while (reader->next(rank, o)) out.push_back(o);
  return out;
}

/// A dependency names an operation that came before.
inline bool dependencies_come_first(const std::vector<workloads::Operation>& all) {
  std::set<std::uint64_t> seen;
  for (const auto& o : all) {
    for (const auto id : o.after)
      if (!seen.contains(id)) return false;
    seen.insert(o.id);
  }
  return true;
}

inline std::int64_t skipped(const workloads::Recording& recording, const std::string& why) {
  for (const auto& s : recording.report->skipped)
    if (s.why.find(why) != std::string::npos) return s.count;
  return 0;
}

}  // namespace linkcast::test
