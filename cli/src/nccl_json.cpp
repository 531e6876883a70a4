// The answer of `linkcast nccl` as JSON of schema linkcast.nccl/1 (docs/cli.md). Numbers have as many decimals as NCCL
// prints in its own log.
#include <cmath>
#include <nlohmann/json.hpp>

#include "nccl_facts.hpp"

namespace linkcast::cli {
namespace {

using json = nlohmann::ordered_json;

double tenth(double value) { return std::round(value * 10) / 10; }

json graph_json(const models::nccl::Graph& g) {
  return {{"pattern", g.pattern},
          {"crossNic", g.cross_nic},
          {"nChannels", g.channels},
          {"bwIntra", tenth(g.bw_intra)},
          {"bwInter", tenth(g.bw_inter)},
          {"typeIntra", name_of(g.type_intra)},
          {"typeInter", name_of(g.type_inter)},
          {"sameChannels", g.same_channels}};
}

json head(const NcclFacts& facts) {
  const auto& c = *facts.communicator;
  json out;
  out["schema"] = "linkcast.nccl/1";
  out["topology"] = facts.topology;
  out["nodes"] = c.nodes();
  out["ranks"] = c.ranks();
  out["nccl"] = c.config().version.str();
  out["env"] = c.config().env.all();
  return out;
}

std::string text_of(const json& value) { return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string nccl_json(const NcclFacts& facts) {
  const auto& c = *facts.communicator;
  json out = head(facts);
  out["graphs"] = json::object();
  for (const auto* name : {"RING", "TREE", "NVLS", "COLLNET_CHAIN", "COLLNET_DIRECT"}) {
    const auto found = c.graphs().find(name);
    if (found != c.graphs().end()) out["graphs"][name] = graph_json(found->second);
  }
  const auto n = c.channels();
  out["channels"] = {{"search", n.search},
                     {"comm", n.comm},
                     {"nvls", n.nvls},
                     {"p2p_per_peer_raw", n.p2p_per_peer_raw},
                     {"p2p_per_peer", n.p2p_per_peer},
                     {"p2p", n.p2p}};
  // NCCL lists protocols within algorithms: Tree/LL, Tree/LL128, …; a std::map would sort Ring first.
  constexpr const char* algorithms[] = {"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
  constexpr const char* protocols[] = {"LL", "LL128", "Simple"};
  out["tune"] = json::object();
  for (const auto& [op, table] : facts.tune) {
    auto& entry = out["tune"][op] = json::object();
    for (const auto* a : algorithms) {
      for (const auto* p : protocols) {
        const auto name = std::string{a} + "/" + p;
        const auto found = table.find(name);
        if (found == table.end()) continue;
        entry[name] = {{"latency_us", tenth(found->second.latency_us)},
                       {"bandwidth_GBps", tenth(found->second.bandwidth_GBps)}};
      }
    }
  }
  out["pick"] = json::object();
  for (const auto& [op, picks] : facts.picks) {
    auto& list = out["pick"][op] = json::array();
    for (const auto& pick : picks)
      list.push_back(
          {{"from_bytes", pick.from_bytes}, {"choice", pick.choice}, {"time_us", tenth(pick.model_time_us)}});
  }
  return text_of(out);
}

std::string explanation_json(const NcclFacts& facts, const Explanation& e) {
  json out = head(facts);
  json why{{"op", models::nccl::name_of(e.call.op)},
           {"size_bytes", e.call.bytes.count()},
           {"choice", choice_name(e.choice)},
           {"reason", e.choice.reason}};
  why["candidates"] = json::array();
  for (const auto& candidate : e.candidates)
    why["candidates"].push_back(
        {{"choice", choice_name(candidate)}, {"model_time_us", candidate.model_time_us}, {"reason", candidate.reason}});
  out["explain"] = std::move(why);
  return text_of(out);
}

}  // namespace linkcast::cli
