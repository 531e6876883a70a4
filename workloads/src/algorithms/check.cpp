// Runs an algorithm on symbols instead of numbers: every chunk is the set of input chunks that were added up in it. So
// a wrong result, a step that waits forever and two steps that race for a chunk are found before any time is simulated.
//
// Order: block A's step comes before block B's where a message says so, directly or through others (vector clocks, one
// count of steps for each block). Two steps that touch one chunk, one of them writing, must be ordered. Knows no time.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "readers.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Op;
using Plan = AlgorithmPlan;

struct Part {  // how often an input chunk is in a sum
  int rank, chunk, times;
};
using Value = std::shared_ptr<const std::vector<Part>>;  // sorted; null: never written
using Clock = std::shared_ptr<const std::vector<int>>;

Value sum(const Value& a, const Value& b) {
  auto out = std::make_shared<std::vector<Part>>();
  auto x = a->begin(), y = b->begin();
  while (x != a->end() || y != b->end()) {
    const auto before = [](const Part& p, const Part& q) {
      return std::pair{p.rank, p.chunk} < std::pair{q.rank, q.chunk};
    };
    if (y == b->end() || (x != a->end() && before(*x, *y))) {
      out->push_back(*x++);
    } else if (x == a->end() || before(*y, *x)) {
      out->push_back(*y++);
    } else {
      out->push_back({x->rank, x->chunk, x->times + y->times});
      ++x, ++y;
    }
  }
  return out;
}

std::string_view name_of(Plan::Buffer b) {
  return b == Plan::Buffer::input ? "input" : b == Plan::Buffer::output ? "output" : "scratch";
}

/// A step of a block, as a moment of its clock: steps count from 1, 0 is before all.
struct Moment {
  int block = -1, step = 0;
};

struct Cell {
  Value value;
  Moment written;
  std::vector<Moment> read;  // since then, the latest of each block
};

struct Message {
  Value value;
  int count = 0, part = 0;  // of a fifo: the sender's chunks, and which of them this is
  Clock clock;
};

class Run {
 public:
  Run(const Plan& plan, Op op) : plan_{plan}, op_{op}, queues_(plan.queues.size()), at_(plan.blocks.size()) {
    // MSCCL's fifo: 8 slots; Simple hands a chunk on in 2 slices and 2 chunks fill it.
    slots_ = plan.protocol == models::nccl::Protocol::simple ? 2 : 8;
    for (const auto& gpu : plan.gpus) {
      base_.push_back(cells_.size());
      cells_.resize(cells_.size() + static_cast<std::size_t>(gpu.input + gpu.output + gpu.scratch));
    }
    for (int r = 0; r < plan.ranks(); ++r)
      for (int c = 0; c < plan.input_chunks(op); ++c)
        if (auto* cell = find({r, Plan::Buffer::input, c}, 0))
          cell->value = std::make_shared<const std::vector<Part>>(1, Part{r, c, 1});
    const std::vector<int> none(plan.blocks.size(), 0);
    clocks_.assign(plan.blocks.size(), none);
  }

  std::vector<sim::Diagnostic> check() {
    run();
    if (stuck()) return std::move(problems_);  // what was not finished is not wrong by itself
    leftovers();
    result();
    return std::move(problems_);
  }

 private:
  struct Progress {
    std::size_t step = 0;
    int part = 0;
  };

  /// In place, input and output are one: of all_gather the input is the rank's part of the output, of reduce_scatter
  /// the output that of the input.
  Plan::Range placed(Plan::Range r) const {
    if (!plan_.in_place || r.buffer == Plan::Buffer::scratch) return r;
    if (op_ == Op::all_gather && r.buffer == Plan::Buffer::input)
      return {r.rank, Plan::Buffer::output, r.offset + r.rank * plan_.input_chunks(op_)};
    if (op_ == Op::reduce_scatter && r.buffer == Plan::Buffer::output)
      return {r.rank, Plan::Buffer::input, r.offset + r.rank * plan_.output_chunks(op_)};
    const bool same = op_ == Op::all_reduce || op_ == Op::broadcast || op_ == Op::reduce || op_ == Op::alltoall;
    if (same && r.buffer == Plan::Buffer::output) return {r.rank, Plan::Buffer::input, r.offset};
    return r;
  }
  Cell* find(Plan::Range range, int part) {
    const auto r = placed({range.rank, range.buffer, range.offset + part});
    const auto& gpu = plan_.gpus[static_cast<std::size_t>(r.rank)];
    const int size = r.buffer == Plan::Buffer::input    ? gpu.input
                     : r.buffer == Plan::Buffer::output ? gpu.output
                                                        : gpu.scratch;
    if (r.offset >= size) return nullptr;
    const int skip = r.buffer == Plan::Buffer::input    ? 0
                     : r.buffer == Plan::Buffer::output ? gpu.input
                                                        : gpu.input + gpu.output;
    return &cells_[base_[static_cast<std::size_t>(r.rank)] + static_cast<std::size_t>(skip + r.offset)];
  }

