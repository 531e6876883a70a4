// The answer of `linkcast nccl` for people.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "nccl_facts.hpp"
#include "words.hpp"

namespace linkcast::cli {
namespace {

using models::nccl::Communicator;

std::string_view pattern_name(int pattern) {
  switch (pattern) {
    case 1:
      return "balanced tree";
    case 2:
      return "split tree";
    case 3:
      return "tree";
    case 4:
      return "ring";
    case 5:
      return "NVLS";
    case 6:
      return "collnet direct";
    default:
      return "?";
  }
}

std::string head(const NcclFacts& facts) {
  const auto& c = *facts.communicator;
  auto out = fmt::format("NCCL {} on {}: {} ranks, {} node{}\n", c.config().version.str(), facts.topology, c.ranks(),
                         c.nodes(), c.nodes() == 1 ? "" : "s");
  for (const auto& [name, value] : c.config().env.all()) out += fmt::format("{}={}\n", name, value);
  return out;
}

std::string graphs_text(const Communicator& c) {
  auto out = fmt::format("\n{:<15}{:<16}{:>8}  {:>15}  {:>15}  {:<7}{:<7}{}\n", "graph", "pattern", "channels",
                         "GB/s in a node", "between nodes", "path", "to net", "twice the same");
  for (const auto* name : {"RING", "TREE", "NVLS", "COLLNET_CHAIN", "COLLNET_DIRECT"}) {
    const auto found = c.graphs().find(name);
    if (found == c.graphs().end()) continue;
    const auto& g = found->second;
    const bool several = c.nodes() > 1;
    out += fmt::format("{:<15}{:<16}{:>8}  {:>15.1f}  {:>15}  {:<7}{:<7}{}\n", name, pattern_name(g.pattern),
                       g.channels, g.bw_intra, several ? fmt::format("{:.1f}", g.bw_inter) : "-", name_of(g.type_intra),
                       several ? name_of(g.type_inter) : "-", g.same_channels ? "yes" : "no");
  }
  return out;
}

std::string channels_text(const Communicator& c) {
  const auto n = c.channels();
  return fmt::format("\nchannels: {} found by the search, {} for rings and trees{}, {} for send/recv ({} per peer)\n",
                     n.search, n.comm, n.nvls > 0 ? fmt::format(", {} for NVLS", n.nvls) : "", n.p2p, n.p2p_per_peer);
}

/// Each order of ranks once, turned so that the lowest comes first.
std::string rings_text(const Communicator& c) {
  if (c.nodes() > 1 || c.ranks() > 16) return {};
  std::vector<std::pair<std::vector<int>, std::vector<int>>> orders;
  for (int channel = 0; channel < c.channels().comm; ++channel) {
    auto order = c.ring(channel);
    std::rotate(order.begin(), std::min_element(order.begin(), order.end()), order.end());
    const auto found = std::find_if(orders.begin(), orders.end(), [&](const auto& o) { return o.first == order; });
    if (found == orders.end())
      orders.emplace_back(std::move(order), std::vector{channel});
    else
      found->second.push_back(channel);
  }
  std::string out;
  for (const auto& [order, channels] : orders)
    out += fmt::format("ring of channel{} {}: {}\n", channels.size() == 1 ? "" : "s", ranks_text(channels),
                       fmt::join(order, " "));
  return out;
}

std::string tune_text(const NcclFacts& facts) {
  std::string out =
      "\nNCCL's own model, by which it chooses (it ranks, it does not predict): latency us / bandwidth GB/s\n";
  std::set<std::string> names;
  for (const auto& [op, table] : facts.tune)
    for (const auto& [name, tune] : table) names.insert(name);
  out += fmt::format("{:<22}", "");
  for (const auto& [op, table] : facts.tune) out += fmt::format("{:>16}", op);
  out += '\n';
  for (const auto& name : names) {
    out += fmt::format("{:<22}", name);
    for (const auto& [op, table] : facts.tune) {
      const auto found = table.find(name);
      out += fmt::format("{:>16}", found == table.end() ? "-"
                                                        : fmt::format("{:.1f} / {:.1f}", found->second.latency_us,
                                                                      found->second.bandwidth_GBps));
    }
    out += '\n';
  }
  return out;
}

std::string picks_text(const NcclFacts& facts) {
  std::string out = "\nwhat it takes, from 256 B to 8 GiB\n";
  for (const auto& [op, picks] : facts.picks) {
    out += fmt::format("{:<15}", op);
    if (picks.empty()) out += " nothing: the environment leaves no algorithm";
    for (std::size_t i = 0; i < picks.size(); ++i)
      out +=
          fmt::format("{}{} from {}", i == 0 ? " " : ", ", picks[i].choice, size_text(sim::Bytes{picks[i].from_bytes}));
    out += '\n';
  }
  return out;
}

}  // namespace

std::string nccl_text(const NcclFacts& facts) {
  const auto& c = *facts.communicator;
  return head(facts) + graphs_text(c) + channels_text(c) + rings_text(c) + tune_text(facts) + picks_text(facts) +
         "\nNext: the same command with --explain all_reduce:4M shows every candidate for one call\n";
}

std::string explanation_text(const NcclFacts& facts, const Explanation& e) {
  auto out = head(facts);
  out += fmt::format("\n{} of {}: {}\n  {}\n", models::nccl::name_of(e.call.op), size_text(e.call.bytes),
                     choice_name(e.choice), e.choice.reason);
  if (e.candidates.empty()) return out;
  out += fmt::format("\n{:<22}{:>22}  {}\n", "candidate", "NCCL's estimate (us)", "reason");
  for (const auto& c : e.candidates)
    out += fmt::format("{:<22}{:>22.1f}  {}\n", choice_name(c), c.model_time_us, c.reason);
  return out;
}

}  // namespace linkcast::cli
