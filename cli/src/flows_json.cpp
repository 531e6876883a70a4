// The answer of `linkcast run` of flows as JSON of schema linkcast.flows/1 (docs/flows.md).
#include <nlohmann/json.hpp>

#include "run_flows.hpp"
#include "words.hpp"

namespace linkcast::cli {
namespace {

using json = nlohmann::ordered_json;

json of(const workloads::RatioSpread& s) {
  return {{"min", s.min}, {"p50", s.p50}, {"mean", s.mean}, {"p99", s.p99}, {"max", s.max}};
}

json of(const workloads::TimeSpread& s) {
  return {{"min", us(s.min)},    {"p50", us(s.p50)}, {"p90", us(s.p90)},  {"p99", us(s.p99)},
          {"p99.9", us(s.p999)}, {"max", us(s.max)}, {"mean", us(s.mean)}};
}

}  // namespace

std::string flows_json(const workloads::FlowsResult& r) {
  json out{{"schema", "linkcast.flows/1"},
           {"title", r.title},
           {"topology", r.topology},
           {"fidelity", workloads::name_of(r.fidelity)},
           {"nics", r.ends},
           {"time_us", us(r.end)}};
  out["groups"] = json::array();
  for (const auto& g : r.groups)
    out["groups"].push_back({{"name", g.name},
                             {"pattern", g.pattern},
                             {"senders", g.senders},
                             {"receivers", g.receivers},
                             {"flows", g.flows},
                             {"messages", g.messages},
                             {"bytes", g.bytes.count()},
                             {"start_us", us(g.start)},
                             {"end_us", us(g.end)},
                             {"completion_us", of(g.completion)},
                             {"slowdown", of(g.slowdown)},
                             {"throughput_GBps", g.throughput.GBps()},
                             {"flow_share", of(g.flow_share)},
                             {"sender_share", of(g.sender_share)}});
  const bool packets = r.fidelity == workloads::Fidelity::packet;
  out["links"] = json::array();
  for (const auto& l : r.links) {
    json link{{"name", l.name}, {"bytes", l.bytes}, {"utilisation", l.utilisation}};
    if (packets)
      link.update({{"queue_peak_bytes", l.queue_peak.count()},
                   {"queue_mean_bytes", l.queue_mean.count()},
                   {"paused_us", us(l.paused)},
                   {"pauses", l.pauses},
                   {"ecn_marks", l.marks},
                   {"drops", l.drops},
                   {"damaged", l.damaged},
                   {"link_retries", l.retries}});
    out["links"].push_back(std::move(link));
  }
  if (packets)
    out["packets"] = {
        {"routing", r.routing},      {"flow_control", r.flow_control},   {"control", r.control},
        {"packets", r.packets},      {"packet_hops", r.packet_hops},     {"events", r.events},
        {"drops", r.drops},          {"retransmits", r.retransmits},     {"timeouts", r.timeouts},
        {"ecn_marks", r.marks},      {"notifications", r.notifications}, {"queueing_us", us(r.queueing)},
        {"paused_us", us(r.paused)}, {"packets_peak", r.packets_peak},   {"memory_bytes", r.memory_bytes}};
  out["notes"] = r.notes;
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace linkcast::cli
