// See astra_inputs.hpp.
#include "astra_inputs.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "byte_source.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {
namespace {

constexpr int most_ranks = 1 << 22;

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

std::string first_line(const std::string& text) { return text.substr(0, text.find_first_of("\r\n")); }

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> out;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos && out.size() < 64) {
    const auto end = std::min(line.find_first_of(" \t\r", at), line.size());
    out.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

bool whole(const std::string& s) {
  return !s.empty() && std::ranges::all_of(s, [](unsigned char c) { return c >= '0' && c <= '9'; });
}

bool is_network(std::string_view text) { return has(text, "npus_count") && has(text, "topology"); }

/// "nodes gpus_per_server nvswitches switches links gpu_type" (SimAI), "nodes switches links" (ns-3), then switches,
/// then "src dst 100Gbps 0.0005ms error".
bool is_link_list(const std::string& text) {
  const auto head = words(first_line(text));
  if (head.size() != 3 && head.size() != 6) return false;
  for (std::size_t i = 0; i < std::min<std::size_t>(head.size(), 5); ++i)
    if (!whole(head[i])) return false;
  return has(text, "bps ");
}

AstraNetwork network(const std::string& path, const std::string& text) {
  AstraNetwork out;
  try {
    const auto root = YAML::Load(text);
    out.topology = root["topology"].as<std::vector<std::string>>();
    out.npus = root["npus_count"].as<std::vector<int>>();
    if (root["bandwidth"]) out.bandwidth = root["bandwidth"].as<std::vector<double>>();
    if (root["latency"]) out.latency = root["latency"].as<std::vector<double>>();
  } catch (const YAML::Exception& e) {
    throw sim::InputError(
        {{{path, e.mark.line + 1, e.mark.column + 1, 1},
          "not an ASTRA-sim network file: " + e.msg,
          "topology: [Ring, Switch], npus_count: [8, 4], bandwidth: [400, 50], latency: [900, 1000]"}},
        "");
  }
  double world = 1;
  for (const int n : out.npus) world *= n > 0 ? n : 1e9;
  if (out.npus.empty() || world > most_ranks)
    throw sim::InputError(fmt::format("{}: npus_count: one number of at least 1 per dimension", path));
  return out;
}

}  // namespace

int AstraNetwork::world() const {
  int out = 1;
  for (const int n : npus) out *= n;
  return out;
}

bool is_comm_groups(std::string_view head) {
  if (head.find_first_not_of(" \t\r\n") == std::string_view::npos || head[head.find_first_not_of(" \t\r\n")] != '{')
    return false;
  const auto all = nlohmann::json::parse(head, nullptr, false);
  return all.is_object() && !all.empty() && std::ranges::all_of(all, [](const auto& v) {
           return v.is_array() && !v.empty() &&
                  std::ranges::all_of(v, [](const auto& r) { return r.is_number_unsigned(); });
         });
}

AstraBeside read_astra_beside(const std::vector<std::string>& paths) {
  AstraBeside out;
  for (const auto& path : paths) {
    const auto text = read_whole(path, std::size_t{1} << 28);
    if (is_network(text)) {
      out.network = network(path, text);
    } else if (is_comm_groups(text)) {
      const auto all = nlohmann::json::parse(text);
      for (const auto& [name, ranks] : all.items()) {
        std::set<int> seen;
        auto& group = out.groups[name];
        for (const auto& r : ranks) {
          const auto rank = r.get<std::uint64_t>();
          if (rank >= static_cast<std::uint64_t>(most_ranks) || !seen.insert(static_cast<int>(rank)).second)
            throw sim::InputError(fmt::format("{}: group '{}': rank {} is twice in it, or no rank", path, name, rank));
          group.push_back(static_cast<int>(rank));
        }
      }
    } else if (has(text, "\"scheduling-policy\"") || has(text, "-implementation\"") || has(text, "\"memory-type\"")) {
      continue;  // the system's choices are NCCL's here
    } else {
      throw sim::InputError(fmt::format("{}: nothing that belongs beside this trace", path),
                            "an ASTRA-sim network file (.yml) or communicator groups {\"1\": [0, 1]}");
    }
  }
  return out;
}

std::string not_a_workload(const Probe& probe) {
  const auto& t = probe.head;
  const std::string fabric =
      "it holds a network and no workload; describe it in a topology (docs/topology.md) and replay on that";
  if (is_network(t)) {
    std::string dims;
    try {
      const auto n = network(probe.path, t);
      for (std::size_t i = 0; i < n.npus.size(); ++i)
        dims += fmt::format("{}{} {}{}{}", i > 0 ? ", " : "", i < n.topology.size() ? n.topology[i] : "?", n.npus[i],
                            i < n.bandwidth.size() ? fmt::format(" at {} GB/s", n.bandwidth[i]) : "",
                            i < n.latency.size() ? fmt::format(" and {} ns", n.latency[i]) : "");
    } catch (const sim::InputError&) {
      dims = "not readable";
    }
    return fmt::format("an ASTRA-sim network file ({}): {}; beside a workload it says how many ranks there are", dims,
                       fabric);
  }
  if (has(t, "\"scheduling-policy\"") || has(t, "\"all-reduce-implementation\""))
    return "an ASTRA-sim system file: it chooses collective algorithms and holds no workload; here NCCL's own choice "
           "is made, which NCCL_ALGO and NCCL_PROTO override";
  if (has(t, "\"memory-type\"")) return "an ASTRA-sim remote-memory file: it holds no workload";
  if (has(t, "\"logical-dims\"")) return "an ASTRA-sim logical topology: it holds dimensions and no workload";
  if (is_comm_groups(t))
    return "communicator groups of ASTRA-sim: give it beside the Chakra trace that it belongs to, not instead";
  if (has(t, "<algo "))
    return "an MSCCL algorithm: run it by `linkcast collective OP --topology … --algorithm-file FILE`";
  if (has(t, "\"channels\"") && has(t, "\"threadblocks\"") && has(t, "\"collective\""))
    return "an MSCCL++ plan: run it by `linkcast collective OP --topology … --algorithm-file FILE`";
  if (has(t, "collective_type,min_bytes") || has(t, "allreduce,0,") || t.starts_with("collective,size_bytes,"))
    return "rules or measurements of an NCCL tuner: `--tuner FILE` of `linkcast collective` and `linkcast nccl` takes "
           "it";
  if (t.starts_with("Nodes ") && has(t, "Tiers ")) return "an htsim topology: " + fabric;
  if (is_link_list(t)) return "a list of links as SimAI and ns-3 read it: " + fabric;
  if (has(t, "allreduce,:") || (has(t, "busbw") && has(t, "TP:") && has(t, "DP:")))
    return "SimAI's busbw.yaml, bus bandwidths that its analytical mode assumes: no workload; here they are computed "
           "from "
           "the topology";
  if (t.starts_with("Size,") && has(first_line(t), "Node"))
    return "SimAI's ratios of bus bandwidth by size: no workload; linkcast fit takes measurements instead";
  if (has(t, "CC_MODE") && has(t, "PACKET_PAYLOAD_SIZE"))
    return "SimAI's configuration of ns-3: settings of a packet simulator and no workload";
  if (has(first_line(t), "Parameter_size") && has(first_line(t), "Hidden_size"))
    return "AICB's list of model cards: no workload; each row is a model and a plan for the training-step generator";
  return {};
}

}  // namespace linkcast::workloads::readers
