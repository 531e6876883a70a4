// MSCCL++'s execution plan, as core/executor/execution_plan.cc of microsoft/mscclpp reads it. Blocks store into and
// load from the memory of other GPUs and tell each other by signals; packets (LL) tell by arriving. What goes through a
// switch that reduces (glres, gstore) and pipelines are told from these by name and refused. Knows the format only.
#include <fmt/format.h>

#include <map>
#include <numeric>
#include <set>

#include "json_text.hpp"
#include "readers.hpp"

namespace linkcast::workloads::algorithms {
namespace {

using Plan = AlgorithmPlan;

struct Range {
  Plan::Range at;
  int size = 0;
  bool remote = false;
};

/// Where a step of a block is, while steps are still being added in order.
struct StepAt {
  int block = -1, step = -1;
};

class Reader {
 public:
  Reader(Problems& problems, const std::string& file) : problems_{problems} {
    plan_.file = file;
    plan_.format = "MSCCL++";
  }

  Plan read() {
    const auto root = parse_json(problems_);
    problems_.finish();
    head(*root);
    const auto* gpus = list(*root, "gpus", true);
    problems_.finish();
    if (gpus->items.empty() || gpus->items.size() > static_cast<std::size_t>(most_ranks))
      report(*gpus, fmt::format("{} GPUs", gpus->items.size()), fmt::format("1 to {}", most_ranks));
    problems_.finish();
    find_grain(*gpus);
    sides_.resize(gpus->items.size());
    plan_.gpus.resize(gpus->items.size());
    for (const auto& g : gpus->items) describe(g);
    problems_.finish();
    if (plan_.op) plan_.chunks = *plan_.op == models::nccl::Op::all_gather ? plan_.gpus[0].output : plan_.gpus[0].input;
    if (!plan_.op) plan_.chunks = std::max(plan_.gpus[0].input, plan_.gpus[0].output);
    if (plan_.chunks < 1 || plan_.chunks > most_chunks)
      report(*gpus, fmt::format("{} chunks", plan_.chunks), fmt::format("1 to {}", most_chunks));
    problems_.finish();
    for (std::size_t i = 0; i < gpus->items.size(); ++i) {
      auto& gpu = plan_.gpus[i];
      if (plan_.op) {
        gpu.input = std::max(gpu.input, plan_.input_chunks(*plan_.op));
        gpu.output = std::max(gpu.output, plan_.output_chunks(*plan_.op));
      }
    }
    check_shape(problems_, problems_.place(gpus->offset), plan_);
    problems_.finish();
    pair_channels();
    for (const auto& g : gpus->items) blocks(g);
    problems_.finish();
    signals();
    packets();
    barriers();
    int most = 1;
    std::map<int, int> of;
    for (const auto& b : plan_.blocks) most = std::max(most, ++of[b.rank]);
    plan_.channels = most;
    return std::move(plan_);
  }

