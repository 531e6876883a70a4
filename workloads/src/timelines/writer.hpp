// What every form of timeline is: takes operations, ends its files. Knows no file name's ending.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/workloads/timeline_file.hpp"

namespace linkcast::workloads::timelines {

class Writer {
 public:
  virtual ~Writer() = default;
  virtual void add(const ReplayedOperation& operation) = 0;
  virtual std::vector<std::string> close() = 0;
};

struct Target {
  std::string path;  // with %r: one file a rank
  bool gzip = false;
};

std::unique_ptr<Writer> perfetto_writer(const Target& target, const Recording& recording,
                                        const TimelineFileOptions& options);
std::unique_ptr<Writer> kineto_writer(const Target& target, const Recording& recording,
                                      const TimelineFileOptions& options);

/// Slices on one track must not overlap: messages of one batch do, and are spread over lanes of their stream.
class Lanes {
 public:
  /// Lane 0 is the stream itself. Operations come in the order in which they end.
  std::size_t take(int rank, std::uint32_t stream, sim::Time begin, sim::Time end) {
    auto& ends = ends_[{rank, stream}];
    std::size_t lane = 0;
    while (lane < ends.size() && ends[lane] > begin) ++lane;
    if (lane == ends.size()) ends.push_back(end);
    ends[lane] = end;
    return lane;
  }

 private:
  std::map<std::pair<int, std::uint32_t>, std::vector<sim::Time>> ends_;
};

/// "[0, 1, 2]"; after the thirtieth "...", as PyTorch cuts it.
std::string ranks_text(const std::vector<int>& ranks, std::size_t most);
/// "ncclDevKernel_AllReduce_Sum_u8_RING_LL"; the recording's own name where that is NCCL's.
std::string kernel_name(const ReplayedOperation& x);
/// Elements of one rank, of one byte: what it gives and what it gets.
std::pair<std::int64_t, std::int64_t> elements(const ReplayedOperation& x);

}  // namespace linkcast::workloads::timelines
