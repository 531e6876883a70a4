// NCCL's vocabulary: operations, algorithms, protocols, versions, environment.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::models::nccl {

enum class Op : unsigned char {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  alltoall,
  sendrecv,
  gather,
  scatter
};
enum class Algorithm : unsigned char {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat,
  p2p,         // send/recv kernels: alltoall, sendrecv, gather, scatter
  symmetric,   // symmetric-memory kernels (registered windows)
  copy_engine  // copy-engine collectives
};
enum class Protocol : unsigned char { ll, ll128, simple };

std::string_view name_of(Op o);                    // "all_reduce": nccl-tests' and the corpus' word
std::string_view nccl_name_of(Op o);               // "AllReduce": NCCL's own
std::string_view name_of(Algorithm a);             // "Ring", "Tree", "NVLS", … as in the oracle
std::string_view name_of(Protocol p);              // "LL", "LL128", "Simple"
std::optional<Op> op_from(std::string_view name);  // both spellings
std::vector<std::string> op_names();

struct Version {
  int major = 2, minor = 30, patch = 7;
  auto operator<=>(const Version&) const = default;
  static Version parse(std::string_view text);  // "2.18", "2.18.5"; throws sim::InputError
  std::string str() const;
};

/// The NCCL_* variables. Set() refuses a name that NCCL does not have (with the nearest one that it has) and a
/// value that it could not parse; variables that NCCL has but that change nothing here are kept and can be listed.
class Environment {
 public:
  void set(std::string_view name, std::string_view value);  // throws sim::InputError
  std::optional<std::string> get(std::string_view name) const;
  std::optional<long long> integer(std::string_view name) const;
  const std::map<std::string, std::string>& all() const { return values_; }
  /// Names that were set but are known to have no effect on the model.
  std::vector<std::string> without_effect() const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace linkcast::models::nccl
