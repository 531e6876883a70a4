// Chrome trace JSON, see timeline.hpp.
#include "linkcast/sim/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace linkcast::sim {
namespace {

std::string exact_us(Time t) {
  return fmt::format("{}.{:06}", t.ps() / 1'000'000, t.ps() % 1'000'000);  // simulated time is never negative
}

std::string_view kind_of(const Task& task) {
  static constexpr std::string_view kinds[] = {"barrier", "compute", "flow", "chunk"};
  return kinds[task.work.index()];
}

}  // namespace

std::string json_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

void Timeline::task_ended(const Task& task, Time started, Time ended, const Account&) {
  if (started == ended) return;
  spans_.push_back({task.lane, started, ended, static_cast<std::uint64_t>(task.id), task.label, kind_of(task)});
}

std::string Timeline::lane_name(std::int32_t lane) const {
  const auto it = names_.find(lane);
  return it == names_.end() ? fmt::format("lane {}", lane) : it->second;
}

void Timeline::write(std::ostream& out) const {
  auto spans = spans_;
  std::ranges::sort(spans, [](const Span& a, const Span& b) {
    return std::tie(a.lane, a.started, a.id) < std::tie(b.lane, b.started, b.id);
  });
  auto names = names_;
  for (const auto& s : spans) names.try_emplace(s.lane, lane_name(s.lane));
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* separator = "\n";
  for (const auto& [lane, name] : names) {
    out << separator
        << fmt::format(R"({{"ph":"M","pid":0,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})", lane,
                       json_escaped(name));
    separator = ",\n";
  }
  for (const auto& s : spans) {
    out << separator
        << fmt::format(R"({{"ph":"X","pid":0,"tid":{},"ts":{},"dur":{},"name":"{}","cat":"{}","args":{{"task":{}}}}})",
                       s.lane, exact_us(s.started), exact_us(s.ended - s.started), json_escaped(s.label), s.kind, s.id);
    separator = ",\n";
  }
  out << "\n]}\n";
}

}  // namespace linkcast::sim
