// The answer for programs: linkcast.drift/1, as docs/formats.md says.
#include <nlohmann/json.hpp>

#include "drift_words.hpp"

namespace linkcast::calibration {
namespace {

using nlohmann::json;

json change_json(const Change& c) {
  return {{"time_percent", percent_of(c.log_ratio)},
          {"low_percent", percent_of(c.low)},
          {"high_percent", percent_of(c.high)},
          {"probability", c.probability},
          {"false_alarm", c.false_alarm}};
}

json finding_json(const DriftFinding& f) {
  json out = {{"what", f.what},
              {"level", name_of(f.level)},
              {"where", f.place.empty() ? json(nullptr) : json(f.place)},
              {"slower", f.change.slower()},
              {"from_bytes", f.from ? json(f.from->count()) : json(nullptr)},
              {"to_bytes", f.to ? json(f.to->count()) : json(nullptr)},
              {"points", f.points},
              {"baseline", f.baseline},
              {"new", f.now},
              {"unit", f.unit},
              {"beyond", f.beyond}};
  out.update(change_json(f.change));
  return out;
}

json compared_json(const DriftCompared& c) {
  json out = {{"what", c.what},
              {"sizes", c.sizes ? json(name_of(*c.sizes)) : json(nullptr)},
              {"points", c.points},
              {"runs", {{"baseline", c.runs_baseline}, {"new", c.runs_now}}},
              {"noise_percent", percent_of(c.noise)},
              {"noise_from", c.noise_from},
              {"seen_from_percent", percent_of(c.would_be_seen)}};
  out.update(change_json(c.change));
  return out;
}

}  // namespace

std::string drift_json(const Drift& d) {
  json out = {{"schema", "linkcast.drift/1"},
              {"verdict", verdict_of(d)},
              {"only_launch", d.only_launch()},
              {"tolerance_percent", d.options.tolerance * 100},
              {"false_alarms", d.options.false_alarms},
              {"confidence", d.options.confidence},
              {"tests", d.tests}};
  out["faults"] = json::array();
  for (const auto& f : d.faults) out["faults"].push_back({{"what", f.what}, {"reason", f.reason}});
  out["findings"] = json::array();
  for (const auto& f : d.findings) out["findings"].push_back(finding_json(f));
  out["compared"] = json::array();
  for (const auto& c : d.compared) out["compared"].push_back(compared_json(c));
  out["not_compared"] = json::array();
  for (const auto& n : d.not_compared) out["not_compared"].push_back({{"what", n.what}, {"reason", n.reason}});
  out["notes"] = d.notes;
  // A file name may hold bytes that are no UTF-8; they are replaced rather than refused.
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace linkcast::calibration
