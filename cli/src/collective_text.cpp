// The answer of `linkcast collective` in nccl-tests' columns, with what nccl-tests cannot know to the right of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "collective.hpp"
#include "linkcast/workloads/algorithm_plan.hpp"

namespace linkcast::cli {
namespace {

using models::nccl::Op;
using sim::Cause;

/// As nccl-tests prints a time in a column of that width: fewer decimals for larger numbers.
std::string number(double value, int width) {
  const int digits = value < 1 ? 0 : static_cast<int>(std::floor(std::log10(value))) + 1;
  const int decimals = digits < width - 2 ? 2 : digits < width - 1 ? 1 : 0;
  return fmt::format("{:>{}.{}f}", value, width, decimals);
}

std::string error_cell(const std::optional<calibration::ExpectedError>& e) {
  if (!e) return "-";
  return fmt::format("\u00b1{:.0f} %{}", std::max(1.0, e->percent), e->extrapolated ? " *" : "");
}

std::string with_widths(const auto&... cells) {
  return fmt::format("{:>13} {:>13} {:>9} {:>7} {:>7} {:>9} {:>8} {:>8}  {:<11} {:<8} {:>8}  {:<13} {}\n", cells...);
}

}  // namespace

std::string_view words_of(models::LaunchMode mode) {
  switch (mode) {
    case models::LaunchMode::single_process:
      return "one process for all GPUs";
    case models::LaunchMode::graph:
      return "replay of a CUDA graph";
    case models::LaunchMode::multi_process:
      break;
  }
  return "one process per GPU";
}

std::string_view name_of(models::LaunchMode mode) {
  switch (mode) {
    case models::LaunchMode::single_process:
      return "single-process";
    case models::LaunchMode::graph:
      return "graph";
    case models::LaunchMode::multi_process:
      break;
  }
  return "multi-process";
}

std::string_view reduction_of(Op op) {
  return op == Op::all_reduce || op == Op::reduce_scatter || op == Op::reduce ? "sum" : "none";
}

bool has_root(Op op) { return op == Op::broadcast || op == Op::reduce || op == Op::gather || op == Op::scatter; }

int dtype_bytes(std::string_view dtype) {
  if (dtype == "double" || dtype.ends_with("int64")) return 8;
  if (dtype == "half" || dtype == "bfloat16") return 2;
  if (dtype.ends_with("int8") || dtype.starts_with("fp8") || dtype.starts_with("f8")) return 1;
  return 4;
}

std::int64_t count_of(const models::nccl::Call& call, sim::Bytes size, int ranks) {
  const auto elements = size.count() / dtype_bytes(call.dtype);
  switch (call.op) {
    case Op::all_gather:
    case Op::reduce_scatter:
    case Op::alltoall:
    case Op::gather:
    case Op::scatter:
      return elements / ranks;
    default:
      return elements;
  }
}

std::string collective_head(const CollectiveQuestion& q, const Machine& m, const workloads::CollectiveModel& model) {
  const int locals = static_cast<int>(m.ranks.size()), nodes = m.cluster.nodes();
  std::string who = locals == m.of ? fmt::format("all {} GPUs", locals)
                                   : fmt::format("{} of {} GPUs ({})", locals, m.of, ranks_text(m.ranks));
  if (nodes > 1 || m.of_nodes > 1)
    who = fmt::format("{} GPUs = {} of {} nodes x {}", m.cluster.ranks(), nodes, m.of_nodes, who);
  std::string out =
      fmt::format("# {} on {}: {}, {}, NCCL {}, fidelity {}\n", models::nccl::name_of(q.call.op), m.cluster.name(), who,
                  gpu_name(m.fabric()), q.options.nccl.str(), workloads::name_of(q.options.fidelity));
  if (nodes > 1) {
    const auto& network = m.cluster.network();
    out += fmt::format("# network: {} ({}), routing {}\n", network.model().name, network.generator(),
                       models::name_of(network.routing()));
    for (const auto& sentence : m.cluster.assumptions()) out += fmt::format("# assumed: {}\n", sentence);
  }
  for (const auto& [name, value] : q.options.env.all()) out += fmt::format("# {}={}\n", name, value);
  if (q.options.tuner)
    out += fmt::format("# tuner: the rules of {} come before NCCL's choice\n", q.options.tuner->file);
  for (const auto& a : q.options.algorithms) {
    out += fmt::format("# algorithm: {} ({}) of {} for {}", a->format, a->name.empty() ? "unnamed" : a->name, a->file,
                       a->op ? models::nccl::name_of(*a->op) : "any collective");
    if (a->min_bytes > 0) out += fmt::format(" from {}", size_text(sim::Bytes{a->min_bytes}));
    if (a->max_bytes < std::numeric_limits<std::int64_t>::max())
      out += fmt::format(" to {}", size_text(sim::Bytes{a->max_bytes}));
    out += q.options.fidelity == workloads::Fidelity::flow ? "; its steps run chunk by chunk at this fidelity too\n"
                                                           : "\n";
  }
  out += fmt::format("# launch: {}; no call takes less than {:.2f} us{}\n", words_of(q.options.launch),
                     us(model.launch_floor(q.call.op)),
                     q.options.launch_floor ? "" : " (--launch-floor TIME sets the value of your host)");
  out += "# size: bytes as nccl-tests counts them; GB/s: 10^9 bytes per second\n#\n";
  const auto header = [](std::string line) {
    line[0] = '#';
    return line;
  };
  out += header(with_widths("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "algorithm", "protocol",
                            "channels", "bound by", "error"));
  out += header(with_widths("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "", "", "", "(expected)"));
  return out;
}

std::string collective_line(const CollectiveQuestion& q, const CollectiveAnswer& a, int ranks) {
  const auto& r = a.row;
  return with_widths(r.size.count(), count_of(q.call, r.size, ranks), q.call.dtype, reduction_of(q.call.op),
                     has_root(q.call.op) ? q.call.root : -1, number(us(r.time), 9), number(r.algbw_GBps, 8),
                     number(r.busbw_GBps, 8), r.algorithm, r.protocol, r.channels, r.bound_by, error_cell(a.error));
}

std::string account_table(const std::vector<CollectiveAnswer>& answers) {
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < sim::cause_count; ++i) {
    const auto c = static_cast<Cause>(i);
    if (std::any_of(answers.begin(), answers.end(), [&](const auto& a) { return a.row.account[c] != sim::Time{}; }))
      causes.push_back(c);
  }
  std::string out = fmt::format("#\n# What the time is spent on, in us; the parts add up to the time.\n#{:>12} {:>12}",
                                "size", "time");
  for (const auto c : causes) out += fmt::format(" {:>11}", sim::name_of(c));
  out += '\n';
  for (const auto& a : answers) {
    out += fmt::format("{:>13} {:>12.2f}", a.row.size.count(), us(a.row.time));
    for (const auto c : causes) out += fmt::format(" {:>11.2f}", us(a.row.account[c]));
    out += '\n';
  }
  return out;
}

std::string collective_foot(const CollectiveQuestion& q, const std::vector<CollectiveAnswer>& answers, bool account) {
  std::string out = "#\n";
  if (answers.empty()) return out + "# stopped before the first size was done\n";
  const bool known = std::any_of(answers.begin(), answers.end(), [](const auto& a) { return a.error.has_value(); });
  const bool extrapolated =
      std::any_of(answers.begin(), answers.end(), [](const auto& a) { return a.error && a.error->extrapolated; });
  if (known) {
    out += "# error: median distance of predictions from measurements of the nearest measured machine, by size\n";
  } else {
    out += "# error: not known; no machine has been validated in this build\n";
  }
  if (extrapolated)
    out += fmt::format("# *: this machine, collective or size was not measured; taken from {}\n",
                       std::find_if(answers.begin(), answers.end(), [](const auto& a) {
                         return a.error && a.error->extrapolated;
                       })->error->from);
  const auto op = models::nccl::name_of(q.call.op);
  const auto largest = size_word(answers.back().row.size);
  out += "#\n# Next:\n";
  out += fmt::format("#   linkcast nccl --topology {} --explain {}:{}    # why NCCL chooses this\n", q.topology, op,
                     largest);
  if (!account)
    out += fmt::format("#   linkcast collective {} --topology {} --size {} --account    # where the time goes\n", op,
                       q.topology, largest);
  if (q.options.fidelity == workloads::Fidelity::flow)
    out += fmt::format("#   linkcast collective {} --topology {} --size {} --fidelity chunk    # chunk by chunk\n", op,
                       q.topology, largest);
  return out;
}

}  // namespace linkcast::cli
