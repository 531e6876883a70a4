// The answer of `linkcast collective` as JSON of schema linkcast.collective/1 (docs/cli.md), and its timeline.
#include <nlohmann/json.hpp>

#include "collective.hpp"
#include "linkcast/workloads/algorithm_plan.hpp"

namespace linkcast::cli {
namespace {

using json = nlohmann::ordered_json;

/// Microseconds by cause; also those that are zero, so that a reader needs no special case.
json account_json(const sim::Account& account) {
  json out;
  for (std::size_t i = 0; i < sim::cause_count; ++i) {
    const auto cause = static_cast<sim::Cause>(i);
    if (account.tells(cause)) out[std::string{sim::name_of(cause)}] = us(account[cause]);
  }
  return out;
}

json row_json(const CollectiveQuestion& q, const CollectiveAnswer& a, int ranks) {
  json row;
  row["size_bytes"] = a.row.size.count();
  row["count"] = count_of(q.call, a.row.size, ranks);
  row["time_us"] = us(a.row.time);
  row["algbw_GBps"] = a.row.algbw_GBps;
  row["busbw_GBps"] = a.row.busbw_GBps;
  row["algorithm"] = a.row.algorithm;
  row["protocol"] = a.row.protocol;
  row["channels"] = a.row.channels;
  row["bound_by"] = a.row.bound_by;
  row["account"] = account_json(a.row.account);
  if (a.error) {
    row["expected_error"] = {{"median_percent", a.error->percent},
                             {"p90_percent", a.error->p90_percent},
                             {"extrapolated", a.error->extrapolated},
                             {"from", a.error->from}};
  } else {
    row["expected_error"] = nullptr;
  }
  return row;
}

std::string text_of(const json& value) { return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string collective_json(const CollectiveQuestion& q, const Machine& m, const workloads::CollectiveModel& model,
                            const std::vector<CollectiveAnswer>& answers, bool cut_short) {
  json out;
  out["schema"] = "linkcast.collective/1";
  out["op"] = models::nccl::name_of(q.call.op);
  if (q.options.tuner) out["tuner"] = q.options.tuner->file;
  for (const auto& a : q.options.algorithms)
    out["algorithm_files"].push_back({{"file", a->file}, {"format", a->format}, {"name", a->name}});
  out["topology"] = m.cluster.name();
  out["gpu"] = gpu_name(m.fabric());
  out["ranks"] = m.cluster.ranks();
  out["nodes"] = m.cluster.nodes();
  out["gpus"] = m.ranks;
  if (m.cluster.nodes() > 1) {
    const auto& network = m.cluster.network();
    out["network"] = {
        {"kind", network.model().name},
        {"type", network.generator()},
        {"routing", models::name_of(network.routing())},
        {"assumed", std::vector<std::string>{m.cluster.assumptions().begin(), m.cluster.assumptions().end()}}};
  }
  out["nccl"] = q.options.nccl.str();
  out["env"] = q.options.env.all();
  out["launch"] = name_of(q.options.launch);
  out["launch_floor_us"] = us(model.launch_floor(q.call.op));
  out["fidelity"] = workloads::name_of(q.options.fidelity);
  out["dtype"] = q.call.dtype;
  out["in_place"] = q.call.in_place;
  out["root"] = has_root(q.call.op) ? json(q.call.root) : json(nullptr);
  if (cut_short) out["interrupted"] = true;
  out["rows"] = json::array();
  for (const auto& a : answers) out["rows"].push_back(row_json(q, a, static_cast<int>(m.cluster.ranks())));
  return text_of(out);
}

std::string collective_timeline(const CollectiveQuestion& q, const std::vector<CollectiveAnswer>& answers) {
  json events = json::array();
  const auto name_track = [&](int track, const char* name) {
    events.push_back({{"ph", "M"}, {"pid", 1}, {"tid", track}, {"name", "thread_name"}, {"args", {{"name", name}}}});
  };
  name_track(1, "collective");
  name_track(2, "account of time");
  sim::Time now;
  for (const auto& a : answers) {
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", us(now)},
                      {"dur", us(a.row.time)},
                      {"name", std::string{models::nccl::name_of(q.call.op)} + " " + size_text(a.row.size)},
                      {"args",
                       {{"algorithm", a.row.algorithm},
                        {"protocol", a.row.protocol},
                        {"channels", a.row.channels},
                        {"busbw_GBps", a.row.busbw_GBps},
                        {"bound_by", a.row.bound_by}}}});
    auto part_begin = now;
    for (std::size_t i = 0; i < sim::cause_count; ++i) {
      const auto cause = static_cast<sim::Cause>(i);
      const auto part = a.row.account[cause];
      if (part == sim::Time{}) continue;
      events.push_back({{"ph", "X"},
                        {"pid", 1},
                        {"tid", 2},
                        {"ts", us(part_begin)},
                        {"dur", us(part)},
                        {"name", sim::name_of(cause)}});
      part_begin += part;
    }
    now += a.row.time;
  }
  return text_of({{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}});
}

}  // namespace linkcast::cli
