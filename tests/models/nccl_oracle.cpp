// Against NCCL itself: graphs, channels, cost model and choices of NCCL 2.30.7 on every topology of tests/data/oracle.
// Single-node entries are held to the printed digit; so are the multi-node ones, with a budget that may not grow.
#include <cmath>
#include <nlohmann/json.hpp>

#include "nccl_support.hpp"

using namespace nccl_test;

namespace {

struct Agreement {
  int graphs = 0, graphs_right = 0;
  int channels = 0, channels_right = 0;
  int tunes = 0, tunes_right = 0;
  int picks = 0, picks_right = 0;
  std::string differences;
};

void compare_graphs(const Communicator& c, const nlohmann::json& entry, const std::string& name, Agreement& sum) {
  for (const auto& [key, want] : entry["graphs"].items()) {
    ++sum.graphs;
    const auto it = c.graphs().find(key);
    bool same = it != c.graphs().end();
    if (same) {
      const Graph& g = it->second;
      same = g.pattern == want["pattern"] && g.cross_nic == want["crossNic"] && g.channels == want["nChannels"] &&
             std::abs(g.bw_intra - want["bwIntra"].get<double>()) < 0.05 &&
             std::abs(g.bw_inter - want["bwInter"].get<double>()) < 0.05 &&
             name_of(g.type_intra) == want["typeIntra"].get<std::string>() &&
             name_of(g.type_inter) == want["typeInter"].get<std::string>() && g.same_channels == want["sameChannels"];
    }
    if (same)
      ++sum.graphs_right;
    else
      sum.differences += name + " " + key + "\n";
  }
  if (c.graphs().size() != entry["graphs"].size()) sum.differences += name + " finds other graphs\n";
}

void compare_channels(const Communicator& c, const nlohmann::json& entry, const std::string& name, Agreement& sum) {
  const auto n = c.channels();
  const auto line = "search " + std::to_string(n.search) + " -> comm " + std::to_string(n.comm) +
                    " ; p2pPerPeer(raw) " + std::to_string(n.p2p_per_peer_raw) + " -> " +
                    std::to_string(n.p2p_per_peer) + " ; p2pnChannels " + std::to_string(n.p2p) + " ";
  ++sum.channels;
  if (entry["channels"].get<std::string>().rfind(line, 0) == 0)
    ++sum.channels_right;
  else
    sum.differences += name + " channels: " + line + "\n";
}

void compare_tune(const Communicator& c, const nlohmann::json& entry, const std::string& name, Agreement& sum) {
  for (const auto& [op, table] : entry["tune"].items()) {
    const auto mine = c.tune(op_from(op).value());
    if (mine.size() != table.size()) sum.differences += name + " " + op + " has other candidates\n";
    for (const auto& [key, want] : table.items()) {
      ++sum.tunes;
      const auto it = mine.find(key);
      // The oracle prints one digit after the point.
      if (it != mine.end() && std::abs(it->second.latency_us - want["latency_us"].get<double>()) < 0.0501 &&
          std::abs(it->second.bandwidth_GBps - want["bandwidth_GBps"].get<double>()) < 0.0501) {
        ++sum.tunes_right;
      } else {
        sum.differences += name + " " + op + " " + key + "\n";
      }
    }
  }
}

void compare_picks(const Communicator& c, const nlohmann::json& entry, const std::string& name, Agreement& sum) {
  for (const auto& [op, steps] : entry["pick"].items()) {
    for (std::int64_t bytes = 256; bytes <= std::int64_t{8} << 30; bytes *= 2) {
      std::string want;
      for (const auto& step : steps) {
        if (step["from_bytes"].get<std::int64_t>() <= bytes) want = step["choice"];
      }
      ++sum.picks;
      const auto got = spelled(c.choose(call(op_from(op).value(), bytes)));
      if (got == want)
        ++sum.picks_right;
      else
        sum.differences += name + " " + op + " " + std::to_string(bytes) + ": " + got + ", NCCL " + want + "\n";
    }
  }
}

Agreement compare(bool single) {
  Agreement sum;
  std::istringstream lines{data_file("nccl-2.30.7.jsonl")};
  for (std::string line; std::getline(lines, line);) {
    const auto entry = nlohmann::json::parse(line);
    const int nodes = entry["nodes"];
    if ((nodes == 1) != single) continue;
    const std::string topology = entry["topology"];
    const auto name = topology + " x" + std::to_string(nodes);
    const auto c = communicator(oracle_system(topology), entry["nccl"].get<std::string>(), nodes);
    compare_graphs(c, entry, name, sum);
    compare_channels(c, entry, name, sum);
    compare_tune(c, entry, name, sum);
    compare_picks(c, entry, name, sum);
  }
  return sum;
}

}  // namespace

TEST_CASE("NCCL 2.30.7 on one node: every graph, channel count, cost and choice", "[nccl][oracle]") {
  const auto sum = compare(true);
  INFO(sum.differences);
  CHECK(sum.channels == 8);
  CHECK(sum.channels_right == sum.channels);
  CHECK(sum.graphs_right == sum.graphs);
  CHECK(sum.tunes_right == sum.tunes);
  CHECK(sum.picks_right == sum.picks);
  CHECK(sum.differences.empty());
}

TEST_CASE("NCCL 2.30.7 on several nodes: the same, within a budget that may not grow", "[nccl][oracle]") {
  constexpr int budget = 0;  // differences of any kind
  const auto sum = compare(false);
  INFO(sum.differences);
  CHECK(sum.channels == 16);
  CHECK(sum.channels - sum.channels_right + sum.graphs - sum.graphs_right + sum.tunes - sum.tunes_right + sum.picks -
            sum.picks_right <=
        budget);
}