  void report(int line, int column, std::string problem, std::string help) {
    if (problems_.size() < algorithms::Problems::most)
      problems_.push_back({{plan_.file, line, column, 1}, std::move(problem), std::move(help)});
  }
  void report(Moment m, std::string problem, std::string help) {
    const auto& s = step(m);
    report(s.line, s.column, std::move(problem), std::move(help));
  }
  const Plan::Step& step(Moment m) const {
    return plan_.blocks[static_cast<std::size_t>(m.block)].steps[static_cast<std::size_t>(m.step - 1)];
  }
  std::string named(Moment m) const {
    const auto& b = plan_.blocks[static_cast<std::size_t>(m.block)];
    return fmt::format("step {} ({}) of thread block {} of GPU {}", m.step - 1, step(m).type, b.id, b.rank);
  }
  static std::string named(const Plan::Range& r, int part) {
    return fmt::format("{} chunk {} of GPU {}", name_of(r.buffer), r.offset + part, r.rank);
  }

  void run() {
    std::deque<std::size_t> ready;
    std::vector<bool> waiting(plan_.blocks.size(), true);
    for (std::size_t b = 0; b < plan_.blocks.size(); ++b) ready.push_back(b);
    const auto wake = [&](int block) {
      const auto b = static_cast<std::size_t>(block);
      if (!waiting[b]) waiting[b] = true, ready.push_back(b);
    };
    while (!ready.empty()) {
      const auto b = ready.front();
      ready.pop_front();
      waiting[b] = false;
      while (const auto* done = advance(b)) {
        for (const int q : done->give) wake(plan_.queues[static_cast<std::size_t>(q)].to);
        for (const int q : done->take) wake(plan_.queues[static_cast<std::size_t>(q)].from);
      }
    }
  }

  bool fifo(int q) const { return plan_.queues[static_cast<std::size_t>(q)].fifo; }
  static bool at_end(const Plan::Step& s, int part) { return part + 1 >= s.count; }

