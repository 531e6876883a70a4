// What both formats share: which one a text is, words, shapes; and the check of what was read.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "readers.hpp"

namespace linkcast::workloads {

using models::nccl::Op;

int AlgorithmPlan::input_chunks(Op call) const { return call == Op::all_gather ? chunks / ranks() : chunks; }
int AlgorithmPlan::output_chunks(Op call) const { return call == Op::reduce_scatter ? chunks / ranks() : chunks; }

namespace algorithms {
namespace {

std::string plain(std::string_view word) {
  std::string out;
  for (const char c : word)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::optional<Op> collective(Problems& problems, Place at, std::string_view word) {
  static const std::vector<std::pair<std::string, Op>> known{
      {"allreduce", Op::all_reduce}, {"allgather", Op::all_gather}, {"reduce_scatter", Op::reduce_scatter},
      {"broadcast", Op::broadcast},  {"reduce", Op::reduce},        {"alltoall", Op::alltoall}};
  const auto w = plain(word);
  for (const auto& [name, op] : known)
    if (plain(name) == w) return op;
  if (w == "custom") return std::nullopt;
  std::vector<std::string> names{"custom"};
  for (const auto& [name, _] : known) names.push_back(name);
  const auto near = sim::nearest(word, names);
  problems.add(at, fmt::format("unknown collective '{}'", word),
               near.empty() ? "one of: allreduce, allgather, reduce_scatter, broadcast, reduce, alltoall, custom"
                            : "did you mean '" + near + "'?");
  return std::nullopt;
}

models::nccl::Protocol protocol(Problems& problems, Place at, std::string_view word) {
  const auto w = plain(word);
  if (w == "ll") return models::nccl::Protocol::ll;
  if (w == "ll128") return models::nccl::Protocol::ll128;
  if (w != "simple") problems.add(at, fmt::format("unknown protocol '{}'", word), "one of: Simple, LL, LL128");
  return models::nccl::Protocol::simple;
}

void check_shape(Problems& problems, Place at, const AlgorithmPlan& plan) {
  const int n = plan.ranks();
  if (n < 1) return;
  const bool spread = plan.op == Op::all_gather || plan.op == Op::reduce_scatter || plan.op == Op::alltoall;
  if (spread && plan.chunks % n != 0)
    problems.add(at, fmt::format("{} chunks do not divide by {} GPUs", plan.chunks, n),
                 fmt::format("{} gives every rank the same part of the buffer", name_of(*plan.op)));
  std::int64_t cells = 0;
  for (const auto& g : plan.gpus)
    cells += std::max(g.input, plan.chunks) + std::max(g.output, plan.chunks) + std::int64_t{g.scratch};
  if (cells > most_cells)
    problems.add(at, fmt::format("the buffers of all GPUs have {} chunks", cells), "at most 4 million together");
}

}  // namespace algorithms

std::shared_ptr<const AlgorithmPlan> read_algorithm(std::string_view text, const std::string& file) {
  algorithms::Problems problems{text, file};
  const auto first = std::find_if(text.begin(), text.end(),
                                  [](char c) { return !std::isspace(static_cast<unsigned char>(c)) && c > 0; });
  if (first == text.end() || (*first != '<' && *first != '{')) {
    problems.add({0, 0}, "this is no algorithm", "MSCCL's XML begins with <algo …>, MSCCL++'s execution plan with {");
    problems.finish();
  }
  auto plan = std::make_shared<AlgorithmPlan>(*first == '<' ? algorithms::read_msccl_xml(problems, file)
                                                            : algorithms::read_mscclpp_json(problems, file));
  problems.finish();
  if (plan->op) problems.add(check_algorithm(*plan, *plan->op));
  problems.finish();
  return plan;
}

}  // namespace linkcast::workloads
