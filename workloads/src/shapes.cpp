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

namespace {

/// What a channel gets when all of the shape's channels send.
void set_rates(FlowShape& shape, const sim::ResourceTable& resources) {
  const auto& table = shape.classes ? shape.classes->table : resources;
  std::vector<double> inside(table.size(), 0.0), network(table.size(), 0.0), alone(table.size(), 0.0);
  for (const auto& flow : shape.flows) {
    const auto channels = static_cast<double>(flow.channels.size());
    for (const auto& u : flow.usages) inside[static_cast<std::size_t>(u.resource)] += u.weight * channels;
    for (const auto& u : flow.network) {
      const auto r = static_cast<std::size_t>(u.resource);
      inside[r] -= u.weight * channels;
      network[r] += u.weight * channels;
      alone[r] = std::max(alone[r], u.weight);
    }
  }
  for (auto& w : inside)
    if (w < 1e-12) w = 0;  // a link of the network only
  shape.inside = rate_of(table, inside);
  shape.network = rate_of(table, network);
  shape.network_alone = rate_of(table, alone);
}

}  // namespace

FlowShape first_channels(const FlowShape& whole, int channels, const sim::ResourceTable& resources) {
  FlowShape part = whole;
  for (auto& flow : part.flows) std::erase_if(flow.channels, [&](int channel) { return channel >= channels; });
  std::erase_if(part.flows, [](const auto& flow) { return flow.channels.empty(); });
  set_rates(part, resources);
  return part;
}

void ShapeBuilder::finish(FlowShape& shape, bool classify) {
  const std::size_t flows = shape.flows.size();
  const std::size_t n = resources_.size();
  if (!classify) {
    for (std::size_t f = 0; f < flows; ++f) {
      shape.flows[f].network = network_[f].take();
      inside_[f].add(network_[f], 1.0);
      shape.flows[f].usages = inside_[f].take();
    }
    set_rates(shape, resources_);
    return;
  }
  // A resource's signature: who uses it, how much, and how fast it is.
  const auto weight_bits = [](double w) { return w > 0 ? static_cast<std::uint64_t>(sim::fixed_weight(w)) : 0; };
  std::vector<std::uint64_t> signature(n, 0);
  for (std::size_t f = 0; f < flows; ++f) {
    const auto &in = inside_[f].weights(), &net = network_[f].weights();
    for (std::size_t r = 0; r < n; ++r)
      if (in[r] > 0 || net[r] > 0)
        signature[r] += mixed(mixed(weight_bits(in[r]) * 0x9e3779b97f4a7c15ULL + f) + weight_bits(net[r]));
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
    const auto &in = inside_[f].weights(), &net = network_[f].weights();
    for (std::size_t c = 0; c < classes->representative.size(); ++c) {
      const auto r = static_cast<std::size_t>(classes->representative[c]);
      const sim::ResourceId id{static_cast<std::uint32_t>(c)};
      if (in[r] > 0 || net[r] > 0) shape.flows[f].usages.push_back({id, in[r] + net[r]});
      if (net[r] > 0) shape.flows[f].network.push_back({id, net[r]});
    }
  }
  shape.classes = std::move(classes);
  set_rates(shape, resources_);
}

}  // namespace linkcast::workloads
