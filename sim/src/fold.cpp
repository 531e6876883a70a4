// Colour refinement over the agents, connections and resources of a chunk program. See fold.hpp.
#include "linkcast/sim/fold.hpp"

#include <algorithm>
#include <utility>

#include "census.hpp"
#include "mix.hpp"

namespace linkcast::sim {
namespace {

struct Edge {
  std::uint32_t to;
  std::uint64_t label;
};

// A graph with labelled edges, seen from both ends, and the refinement of its colours.
class Refinement {
 public:
  explicit Refinement(std::size_t nodes) : degree_(nodes + 1, 0), kind_(nodes, 0), colour_(nodes, 0) {}

  void set_kind(std::uint32_t node, std::uint64_t kind) { kind_[node] = kind; }
  void connect(std::uint32_t a, std::uint32_t b, std::uint64_t label) { pending_.push_back({a, b, label}); }

  const std::vector<std::uint32_t>& run() {
    lay_out();
    const std::size_t n = kind_.size();
    std::vector<std::uint32_t> dirty(n);
    for (std::uint32_t i = 0; i < n; ++i) dirty[i] = i;
    class_size_.push_back(static_cast<std::uint32_t>(n));
    marked_.assign(n, 0);
    while (!dirty.empty()) dirty = round(dirty);
    return colour_;
  }

 private:
  struct Pending {
    std::uint32_t a, b;
    std::uint64_t label;
  };
  struct Signed {
    std::uint32_t colour;
    Signature signature;
    std::uint32_t node;
    auto operator<=>(const Signed&) const = default;
  };

  void lay_out() {
    for (const auto& p : pending_) ++degree_[p.a + 1], ++degree_[p.b + 1];
    for (std::size_t i = 1; i < degree_.size(); ++i) degree_[i] += degree_[i - 1];
    edges_.resize(pending_.size() * 2);
    auto at = degree_;
    for (const auto& p : pending_) edges_[at[p.a]++] = {p.b, p.label}, edges_[at[p.b]++] = {p.a, p.label};
    pending_ = {};
  }

  Signature sign(std::uint32_t node) const {
    Signature s;
    s.add(kind_[node]);
    for (std::size_t e = degree_[node]; e < degree_[node + 1]; ++e) {
      s.add(mix(edges_[e].label, colour_[edges_[e].to]));
    }
    return s;
  }

  // Looks at the nodes that have a neighbour with a new colour. Those of their class that are not dirty still have
  // the signature that the class had; a dirty one has met a colour that did not exist then, so it differs.
  std::vector<std::uint32_t> round(const std::vector<std::uint32_t>& dirty) {
    signed_.clear();
    for (const auto node : dirty) signed_.push_back({colour_[node], sign(node), node});
    std::sort(signed_.begin(), signed_.end());
    std::vector<std::uint32_t> recoloured;
    for (std::size_t begin = 0, end = 0; begin < signed_.size(); begin = end) {
      const auto colour = signed_[begin].colour;
      while (end < signed_.size() && signed_[end].colour == colour) ++end;
      split(begin, end, recoloured);
    }
    std::vector<std::uint32_t> next;
    for (const auto node : recoloured) {
      for (std::size_t e = degree_[node]; e < degree_[node + 1]; ++e) {
        if (std::exchange(marked_[edges_[e].to], 1) == 0) next.push_back(edges_[e].to);
      }
    }
    for (const auto node : next) marked_[node] = 0;
    return next;
  }

  void split(std::size_t begin, std::size_t end, std::vector<std::uint32_t>& recoloured) {
    const auto colour = signed_[begin].colour;
    // The old colour stays with those that are not dirty: none of the others is like them. Only where all of the
    // class are dirty does it stay with the largest group.
    const bool all_dirty = class_size_[colour] == end - begin;
    std::size_t largest = 0, keeper = end;
    const auto group_end = [&](std::size_t i) {
      std::size_t j = i;
      while (j < end && signed_[j].signature == signed_[i].signature) ++j;
      return j;
    };
    for (std::size_t i = begin; all_dirty && i < end; i = group_end(i)) {
      if (group_end(i) - i > largest) largest = group_end(i) - i, keeper = i;
    }
    for (std::size_t i = begin, j = i; i < end; i = j) {
      j = group_end(i);
      if (i == keeper) continue;
      const auto fresh = static_cast<std::uint32_t>(class_size_.size());
      class_size_.push_back(static_cast<std::uint32_t>(j - i));
      class_size_[colour] -= static_cast<std::uint32_t>(j - i);
      for (std::size_t k = i; k < j; ++k) {
        colour_[signed_[k].node] = fresh;
        recoloured.push_back(signed_[k].node);
      }
    }
  }