 private:
  // ---- values -------------------------------------------------------------------------------------------------
  void report(const Json& at, std::string problem, std::string help) {
    problems_.add(problems_.place(at.offset), std::move(problem), std::move(help));
  }
  const Json* list(const Json& of, const char* key, bool needed) {
    const auto* v = of.get(key);
    if (v && v->kind == Json::Kind::array) return v;
    if (v)
      report(*v, fmt::format("'{}' is no list", key), "[…]");
    else if (needed)
      report(of, fmt::format("'{}' is missing", key), "an execution plan of mscclpp has it");
    return nullptr;
  }
  std::string word(const Json& of, const char* key) {
    const auto* v = of.get(key);
    if (!v) return {};
    if (v->kind != Json::Kind::string) report(*v, fmt::format("'{}' is no text", key), "\"…\"");
    return v->text;
  }
  std::int64_t number(const Json& v, std::string_view what, std::int64_t least, std::int64_t most) {
    const auto n = v.whole();
    if (!n || *n < least || *n > most) {
      report(v, fmt::format("{} is no number from {} to {}", what, least, most), "a whole number");
      return least;
    }
    return *n;
  }
  int count(const Json& of, const char* key, int least, int most, std::optional<int> otherwise = std::nullopt) {
    if (const auto* v = of.get(key)) return static_cast<int>(number(*v, fmt::format("'{}'", key), least, most));
    if (!otherwise) report(of, fmt::format("'{}' is missing", key), "an execution plan of mscclpp has it");
    return otherwise.value_or(least);
  }
  bool flag(const Json& of, const char* key) {
    const auto* v = of.get(key);
    return v && v->text == "true";
  }
  /// An index from a list of indices, as `what`.
  std::vector<int> indices(const Json& of, const char* key, std::size_t size, std::string_view what) {
    std::vector<int> out;
    const auto* v = list(of, key, false);
    for (std::size_t i = 0; v && i < v->items.size(); ++i) {
      const auto n = v->items[i].whole();
      if (!n || *n < 0 || *n >= static_cast<std::int64_t>(size))
        report(v->items[i], fmt::format("{} {}: there are {}", what, v->items[i].text, size), "they count from 0");
      else
        out.push_back(static_cast<int>(*n));
    }
    return out;
  }

  // ---- the head and what a GPU has ----------------------------------------------------------------------------
  void head(const Json& root) {
    if (root.kind != Json::Kind::object) report(root, "an object is expected", "{\"name\": …, \"gpus\": [...]}");
    if (root.get("colletive") || root.get("chunkGroups")) older(root);
    problems_.finish();
    plan_.name = word(root, "name");
    if (const auto* c = root.get("collective"))
      plan_.op = collective(problems_, problems_.place(c->offset), word(root, "collective"));
    else
      report(root, "'collective' is missing", "\"allreduce\", \"allgather\", …");
    if (const auto* p = root.get("protocol"))
      plan_.protocol = protocol(problems_, problems_.place(p->offset), word(root, "protocol"));
    plan_.in_place = flag(root, "inplace");
    constexpr auto any = std::numeric_limits<std::int64_t>::max();
    if (const auto* v = root.get("min_message_size")) plan_.min_bytes = number(*v, "'min_message_size'", 0, any);
    if (const auto* v = root.get("max_message_size")) plan_.max_bytes = number(*v, "'max_message_size'", 0, any);
  }
  void older(const Json& at) {
    report(at, "this is a plan of mscclpp before 0.7 (inputChunks, o_buff, i_cids)",
           "generate it again with the current DSL, which writes input_chunks, src_buff and channel_ids");
  }

  /// Thread-block groups share the chunks of an operation: what is counted becomes so fine that their shares are whole.
  void find_grain(const Json& gpus) {
    std::int64_t grain = 1;
    each_op(gpus, [&](const Json& op) {
      if (const auto* g = op.get("tbg_info")) {
        const int size = count(*g, "tbg_size", 1, 1024);
        if (grain < most_chunks) grain = std::lcm(grain, std::int64_t{size});
        if (grain >= most_chunks)
          report(*g, "the sizes of the groups have no small common multiple", "groups of 2, 4, 8");
      }
    });
    problems_.finish();
    grain_ = static_cast<int>(grain);
  }
  template <typename Do>
  void each_op(const Json& gpus, Do f) {
    for (const auto& g : gpus.items)
      if (const auto* blocks = g.get("threadblocks"))
        for (const auto& b : blocks->items)
          if (const auto* ops = b.get("ops"))
            for (const auto& op : ops->items) f(op);
  }

  struct Peer {
    int rank = -1, partner = -1;  // and which of the peer's channels of this type is the other end
    std::size_t offset = 0;
  };
  struct Side {
    std::map<std::string, std::vector<Peer>> channels;  // by type
    std::vector<Plan::Range> remote;                    // offset 0
    std::vector<int> semaphores;                        // initial values
    bool seen = false;
  };

