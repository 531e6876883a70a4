// The question of `linkcast collective`, understood, and its answer. Printing it: collective_text.cpp,
// collective_json.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkcast/calibration/expected_error.hpp"
#include "linkcast/workloads/collective.hpp"
#include "machine.hpp"

namespace linkcast::cli {

/// As typed.
struct CollectiveOptions {
  std::string op, size = "8:16G:x2", launch = "multi-process", floor, fidelity = "flow", dtype = "float", root,
                  timeline, vary;
  std::vector<std::string> algorithm_files;
  MachineOptions machine;
  LibraryOptions library;
  bool no_fold = false, in_place = false, registered = false, symmetric = false, json = false, account = false;
};

struct CollectiveQuestion {
  std::string topology;     // as it was asked for
  models::nccl::Call call;  // its size is that of the row
  std::vector<sim::Bytes> sizes;
  workloads::CommunicatorOptions options;
};

struct CollectiveAnswer {
  workloads::CollectiveRow row;
  std::optional<calibration::ExpectedError> error;
};

/// Throws UsageError with every problem of the options.
CollectiveQuestion understand(const CollectiveOptions& options);
/// --vary: one call for several values of one thing (collective_vary.cpp).
int perform_varied(const CollectiveOptions& options, Io& io);

std::string_view words_of(models::LaunchMode mode);  // "one process per GPU"
std::string_view name_of(models::LaunchMode mode);   // "multi-process"
std::string_view reduction_of(models::nccl::Op op);  // nccl-tests' redop: "sum", "none"
bool has_root(models::nccl::Op op);
int dtype_bytes(std::string_view dtype);
/// nccl-tests' "count": elements of the buffer that each rank passes to NCCL.
std::int64_t count_of(const models::nccl::Call& call, sim::Bytes size, int ranks);

// As text: the head, a line for each row as soon as it is known, what follows the table.
std::string collective_head(const CollectiveQuestion& q, const Machine& m, const workloads::CollectiveModel& model);
std::string collective_line(const CollectiveQuestion& q, const CollectiveAnswer& a, int ranks);
std::string account_table(const std::vector<CollectiveAnswer>& answers);
std::string collective_foot(const CollectiveQuestion& q, const std::vector<CollectiveAnswer>& answers, bool account);

std::string collective_json(const CollectiveQuestion& q, const Machine& m, const workloads::CollectiveModel& model,
                            const std::vector<CollectiveAnswer>& answers, bool interrupted);

/// The rows one after the other on a timeline, each with its account below it: Chrome's trace format, which Perfetto
/// reads.
std::string collective_timeline(const CollectiveQuestion& q, const std::vector<CollectiveAnswer>& answers);

}  // namespace linkcast::cli
