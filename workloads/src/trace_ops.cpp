// See trace_ops.hpp.
#include "trace_ops.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::workloads::trace {
namespace {

using models::nccl::Op;

const std::vector<std::string>& verbs() {
  static const std::vector<std::string> words = [] {
    auto w = models::nccl::op_names();
    w.insert(w.end(), {"compute", "barrier", "repeat"});
    return w;
  }();
  return words;
}

const std::vector<std::string>& datatypes() {
  static const std::vector<std::string> words{"int8", "uint8", "int32",  "uint32",   "int64",    "uint64",
                                              "half", "float", "double", "bfloat16", "fp8_e4m3", "fp8_e5m2"};
  return words;
}

int bytes_of_datatype(std::string_view name) {
  if (name == "half" || name == "bfloat16") return 2;
  if (name == "double" || name.ends_with("64")) return 8;
  return name == "float" || name.ends_with("32") ? 4 : 1;
}

bool has_root(Op op) { return op == Op::broadcast || op == Op::reduce || op == Op::gather || op == Op::scatter; }

/// The key that says what is done; the first in the file's order.
const std::pair<Value, Value>* verb_of(const Value& v) {
  for (const auto& entry : v.entries) {
    if (std::ranges::find(verbs(), entry.first.text) != verbs().end()) return &entry;
  }
  return nullptr;
}

void no_verb(const OpContext& c, const Value& v) {
  if (!v.is_map()) {
    c.problems.add(v, "an operation must be a map", "write `- compute: 120 us` or `- all_reduce: 64 MiB`");
    return;
  }
  for (const auto& [key, value] : v.entries) {
    if (const auto near = sim::nearest(key.text, verbs()); !near.empty()) {
      c.problems.add(key, fmt::format("unknown operation '{}'", key.text), fmt::format("did you mean '{}'?", near));
      return;
    }
  }
  c.problems.add(v, "no operation here", fmt::format("one of {}", fmt::join(verbs(), ", ")));
}

int find_communicator(const OpContext& c, const Value& v) {
  if (v.is_scalar()) {
    const auto found = std::ranges::find(c.communicators, v.text, &TraceCommunicator::name);
    if (found != c.communicators.end()) return static_cast<int>(found - c.communicators.begin());
  }
  std::vector<std::string> names;
  for (const auto& known : c.communicators) names.push_back(known.name);
  c.problems.add(v, fmt::format("unknown communicator '{}'", v.text), suggest(v.text, names));
  return -1;
}

void check_members(const OpContext& c, const Value& at, int communicator, std::string_view what) {
  const auto& comm = c.communicators[static_cast<std::size_t>(communicator)];
  std::vector<int> strangers;
  if (comm.ranks.empty()) return;
  std::vector<bool> member(static_cast<std::size_t>(std::ranges::max(comm.ranks)) + 1);
  for (const int r : comm.ranks) member[static_cast<std::size_t>(r)] = true;
  for (const int r : c.ranks) {
    if (static_cast<std::size_t>(r) >= member.size() || !member[static_cast<std::size_t>(r)]) strangers.push_back(r);
  }
  if (strangers.empty()) return;
  c.problems.add(at,
                 fmt::format("{} {} not in the communicator '{}' of this {}", list_ranks(strangers),
                             strangers.size() == 1 ? "is" : "are", comm.name, what),
                 fmt::format("'{}' has {}", comm.name, list_ranks(comm.ranks)));
}

void read_collective(const OpContext& c, Fields& f, const Value& size, Op op, TraceOp& out) {
  const auto word = name_of(op);
  out.kind = TraceOp::Kind::collective;
  out.call.op = op;
  if (const auto n = size_of(c.problems, size, word)) out.call.bytes = *n;
  if (const auto* v = f.find("on")) out.communicator = find_communicator(c, *v);
  if (const auto* v = f.find("dtype")) {
    if (std::ranges::find(datatypes(), v->text) == datatypes().end()) {
      c.problems.add(*v, fmt::format("unknown datatype '{}'", v->text), suggest(v->text, datatypes()));
    } else {
      out.call.dtype = v->text;
    }
  }
  if (const int each = bytes_of_datatype(out.call.dtype); out.call.bytes.count() % each != 0) {
    c.problems.add(size,
                   fmt::format("'{}' is no whole number of {}s: {} B", word, out.call.dtype, out.call.bytes.count()),
                   fmt::format("a {} has {} bytes", out.call.dtype, each));
  }
  if (const auto b = f.boolean("in_place")) out.call.in_place = *b;
  if (const auto b = f.boolean("registered")) out.call.registered = *b;
  if (const auto b = f.boolean("symmetric_windows")) out.call.symmetric_windows = *b;
  if (out.communicator < 0) return void(f.find("root"));
  const auto members = c.communicators[static_cast<std::size_t>(out.communicator)].ranks.size();
  if (has_root(op)) {
    const auto most = members == 0 ? 1'000'000 : static_cast<std::int64_t>(members) - 1;
    if (const auto n = f.integer("root", 0, most)) out.call.root = static_cast<int>(*n);
  } else if (const auto* root = f.find("root")) {
    c.problems.add(*root, fmt::format("{} has no root", word));
  }
  if (members > 0) check_members(c, f.value(), out.communicator, word);
}

}  // namespace

