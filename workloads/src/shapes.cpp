#include "shapes.hpp"

#include <algorithm>
#include <unordered_map>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's finaliser
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

}  // namespace

ShapeBuilder::ShapeBuilder(const sim::ResourceTable& resources, std::size_t flows) : resources_{resources} {
  inside_.reserve(flows);
  network_.reserve(flows);
  for (std::size_t i = 0; i < flows; ++i) {
    inside_.emplace_back(resources);
    network_.emplace_back(resources);
  }
}

void ShapeBuilder::finish(FlowShape& shape, bool classify) {
  const std::size_t flows = shape.flows.size();
  const std::size_t n = resources_.size();
  std::vector<double> all_inside(n, 0.0), all_network(n, 0.0);
  for (std::size_t f = 0; f < flows; ++f) {
    const auto channels = static_cast<double>(shape.flows[f].channels.size());
    const auto &in = inside_[f].weights(), &net = network_[f].weights();
    for (std::size_t r = 0; r < n; ++r) {
      all_inside[r] += in[r] * channels;
      all_network[r] += net[r] * channels;
    }
  }
  shape.inside = rate_of(resources_, all_inside);
  shape.network = rate_of(resources_, all_network);
  for (const auto& flow : network_)
    shape.network_alone = std::min(shape.network_alone, rate_of(resources_, flow.weights()));
  for (std::size_t f = 0; f < flows; ++f) inside_[f].add(network_[f], 1.0);
  if (!classify) {
    for (std::size_t f = 0; f < flows; ++f) shape.flows[f].usages = inside_[f].take();
    return;
  }
  // A resource's signature: who uses it, how much, and how fast it is.
  std::vector<std::uint64_t> signature(n, 0);
  for (std::size_t f = 0; f < flows; ++f) {
    const auto& w = inside_[f].weights();
    for (std::size_t r = 0; r < n; ++r)
      if (w[r] > 0)
        signature[r] += mixed(static_cast<std::uint64_t>(sim::fixed_weight(w[r])) * 0x9e3779b97f4a7c15ULL + f);
  }
  auto classes = std::make_shared<LinkClasses>();
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  for (std::size_t r = 0; r < n; ++r) {
    if (signature[r] == 0) continue;
    const auto& resource = resources_[sim::ResourceId{static_cast<std::uint32_t>(r)}];
    const auto key = mixed(signature[r] ^ mixed(static_cast<std::uint64_t>(resource.capacity.bytes_per_second())) ^
                           static_cast<std::uint64_t>(resource.bare.bytes_per_second()));
    const auto [it, is_new] = known.try_emplace(key, static_cast<std::uint32_t>(classes->representative.size()));
    if (is_new) {
      classes->representative.push_back(sim::ResourceId{static_cast<std::uint32_t>(r)});
      classes->table.add(resource);
    }
  }
  for (std::size_t f = 0; f < flows; ++f) {
    const auto& w = inside_[f].weights();
    for (std::size_t c = 0; c < classes->representative.size(); ++c) {
      const double weight = w[static_cast<std::size_t>(classes->representative[c])];
      if (weight > 0) shape.flows[f].usages.push_back({sim::ResourceId{static_cast<std::uint32_t>(c)}, weight});
    }
  }
  shape.classes = std::move(classes);
}

}  // namespace linkcast::workloads
