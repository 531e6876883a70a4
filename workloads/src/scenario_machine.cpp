// See scenario_machine.hpp.
#include "linkcast/workloads/scenario_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>

namespace linkcast::workloads {
namespace {

using trace::Value;

class Written {
 public:
  Written(const Value& v, bool in_place) : in_place_{in_place}, line_{v.place.line}, column_{v.place.column} {
    write(v);
  }
  std::string take() { return std::move(text_); }

 private:
  void go_to(const Place& at) {
    if (!in_place_) return;
    while (line_ < at.line) text_ += '\n', ++line_, column_ = 1;
    while (line_ == at.line && column_ < at.column) put(" ");
  }
  void put(std::string_view s) {
    text_ += s;
    column_ += static_cast<int>(s.size());
  }
  void scalar(const Value& v) {
    const bool plain = !v.quoted && v.text.find_first_of("[]{},#&*!|>'\"%@`\n") == std::string::npos &&
                       v.text.find(": ") == std::string::npos && !v.text.empty();
    if (plain) return put(v.text);
    std::string quoted = "'";
    for (const char c : v.text) quoted += c == '\'' ? std::string{"''"} : std::string{c};
    put(quoted + "'");
  }
  void write(const Value& v) {
    go_to(v.place);
    if (v.is_map()) {
      put("{");
      for (const auto& [key, value] : v.entries) {
        go_to(key.place);
        scalar(key);
        put(": ");
        write(value);
        put(",");
      }
      put("}");
    } else if (v.is_sequence()) {
      put("[");
      for (const auto& item : v.items) {
        write(item);
        put(",");
      }
      put("]");
    } else if (v.is_scalar()) {
      scalar(v);
    } else {
      put("~");
    }
  }
  std::string text_;
  bool in_place_;
  int line_, column_;
};

std::optional<std::pair<int, double>> nics_of(const std::string& text) {
  const auto x = text.find('x');
  char* end = nullptr;
  const long count = std::strtol(text.c_str(), &end, 10);
  if (x == std::string::npos || end != text.c_str() + x || count < 1 || count > 256) return std::nullopt;
  const double gbps = std::strtod(text.c_str() + x + 1, &end);
  if (end == text.c_str() + x + 1 || *end != '\0' || !(gbps > 0) || gbps > 1e5) return std::nullopt;
  return std::pair{static_cast<int>(count), gbps};
}

template <typename Choice>
std::optional<Choice> one_of(trace::Fields& f, std::string_view key, const std::vector<std::string>& words) {
  const auto word = f.word(key);
  if (!word) return std::nullopt;
  const auto found = std::ranges::find(words, *word);
  if (found != words.end()) return static_cast<Choice>(found - words.begin());
  f.problems().add(*f.value().get(key), fmt::format("'{}' is no {}", *word, key), trace::suggest(*word, words));
  return std::nullopt;
}

/// The cluster as the file and the changes of the scenario make it, with that many nodes (0: as the file says).
topologies::Cluster whole(const ScenarioMachine& m, int nodes) {
  auto options = m.load;
  options.nodes = nodes;
  if (m.overrides.empty() && m.network.empty()) return topologies::load_cluster(m.topology, options);
  std::error_code error;
  const bool file = std::filesystem::exists(m.topology, error);
  const auto base = file ? std::filesystem::absolute(m.topology).string() : m.topology;
  auto text = fmt::format("schema: linkcast.topology/1\nextends: '{}'\n", base);
  if (nodes > 0 || !m.network.empty()) {
    // A machine of the catalog has neither nodes nor a network, which overrides of cables need.
    const auto plain =
        topologies::load_cluster(m.topology, {nodes, options.params, options.fabric, {}, options.profile});
    if (plain.nodes() > 1 && plain.network().generator() == "ideal" && m.network.empty())
      text += fmt::format("nodes: {}\nnetwork: {{type: ideal}}\n", plain.nodes());
    else if (!m.network.empty())
      text += fmt::format("{}network: {}\n", nodes > 0 ? fmt::format("nodes: {}\n", nodes) : "", m.network);
  }
  if (!m.overrides.empty()) text += "overrides: " + m.overrides + "\n";
  const auto name = std::filesystem::path{m.topology}.stem().string();
  try {
    return topologies::load_cluster_text(text, name, options);
  } catch (const sim::InputError& e) {
    // The text above is nobody's file: its lines say nothing to people.
    auto diagnostics = e.diagnostics();
    for (auto& d : diagnostics)
      if (d.at.file == name) d.at = {};
    throw sim::InputError(std::move(diagnostics), {});
  }
}

}  // namespace

std::string ScenarioMachine::key() const {
  std::string k = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", topology, load.nodes, load.fabric.value_or(""),
                              load.routing ? static_cast<int>(*load.routing) : -1,
                              load.profile ? std::hash<std::string>{}(load.profile->text()) : std::size_t{0},
                              gpus.value_or(0), nics ? nics->first : 0, nics ? nics->second : 0,
                              placement ? static_cast<int>(*placement) : -1, seed, hosts);
  for (const auto& [name, value] : load.params) k += fmt::format("|{}={}", name, value);
  return k + "|" + overrides + "|" + network;
}