  /// One chunk of the block's step, where nothing holds it back.
  const Plan::Step* advance(std::size_t b) {
    const auto& steps = plan_.blocks[b].steps;
    auto& at = at_[b];
    if (at.step >= steps.size()) return nullptr;
    const auto& s = steps[at.step];
    for (const int q : s.take)
      if ((fifo(q) || at.part == 0) && queues_[static_cast<std::size_t>(q)].empty()) return nullptr;
    for (const int q : s.give)
      if (fifo(q) && queues_[static_cast<std::size_t>(q)].size() >= slots_) return nullptr;

    const Moment now{static_cast<int>(b), static_cast<int>(at.step) + 1};
    auto& clock = clocks_[b];
    clock[b] = now.step;
    Value value;
    for (const int q : s.take) {
      if (!fifo(q) && at.part > 0) continue;
      auto& queue = queues_[static_cast<std::size_t>(q)];
      const auto message = std::move(queue.front());
      queue.pop_front();
      for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], (*message.clock)[i]);
      if (!fifo(q)) continue;
      value = message.value;
      if ((message.count != s.count || message.part != at.part) && at.part == 0)
        report(now,
               fmt::format("{} receives {} chunk{} where {} are sent", named(now), s.count, s.count == 1 ? "" : "s",
                           message.count),
               "both ends of a connection handle the same count in each step");
    }
    for (const auto& r : s.reads) {
      const auto read = load(r, at.part, now);
      value = !value ? read : !read ? value : sum(value, read);
    }
    if (!s.writes.empty() || !s.give.empty()) {
      for (const auto& w : s.writes) store(w, at.part, now, value);
      Clock snapshot;
      for (const int q : s.give) {
        if (!fifo(q) && !at_end(s, at.part)) continue;
        if (!snapshot) snapshot = std::make_shared<const std::vector<int>>(clock);
        queues_[static_cast<std::size_t>(q)].push_back({value, s.count, at.part, snapshot});
      }
    }
    if (++at.part >= s.count) ++at.step, at.part = 0;
    return &s;
  }

  bool before(Moment m, int block) const {
    return m.block < 0 || clocks_[static_cast<std::size_t>(block)][static_cast<std::size_t>(m.block)] >= m.step;
  }
  void race(Moment now, Moment other, const Plan::Range& r, int part, std::string_view does, std::string_view did) {
    report(now,
           fmt::format("{} {} {}, which {} {}: nothing says which comes first", named(now), does, named(r, part),
                       named(other), did),
           "let one wait for the other");
  }

  Value load(const Plan::Range& r, int part, Moment now) {
    auto* cell = find(r, part);
    if (!cell || !cell->value) {
      report(now, fmt::format("{} reads {}, which nothing has written", named(now), named(r, part)),
             "only the input is there from the start");
      return nullptr;
    }
    if (!before(cell->written, now.block)) race(now, cell->written, r, part, "reads", "writes");
    const auto mine =
        std::find_if(cell->read.begin(), cell->read.end(), [&](Moment m) { return m.block == now.block; });
    if (mine == cell->read.end())
      cell->read.push_back(now);
    else
      *mine = now;
    return cell->value;
  }

  void store(const Plan::Range& r, int part, Moment now, const Value& value) {
    auto* cell = find(r, part);
    if (!cell) return;
    if (!before(cell->written, now.block)) race(now, cell->written, r, part, "writes", "writes as well");
    for (const auto m : cell->read)
      if (!before(m, now.block)) {
        race(now, m, r, part, "writes", "reads");
        break;
      }
    cell->read.clear();
    cell->written = now;
    cell->value = value;
  }

  bool stuck() {
    bool any = false;
    for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
      const auto& block = plan_.blocks[b];
      if (at_[b].step >= block.steps.size()) continue;
      any = true;
      const auto& s = block.steps[at_[b].step];
      const Moment now{static_cast<int>(b), static_cast<int>(at_[b].step) + 1};
      std::string why;
      for (const int q : s.take) {
        const auto& queue = plan_.queues[static_cast<std::size_t>(q)];
        if (!queues_[static_cast<std::size_t>(q)].empty() || (!queue.fifo && at_[b].part > 0)) continue;
        const auto& other = plan_.blocks[static_cast<std::size_t>(queue.from)];
        why = fmt::format("waits for thread block {} of GPU {}", other.id, other.rank);
      }
      if (why.empty()) why = fmt::format("finds all {} slots of its connection full", slots_);
      report(now, fmt::format("deadlock: {} {} for ever", named(now), why),
             "the steps of a block run in their order; each waits for what it takes and for a free slot");
    }
    return any;
  }

  void leftovers() {
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      if (queues_[q].empty()) continue;
      const auto& queue = plan_.queues[q];
      const auto& from = plan_.blocks[static_cast<std::size_t>(queue.from)];
      const auto& to = plan_.blocks[static_cast<std::size_t>(queue.to)];
      report(to.line, to.column,
             fmt::format("thread block {} of GPU {} leaves {} message{} of thread block {} of GPU {} unread", to.id,
                         to.rank, queues_[q].size(), queues_[q].size() == 1 ? "" : "s", from.id, from.rank),
             "the next call would take them for its own");
    }
  }

  using Parts = std::vector<Part>;
  /// What must be in an output chunk; empty: anything.
  Parts expected(int rank, int chunk) const {
    Parts parts;
    const int n = plan_.ranks();
    switch (op_) {
      case Op::all_reduce:
        for (int r = 0; r < n; ++r) parts.push_back({r, chunk, 1});
        break;
      case Op::reduce:
        for (int r = 0; r < n && rank == plan_.root; ++r) parts.push_back({r, chunk, 1});
        break;
      case Op::reduce_scatter:
        for (int r = 0; r < n; ++r) parts.push_back({r, rank * plan_.output_chunks(op_) + chunk, 1});
        break;
      case Op::all_gather: {
        const int each = plan_.input_chunks(op_);
        parts.push_back({chunk / each, chunk % each, 1});
        break;
      }
      case Op::broadcast:
        parts.push_back({plan_.root, chunk, 1});
        break;
      case Op::alltoall: {
        const int each = plan_.chunks / n;
        parts.push_back({chunk / each, rank * each + chunk % each, 1});
        break;
      }
      default:
        break;
    }
    return parts;
  }

  static std::string listed(const Parts& parts) {
    std::string out;
    for (std::size_t i = 0; i < parts.size() && i < 8; ++i) {
      out += fmt::format("{}input chunk {} of GPU {}", i ? ", " : "", parts[i].chunk, parts[i].rank);
      if (parts[i].times != 1) out += fmt::format(" ({} times)", parts[i].times);
    }
    if (parts.size() > 8) out += fmt::format(" and {} more", parts.size() - 8);
    return out;
  }

  void result() {
    for (int rank = 0; rank < plan_.ranks(); ++rank) {
      const auto& gpu = plan_.gpus[static_cast<std::size_t>(rank)];
      for (int c = 0; c < plan_.output_chunks(op_); ++c) {
        const auto wanted = expected(rank, c);
        if (wanted.empty()) continue;
        const Plan::Range at{rank, Plan::Buffer::output, c};
        const auto* cell = find(at, 0);
        const Parts none;
        const Parts& found = cell && cell->value ? *cell->value : none;
        if (!differ(found, wanted)) {
          late(*cell, rank, at);
          continue;
        }
        int line = gpu.line, column = gpu.column;
        if (cell && cell->written.block >= 0) line = step(cell->written).line, column = step(cell->written).column;
        Parts lacks, extra;
        for (const auto& p : wanted)
          if (!holds(found, p)) lacks.push_back(p);
        for (const auto& p : found)
          if (!holds(wanted, p) || p.times != 1) extra.push_back(p);
        std::string problem = fmt::format("wrong result: {}", named(at, 0));
        if (found.empty()) {
          problem += " is never written";
        } else {
          if (!lacks.empty()) problem += " lacks " + listed(lacks);
          if (!extra.empty())
            problem += (lacks.empty() ? " has " : " and has ") + listed(extra) + " that does not belong there";
        }
        report(line, column, problem, fmt::format("after {} it must be {}", name_of(op_), what(wanted)));
      }
    }
  }
  static std::string_view name_of(Plan::Buffer b) { return workloads::name_of(b); }
  static std::string_view name_of(Op op) { return models::nccl::name_of(op); }
  static std::string what(const Parts& wanted) {
    return wanted.size() == 1 ? listed(wanted) : fmt::format("the sum of input chunk {} of all GPUs", wanted[0].chunk);
  }
  static bool holds(const Parts& in, const Part& p) {
    return std::any_of(in.begin(), in.end(), [&](const Part& q) { return q.rank == p.rank && q.chunk == p.chunk; });
  }
  static bool differ(const Parts& a, const Parts& b) {
    return !std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Part& p, const Part& q) {
      return p.rank == q.rank && p.chunk == q.chunk && p.times == q.times;
    });
  }

  /// The kernel of a rank must not end before what others write into its result is there.
  void late(const Cell& cell, int rank, const Plan::Range& at) {
    if (cell.written.block < 0) return;
    for (std::size_t b = 0; b < plan_.blocks.size(); ++b)
      if (plan_.blocks[b].rank == rank && before(cell.written, static_cast<int>(b))) return;
    report(cell.written,
           fmt::format("{} writes {}, and no thread block of GPU {} waits for it", named(cell.written), named(at, 0),
                       rank),
           "its kernel may end before the data is there: signal, and wait");
  }

  const Plan& plan_;
  Op op_;
  std::size_t slots_ = 8;
  std::vector<std::size_t> base_;  // of a GPU's cells: input, output, scratch
  std::vector<Cell> cells_;
  std::vector<std::deque<Message>> queues_;
  std::vector<Progress> at_;
  std::vector<std::vector<int>> clocks_;  // by block
  std::vector<sim::Diagnostic> problems_;
};

}  // namespace

std::vector<sim::Diagnostic> check_algorithm(const AlgorithmPlan& plan, Op op) {
  const bool spread = op == Op::all_gather || op == Op::reduce_scatter || op == Op::alltoall;
  if (spread && plan.chunks % plan.ranks() != 0)
    return {{{plan.file, 0, 0, 1},
             fmt::format("{} chunks do not divide by {} GPUs", plan.chunks, plan.ranks()),
             fmt::format("{} gives every rank the same part of the buffer", name_of(op))}};
  return Run{plan, op}.check();
}

}  // namespace linkcast::workloads