  std::vector<std::uint32_t> degree_;
  std::vector<std::uint64_t> kind_;
  std::vector<std::uint32_t> colour_;
  std::vector<Pending> pending_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> class_size_;
  std::vector<std::uint8_t> marked_;
  std::vector<Signed> signed_;
};

Classes classes_of(const std::vector<std::uint32_t>& colour, std::size_t first, std::size_t count) {
  constexpr std::uint32_t none = 0xFFFFFFFFU;
  Classes c;
  std::vector<std::uint32_t> number;
  for (std::size_t i = 0; i < count; ++i) {
    const auto k = colour[first + i];
    if (k >= number.size()) number.resize(k + 1, none);
    if (number[k] == none) {
      number[k] = static_cast<std::uint32_t>(c.size.size());
      c.representative.push_back(static_cast<std::uint32_t>(i));
      c.size.push_back(0);
    }
    ++c.size[number[k]];
    c.of.push_back(number[k]);
  }
  return c;
}

template <class Id>
std::uint32_t index(Id id) {
  return static_cast<std::uint32_t>(id);
}

std::uint64_t weight_label(std::uint64_t tag, const Usage& u) {
  return mix(tag, static_cast<std::uint64_t>(fixed_weight(u.weight)));
}

}  // namespace

Folding fold(const ResourceTable& resources, const ChunkProgram& program) {
  return fold(resources, program, take_census(resources, program));
}

Folding fold(const ResourceTable& resources, const ChunkProgram& program, const Census& census) {
  const auto agents = static_cast<std::uint32_t>(program.agents.size());
  const auto connections = static_cast<std::uint32_t>(program.connections.size());
  const auto first_resource = agents + connections;
  enum Tag : std::uint64_t { agent_tag = 1, connection_tag, resource_tag, carry_tag, local_tag, end_tag };
  const auto word = [](auto v) { return static_cast<std::uint64_t>(v); };

  Refinement graph{first_resource + resources.size()};
  for (std::uint32_t a = 0; a < agents; ++a) {
    const auto& agent = program.agents[a];
    graph.set_kind(a, mix(mix(agent_tag, agent.pattern), mix(word(agent.units), word(agent.pipelined))));
    for (auto i = census.first[a]; i < census.first[a + 1]; ++i) {
      const auto& at = census.incidences[i];
      graph.connect(a, agents + at.connection, mix(mix(end_tag, word(at.role)), at.group));
    }
    for (const auto& u : agent.local) graph.connect(a, first_resource + index(u.resource), weight_label(local_tag, u));
  }
  for (std::uint32_t c = 0; c < connections; ++c) {
    const auto& connection = program.connections[c];
    graph.set_kind(agents + c, mix(mix(connection_tag, word(connection.slots)),
                                   mix(word(connection.latency.ps()), word(connection.credit_latency.ps()))));
    for (const auto& u : connection.usages) {
      graph.connect(agents + c, first_resource + index(u.resource), weight_label(carry_tag, u));
    }
  }
  for (std::uint32_t r = 0; r < resources.size(); ++r) {
    const auto& resource = resources[ResourceId{r}];
    graph.set_kind(first_resource + r, mix(mix(resource_tag, word(resource.capacity.bytes_per_second())),
                                           word(resource.bare.bytes_per_second())));
  }
  const auto& colour = graph.run();
  return {classes_of(colour, 0, agents), classes_of(colour, agents, connections),
          classes_of(colour, first_resource, resources.size())};
}

}  // namespace linkcast::sim
