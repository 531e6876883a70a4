// See discovery_json.hpp. Of the environment only NCCL_* gets in, whatever a Discovery holds.
#include "discovery_json.hpp"

#include <array>

#include "secrets.hpp"
#include "software_facts.hpp"

namespace linkcast::calibration {
namespace {

using json = nlohmann::ordered_json;

const std::array<std::string, 3> launch_names = {"single_process", "multi_process", "graph"};
const std::array<std::string, 2> kind_names = {"real", "twin"};

json json_of(const GpuFacts& g) {
  json out;
  out["name"] = g.name;
  out["bus_id"] = g.bus_id;
  out["compute_capability"] = g.compute_capability;
  out["sms"] = g.sms;
  out["copy_engines"] = g.copy_engines;
  out["memory_bytes"] = g.memory.count();
  out["pcie"] = {{"generation", g.pcie.generation},
                 {"width", g.pcie.width},
                 {"max_generation", g.pcie.most_generation},
                 {"max_width", g.pcie.most_width}};
  out["nvlinks"] = json::array();
  for (const auto& l : g.nvlinks)
    out["nvlinks"].push_back({{"link", l.link}, {"up", l.up}, {"version", l.version}, {"peer", l.peer}});
  out["c2c_links"] = g.c2c_links;
  if (g.fabric)
    out["fabric"] = {{"state", g.fabric->state}, {"cluster", g.fabric->cluster}, {"clique", g.fabric->clique}};
  return out;
}

GpuFacts gpu_from(const JsonCursor& at) {
  GpuFacts g;
  if (!at.object_of({"name", "bus_id", "compute_capability", "sms", "copy_engines", "memory_bytes", "pcie", "nvlinks",
                     "c2c_links", "fabric"}))
    return g;
  const auto whole = [](const JsonCursor& c) { return static_cast<int>(c.whole(0, 1'000'000)); };
  g.name = at["name"].text();
  g.bus_id = at["bus_id"].text();
  g.compute_capability = whole(at["compute_capability"]);
  g.sms = whole(at["sms"]);
  g.copy_engines = whole(at["copy_engines"]);
  g.memory = sim::Bytes{at["memory_bytes"].whole(0, std::int64_t{1} << 50)};
  if (const auto pcie = at["pcie"]; pcie.object_of({"generation", "width", "max_generation", "max_width"}))
    g.pcie = {whole(pcie["generation"]), whole(pcie["width"]), whole(pcie["max_generation"]), whole(pcie["max_width"])};
  for (const auto& link : at["nvlinks"].elements())
    if (link.object_of({"link", "up", "version", "peer"}))
      g.nvlinks.push_back({whole(link["link"]), link["up"].flag(), whole(link["version"]), link["peer"].text()});
  g.c2c_links = whole(at["c2c_links"]);
  if (at.has("fabric"))
    if (const auto f = at["fabric"]; f.object_of({"state", "cluster", "clique"}))
      g.fabric = FabricFacts{f["state"].text(), f["cluster"].text(), static_cast<int>(f["clique"].whole(0, INT32_MAX))};
  return g;
}

std::vector<std::vector<bool>> matrix_from(const JsonCursor& at, std::size_t n) {
  std::vector<std::vector<bool>> out;
  for (const auto& row : at.elements()) {
    out.emplace_back();
    for (const auto& cell : row.elements()) out.back().push_back(cell.flag());
    if (out.back().size() != n) row.problem("a row needs a cell for each GPU");
  }
  if (out.size() != n) at.problem("a matrix needs a row for each GPU");
  out.resize(n);
  for (auto& row : out) row.resize(n);
  return out;
}

}  // namespace

json json_of(const Discovery& d) {
  json out;
  out["kind"] = d.kind;
  out["host"] = d.host;
  out["system"] = d.system ? json(*d.system) : json(nullptr);
  out["gpus"] = json::array();
  for (const auto& g : d.gpus) out["gpus"].push_back(json_of(g));
  out["peer_access"] = d.peer_access;
  out["nics"] = json::array();
  for (const auto& n : d.nics)
    out["nics"].push_back({{"name", n.name}, {"state", n.state}, {"link_layer", n.link_layer}, {"gbps", n.gbps}});
  out["ranks"] = d.ranks;
  out["nodes"] = d.nodes;
  out["launch"] = launch_names[static_cast<std::size_t>(d.launch)];
  out["software"] = {{"driver", d.driver},
                     {"cuda_driver", d.cuda_driver},
                     {"cuda_runtime", d.cuda_runtime},
                     {"nccl", d.nccl ? json(d.nccl->str()) : json(nullptr)}};
  out["env"] = json::object();
  for (const auto& [name, value] : d.env)
    if (name.starts_with("NCCL_")) out["env"][name] = value;
  out["missing"] = d.missing;
  return out;
}

Discovery discovery_from(const JsonCursor& at) {
  Discovery d;
  if (!at.object_of({"kind", "host", "system", "gpus", "peer_access", "nics", "ranks", "nodes", "launch", "software",
                     "env", "missing"}))
    return d;
  d.kind = kind_names[at["kind"].word(kind_names)];
  d.host = at["host"].text();
  if (!at["system"].is_null() || !at.has("system")) d.system = at["system"].text();
  for (const auto& gpu : at["gpus"].elements()) d.gpus.push_back(gpu_from(gpu));
  d.peer_access = matrix_from(at["peer_access"], d.gpus.size());
  for (const auto& nic : at["nics"].elements())
    if (nic.object_of({"name", "state", "link_layer", "gbps"}))
      d.nics.push_back({nic["name"].text(), nic["state"].text(), nic["link_layer"].text(), nic["gbps"].number(0, 1e6)});
  d.ranks = static_cast<int>(at["ranks"].whole(0, 10'000'000));
  d.nodes = static_cast<int>(at["nodes"].whole(1, 10'000'000));
  d.launch = static_cast<models::LaunchMode>(at["launch"].word(launch_names));
  if (const auto s = at["software"]; s.object_of({"driver", "cuda_driver", "cuda_runtime", "nccl"})) {
    d.driver = s["driver"].text();
    d.cuda_driver = s["cuda_driver"].text();
    d.cuda_runtime = s["cuda_runtime"].text();
    if (!s["nccl"].is_null() || !s.has("nccl")) {
      d.nccl = nccl_version_in(s["nccl"].text());
      if (!d.nccl) s["nccl"].problem("no version of NCCL", "as in \"2.28.3\", or null where there is none");
    }
  }
  if (at["env"].value().is_object()) {
    for (const auto& [name, value] : at["env"].value().items())
      if (name.starts_with("NCCL_") && value.is_string()) d.env[name] = shown_value_of(name, value.get<std::string>());
  } else {
    at["env"].object_of({});
  }
  for (const auto& sentence : at["missing"].elements()) d.missing.push_back(sentence.text());
  return d;
}

}  // namespace linkcast::calibration