  void describe(const Json& g) {
    if (g.get("inputChunks")) return older(g);
    const int id = count(g, "id", 0, plan_.ranks() - 1);
    auto& side = sides_[static_cast<std::size_t>(id)];
    if (side.seen) report(g, fmt::format("GPU {} is described twice", id), "each has one entry");
    side.seen = true;
    const auto at = problems_.place(g.offset);
    const int most = most_chunks / grain_;
    plan_.gpus[static_cast<std::size_t>(id)] = {count(g, "input_chunks", 0, most) * grain_,
                                                count(g, "output_chunks", 0, most) * grain_,
                                                count(g, "scratch_chunks", 0, most, 0) * grain_, at.line, at.column};
    const auto& first = plan_.gpus[0];
    const auto& mine = plan_.gpus[static_cast<std::size_t>(id)];
    if (sides_[0].seen && (mine.input != first.input || mine.output != first.output))
      report(g, fmt::format("GPU {} has other input_chunks or output_chunks than GPU 0", id),
             "a collective is the same for all");
    if (const auto* channels = list(g, "channels", false)) {
      for (const auto& c : channels->items) {
        const auto type = c.get("channel_type") ? word(c, "channel_type") : word(c, "type");
        if (type == "switch") continue;
        if (const auto* to = list(c, "connected_to", true))
          for (const auto& r : to->items)
            side.channels[type].push_back({static_cast<int>(number(r, "a rank", 0, plan_.ranks() - 1)), -1, r.offset});
      }
    }
    if (const auto* remote = list(g, "remote_buffers", false))
      for (const auto& r : remote->items) side.remote.push_back({count(r, "rank", 0, plan_.ranks() - 1), buffer(r), 0});
    if (const auto* s = list(g, "semaphores", false))
      for (const auto& v : s->items) side.semaphores.push_back(count(v, "init_value", 0, 1 << 20, 0));
  }

  Plan::Buffer buffer(const Json& of) {
    const auto w = word(of, "type");
    if (w == "o") return Plan::Buffer::output;
    if (w == "s") return Plan::Buffer::scratch;
    if (w != "i") report(of, fmt::format("unknown buffer '{}'", w), "i (input), o (output) or s (scratch)");
    return Plan::Buffer::input;
  }

  /// The n-th channel from a to b and the n-th from b to a are the two ends of one.
  void pair_channels() {
    for (int a = 0; a < plan_.ranks(); ++a) {
      for (auto& [type, mine] : sides_[static_cast<std::size_t>(a)].channels) {
        std::map<int, int> nth;
        for (auto& peer : mine) {
          int skip = nth[peer.rank]++;
          const auto& theirs = sides_[static_cast<std::size_t>(peer.rank)].channels[type];
          for (std::size_t i = 0; i < theirs.size() && peer.partner < 0; ++i)
            if (theirs[i].rank == a && skip-- == 0) peer.partner = static_cast<int>(i);
          if (peer.partner < 0)
            problems_.add(problems_.place(peer.offset),
                          fmt::format("a {} channel from GPU {} to GPU {} without one back", type, a, peer.rank),
                          "both GPUs list it in 'channels'");
        }
      }
    }
    problems_.finish();
  }

  // ---- thread blocks ------------------------------------------------------------------------------------------
  struct View {  // what a block may name
    int rank = 0;
    std::map<std::string, std::vector<int>> channels;  // index of the GPU's channels of a type
    std::map<std::string, std::vector<int>> remote;
  };

