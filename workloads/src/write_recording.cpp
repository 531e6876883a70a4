// See write_recording.hpp. Whole picoseconds and bytes, and the shortest text of every other number: read again, it is
// the same recording.
#include "linkcast/workloads/write_recording.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace linkcast::workloads {
namespace {

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// [0, 1, 2, 3] as "0-3" where it ascends by one.
std::string ranks_json(const std::vector<int>& ranks) {
  bool range = ranks.size() > 2;
  for (std::size_t i = 1; range && i < ranks.size(); ++i) range = ranks[i] == ranks[i - 1] + 1;
  if (range) return fmt::format("\"{}-{}\"", ranks.front(), ranks.back());
  return fmt::format("[{}]", fmt::join(ranks, ", "));
}

class Lines {
 public:
  explicit Lines(const Recording& recording) : recording_{recording} {
    std::map<std::string, int> count;
    for (const auto& c : recording.communicators) ++count[c.name];
    for (std::size_t i = 0; i < recording.communicators.size(); ++i) {
      const auto& name = recording.communicators[i].name;
      on_.push_back(!name.empty() && count[name] == 1 ? json_text(name) : fmt::format("{}", i));
    }
  }

  std::string head() const {
    const auto& r = recording_;
    auto out = fmt::format(R"({{"schema": "linkcast.trace/2", "world": {}, "ranks": {})", r.world, ranks_json(r.ranks));
    if (!r.source.empty()) out += fmt::format(R"(, "source": {})", json_text(r.source));
    if (r.steps != 1) out += fmt::format(R"(, "steps": {})", r.steps);
    if (r.model_flops > 0) out += fmt::format(R"(, "model_flops": {})", r.model_flops);
    if (r.tokens > 0) out += fmt::format(R"(, "tokens": {})", r.tokens);
    out += R"(, "communicators": [)";
    for (std::size_t i = 0; i < r.communicators.size(); ++i) {
      const auto& c = r.communicators[i];
      out += fmt::format(R"({}{{"name": {})", i == 0 ? "" : ", ", json_text(c.name));
      if (!c.description.empty()) out += fmt::format(R"(, "description": {})", json_text(c.description));
      out += fmt::format(R"(, "ranks": {}}})", ranks_json(c.ranks));
    }
    return out + "]}\n";
  }

  std::string line(std::size_t r, const Operation& o) const {
    using Kind = Operation::Kind;
    auto out = fmt::format(R"({{"rank": {})", recording_.ranks[r]);
    const bool message = o.kind == Kind::send || o.kind == Kind::receive;
    if (o.kind == Kind::compute) {
      out += fmt::format(R"(, "compute": "{} ps")", o.duration.ps());
      if (o.work != Work::other) out += fmt::format(R"(, "work": "{}")", name_of(o.work));
      if (o.flops != 0) out += fmt::format(R"(, "flops": {})", o.flops);
      if (o.touched != 0) out += fmt::format(R"(, "touched": {})", o.touched);
    } else {
      const auto verb = o.kind == Kind::send      ? std::string_view{"send"}
                        : o.kind == Kind::receive ? std::string_view{"receive"}
                                                  : models::nccl::name_of(o.op);
      out += fmt::format(R"(, "{}": "{} B", "on": {})", verb, o.bytes.count(), on_[o.communicator]);
      if (message) out += fmt::format(R"(, "peer": {})", o.peer);
      if (o.tag != 0) out += fmt::format(R"(, "tag": {})", o.tag);
      if (o.batch != 0) out += fmt::format(R"(, "batch": {})", o.batch);
      if (o.root != 0) out += fmt::format(R"(, "root": {})", o.root);
      if (o.measured != sim::Time{}) out += fmt::format(R"(, "measured": "{} ps")", o.measured.ps());
    }
    if (o.name != 0) out += fmt::format(R"(, "name": {})", json_text((*recording_.names)[o.name]));
    if (o.stream != 0) out += fmt::format(R"(, "stream": {})", json_text((*recording_.streams)[o.stream]));
    if (o.id != 0) out += fmt::format(R"(, "id": {})", o.id);
    if (!o.after.empty()) out += fmt::format(R"(, "after": [{}])", fmt::join(o.after, ", "));
    return out + "}\n";
  }

 private:
  const Recording& recording_;
  std::vector<std::string> on_;
};

}  // namespace

bool write_recording(const Recording& recording, std::ostream& out, const WalkOptions& options) {
  const Lines lines{recording};
  out << lines.head();
  return walk(
      recording, [&](std::size_t r, const Operation& o, const RecordedClock::Span&) { out << lines.line(r, o); },
      options);
}

}  // namespace linkcast::workloads
