// The answer as JSON of schema linkcast.interference/1 (docs/interference.md).
#include <nlohmann/json.hpp>

#include "linkcast/planning/interference.hpp"

namespace linkcast::planning {

std::string interference_json(const Interference& r) {
  using json = nlohmann::ordered_json;
  json out{{"schema", "linkcast.interference/1"},
           {"title", r.title},
           {"topology", r.topology},
           {"nodes", r.nodes},
           {"jobs", json::array()}};
  for (const auto& j : r.jobs) {
    json phases = json::array();
    for (const auto& p : j.phases)
      phases.push_back({{"name", p.name},
                        {"occupancy", p.occupancy},
                        {"stretch", p.stretch},
                        {"worst_case_stretch", p.worst_stretch}});
    out["jobs"].push_back({{"name", j.name},
                           {"workload", j.workload},
                           {"nodes", j.nodes},
                           {"hosts", j.hosts},
                           {"placement", j.placement},
                           {"alone_us", j.alone.us()},
                           {"together_us", j.together.us()},
                           {"slowdown", j.slowdown},
                           {"worst_case_us", j.worst.us()},
                           {"worst_case_slowdown", j.worst_slowdown},
                           {"bound_by", j.bound_by},
                           {"phases", std::move(phases)}});
  }
  out["matrix"] = r.matrix;
  out["placements"] = json::array();
  for (const auto& p : r.placements) {
    json row{{"job", p.job},
             {"placement", p.placement},
             {"alone_us", p.alone.us()},
             {"time_us", p.together.us()},
             {"slowdown", p.slowdown}};
    if (p.seeds > 1) {
      row["seeds"] = p.seeds;
      row["least_us"] = p.least.us();
      row["most_us"] = p.most.us();
    }
    out["placements"].push_back(std::move(row));
  }
  out["suggested"] = json::array();
  for (const auto& s : r.suggested)
    out["suggested"].push_back(
        {{"job", s.job}, {"hosts", s.hosts}, {"time_us", s.time.us()}, {"given_us", s.given.us()}});
  if (!r.goals.empty()) {
    out["goals"] = json::array();
    for (const auto& g : r.goals) {
      json goal{{"goal", g.goal.text}, {"known", g.known}};
      if (g.known) {
        goal["value"] = g.value;
        goal["met"] = g.met;
        goal["margin_percent"] = g.margin_percent;
      } else {
        goal["why"] = g.why;
      }
      out["goals"].push_back(std::move(goal));
    }
  }
  out["notes"] = r.notes;
  if (r.interrupted) out["interrupted"] = true;
  return out.dump(2) + "\n";
}

}  // namespace linkcast::planning
