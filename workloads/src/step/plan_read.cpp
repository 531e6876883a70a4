// A plan from a map of YAML or JSON. Knows the keys, not what they cost.
#include <fmt/format.h>

#include <algorithm>

#include "linkcast/workloads/trace_fields.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/step.hpp"

namespace linkcast::workloads {
namespace {

using trace::Value;

constexpr std::int64_t most = 1 << 30;

void move_places(Value& v, int line, int column) {
  if (v.place.line == 1) v.place.column += column - 1;
  v.place.line += line - 1;
  for (auto& x : v.items) move_places(x, line, column);
  for (auto& [key, value] : v.entries) {
    move_places(key, line, column);
    move_places(value, line, column);
  }
}

template <class T>
void choose(trace::Fields& f, const char* key, std::initializer_list<std::pair<const char*, T>> words, T& out) {
  const auto* v = f.find(key);
  if (v == nullptr || v->kind == Value::Kind::null) return;
  std::vector<std::string> known;
  for (const auto& [word, meaning] : words) {
    if (v->is_scalar() && v->text == word) {
      out = meaning;
      return;
    }
    known.emplace_back(word);
  }
  f.problems().add(*v, fmt::format("{}: unknown '{}'", key, v->text), trace::suggest(v->text, known));
}

}  // namespace

std::string_view name_of(Schedule x) {
  constexpr std::string_view names[] = {"1f1b", "interleaved", "zero-bubble", "dualpipe"};
  return names[static_cast<std::size_t>(x)];
}
std::string_view name_of(Sharding x) {
  constexpr std::string_view names[] = {"zero-0", "zero-1", "zero-2", "zero-3"};
  return names[static_cast<std::size_t>(x)];
}
std::string_view name_of(Recompute x) {
  constexpr std::string_view names[] = {"none", "selective", "half", "full"};
  return names[static_cast<std::size_t>(x)];
}
std::string_view name_of(Precision x) {
  constexpr std::string_view names[] = {"bf16", "fp8", "fp4"};
  return names[static_cast<std::size_t>(x)];
}

Plan read_plan(std::string_view yaml, const std::string& where, int line, int column) {
  trace::Problems problems;
  auto source = std::make_shared<SourceText>();
  source->name = where;
  source->text = yaml;
  auto root = trace::parse_yaml(source, problems);
  problems.throw_if_any();
  if (line > 1 || column > 1) {
    move_places(root, line, column);
    source->text.clear();  // a part of the file: lines of it cannot be quoted
  }
  Plan p;
  trace::Fields f{problems, root, "the plan"};
  if (!f.sound()) problems.throw_if_any();
  const auto whole = [&](const char* key, int& out, std::int64_t low) {
    if (const auto n = f.integer(key, low, most)) out = static_cast<int>(*n);
  };
  const auto flag = [&](const char* key, bool& out) {
    if (const auto b = f.boolean(key)) out = *b;
  };
  whole("gpus", p.gpus, 1);
  whole("tp", p.tp, 1);
  whole("cp", p.cp, 1);
  whole("pp", p.pp, 1);
  whole("vpp", p.vpp, 1);
  whole("dp", p.dp, 1);
  whole("ep", p.ep, 1);
  whole("etp", p.etp, 1);
  whole("shard_group", p.shard_group, 1);
  whole("micro_batch", p.micro_batch, 1);
  whole("global_batch", p.global_batch, 1);
  whole("sequence", p.sequence, 1);
  whole("gradient_bytes", p.gradient_bytes, 2);
  whole("node_limit", p.node_limit, 1);
  whole("per_node", p.per_node, 1);
  whole("follow", p.follow, 0);
  flag("sequence_parallel", p.sequence_parallel);
  flag("reshard", p.reshard);
  flag("overlap_grad_reduce", p.overlap_grad_reduce);
  flag("overlap_param_gather", p.overlap_param_gather);
  flag("overlap_tp", p.overlap_tp);
  flag("overlap_ep", p.overlap_ep);
  flag("overlap_pp", p.overlap_pp);
  flag("scatter_messages", p.scatter_messages);
  flag("fused", p.fused);
  flag("flash_attention", p.flash);
  flag("async_tp_backward", p.async_tp_backward);
  flag("dispatch_once", p.dispatch_once);
  flag("check_memory", p.check_memory);
  choose<Schedule>(f, "schedule",
                   {{"1f1b", Schedule::one_f_one_b},
                    {"interleaved", Schedule::interleaved},
                    {"zero-bubble", Schedule::zero_bubble},
                    {"dualpipe", Schedule::dual_pipe}},
                   p.schedule);
  choose<Sharding>(f, "sharding",
                   {{"none", Sharding::none},
                    {"zero-0", Sharding::none},
                    {"ddp", Sharding::none},
                    {"zero-1", Sharding::optimizer},
                    {"zero-2", Sharding::gradients},
                    {"zero-3", Sharding::full},
                    {"fsdp", Sharding::full},
                    {"hsdp", Sharding::full}},
                   p.sharding);
  choose<Recompute>(f, "recompute",
                    {{"none", Recompute::none},
                     {"selective", Recompute::selective},
                     {"half", Recompute::half},
                     {"full", Recompute::full}},
                    p.recompute);
  choose<Precision>(
      f, "precision",
      {{"bf16", Precision::bf16}, {"fp16", Precision::bf16}, {"fp8", Precision::fp8}, {"fp4", Precision::fp4}},
      p.precision);
  choose<ContextExchange>(f, "context", {{"ring", ContextExchange::ring}, {"all-gather", ContextExchange::all_gather}},
                          p.context);
  if (const auto* v = f.find("bucket"))
    if (const auto b = trace::size_of(problems, *v, "bucket")) p.bucket = *b;
  if (const auto* v = f.find("sharding"); v != nullptr && v->text == "hsdp" && p.shard_group == 0)
    problems.add(*v, "hsdp without 'shard_group'", "say over how many GPUs states are sharded, such as shard_group: 8");
  if (const auto order = f.words("order"); !order.empty()) {
    auto sorted = order;
    std::ranges::sort(sorted);
    if (sorted != std::vector<std::string>{"cp", "dp", "ep", "pp", "tp"})
      problems.add(*root.get("order"), "order names each of tp, cp, ep, dp and pp once", "order: [tp, cp, ep, dp, pp]");
    else
      p.order = order;
  }
  f.done();
  problems.throw_if_any();
  return p;
}

}  // namespace linkcast::workloads
