// The formats of traces, one line each: how a file is recognised and who reads it. A reader turns files into a
// Recording; what it cannot use it counts in the recording's report. Knows no topology.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers {

/// The beginning of a file, decompressed.
struct Probe {
  std::string path;  // as given: names say something (".et", "schedule.goal"), content decides
  std::string head;  // up to 64 KiB
};

struct Format {
  std::string_view name;   // "kineto", as --format says it
  std::string_view title;  // "PyTorch profiler (Kineto) JSON"
  bool (*mine)(const Probe& probe);
  Recording (*open)(const std::vector<std::string>& paths, const RecordingOptions& options);
};

/// In the order in which they are asked: the narrowest signature first.
std::span<const Format> formats();

/// Files that a path stands for: itself, or the files of a folder, sorted as people count (rank_2 before rank_10).
std::vector<std::string> files_of(const std::string& path);
Probe probe(const std::string& path);

}  // namespace linkcast::workloads::readers
