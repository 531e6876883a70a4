// Components and max-flow by Boost.Graph. Knows no route.

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/connected_components.hpp>
#include <set>

#include "graph.hpp"

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

}  // namespace

int count_gpu_components(const Fabric::Data& data) {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  Graph g{data.devices.size()};
  for (std::size_t i = 0; i < data.links.size(); ++i) {
    if (!data.usable(LinkId{static_cast<std::uint32_t>(i)})) continue;
    boost::add_edge(static_cast<std::size_t>(data.links[i].a), static_cast<std::size_t>(data.links[i].b), g);
  }
  std::vector<int> component(data.devices.size());
  boost::connected_components(g, component.data());
  std::set<int> with_gpu;
  for (auto gpu : data.gpus) with_gpu.insert(component[static_cast<std::size_t>(gpu)]);
  return static_cast<int>(with_gpu.size());
}

/// Every GPU of the first half is fed by a source, every GPU of the second half drains into a sink. GPUs do not pass
/// on what is not theirs: links between two GPUs of the same half are left out, and a GPU outside the ranks has none.
sim::Rate max_flow_between_halves(const Fabric::Data& data, bool nvlink) {
  const auto half = data.gpus.size() / 2;
  if (half == 0) return {};
  std::vector<int> side(data.devices.size(), 0);
  for (std::size_t r = 0; r < data.gpus.size(); ++r) side[static_cast<std::size_t>(data.gpus[r])] = r < half ? 1 : 2;

  FlowGraph g{data.devices.size() + 2};
  const auto source = data.devices.size();
  const auto sink = source + 1;
  for (std::size_t i = 0; i < data.links.size(); ++i) {
    const auto& l = data.links[i];
    if ((l.kind == models::LinkKind::nvlink) != nvlink || !data.usable(LinkId{static_cast<std::uint32_t>(i)})) continue;
    const auto a = static_cast<std::size_t>(l.a), b = static_cast<std::size_t>(l.b);
    const auto outsider = [&](std::size_t d) { return data.devices[d].kind == DeviceKind::gpu && side[d] == 0; };
    if (outsider(a) || outsider(b) || (side[a] != 0 && side[a] == side[b])) continue;
    // A GPU of the first half only sends, one of the second half only receives.
    const auto rate = l.bare.bytes_per_second();
    add_pair(g, a, b, side[b] == 1 || side[a] == 2 ? 0 : rate, side[a] == 1 || side[b] == 2 ? 0 : rate);
  }
  constexpr std::int64_t unlimited = std::int64_t{1} << 60;
  for (std::size_t r = 0; r < data.gpus.size(); ++r) {
    const auto gpu = static_cast<std::size_t>(data.gpus[r]);
    if (r < half) add_pair(g, source, gpu, unlimited, 0);
    if (r >= half) add_pair(g, gpu, sink, unlimited, 0);
  }
  return sim::Rate::bytes_per_second(boost::boykov_kolmogorov_max_flow(g, source, sink));
}

}  // namespace linkcast::topologies
