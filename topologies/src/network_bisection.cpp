// See network_bisection.hpp.
//
// A rail-optimised network of 16,384 GPUs has half a million cables, but few kinds of switches. Max-flow on the
// quotient by an equitable partition is exact: let each vertex u of class A have the same capacity c(u, B) into each
// class B. A flow f(A, B) of the quotient, split over the cables in proportion to their rates, gives every u in A the
// same share f(A, B) / |A| out and f(B, A) / |A| in, so that it is conserved at u because it is conserved at A.
#include "network_bisection.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <unordered_map>

#include "network_choice.hpp"
#include "network_tiers.hpp"

namespace linkcast::topologies {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS,
    boost::property<
        boost::vertex_index_t, long,
        boost::property<boost::vertex_color_t, boost::default_color_type,
                        boost::property<boost::vertex_distance_t, long,
                                        boost::property<boost::vertex_predecessor_t, Traits::edge_descriptor>>>>,
    boost::property<boost::edge_capacity_t, std::int64_t,
                    boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

void add_pair(FlowGraph& g, std::size_t a, std::size_t b, std::int64_t forward, std::int64_t backward) {
  auto capacity = boost::get(boost::edge_capacity, g);
  auto reverse = boost::get(boost::edge_reverse, g);
  const auto there = boost::add_edge(a, b, g).first;
  const auto back = boost::add_edge(b, a, g).first;
  capacity[there] = forward;
  capacity[back] = backward;
  reverse[there] = back;
  reverse[back] = there;
}

std::size_t count_distinct(std::vector<std::uint64_t> labels) {
  std::ranges::sort(labels);
  return static_cast<std::size_t>(std::ranges::unique(labels).begin() - labels.begin());
}

}  // namespace

std::vector<std::uint32_t> alike_switches(const Network::Data& d, std::vector<std::uint64_t> labels) {
  const auto n = d.switches.size();
  for (auto distinct = count_distinct(labels); distinct < n;) {
    std::vector<std::uint64_t> next(n);
    for (std::uint32_t s = 0; s < n; ++s) {
      std::uint64_t sum = 0;  // of rate x label: equal sums are equal rates into every class
      for (const auto& t : d.trunks_of(s))
        sum += scramble(labels[t.to]) * static_cast<std::uint64_t>(rate_of(d, d.cables[t.arc / 2]));
      next[s] = scramble(scramble(labels[s]) + sum);
    }
    labels = std::move(next);
    const auto finer = count_distinct(labels);
    if (finer == distinct) break;
    distinct = finer;
  }
  std::unordered_map<std::uint64_t, std::uint32_t> number;
  std::vector<std::uint32_t> out;
  out.reserve(n);
  for (const auto label : labels)
    out.push_back(number.emplace(label, static_cast<std::uint32_t>(number.size())).first->second);
  return out;
}

sim::Rate max_flow_between(const Network& network, const std::vector<std::uint8_t>& side) {
  const auto& d = network.data();
  std::vector<std::int64_t> in(d.switches.size(), 0), out(d.switches.size(), 0);
  std::int64_t straight = 0;  // cables from machine to machine
  const auto side_of = [&](std::uint32_t port) {
    const auto node = static_cast<std::size_t>(d.places[port].node);
    return node < side.size() ? side[node] : std::uint8_t{0};
  };
  for (const auto& c : d.cables) {
    if (is_switch(network, c.a) || !works(network, c)) continue;
    const auto a = side_of(c.a);
    if (!is_switch(network, c.b)) {
      if (a + side_of(c.b) == 3 && a != 0) straight = sum_of(straight, rate_of(d, c));
    } else if (a != 0) {
      auto& all = (a == 1 ? in : out)[switch_of(network, c.b)];
      all = sum_of(all, rate_of(d, c));
    }
  }
  std::vector<std::uint64_t> labels(d.switches.size());
  for (std::size_t s = 0; s < labels.size(); ++s)
    labels[s] = scramble(scramble(static_cast<std::uint64_t>(in[s])) ^ static_cast<std::uint64_t>(out[s]));
  const auto classes = alike_switches(d, std::move(labels));
  const std::size_t n = classes.empty() ? 0 : std::size_t{*std::ranges::max_element(classes)} + 1;

  std::vector<std::int64_t> from_source(n, 0), to_sink(n, 0);
  std::int64_t total = straight;
  for (std::size_t s = 0; s < classes.size(); ++s) {
    from_source[classes[s]] = sum_of(from_source[classes[s]], in[s]);
    total = sum_of(total, in[s]);
    to_sink[classes[s]] = sum_of(to_sink[classes[s]], out[s]);
  }
  std::unordered_map<std::uint64_t, std::int64_t> between;
  for (const auto& c : d.cables) {
    if (!is_switch(network, c.a) || !is_switch(network, c.b) || !works(network, c)) continue;
    auto a = classes[switch_of(network, c.a)], b = classes[switch_of(network, c.b)];
    if (a == b) continue;
    if (a > b) std::swap(a, b);
    auto& all = between[(std::uint64_t{a} << 32) | b];
    all = sum_of(all, rate_of(d, c));
  }
  if (total == most_rate) return sim::Rate::bytes_per_second(most_rate);
  FlowGraph g{n + 2};
  for (std::size_t k = 0; k < n; ++k) {
    if (from_source[k] > 0) add_pair(g, n, k, from_source[k], 0);
    if (to_sink[k] > 0) add_pair(g, k, n + 1, to_sink[k], 0);
  }
  for (const auto& [pair, rate] : between) add_pair(g, pair >> 32, pair & 0xffffffff, rate, rate);
  return sim::Rate::bytes_per_second(straight + boost::boykov_kolmogorov_max_flow(g, n, n + 1));
}

}  // namespace linkcast::topologies
