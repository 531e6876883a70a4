// See topo_json.hpp. Rates are GB/s, times us, as in every JSON of the command.
#include "topo_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "words.hpp"

namespace linkcast::cli {
namespace {

using json = nlohmann::ordered_json;

std::string text_of(const json& value) { return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

json counts(const std::vector<std::pair<std::string, int>>& list) {
  auto out = json::array();
  for (const auto& [what, n] : list) out.push_back({{"what", what}, {"count", n}});
  return out;
}

/// Appends to `out`.
void add(json& out, const topologies::Description& d) {
  out["parameters"] = json::object();
  for (const auto& [name, value] : d.params) out["parameters"][name] = value;
  out["devices"] = counts(d.devices);
  out["links"] = counts(d.links);
  out["host"] = d.host;
  out["nvlink_bare_GBps"] = d.nvlink_bare.GBps();
  out["nvlink_payload_GBps"] = d.nvlink_payload.GBps();
  out["pcie_bare_GBps"] = d.pcie_bare.GBps();
  out["pcie_payload_GBps"] = d.pcie_payload.GBps();
  out["wiring"] = d.wiring;
  out["multicast"] = d.multicast;
  out["pcie_p2p"] = d.pcie_p2p;
  out["bisection_GBps"] = d.bisection.GBps();
  out["routes"] = json::array();
  for (const auto& r : d.routes)
    out["routes"].push_back({{"transport", topologies::name_of(r.transport)},
                             {"pairs", r.pairs},
                             {"example", r.example},
                             {"hops", r.hops},
                             {"latency_us", us(r.latency)},
                             {"bare_GBps", r.bare.GBps()},
                             {"payload_GBps", r.payload.GBps()}});
  out["assumptions"] = d.assumptions;
}

void add(json& out, const std::vector<topologies::NumberSource>* numbers) {
  if (numbers == nullptr) return;
  out["sources"] = json::array();
  for (const auto& n : *numbers) out["sources"].push_back({{"what", n.what}, {"value", n.value}, {"source", n.source}});
}

}  // namespace

std::string json_of(const std::vector<topologies::CatalogLine>& catalog) {
  json out{{"schema", "linkcast.topo.list/1"}};
  out["systems"] = json::array();
  for (const auto& line : catalog) {
    json entry{{"name", line.name}, {"title", line.title}, {"aliases", line.aliases}};
    entry["parameters"] = json::array();
    for (const auto& p : line.parameters)
      entry["parameters"].push_back({{"name", p.name}, {"default", p.value}, {"choices", p.choices}, {"help", p.help}});
    out["systems"].push_back(std::move(entry));
  }
  return text_of(out);
}

std::string json_of(const topologies::Description& d, const std::vector<topologies::NumberSource>* numbers) {
  json out{{"schema", "linkcast.topo.show/1"}, {"name", d.name}, {"title", d.title}};
  add(out, d);
  add(out, numbers);
  return text_of(out);
}

std::string json_of(const topologies::ClusterDescription& d, const std::vector<topologies::NumberSource>* numbers) {
  json out{{"schema", "linkcast.topo.cluster/1"}, {"name", d.name}, {"title", d.title}};
  out["nodes"] = d.nodes;
  out["network_nodes"] = d.network_nodes;
  out["gpus"] = d.gpus;
  out["gpus_per_node"] = d.gpus_per_node;
  out["nics"] = d.nics;
  out["nics_per_node"] = d.nics_per_node;
  out["nic"] = d.nic_model;
  out["network"] = {{"fabric", d.fabric},
                    {"type", d.generator},
                    {"routing", d.routing},
                    {"reduces_in_switches", d.sharp},
                    {"packet_payload_bytes", d.packet_payload.count()},
                    {"packet_header_bytes", d.packet_header.count()},
                    {"packet_efficiency", d.packet_efficiency},
                    {"residual", d.residual}};
  out["switches"] = json::array();
  for (const auto& s : d.switches) {
    out["switches"].push_back({{"tier", s.tier},
                               {"model", s.model},
                               {"count", s.count},
                               {"down", s.down},
                               {"ports", s.radix},
                               {"port_GBps", s.rate.is_unlimited() ? json{} : json(s.rate.GBps())},
                               {"latency_us", us(s.latency)}});
  }
  out["cables"] = json::array();
  for (const auto& c : d.cables) {
    out["cables"].push_back({{"from", c.from},
                             {"to", c.to},
                             {"between_groups", c.between_groups},
                             {"count", c.count},
                             {"down", c.down},
                             {"bare_GBps", c.bare.GBps()},
                             {"payload_GBps", c.payload.GBps()},
                             {"latency_us", us(c.latency)},
                             {"state", c.state}});
  }
  out["tiers"] = json::array();
  for (const auto& t : d.tiers) {
    out["tiers"].push_back({{"tier", t.tier},
                            {"switches", t.switches},
                            {"down_GBps", t.down.GBps()},
                            {"up_GBps", t.up.GBps()},
                            {"across_GBps", t.across.GBps()},
                            {"oversubscription", t.oversubscription > 0 ? json(t.oversubscription) : json{}}});
  }
  out["nvlink_per_gpu_GBps"] = d.machine.nvlink_bare.GBps();
  out["nic_per_gpu_GBps"] = d.nic_bare.GBps();
  out["nic_per_gpu_payload_GBps"] = d.nic_payload.GBps();
  out["bisection_GBps"] = d.bisection.GBps();
  out["distances_exact"] = d.distances_exact;
  out["distances"] = json::array();
  for (const auto& r : d.distances) {
    out["distances"].push_back({{"way", r.way},
                                {"pairs", r.pairs},
                                {"example", r.example},
                                {"reachable", r.reachable},
                                {"switches", r.switches},
                                {"latency_us", us(r.latency)}});
  }
  out["machines"] = json::array();
  for (const auto& m : d.machines)
    out["machines"].push_back({{"count", m.nodes}, {"example", m.example}, {"differences", m.differences}});
  out["assumptions"] = d.assumptions;
  out["machine"] = json::object();
  add(out["machine"], d.machine);
  add(out, numbers);
  return text_of(out);
}

std::string json_of(const std::string& topology, const std::vector<topologies::Finding>& findings) {
  json out{{"schema", "linkcast.topo.check/1"}, {"topology", topology}};
  out["sound"] = std::none_of(findings.begin(), findings.end(),
                              [](const auto& f) { return f.severity == topologies::Severity::error; });
  out["findings"] = json::array();
  for (const auto& f : findings)
    out["findings"].push_back({{"severity", topologies::name_of(f.severity)}, {"text", f.text}});
  return text_of(out);
}

}  // namespace linkcast::cli
