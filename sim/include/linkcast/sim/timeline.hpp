// An observer that writes what happened as Chrome trace JSON (Perfetto and chrome://tracing read it): one thread
// for each lane, one complete event for each task. Times are exact: microseconds with six decimals are whole
// picoseconds, so that equal runs give equal bytes. Knows no ranks: lanes get the names that the caller gives.
// Format: "Trace Event Format" of the Chromium project.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/sim/replay.hpp"

namespace linkcast::sim {

class Timeline final : public Observer {
 public:
  struct Span {
    std::int32_t lane;
    Time started, ended;
    std::uint64_t id;
    std::string label;
    std::string_view kind;  // "compute", "flow", "chunk"
  };

  /// How a lane is called; lanes without a name are "lane <n>".
  void name_lane(std::int32_t lane, std::string name) { names_[lane] = std::move(name); }

  void task_ended(const Task& task, Time started, Time ended, const Account& account) override;

  /// Tasks that take no time (barriers) are left out. Sorted by lane, then start.
  void write(std::ostream& out) const;

  /// As they ended.
  const std::vector<Span>& spans() const { return spans_; }
  std::string lane_name(std::int32_t lane) const;

 private:
  std::vector<Span> spans_;
  std::map<std::int32_t, std::string> names_;
};

/// `text` as the inside of a JSON string: quotes, backslashes and control characters escaped.
std::string json_escaped(std::string_view text);

}  // namespace linkcast::sim