  void blocks(const Json& g) {
    const int rank = count(g, "id", 0, plan_.ranks() - 1);
    auto& side = sides_[static_cast<std::size_t>(rank)];
    const auto* all = list(g, "threadblocks", true);
    for (std::size_t i = 0; all && i < all->items.size(); ++i) {
      const auto& b = all->items[i];
      if (plan_.blocks.size() >= static_cast<std::size_t>(most_blocks))
        return report(b, fmt::format("more than {} thread blocks", most_blocks), "no published plan has so many");
      View view{rank, {}, {}};
      if (const auto* c = list(b, "channels", false))
        for (const auto& e : c->items) {
          const auto type = word(e, "channel_type");
          if (type == "switch") continue;
          auto ids = indices(e, "channel_ids", side.channels[type].size(), type + " channel");
          auto& into = view.channels[type];
          into.insert(into.end(), ids.begin(), ids.end());
        }
      if (const auto* r = list(b, "remote_buffer_refs", false))
        for (const auto& e : r->items) {
          auto ids = indices(e, "remote_buffer_ids", side.remote.size(), "remote buffer");
          auto& into = view.remote[word(e, "access_channel_type")];
          into.insert(into.end(), ids.begin(), ids.end());
        }
      const auto at = problems_.place(b.offset);
      const int id = count(b, "id", 0, most_blocks, static_cast<int>(i));
      plan_.blocks.push_back({rank, id, id, at.line, at.column, {}});
      if (const auto* ops = list(b, "ops", true))
        for (const auto& op : ops->items) operation(op, view);
    }
  }

  Plan::Step& add(const Json& op, const std::string& name) {
    const auto at = problems_.place(op.offset);
    Plan::Step s;
    s.type = name;
    s.line = at.line;
    s.column = at.column;
    auto& steps = plan_.blocks.back().steps;
    steps.push_back(std::move(s));
    return steps.back();
  }
  StepAt here() const {
    return {static_cast<int>(plan_.blocks.size()) - 1, static_cast<int>(plan_.blocks.back().steps.size()) - 1};
  }

  std::vector<Range> ranges(const Json& op, const char* key, const View& view, const std::string& type) {
    std::vector<Range> out;
    const auto* v = list(op, key, true);
    for (std::size_t i = 0; v && i < v->items.size(); ++i) {
      const auto& e = v->items[i];
      Range r;
      const auto& ids = view.remote.contains(type) ? view.remote.at(type) : none_;
      if (const auto* b = e.get("buffer_id")) {
        const auto n = b->whole();
        if (!n || *n < 0 || *n >= static_cast<std::int64_t>(ids.size())) {
          report(*b,
                 fmt::format("buffer_id {}: the thread block refers to {} remote buffers by {} channels", b->text,
                             ids.size(), type),
                 "see its remote_buffer_refs");
          continue;
        }
        r.at = sides_[static_cast<std::size_t>(view.rank)]
                   .remote[static_cast<std::size_t>(ids[static_cast<std::size_t>(*n)])];
        r.remote = r.at.rank != view.rank;
      } else {
        r.at = {view.rank, buffer(e), 0};
      }
      const int most = most_chunks / grain_;
      r.at.offset = count(e, "index", 0, most) * grain_;
      r.size = count(e, "size", 1, most) * grain_;
      const auto& gpu = plan_.gpus[static_cast<std::size_t>(r.at.rank)];
      const int has = r.at.buffer == Plan::Buffer::input    ? gpu.input
                      : r.at.buffer == Plan::Buffer::output ? gpu.output
                                                            : gpu.scratch;
      if (r.at.offset + r.size > has)
        report(e,
               fmt::format("chunks {} to {} of a buffer of GPU {} that has {}", r.at.offset / grain_,
                           (r.at.offset + r.size) / grain_ - 1, r.at.rank, has / grain_),
               "see its *_chunks");
      if (const auto* g = op.get("tbg_info")) {
        const int parts = count(*g, "tbg_size", 1, 1024), mine = count(*g, "tb_id", 0, std::max(0, parts - 1));
        r.size /= parts;
        r.at.offset += r.size * mine;
      }
      out.push_back(r);
    }
    return out;
  }

  static bool packets_in(const std::string& n) {
    return n == "upkt" || n == "rppkt" || n == "repkt" || n == "respkt" || n == "recpkt" || n == "recspkt";
  }
  static bool packets_out(const std::string& n) {
    return n == "ppkt" || n == "rppkt" || n == "cpkt" || n == "respkt" || n == "recpkt" || n == "recspkt";
  }

