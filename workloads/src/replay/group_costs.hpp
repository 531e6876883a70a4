// What one call takes on a communicator that lies anywhere on a cluster, alone. Alike communicators (the same places
// relative to their first node) share one model, and alike calls one answer: a step of 16,384 GPUs asks for a few
// dozen. Knows no stream and no trace.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/collective.hpp"
#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::replaying {

struct Cost {
  sim::Time time;       // the kernel's, without the host's launch: the host runs ahead
  double on_links = 0;  // share of the time that links, not latencies or SMs, decide
  int channels = 0;     // SMs that it takes of every GPU
  bool between_nodes = false;
  std::string algorithm, protocol, bound_by;
};

class GroupCosts {
 public:
  GroupCosts(const topologies::Cluster& cluster, CommunicatorOptions options);
  ~GroupCosts();

  /// Throws sim::InputError (an operation that this communicator cannot do).
  const Cost& collective(std::uint32_t communicator, const RecordedCommunicator& c, models::nccl::Op op,
                         sim::Bytes bytes, int root);
  /// One message between two ranks of the world.
  const Cost& message(int from, int to, sim::Bytes bytes);
  const std::vector<std::string>& notes() const { return notes_; }

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
  std::size_t model_of(const std::vector<int>& ranks);
  /// On a node that is not of the first one's kind.
  double crowding_at(int node, int other, const std::vector<int>& gpus);
  const Cost& cost(std::size_t model, models::nccl::Op op, sim::Bytes bytes, int root);

  const topologies::Cluster& cluster_;
  CommunicatorOptions options_;
  bool network_damaged_ = false;
  std::map<std::string, std::size_t> by_shape_;
  std::map<std::string, double> crowding_;
  std::vector<std::unique_ptr<Model>> models_;
  std::vector<std::size_t> of_communicator_;
  std::unordered_map<std::uint64_t, std::size_t> of_pair_;
  std::unordered_map<Call, Cost, CallHash> costs_;
  std::vector<std::string> notes_;
};

}  // namespace linkcast::workloads::replaying
