// linkcast.plan/1, and the same options as CSV: docs/plan.md.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linkcast/planning/plan.hpp"
#include "linkcast/planning/sweep.hpp"

namespace linkcast::planning {
namespace {

using json = nlohmann::ordered_json;

json band(const std::optional<Band>& b) {
  if (!b) return nullptr;
  return {{"low", b->low}, {"typical", b->typical}, {"high", b->high}};
}

json layout(const workloads::Plan& p) {
  json out{{"tp", p.tp},
           {"pp", p.pp},
           {"cp", p.cp},
           {"dp", p.dp},
           {"ep", p.ep},
           {"etp", p.etp},
           {"vpp", p.vpp},
           {"micro_batch", p.micro_batch},
           {"recompute", name_of(p.recompute)},
           {"sharding", name_of(p.sharding)},
           {"shard_group", p.shard_group},
           {"precision", name_of(p.precision)},
           {"schedule", name_of(p.schedule)},
           {"order", p.order}};
  return out;
}

json counts(const PlanCounts& c) {
  return {{"layouts", c.layouts},
          {"do_not_divide", c.do_not_divide},
          {"do_not_fit", c.do_not_fit},
          {"pruned_by_bound", c.pruned_by_bound},
          {"left", c.left},
          {"evaluated", c.evaluated}};
}

json goal(const Judged& g) {
  json out{{"goal", g.goal.text}, {"known", g.known}};
  if (g.known) {
    out["value"] = g.value;
    out["value_text"] = to_text(g.goal.metric, g.value);
    out["met"] = g.met;
    out["margin_percent"] = g.margin_percent;
    out["confidence"] = g.confidence;
  } else {
    out["met"] = false;
  }
  out["text"] = verdict_text(g);
  return out;
}

}  // namespace

std::string json_report(const PlanAnswer& a) {
  json out{{"schema", "linkcast.plan/1"}, {"title", a.title}};
  out["verdict"] = {{"met", a.met()},
                    {"best", a.best ? json(a.options[*a.best].name) : json(nullptr)},
                    {"fastest", a.fastest ? json(a.options[*a.fastest].name) : json(nullptr)},
                    {"text", a.verdict}};
  out["complete"] = !a.interrupted;
  out["options"] = json::array();
  for (const auto& o : a.options) {
    json x{{"name", o.name},
           {"machine", o.machine},
           {"gpus", o.gpus},
           {"nodes", o.nodes},
           {"layout", layout(o.layout)},
           {"layout_text", layout_text(o.layout)},
           {"step_time_us", o.step_time.us()},
           {"bound_us", o.bound.us()},
           {"mfu", o.mfu},
           {"tokens_per_second", o.tokens_per_second},
           {"exposed_percent", 100 * o.exposed_share},
           {"bound_by", o.bound_by},
           {"memory_gb", o.memory_bytes * 1e-9},
           {"capex_usd", band(o.capex)},
           {"power_w", band(o.power)},
           {"cost_per_gpu_hour_usd", band(o.usd_per_gpu_hour)},
           {"cost_per_million_tokens_usd", band(o.usd_per_million_tokens)},
           {"goodput_percent", o.goodput ? json(100 * o.goodput->value) : json(nullptr)},
           {"pareto", o.pareto},
           {"expected_error",
            {{"median_percent", o.trust.median_percent}, {"p90_percent", o.trust.p90_percent}, {"from", o.trust.from}}},
           {"goals", json::array()},
           {"meets_all", o.meets_all},
           {"confidence", o.confidence}};
    for (const auto& g : o.goals) x["goals"].push_back(goal(g));
    out["options"].push_back(std::move(x));
  }
  out["cells"] = json::array();
  for (const auto& c : a.cells) {
    json x{{"machine", c.machine},         {"gpus", c.gpus},         {"nodes", c.nodes},
           {"searched", counts(c.counts)}, {"complete", c.complete}, {"options", c.options.size()}};
    if (!c.why.empty()) x["why"] = c.why;
    out["cells"].push_back(std::move(x));
  }
  out["searched"] = counts(a.counts);
  out["assumptions"] = a.assumptions;
  return out.dump(2) + "\n";
}

std::string to_csv(const PlanAnswer& a) {
  std::string out = csv_line({"machine", "gpus", "nodes", "layout", "step_time_us", "mfu", "tokens_per_second",
                              "exposed_percent", "bound_by", "memory_gb", "capex_usd", "power_w",
                              "usd_per_million_tokens", "pareto", "meets_all", "confidence"});
  const auto typical = [](const std::optional<Band>& b) {
    return b ? fmt::format("{:.6g}", b->typical) : std::string{};
  };
  for (const auto& o : a.options)
    out += csv_line({o.machine, fmt::format("{}", o.gpus), fmt::format("{}", o.nodes), layout_text(o.layout),
                     fmt::format("{:.3f}", o.step_time.us()), fmt::format("{:.6f}", o.mfu),
                     fmt::format("{:.6g}", o.tokens_per_second), fmt::format("{:.4f}", 100 * o.exposed_share),
                     o.bound_by, fmt::format("{:.3f}", o.memory_bytes * 1e-9), typical(o.capex), typical(o.power),
                     typical(o.usd_per_million_tokens), o.pareto ? "yes" : "no", o.meets_all ? "yes" : "no",
                     fmt::format("{:.4f}", o.confidence)});
  return out;
}

}  // namespace linkcast::planning