std::shared_ptr<const TraceOp> read_op(const OpContext& c, const Value& v, std::span<const std::string_view> extra) {
  const auto* verb = verb_of(v);
  if (verb == nullptr) return no_verb(c, v), nullptr;
  const auto& word = verb->first.text;
  const auto before = c.problems.count();
  auto op = std::make_shared<TraceOp>();
  op->place = verb->first.place;
  op->stream = "main";
  Fields f{c.problems, v, fmt::format("the operation '{}'", word)};
  f.find(word);
  for (const auto key : extra) f.find(key);
  if (word == "repeat") {
    c.problems.add(verb->first, "no loops here", "'repeat' is for YAML; in JSON Lines write the operations out");
    return nullptr;
  }
  if (auto name = f.word("name")) op->name = std::move(*name);
  if (word == "barrier") {
    op->kind = TraceOp::Kind::barrier;
    op->communicator = find_communicator(c, verb->second);
    if (op->communicator >= 0) check_members(c, v, op->communicator, "barrier");
  } else {
    if (auto stream = f.word("stream")) op->stream = std::move(*stream);
    op->after = f.words("after");
    if (const auto* after = v.get("after")) op->after_place = after->place;
    if (word == "compute") {
      if (const auto t = time_of(c.problems, verb->second, word)) op->duration = *t;
    } else {
      read_collective(c, f, verb->second, *models::nccl::op_from(word), *op);
    }
  }
  f.done();
  if (c.problems.count() != before) return nullptr;
  return op;
}

std::vector<Step> read_steps(const OpContext& c, const Value& list) {
  std::vector<Step> out;
  if (!list.is_sequence()) {
    c.problems.add(list, "operations must be a list", "write `- compute: 120 us` lines");
    return out;
  }
  for (const auto& item : list.items) {
    Step step;
    if (const auto* times = item.get("repeat")) {
      Fields f{c.problems, item, "the loop"};
      f.find("repeat");
      if (const auto n = integer_of(c.problems, *times, "repeat", 1, 1'000'000'000)) step.count = *n;
      if (const auto* body = f.need("do")) {
        step.body = read_steps(c, *body);
        if (body->is_sequence() && body->items.empty()) c.problems.add(*body, "nothing to repeat");
      }
      f.done();
      if (!step.body.empty()) out.push_back(std::move(step));
    } else if ((step.op = read_op(c, item, {}))) {
      out.push_back(std::move(step));
    }
  }
  return out;
}

std::vector<TraceCommunicator> read_communicators(Problems& problems, const Value* v, int count) {
  std::vector<TraceCommunicator> out(1);
  out[0].name = "world";
  for (int r = 0; r < count; ++r) out[0].ranks.push_back(r);
  if (v == nullptr) return out;
  if (!v->is_map()) {
    problems.add(*v, "communicators must be a map", "write `name: [0, 1, 2, 3]` lines");
    return out;
  }
  for (const auto& [key, ranks] : v->entries) {
    if (key.text == "world") {
      problems.add(key, "'world' is the communicator of all ranks already", "choose another name");
      continue;
    }
    TraceCommunicator c;
    c.name = key.text;
    c.place = key.place;
    const auto before = problems.count();
    c.ranks = ranks_of(problems, ranks, fmt::format("the communicator '{}'", key.text), count);
    if (c.ranks.size() == 1 && problems.count() == before) {
      problems.add(ranks, fmt::format("the communicator '{}' has one rank", key.text),
                   "a collective needs two: leave it out");
    }
    if (problems.count() != before || count < 0)
      c.ranks.clear();  // known by name; its members are not checked any more
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace linkcast::workloads::trace
