// What PyTorch says about a call of communication (the arguments of record_param_comms, the same words in profiler
// traces, execution traces and PARAM's files), and what follows: the operation, its size as nccl-tests count it, the
// communicator. Knows no file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers {

struct TorchCall {
  enum class Verb : std::uint8_t { none, collective, send, receive, wait, other };  // other: init, startCoalescing, ...
  std::int64_t start = 0, duration = 0;                                             // of the host, ns
  std::int64_t external = 0;                                                        // "External id"; 0: none
  std::int64_t record = 0;         // "Record function id", an execution trace's rf_id; 0: none
  std::int64_t in = -1, out = -1;  // elements of this rank
  std::int64_t seq = -1, request = -1;
  std::uint32_t name = 0, dtype = 0;  // of Names
  std::uint32_t group = 0, description = 0, members = 0;
  std::int32_t first = -1, stride = -1, size = -1;  // of the group, in ranks of the world
  std::int32_t source = -1, destination = -1, rank = -1;
  std::uint32_t thread = 0;
  std::int32_t next = -1;  // further calls of the same kernel
  bool claimed = false;
};

struct TorchVerb {
  TorchCall::Verb verb = TorchCall::Verb::none;
  models::nccl::Op op = models::nccl::Op::all_reduce;
};
/// "allreduce", "_allgather_base", "nccl:all_reduce", "c10d::broadcast_", "nccl:send 0->1": none where unknown.
TorchVerb verb_of(std::string_view name);
/// By the name of an NCCL kernel: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)". SendRecv: none.
TorchVerb verb_of_kernel(std::string_view kernel);
bool is_kernel_of_nccl(std::string_view kernel);

/// Bytes of an element: "Float", "c10::BFloat16", "Tensor(long int)"; 0 where unknown.
int element_size(std::string_view dtype);
/// As nccl-tests' "size": of the whole buffer. Nothing where the call does not say.
std::optional<sim::Bytes> size_of(const TorchCall& call, const TorchVerb& verb, int element, int ranks);

/// "trace.rank-3.json": 3; -1 where the name does not say.
int rank_by_file_name(const std::string& path);
bool has_root(models::nccl::Op op);

/// Takes what `more` says where `call` says nothing.
void complete(TorchCall& call, const TorchCall& more);

/// The communicators of a recording as its calls name them. A list of ranks that is cut ("[0, 1, ..., ...]") is
/// completed from the configuration of groups, else from the first rank and the stride.
class TorchGroups {
 public:
  TorchGroups(Names& names, int world) : names_{names}, world_{world} {}

  /// A JSON list of pg_name, pg_desc, ranks, whole or cut. File -1: of all files.
  void configure(int file, std::string_view pg_config);
  /// A place in `communicators()`, or -1 where the members are not known.
  int find(int file, const TorchCall& call);
  std::vector<RecordedCommunicator>& communicators() { return communicators_; }
  int greatest_rank() const { return greatest_; }
  void set_world(int world) { world_ = world; }
  /// Asks again for those that were not known: the world's size is known now.
  void forget_unknown() {
    std::erase_if(calls_, [](const auto& c) { return c.second < 0; });
  }
  /// Calls whose members had to be made up.
  std::int64_t extrapolated = 0, assumed_world = 0;

 private:
  struct Configured {
    std::string description;
    std::vector<int> ranks;
  };
  int add(const std::string& name, const std::string& description, std::vector<int> ranks);

  Names& names_;
  int world_ = 0, greatest_ = -1;
  std::int64_t members_ = 0;
  std::map<std::pair<int, std::string>, Configured> configured_;
  std::map<std::pair<std::string, std::vector<int>>, int> known_;
  std::map<std::vector<std::int64_t>, int> calls_;  // what a call says of its group -> communicator
  std::vector<RecordedCommunicator> communicators_;
};

}  // namespace linkcast::workloads::readers