  /// reads -> sum -> writes, with the lanes that this crosses and the packets that it makes and takes.
  void move(const Json& op, const std::string& name, const View& view, const std::vector<Range>& from,
            const std::vector<Range>& to) {
    if (from.empty() || to.empty()) return;
    auto& s = add(op, name);
    s.count = from[0].size;
    moves_ += s.count;
    if (moves_ > most_moves) {
      if (moves_ - s.count <= most_moves)
        report(op, "the operations handle more than 4 million chunks", "no published plan does");
      s.count = 0;
      return;
    }
    for (const auto* side : {&from, &to})
      for (const auto& r : *side)
        if (r.size != s.count)
          report(op, fmt::format("{} of {} and of {} chunks", name, s.count / grain_, r.size / grain_),
                 "all buffers of an operation have one size");
    std::set<std::pair<int, bool>> crossed;
    for (const auto& r : from) {
      s.reads.push_back(r.at);
      if (r.remote) s.lanes.push_back({r.at.rank, view.rank, true});
      // Of a reduction the first source is plain data, those in scratch are packets.
      if (packets_in(name) && r.at.buffer == Plan::Buffer::scratch && !r.remote)
        packet_reads_.push_back({here(), r.at, s.count});
    }
    for (const auto& r : to) {
      s.writes.push_back(r.at);
      if (r.remote) s.lanes.push_back({view.rank, r.at.rank, false});
      if (packets_out(name) && r.at.buffer == Plan::Buffer::scratch) packet_writes_.push_back({here(), r.at, s.count});
    }
  }

  void operation(const Json& op, const View& view) {
    if (op.get("o_cids") || op.get("i_cids") || op.get("o_buff")) return older(op);
    const auto name = word(op, "name");
    const auto type = word(op, "channel_type");
    const auto channels = [&] {
      std::vector<int> out;
      const auto& mine = view.channels.contains(type) ? view.channels.at(type) : none_;
      for (const int i : indices(op, "channel_ids", mine.size(), type + " channel of the thread block"))
        out.push_back(mine[static_cast<std::size_t>(i)]);
      return out;
    };
    static const std::set<std::string> plain{"put", "pws", "pwsf", "get", "copy", "ppkt", "cpkt", "upkt", "rppkt"};
    static const std::set<std::string> reducing{"re", "res", "rre", "rres", "repkt", "respkt", "recpkt", "recspkt"};
    static const std::set<std::string> through_switch{"glres", "gstore", "gstorepkt", "gstore_packet"};
    if (name == "nop" || name == "flush") return;  // threads of one block; stores that the block sees through anyway
    if (plain.contains(name)) {
      const auto from = ranges(op, "src_buff", view, type), to = ranges(op, "dst_buff", view, type);
      if (from.size() == to.size()) {
        for (std::size_t i = 0; i < from.size(); ++i) move(op, name, view, {from[i]}, {to[i]});
      } else if (from.size() == 1) {
        move(op, name, view, from, to);
      } else {
        report(op, fmt::format("{} from {} buffers to {}", name, from.size(), to.size()),
               "one source, or one for each");
      }
      if (name == "pws" || name == "pwsf") signal(op, name, view, type, channels());
    } else if (reducing.contains(name)) {
      move(op, name, view, ranges(op, "src_buff", view, type), ranges(op, "dst_buff", view, type));
    } else if (name == "signal" || name == "rlxsignal") {
      signal(op, name, view, type, channels());
    } else if (name == "wait" || name == "rlxwait") {
      for (const int c : channels()) {
        add(op, name);
        waits_[{view.rank, type, c}].push_back(here());
      }
    } else if (name == "barrier") {
      add(op, "barrier");  // all are there …
      barriers_[{view.rank, count(op, "barrier_id", 0, 1 << 20)}][here().block].push_back({here(), op.offset});
      add(op, "barrier");  // … all go on
    } else if (name == "sem_acquire" || name == "sem_release") {
      for (const int i :
           indices(op, "semaphore_ids", sides_[static_cast<std::size_t>(view.rank)].semaphores.size(), "semaphore")) {
        add(op, name);
        (name == "sem_acquire" ? acquires_ : releases_)[{view.rank, i}].push_back(here());
      }
    } else if (through_switch.contains(name)) {
      report(op, fmt::format("'{}' goes through a switch that reduces", name),
             "plans between pairs of GPUs are replayed; NVLS is among NCCL's own algorithms");
    } else if (name == "pipeline") {
      report(op, "'pipeline' is not replayed", "generate the plan without loop iteration context");
    } else {
      std::vector<std::string> names{"nop", "barrier", "signal", "wait", "flush", "rlxsignal", "rlxwait"};
      names.insert(names.end(), plain.begin(), plain.end());
      names.insert(names.end(), reducing.begin(), reducing.end());
      const auto near = sim::nearest(name, names);
      report(op, fmt::format("unknown operation '{}'", name),
             near.empty() ? "such as put, get, copy, signal, wait, re, ppkt" : "did you mean '" + near + "'?");
    }
  }

