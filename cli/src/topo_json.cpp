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
  if (numbers != nullptr) {
    out["sources"] = json::array();
    for (const auto& n : *numbers)
      out["sources"].push_back({{"what", n.what}, {"value", n.value}, {"source", n.source}});
  }
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
