// The answer of `linkcast run` as JSON of schema linkcast.run/1 (docs/cli.md).
#include <nlohmann/json.hpp>

#include "run_scenario.hpp"
#include "words.hpp"

namespace linkcast::cli {

using json = nlohmann::ordered_json;

std::string scenario_json(const workloads::ScenarioResult& r, const Expected& expected) {
  json out{{"schema", "linkcast.run/1"}, {"title", r.title}, {"topology", r.topology},
           {"ranks", r.ranks},           {"nccl", r.nccl},   {"fidelity", workloads::name_of(r.fidelity)},
           {"time_us", us(r.end)}};
  for (std::size_t i = 0; i < sim::cause_count; ++i) {
    const auto cause = static_cast<sim::Cause>(i);
    if (r.account.tells(cause)) out["account"][std::string{sim::name_of(cause)}] = us(r.account[cause]);
  }
  out["by_rank"] = json::array();
  for (const auto& k : r.by_rank)
    out["by_rank"].push_back({{"rank", k.rank},
                              {"gpu", k.gpu},
                              {"compute_us", us(k.compute)},
                              {"communication_us", us(k.communication)},
                              {"exposed_communication_us", us(k.exposed)},
                              {"wait_us", us(k.wait)},
                              {"launch_us", us(k.launch)},
                              {"idle_us", us(k.idle)}});
  out["collective_count"] = r.collective_count;
  out["totals"] = json::array();
  for (const auto& t : r.totals) {
    const auto e = error_of(r, t, expected);
    out["totals"].push_back({{"op", t.op},
                             {"communicator", t.communicator},
                             {"ranks", t.ranks},
                             {"size_bytes", t.size.count()},
                             {"count", t.count},
                             {"time_us", us(t.time)},
                             {"shortest_us", us(t.shortest)},
                             {"longest_us", us(t.longest)},
                             {"algorithm", t.algorithm},
                             {"protocol", t.protocol}});
    if (e)
      out["totals"].back()["expected_error"] = {{"median_percent", e->percent},
                                                {"p90_percent", e->p90_percent},
                                                {"extrapolated", e->extrapolated},
                                                {"from", e->from}};
  }
  out["collectives"] = json::array();
  for (const auto& c : r.collectives)
    out["collectives"].push_back({{"name", c.name},
                                  {"communicator", c.communicator},
                                  {"op", c.op},
                                  {"ranks", c.ranks},
                                  {"size_bytes", c.size.count()},
                                  {"first_arrival_us", us(c.first_arrival)},
                                  {"start_us", us(c.start)},
                                  {"end_us", us(c.end)},
                                  {"algorithm", c.algorithm},
                                  {"protocol", c.protocol}});
  out["links"] = json::array();
  for (const auto& l : r.links)
    out["links"].push_back({{"name", l.name}, {"bytes", l.bytes}, {"utilisation", l.utilisation}});
  out["tasks"] = r.tasks;
  out["events"] = r.events;
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace linkcast::cli