  void signal(const Json& op, const std::string& name, const View& view, const std::string& type,
              const std::vector<int>& channels) {
    for (const int c : channels) {
      add(op, name);
      signals_[{view.rank, type, c}].push_back(here());
    }
  }

  // ---- who waits for whom -------------------------------------------------------------------------------------
  Plan::Step& step(StepAt at) {
    return plan_.blocks[static_cast<std::size_t>(at.block)].steps[static_cast<std::size_t>(at.step)];
  }
  int queue(int from, int to) {
    plan_.queues.push_back({from, to, false});
    return static_cast<int>(plan_.queues.size()) - 1;
  }
  static std::string counted(std::size_t n, std::string_view of) {
    return fmt::format("{} {}{}", n, of, n == 1 ? "" : "s");
  }
  /// Signals and waits in the order of their blocks; of one block each, else nobody knows which meets which.
  void match(const std::vector<StepAt>& give, const std::vector<StepAt>& take, std::size_t ready,
             std::string_view what) {
    for (const auto* list : {&give, &take})
      for (const auto& s : *list)
        if (s.block != list->front().block)
          return at(s, fmt::format("two thread blocks of a GPU {} on one {}", list == &give ? "signal" : "wait", what),
                    "which of them comes first is open: give each its own");
    if (take.size() > give.size() + ready)
      return at(take[give.size() + ready],
                fmt::format("deadlock: {} and {} on this {}", counted(take.size(), "wait"),
                            counted(give.size(), "signal"), what),
                "each wait takes one signal");
    if (give.size() + ready > take.size() && !give.empty())
      return at(give.back(),
                fmt::format("{} and {} on this {}", counted(give.size(), "signal"), counted(take.size(), "wait"), what),
                "the next call would take what is left for its own");
    if (give.empty() || take.size() <= ready) return;
    const int q = queue(give.front().block, take.front().block);
    for (const auto& s : give) step(s).give.push_back(q);
    for (std::size_t i = ready; i < take.size(); ++i) step(take[i]).take.push_back(q);
  }
  void at(StepAt s, std::string problem, std::string help) {
    const auto& there = step(s);
    problems_.add({there.line, there.column}, std::move(problem), std::move(help));
  }

