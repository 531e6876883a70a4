// Programs of operations, with loops, as written in YAML. A program is shared by all ranks that run it; each rank
// only keeps where it is. Knows no topology.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "trace_ops.hpp"
#include "trace_read.hpp"

namespace linkcast::workloads::trace {
namespace {

using Ops = std::vector<std::shared_ptr<const TraceOp>>;

void flatten(const std::vector<Step>& steps, Ops& out) {
  for (const auto& s : steps) {
    if (s.op) out.push_back(s.op);
    flatten(s.body, out);
  }
}

/// What `after` can say wrong: a name that is not there, one that comes later, a circle.
class NameCheck {
 public:
  NameCheck(Problems& problems, const std::vector<Step>& steps) : problems_{problems} { flatten(steps, ops_); }

  void run() {
    std::map<std::string, std::size_t> streams;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const auto [last, new_stream] = streams.try_emplace(ops_[i]->stream, i);
      before_.push_back(new_stream ? static_cast<std::size_t>(-1) : std::exchange(last->second, i));
      if (ops_[i]->name.empty()) continue;
      const auto [first, fresh] = by_name_.try_emplace(ops_[i]->name, i);
      if (!fresh) {
        problems_.add(
            ops_[i]->place, fmt::format("a second operation named '{}'", ops_[i]->name),
            fmt::format("the first is in line {}: names are unique in a program", ops_[first->second]->place.line));
      }
      names_.push_back(ops_[i]->name);
    }
    for (std::size_t i = 0; i < ops_.size() && !problems_.full(); ++i) {
      for (const auto& name : ops_[i]->after) check(i, name);
    }
  }

 private:
  void check(std::size_t i, const std::string& name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      problems_.add(ops_[i]->after_place, fmt::format("'after' names no operation of this program: '{}'", name),
                    suggest(name, names_));
      return;
    }
    if (found->second < i) return;
    const auto path = way(found->second, i);
    if (!path.empty()) {
      std::string circle = called(i);
      for (std::size_t k = 0; k < path.size(); ++k) {
        if (k >= 4 && k + 1 < path.size()) {
          circle += " after …";
          k = path.size() - 1;
        }
        circle += " after " + called(path[k]);
      }
      problems_.add(ops_[i]->after_place, "cyclic dependency: " + circle, "one of them must not wait for the other");
    } else {
      problems_.add(ops_[i]->after_place,
                    fmt::format("{} waits for '{}', which comes later (line {})", called(i), name,
                                ops_[found->second]->place.line),
                    "operations wait for earlier ones: write it further up");
    }
  }

  /// The shortest way from `from` to `goal`, both included, along what operations wait for: names and, in their
  /// stream, the one before. Empty: there is none.
  std::vector<std::size_t> way(std::size_t from, std::size_t goal) const {
    constexpr auto unseen = static_cast<std::size_t>(-1);
    std::vector<std::size_t> came(ops_.size(), unseen), queue{from};
    came[from] = from;
    for (std::size_t k = 0; k < queue.size() && came[goal] == unseen; ++k) {
      const auto see = [&](std::size_t next) {
        if (next == unseen || came[next] != unseen) return;
        came[next] = queue[k];
        queue.push_back(next);
      };
      for (const auto& name : ops_[queue[k]]->after) {
        if (const auto next = by_name_.find(name); next != by_name_.end()) see(next->second);
      }
      see(before_[queue[k]]);
    }
    std::vector<std::size_t> path;
    if (came[goal] == unseen) return path;
    for (auto at = goal;; at = came[at]) {
      path.push_back(at);
      if (at == from) break;
    }
    std::ranges::reverse(path);
    return path;
  }

  std::string called(std::size_t i) const {
    return ops_[i]->name.empty() ? fmt::format("line {}", ops_[i]->place.line) : fmt::format("'{}'", ops_[i]->name);
  }

  Problems& problems_;
  Ops ops_;
  std::vector<std::size_t> before_;  // in the same stream
  std::map<std::string, std::size_t> by_name_;
  std::vector<std::string> names_;
};

struct Programs {
  std::vector<std::vector<Step>> steps;
  std::vector<int> of_rank;  // -1: none
};

class ProgramReader final : public TraceReader {
 public:
  explicit ProgramReader(std::shared_ptr<const Programs> programs) : programs_{std::move(programs)} {
    at_.resize(programs_->of_rank.size());
    for (std::size_t r = 0; r < at_.size(); ++r) {
      if (programs_->of_rank[r] < 0) continue;
      at_[r].push_back({&programs_->steps[static_cast<std::size_t>(programs_->of_rank[r])], 0, 1});
    }
  }

  std::shared_ptr<const TraceOp> next(int rank) override {
    auto& stack = at_[static_cast<std::size_t>(rank)];
    while (!stack.empty()) {
      auto& top = stack.back();
      if (top.index == top.steps->size()) {
        top.index = 0;
        if (--top.left == 0) stack.pop_back();
        continue;
      }
      const Step& step = (*top.steps)[top.index++];
      if (step.op) return step.op;
      stack.push_back({&step.body, 0, step.count});
    }
    return nullptr;
  }

 private:
  struct Level {
    const std::vector<Step>* steps;
    std::size_t index;
    std::int64_t left;
  };
  std::shared_ptr<const Programs> programs_;
  std::vector<std::vector<Level>> at_;
};

}  // namespace

Trace read_program_trace(Problems& problems, const Value& v, int available) {
  Trace trace;
  Fields f{problems, v, "the workload"};
  if (const auto schema = f.word("schema"); schema && *schema != "linkcast.trace/1") {
    problems.add(*v.get("schema"), fmt::format("unknown schema '{}'", *schema), "write linkcast.trace/1");
  }
  trace.ranks = available;
  const auto most = available < 0 ? 1'000'000 : available;
  if (const auto n = f.integer("ranks", 1, most)) trace.ranks = static_cast<int>(*n);
  trace.communicators = read_communicators(problems, f.find("communicators"), trace.ranks);
  auto programs = std::make_shared<Programs>();
  programs->of_rank.assign(static_cast<std::size_t>(std::max(trace.ranks, 0)), -1);
  if (const auto* list = f.need("programs")) {
    if (!list->is_sequence() || list->items.empty()) {
      problems.add(*list, "'programs' must be a list", "write `- ranks: 0-7` and `do: [...]`");
    }
    for (const auto& item : list->items) {
      Fields p{problems, item, "the program"};
      std::vector<int> ranks = trace.communicators[0].ranks;
      const auto* written = p.find("ranks");
      if (written != nullptr) ranks = ranks_of(problems, *written, "the program", trace.ranks);
      std::vector<int> twice;
      for (const int r : ranks) {
        if (static_cast<std::size_t>(r) >= programs->of_rank.size()) continue;  // their number is not known
        auto& program = programs->of_rank[static_cast<std::size_t>(r)];
        if (program >= 0) twice.push_back(r);
        program = static_cast<int>(programs->steps.size());
      }
      if (!twice.empty()) {
        problems.add(written != nullptr ? *written : item, fmt::format("a second program for {}", list_ranks(twice)),
                     "a rank runs one program: put all of it there");
      }
      std::vector<Step> steps;
      if (const auto* body = p.need("do")) steps = read_steps({problems, trace.communicators, ranks}, *body);
      p.done();
      NameCheck{problems, steps}.run();
      programs->steps.push_back(std::move(steps));
    }
  }
  f.done();
  trace.open = [programs] { return std::make_unique<ProgramReader>(programs); };
  return trace;
}

}  // namespace linkcast::workloads::trace
