// Nodes of one rank's Chakra trace in an order in which every dependency comes first. A node that waits for a later one
// is held until that has come; a dependency on a node that is nowhere in the file is counted and dropped, and so is a
// control dependency that closes a circle (ASTRA-sim's feeder obeys the data dependencies only). Memory: the nodes that
// are held (at most `window`) and one bit per node of the file.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "chakra_node.hpp"
#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers::chakra {

/// A set of numbers, dense in stretches.
class IdSet {
 public:
  bool add(std::uint64_t id);  // false: was in it
  bool contains(std::uint64_t id) const;

 private:
  std::unordered_map<std::uint64_t, std::array<std::uint64_t, 8>> pages_;
};

class Ordered {
 public:
  using Source = std::function<bool(Node&)>;
  static constexpr std::size_t window = std::size_t{1} << 18;

  Ordered(Source source, std::shared_ptr<const IdSet> all, std::shared_ptr<ReadReport> report, std::string path)
      : source_{std::move(source)}, all_{std::move(all)}, report_{std::move(report)}, path_{std::move(path)} {}

  /// Throws sim::InputError: nodes that wait for each other in a circle, which are named.
  bool next(Node& out);

 private:
  struct Held {
    Node node;
    std::size_t missing = 0;
  };

  void emit(const Node& n);
  bool ready(Node& n, std::size_t& missing);
  bool circle_from(std::uint64_t key, std::vector<std::uint64_t>& circle) const;
  void break_circle(const std::vector<std::uint64_t>& circle);
  void release(std::uint64_t key);
  void widen();
  std::string where(const Node& n) const;

  Source source_;
  std::shared_ptr<const IdSet> all_;
  std::shared_ptr<ReadReport> report_;
  std::string path_;
  IdSet seen_, known_;  // given; given or held
  std::deque<Node> ready_;
  std::map<std::uint64_t, Held> held_;                                     // by their order in the file
  std::unordered_map<std::uint64_t, std::uint64_t> place_;                 // id -> key of held_
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> waiting_;  // id -> keys of held_
  std::uint64_t count_ = 0;
  bool over_ = false;
};

}  // namespace linkcast::workloads::readers::chakra
