// What one call takes on a communicator that lies anywhere on a cluster, alone. Alike communicators (the same places
// relative to their first node) share one model, and alike calls one answer: a step of 16,384 GPUs asks for a few
// dozen. A replay makes its own; whoever replays many recordings on one cluster gives them one. Knows no stream and no
// trace.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/collective.hpp"

namespace linkcast::workloads {

struct CallCost {
  sim::Time time;       // the kernel's, without the host's launch: the host runs ahead
  double on_links = 0;  // share of the time that links, not latencies or SMs, decide
  int channels = 0;     // SMs that it takes of every GPU
  bool between_nodes = false;
  std::string algorithm, protocol, bound_by;
};

/// Not shared between threads.
class CallCosts {
 public:
  /// `share_trunks`: communicators on the other GPUs of the same machines send at the same time over the same cables
  /// between switches. False for whoever lays all of them over the network himself.
  CallCosts(topologies::Cluster cluster, CommunicatorOptions options, bool share_trunks = true);
  ~CallCosts();
  CallCosts(const CallCosts&) = delete;
  CallCosts& operator=(const CallCosts&) = delete;

  /// The model of a communicator of those ranks of the world.
  std::size_t model_of(std::span<const int> ranks);
  /// Throws sim::InputError (an operation that this communicator cannot do).
  const CallCost& cost(std::size_t model, models::nccl::Op op, sim::Bytes bytes, int root = 0);
  /// What was simplified about that model, for people; may be empty.
  const std::string& note(std::size_t model) const;
  std::size_t models() const { return models_.size(); }

 private:
  struct Model;
  struct Call {
    std::size_t model;
    int op, root;
    std::int64_t bytes;
    bool operator==(const Call&) const = default;
  };
  struct CallHash {
    std::size_t operator()(const Call& c) const {
      std::uint64_t h = c.model * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(c.op) * 1000003 +
                        static_cast<std::uint64_t>(c.root) * 7919 + static_cast<std::uint64_t>(c.bytes);
      h = (h ^ (h >> 31)) * 0xbf58476d1ce4e5b9ULL;
      return static_cast<std::size_t>(h ^ (h >> 29));
    }
  };

  /// On a node that is not of the first one's kind.
  double crowding_at(int node, int other, const std::vector<int>& gpus);

  topologies::Cluster cluster_;
  CommunicatorOptions options_;
  bool network_damaged_ = false, share_trunks_ = true;
  std::map<std::string, std::size_t> by_shape_;
  std::map<std::string, double> crowding_;
  std::vector<std::unique_ptr<Model>> models_;
  std::unordered_map<Call, CallCost, CallHash> costs_;
};

}  // namespace linkcast::workloads
