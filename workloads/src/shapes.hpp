// What a collective puts on the links, apart from its size: one flow for the channels that load the same links, its
// usages, and how long its hops take. Built once for each algorithm, protocol and number of channels, and kept.
//
// Over several machines most links are alike: those that the same flows load with the same weights, and that are as
// fast, hold the flows back alike. One stands for all of them in the solver, whatever the number of machines; that is
// exact (the max-min rates of a set of constraints do not change when one is written twice).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "edges.hpp"
#include "linkcast/models/nccl/communicator.hpp"
#include "rates.hpp"

namespace linkcast::workloads {

/// The links that a shape's usages speak of, one for each class of equal ones.
struct LinkClasses {
  sim::ResourceTable table;
  std::vector<sim::ResourceId> representative;  // a resource of the cluster for each
};

struct FlowShape {
  struct Flow {
    std::vector<int> channels;              // that are this flow
    std::vector<sim::Usage> usages;         // per byte, by resource
    std::vector<sim::Usage> network;        // the part of them that NICs and cables are
    std::map<EdgeTime, std::int64_t> hops;  // ring: the distinct hops and how many there are of each
    sim::Time there_and_back;               // tree: the hand-overs from the farthest rank to the root and back
    sim::Time farthest;                     // the slowest hand-over between machines
    int stages = 0, net_stages = 0;         // of the way there: hops inside machines, between them
  };
  std::vector<Flow> flows;
  std::shared_ptr<const LinkClasses> classes;  // null: usages are in the cluster's own numbers
  // What a channel gets of the links inside machines, and of the NICs and cables, when all channels send.
  sim::Rate inside = sim::Rate::unlimited(), network = sim::Rate::unlimited();
  sim::Rate network_alone = sim::Rate::unlimited();  // what one channel gets of the NICs when the others pause
  sim::Rate message = sim::Rate::unlimited();        // trees: what one message gets, its channel's others pausing too
};

/// Collects the usages of flows and turns them into classes.
class ShapeBuilder {
 public:
  ShapeBuilder(const sim::ResourceTable& resources, std::size_t flows);
  UsageSum& inside(std::size_t flow) { return inside_[flow]; }
  UsageSum& network(std::size_t flow) { return network_[flow]; }
  /// Fills usages, classes (when `classify`), inside and network of the shape, whose flows have their channels.
  void finish(FlowShape& shape, bool classify);

 private:
  const sim::ResourceTable& resources_;
  std::vector<UsageSum> inside_, network_;
};

/// The same with the first `channels` only: what a small call uses. `resources`: the cluster's.
FlowShape first_channels(const FlowShape& whole, int channels, const sim::ResourceTable& resources);

/// Kept by a CollectiveModel.
class ShapeCache {
 public:
  using Key = std::tuple<int, int, int, int>;  // algorithm, protocol, channels, anything else
  template <typename Make>
  std::shared_ptr<const FlowShape> get(const Key& key, Make make) {
    auto& slot = shapes_[key];
    if (!slot) slot = std::make_shared<const FlowShape>(make());
    return slot;
  }

 private:
  std::map<Key, std::shared_ptr<const FlowShape>> shapes_;
};

}  // namespace linkcast::workloads
