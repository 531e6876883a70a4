// The ways of a dragonfly that are not shortest. Between two routers lies one cable, between two groups a few: adaptive
// routing would be no use if it did not go round through a third router or a third group (Kim, Dally, Scott, Abts, ISCA
// 2008: UGAL; De Sensi et al., SC 2020: Slingshot takes both kinds of way, by load). Knows no port and no flow.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "network_data.hpp"

namespace linkcast::topologies {

class Detours {
 public:
  struct Hop {
    std::uint32_t arc;  // cable * 2 + direction (0: a to b)
    double share;       // of the traffic
  };
  /// From router to router of one group, by the shortest way: one cable unless that is down.
  struct Inner {
    std::uint32_t from, to;
    double share;
  };
  struct Gate {
    std::uint32_t sw;
    double share;
  };
  /// What all traffic from one group to another does between the router it comes from and the one it goes to.
  struct Between {
    std::vector<Gate> exits, entries;
    std::vector<Hop> hops;     // cables between groups
    std::vector<Inner> inner;  // in third groups
  };

  /// Null where detours change nothing: the network is no dragonfly, or what is down tore a group apart.
  static std::shared_ptr<const Detours> of(const Network::Data& d);

  std::int32_t group(std::uint32_t sw) const { return groups_[sw]; }
  std::size_t groups() const { return count_; }
  /// Between two routers of a group, straight and through every third one, by the rate of the narrowest cable. Empty
  /// where no such way is left.
  std::vector<Hop> inside(std::uint32_t a, std::uint32_t b) const;
  /// Null where neither a cable nor a third group joins them.
  std::shared_ptr<const Between> between(std::int32_t from, std::int32_t to) const;
  /// All of it for one pair of routers; false where only the shortest ways are left.
  bool spread(std::uint32_t a, std::uint32_t b, std::vector<Hop>& out) const;
  /// Puts one hop inside a group on its cables.
  void walk(std::uint32_t from, std::uint32_t to, double bytes, std::vector<Hop>& out) const;

 private:
  struct Cross {
    std::uint32_t arc, from, to;
    double rate;
  };
  explicit Detours(const Network::Data& d);
  bool find_groups();
  bool whole() const;
  const std::vector<Cross>& cross(std::int32_t from, std::int32_t to) const {
    return cross_[static_cast<std::size_t>(from) * count_ + static_cast<std::size_t>(to)];
  }
  Between find(std::int32_t from, std::int32_t to) const;
  void pass(const std::vector<Cross>& in, const std::vector<Cross>& out, double share, std::size_t turn,
            std::vector<Inner>& inner) const;

  const Network::Data& d_;
  std::size_t count_ = 0;
  std::vector<std::int32_t> groups_;  // by switch, numbered from 0
  std::vector<std::vector<Cross>> cross_;
  mutable std::vector<std::shared_ptr<const Between>> between_;  // found when first asked for
  mutable std::vector<bool> known_;
  mutable std::mutex mutex_;
};

}  // namespace linkcast::topologies
