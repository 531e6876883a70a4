// A cluster small enough to draw: some machines and switches by themselves, the rest folded into boxes that stand for
// many, and the cables between them as bundles. What is broken is drawn by itself. Knows no format of pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linkcast/topologies/cluster.hpp"

namespace linkcast::topologies {

struct Sketch {
  struct Box {
    int tier = -1;  // -1: machines
    int count = 1;  // how many it stands for
    int first = 0;  // node of the cluster, or switch; the first of many
    int rail = -1, plane = -1, group = -1;
    bool up = true;
    bool odd = false;  // not like its peers
    std::string name;  // "leaf[3]", "24 leaves"
    std::string model;
  };
  struct Bundle {
    std::size_t low = 0, high = 0;  // boxes; the lower tier first
    int nic = -1;                   // of the machine that is drawn in detail
    std::int64_t count = 0, down = 0, slow = 0;
    sim::Rate rate;                          // of one cable (the fastest)
    int rail = -1;                           // of the leaf, where it touches one
    std::vector<std::uint32_t> cables = {};  // of the network
  };
  std::vector<Box> boxes;  // machines first, then tier by tier
  std::vector<Bundle> bundles;
  std::vector<int> tiers;  // of switches that occur, upwards
};

struct SketchLimits {
  int machines = 4;  // drawn one by one
  int switches = 8;  // of a tier
};
Sketch sketch(const Cluster& cluster, const SketchLimits& limits = {});

}  // namespace linkcast::topologies