  void signals() {
    using Key = std::tuple<int, std::string, int>;
    std::set<Key> done;
    const auto partner = [&](const Key& k) -> Key {
      const auto& [rank, type, c] = k;
      const auto& p = sides_[static_cast<std::size_t>(rank)].channels.at(type)[static_cast<std::size_t>(c)];
      return {p.rank, type, p.partner};
    };
    for (const auto& [key, give] : signals_) match(give, waits_[partner(key)], 0, "channel"), done.insert(partner(key));
    for (const auto& [key, take] : waits_)
      if (!done.contains(key)) match({}, take, 0, "channel");
    for (const auto& [key, take] : acquires_)
      match(releases_[key], take,
            static_cast<std::size_t>(
                sides_[static_cast<std::size_t>(key.first)].semaphores[static_cast<std::size_t>(key.second)]),
            "semaphore");
    problems_.finish();
  }

  struct Packets {
    StepAt by;
    Plan::Range at;
    int count;
  };
  /// A block that reads packets waits until they are there. Each is written once in a call.
  void packets() {
    std::map<std::pair<int, int>, StepAt> writer;  // (rank, scratch chunk)
    for (const auto& w : packet_writes_)
      for (int c = 0; c < w.count; ++c)
        if (!writer.emplace(std::pair{w.at.rank, w.at.offset + c}, w.by).second) {
          at(w.by,
             fmt::format("packet {} of the scratch of GPU {} is written twice in one call", (w.at.offset + c) / grain_,
                         w.at.rank),
             "its reader could not tell the two apart");
          break;
        }
    std::map<std::pair<int, int>, std::pair<int, int>> ways;  // (from, to) -> queue, latest step
    for (const auto& r : packet_reads_) {
      for (int c = 0; c < r.count; ++c) {
        const auto found = writer.find({r.at.rank, r.at.offset + c});
        if (found == writer.end()) {
          at(r.by,
             fmt::format("deadlock: waits for packet {} of the scratch of GPU {}, which nobody writes",
                         (r.at.offset + c) / grain_, r.at.rank),
             "ppkt or cpkt writes packets");
          break;
        }
        const auto w = found->second;
        if (w.block == r.by.block) {
          if (w.step > r.by.step)
            at(r.by, "deadlock: waits for a packet that its own thread block writes later", "write first");
          continue;
        }
        const auto [way, fresh] = ways.try_emplace({w.block, r.by.block}, -1, -1);
        if (w.step <= way->second.second) continue;
        if (fresh) way->second.first = queue(w.block, r.by.block);
        way->second.second = w.step;
        step(w).give.push_back(way->second.first);
        step(r.by).take.push_back(way->second.first);
      }
    }
    problems_.finish();
  }

  struct Arrival {
    StepAt step;
    std::size_t offset;
  };
  void barriers() {
    for (const auto& [key, blocks] : barriers_) {
      for (const auto& [block, arrivals] : blocks)
        if (arrivals.size() != blocks.begin()->second.size())
          problems_.add(problems_.place(arrivals.back().offset),
                        fmt::format("deadlock: thread blocks come to barrier {} of GPU {} a different number of times",
                                    key.second, key.first),
                        "each comes as often as the others");
      problems_.finish();
      for (const auto& [a, arrive] : blocks)
        for (const auto& [b, leave] : blocks) {
          if (a == b) continue;
          const int q = queue(a, b);
          for (const auto& s : arrive) step(s.step).give.push_back(q);
          for (const auto& s : leave) step({s.step.block, s.step.step + 1}).take.push_back(q);
        }
    }
  }

  Problems& problems_;
  Plan plan_;
  int grain_ = 1;
  std::int64_t moves_ = 0;
  std::vector<Side> sides_;
  std::map<std::tuple<int, std::string, int>, std::vector<StepAt>> signals_, waits_;  // by GPU, type and channel
  std::map<std::pair<int, int>, std::vector<StepAt>> acquires_, releases_;
  std::vector<Packets> packet_writes_, packet_reads_;
  std::map<std::pair<int, int>, std::map<int, std::vector<Arrival>>> barriers_;
  const std::vector<int> none_;
};

}  // namespace

AlgorithmPlan read_mscclpp_json(Problems& problems, const std::string& file) { return Reader{problems, file}.read(); }

}  // namespace linkcast::workloads::algorithms
