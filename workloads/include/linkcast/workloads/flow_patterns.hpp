// Who sends what to whom and when, without any collective: permutation, incast, all-to-all, random, on/off, pairs. A
// group is a job; several groups share a network. Messages are made one at a time, so that a million flows cost a few
// bytes each. Knows no packet, no queue, no YAML.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/units.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/flow_sizes.hpp"

namespace linkcast::workloads {

/// The NICs of a cluster's (job's) machines that are plugged in: where flows begin and end.
class FlowEnds {
 public:
  explicit FlowEnds(const topologies::Cluster& cluster);

  std::size_t size() const { return places_.size(); }
  topologies::NicPlace place(std::size_t end) const { return places_[end]; }
  /// Payload that all its ports that are up carry, one way.
  sim::Rate line(std::size_t end) const { return line_[end]; }
  std::string name(std::size_t end) const;
  /// "all", "node[0-31]", "nic[0]", "node[3].nic[0-1]", "host7.nic[2]": in the order of the ends. `problem` says what
  /// does not exist where nothing does.
  std::vector<std::uint32_t> find(std::string_view text, std::string& problem) const;

 private:
  topologies::Cluster cluster_;
  std::vector<topologies::NicPlace> places_;
  std::vector<int> node_;  // of the job
  std::vector<sim::Rate> line_;
};

enum class FlowPattern : unsigned char { permutation, incast, all_to_all, random, on_off, pairs };
std::string_view name_of(FlowPattern p);

/// Messages come whether others are through or not (random, on_off); else a sender waits (FlowGroup::concurrency).
inline bool is_open(FlowPattern p) { return p == FlowPattern::random || p == FlowPattern::on_off; }

struct FlowGroup {
  std::string name;
  FlowPattern pattern = FlowPattern::permutation;
  std::vector<std::uint32_t> senders, receivers;  // ends
  std::vector<std::uint32_t> to;                  // permutation, pairs: each sender's receiver, an end
  FlowSizes sizes{sim::Bytes{1}};
  std::optional<std::int64_t> messages;  // of each flow; random, on_off: of each sender
  sim::Time start;
  std::optional<sim::Time> duration;  // from `start`: nothing is posted after that
  double load = 0;                    // random, on_off: of the sender's line while it is on
  sim::Time on, off;                  // on_off
  int concurrency = 0;                // messages that a sender has under way; 0: all
  std::uint64_t seed = 1;

  sim::Time last_post() const { return duration ? start + *duration : sim::Time::max(); }
  /// Ends that sender `s` (a place in `senders`) may send to, rising; never on its own machine but in pairs.
  std::vector<std::uint32_t> peers(const FlowEnds& ends, std::size_t s) const;
};

/// Each of `senders` one of `receivers`, none twice, never its own machine; random. Nothing where that cannot be.
std::optional<std::vector<std::uint32_t>> permutation_of(const FlowEnds& ends,
                                                         const std::vector<std::uint32_t>& senders,
                                                         const std::vector<std::uint32_t>& receivers,
                                                         std::uint64_t seed);

struct FlowMessage {
  std::uint32_t peer = 0;  // place in FlowGroup::peers
  sim::Bytes bytes;
  sim::Time at;  // not before: its arrival in open patterns, else the group's start
};

/// The messages of one sender, in the order in which it posts them. The same whenever it is made again.
class FlowMessages {
 public:
  /// `peers`: of that sender, how many. `line`: its rate.
  FlowMessages(const FlowGroup& group, std::size_t sender, std::size_t peers, std::size_t first_peer, sim::Rate line);
  std::optional<FlowMessage> next();

 private:
  sim::Time at_busy(double seconds) const;

  const FlowGroup* group_;
  FlowRandom random_;
  std::uint32_t peers_, first_;
  std::int64_t made_ = 0, most_;
  double busy_ = 0, gap_ = 0;  // seconds in which the sender was on; between arrivals
};

/// Where sender `s` of an all-to-all begins: as many after itself as its machine has ends, so that no two begin with
/// the same receiver.
std::size_t first_peer(const FlowEnds& ends, const FlowGroup& group, std::size_t s,
                       const std::vector<std::uint32_t>& peers);
/// What tells this flow from others where ways are taken by hash.
std::uint64_t flow_hash(const FlowGroup& group, std::uint32_t from, std::uint32_t to);

}  // namespace linkcast::workloads