std::string beside(const std::string& folder, const std::string& name) {
  const auto path = std::filesystem::path{folder} / name;
  std::error_code error;
  return std::filesystem::exists(path, error) ? path.string() : name;
}

std::string written_in_place(const Value& v) { return Written{v, true}.take(); }
std::string written(const Value& v) { return Written{v, false}.take(); }

ScenarioMachine read_machine(trace::Fields& f, const std::string& folder,
                             std::shared_ptr<const topologies::Profile> profile) {
  ScenarioMachine m;
  auto& problems = f.problems();
  m.load.profile = std::move(profile);
  if (const auto* params = f.find("params")) {
    if (!params->is_map()) problems.add(*params, "'params' must be a map", "write `name: value` lines");
    for (const auto& [key, value] : params->entries) m.load.params[key.text] = value.text;
  }
  if (const auto nodes = f.integer("nodes", 1, 1'000'000)) m.load.nodes = static_cast<int>(*nodes);
  if (const auto gpus = f.integer("gpus", 1, 100'000'000)) m.gpus = static_cast<int>(*gpus);
  if (const auto* network = f.find("network"); network != nullptr && network->is_map())
    m.network = written(*network);
  else if (const auto kind = f.word("network"))
    m.load.fabric = *kind;
  m.load.routing = one_of<models::Routing>(f, "routing", {"adaptive", "spray", "ecmp", "by_destination"});
  m.placement = one_of<topologies::Placement>(f, "placement", {"packed", "strided", "fragmented"});
  if (const auto seed = f.integer("seed", 0, 1'000'000'000)) m.seed = static_cast<std::uint64_t>(*seed);
  if (const auto hosts = f.word("hosts")) m.hosts = *hosts;
  if (!m.hosts.empty() && (m.placement || m.gpus))
    problems.add(*f.value().get("hosts"), "'hosts' names the nodes: it excludes 'gpus' and 'placement'", "keep one");
  if (const auto nics = f.word("nics")) {
    m.nics = nics_of(*nics);
    if (!m.nics)
      problems.add(*f.value().get("nics"), fmt::format("'{}' is not a number of NICs and their Gb/s", *nics),
                   "write 8x400");
  }
  if (const auto* overrides = f.find("overrides")) {
    if (!overrides->is_sequence())
      problems.add(*overrides, "'overrides' must be a list", "write `- {nic: \"node[3].nic[1]\", state: down}` lines");
    else if (!overrides->items.empty())
      m.overrides = written(*overrides);
  }
  if (const auto* at = f.find("profile")) {
    const auto name = f.word("profile");
    try {
      if (name && !m.load.profile) m.load.profile = topologies::Profile::read(beside(folder, *name));
    } catch (const sim::InputError& e) {
      trace::relocate(problems, at->place, e);
    }
  }
  f.need("topology");
  if (const auto name = f.word("topology")) m.topology = beside(folder, *name);
  return m;
}

topologies::Cluster cluster_for(const std::string& topology, topologies::ClusterOptions options, int world) {
  ScenarioMachine m;
  m.topology = topology;
  m.load = std::move(options);
  return load_machine(m, world);
}

topologies::Cluster load_machine(const ScenarioMachine& m, int world) {
  const int wanted = m.gpus.value_or(world);
  auto cluster = whole(m, m.load.nodes);
  const int each = cluster.gpus_per_node();
  if (m.load.nodes == 0 && cluster.nodes() == 1 && wanted > each) cluster = whole(m, (wanted + each - 1) / each);
  if (m.nics && cluster.nodes() > 1) {
    if (cluster.network().generator() != "ideal")
      throw sim::InputError("'nics' changes machines without a described network", "say the NICs in the topology file");
    const std::string kind = cluster.network().model().name;
    cluster =
        topologies::ideal_cluster(cluster.machine(0).with_nics(m.nics->first, sim::Rate::from_GBps(m.nics->second / 8)),
                                  cluster.nodes(), kind, m.load.profile.get());
  }
  if (!m.hosts.empty()) return cluster.job(topologies::placed(cluster, m.hosts));
  if (!m.gpus && !m.placement) return cluster;
  if (wanted > cluster.ranks())
    throw sim::InputError(fmt::format("{} GPUs: there are not so many", wanted),
                          fmt::format("'{}' has {}", cluster.name(), cluster.ranks()));
  const int nodes = wanted == 0 ? cluster.nodes() : (wanted + each - 1) / each;
  std::vector<int> locals;
  if (wanted > 0 && wanted < each) {
    locals.resize(static_cast<std::size_t>(wanted));
    std::iota(locals.begin(), locals.end(), 0);
  } else if (wanted > 0 && wanted % each != 0) {
    throw sim::InputError(fmt::format("{} GPUs do not fill nodes of {}", wanted, each),
                          fmt::format("a multiple of {}", each));
  }
  const auto placement = m.placement.value_or(topologies::Placement::packed);
  return cluster.job(topologies::placed(cluster, nodes, placement, m.seed), locals);
}

}  // namespace linkcast::workloads
