// See nccl_log.hpp. A communicator is a pointer that means something in one process only: the INIT lines say which rank
// of which commId it is. The log is read once, to its end; calls are kept as call_store.hpp does. There is no time in
// it: no computing, no measured communication.
#include "nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "lines.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "nccl_calls.hpp"
#include "nccl_log_line.hpp"
#include "process_groups.hpp"
#include "sequences.hpp"

namespace linkcast::workloads::readers {
namespace {

struct KeyHash {
  std::size_t operator()(const std::pair<std::uint32_t, std::uint64_t>& k) const {
    return std::hash<std::uint64_t>{}(k.second ^ (std::uint64_t{k.first} * 0x9e3779b97f4a7c15ULL));
  }
};

class Log {
 public:
  Log(const RecordingOptions& options) : options_{options} {}

  void read(const std::string& path) {
    Lines lines{path};
    std::string_view line;
    while (lines.next(line)) {
      messages_of(line, messages_);
      for (const auto& m : messages_) message(m, lines);
    }
    if (!lines.problem().empty()) report().skip("the rest of a damaged file: " + lines.problem(), lines.where());
  }

  Recording finish(const std::vector<std::string>& paths) {
    if (collected_->store.total() == 0)
      throw sim::InputError(fmt::format("{}: no call of a collective in this log", paths[0]),
                            "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL");
    place_unknown();
    auto world = world_of(groups_, ranks_.size(), options_.world, report());
    std::vector<std::size_t> places;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (collected_->store.size(r) > 0) places.push_back(r);
    std::ranges::sort(places, {}, [&](std::size_t r) { return world.world[r]; });
    recording_.world = world.ranks;
    recording_.communicators = std::move(world.communicators);
    for (const auto p : places) recording_.ranks.push_back(world.world[p]);
    for (std::uint32_t s = 0; s < collected_->sequences.size(); ++s) finish_sequence(s);
    tell(places.size());
    recording_.source = fmt::format("an NCCL log of {} ranks", places.size());
    return recording_of(collected_, std::move(recording_), std::move(places));
  }

 private:
  struct Communicator {
    std::uint32_t group = 0;
    std::size_t rank = 0;  // of the store
    int place = -1;        // rank in it; -1: not known
    std::uint64_t last = 0, repeat = 0, last_key = 0;
    bool called = false;
    std::uint32_t batch = 0, stream = 0;
    bool in_batch = false;
  };
  struct Rank {
    std::string name;
    int global = -1;
    std::unordered_map<std::uint64_t, std::uint32_t> streams;
    std::map<int, int> created;  // communicators without an id, by their number of ranks
  };

  ReadReport& report() { return *recording_.report; }

  std::uint32_t process(std::string_view name) {
    if (name == last_process_name_) return last_process_;
    last_process_name_ = name;
    if (const auto known = processes_.find(last_process_name_); known != processes_.end())
      return last_process_ = known->second;
    // What another process wrote without an end of line stands before the host's name, or has its beginning.
    const auto pid = last_process_name_.substr(last_process_name_.rfind(':'));
    for (const auto& [other, index] : by_pid_[pid])
      if (name.ends_with(other) || std::string_view{other}.ends_with(name)) return last_process_ = index;
    last_process_ =
        processes_.try_emplace(last_process_name_, static_cast<std::uint32_t>(processes_.size())).first->second;
    by_pid_[pid].emplace_back(last_process_name_, last_process_);
    return last_process_;
  }

  std::size_t rank(std::uint32_t process, int device, std::string_view name) {
    const auto [at, fresh] = rank_of_.try_emplace({process, static_cast<std::uint64_t>(device)}, ranks_.size());
    if (fresh) ranks_.push_back({fmt::format("{} [{}]", name, device), -1, {}, {}});
    return at->second;
  }

  std::uint32_t group(const std::string& id, int ranks) {
    const auto [at, fresh] = group_of_.try_emplace(id, static_cast<std::uint32_t>(groups_.size()));
    if (fresh) groups_.push_back({id, "", ranks, {}, {}});
    return at->second;
  }

  void message(const LogMessage& m, const Lines& lines) {
    if (is_call(m.text)) {
      ++report().records;
      const auto call = log_call(m.text);
      if (m.process.empty() || !call) {
        report().skip("a call whose line is cut or mixed with another", lines.where());
        return;
      }
      this->call(m, *call, lines);
      return;
    }
    if (const auto t = log_tuning(m.text)) {
      ++tuning_[fmt::format("{} {}/{}", t->verb, t->algorithm, t->protocol)];
      return;
    }
    if (m.process.empty()) return;
    if (const auto init = log_init(m.text)) create(m, *init, lines);
  }

  void create(const LogMessage& m, const LogInit& init, const Lines& lines) {
    if (init.ranks > (1 << 20)) {
      report().skip("a communicator of more than 1,048,576 ranks", lines.where());
      return;
    }
    const auto p = process(m.process);
    const auto r = rank(p, init.device >= 0 ? init.device : m.device, m.process);
    const auto key = std::pair{p, init.communicator};
    std::string id;
    if (init.has_id) {
      id = fmt::format("0x{:x}", init.id);
    } else {
      if (!init.complete) return;
      // The n-th communicator of so many ranks that a process makes is the n-th of the others.
      id = fmt::format("{} ranks, {}", init.ranks, ++ranks_[r].created[init.ranks]);
    }
    const auto g = group(id, init.ranks);
    if (const auto had = communicators_.find(key); had != communicators_.end() && had->second.group == g) return;
    if (groups_[g].ranks != init.ranks || !groups_[g].join(init.rank, r)) {
      report().skip("a communicator's creation that contradicts another", lines.where());
      return;
    }
    if (init.has_parent && groups_[g].description.empty())
      if (const auto parent = communicators_.find({p, init.parent}); parent != communicators_.end())
        groups_[g].description =
            init.color >= 0 ? fmt::format("split of {}, color {}", groups_[parent->second.group].name, init.color)
                            : fmt::format("split of {}", groups_[parent->second.group].name);
    Communicator c;
    c.group = g;
    c.rank = r;
    c.place = init.rank;
    communicators_[key] = c;
    with_init_ = true;
  }

  /// INIT lines are missing: ranks are numbered when all is read.
  Communicator* unknown(const LogMessage& m, const LogCall& call, std::uint32_t p, const Lines& lines) {
    if (with_init_) {
      report().skip("a call on a communicator whose creation is not in the log", lines.where());
      return nullptr;
    }
    if (call.ranks < 1 || call.ranks > (1 << 20)) {
      report().skip("a call on a communicator of which the log says nothing", lines.where());
      return nullptr;
    }
    const auto r = rank(p, m.device, m.process);
    Communicator c;
    c.rank = r;
    c.group = group(fmt::format("{} ranks, {}", call.ranks, ++ranks_[r].created[call.ranks]), call.ranks);
    ++without_init_;
    waiting_.emplace_back(c.group, r);
    return &(communicators_[{p, call.communicator}] = c);
  }

  void call(const LogMessage& m, const LogCall& call, const Lines& lines) {
    const auto p = process(m.process);
    const auto found = communicators_.find({p, call.communicator});
    auto* c = found != communicators_.end() ? &found->second : unknown(m, call, p, lines);
    if (c == nullptr) return;
    const auto kind = nccl_call(call.verb);
    if (!kind) {
      report().skip("a call with no model for it", fmt::format("{}: '{}'", lines.where(), call.verb.substr(0, 40)));
      return;
    }
    auto& rank = ranks_[c->rank];
    if (call.global_rank >= 0) rank.global = call.global_rank;
    if (call.count == 0) {
      report().skip("a call of no elements, for which NCCL does nothing", lines.where());
      return;
    }
    const auto ranks = groups_[c->group].ranks;
    const int width = bytes_of_type(call.type);
    const auto size = width > 0 && call.count > 0 && call.count < (std::int64_t{1} << 58)
                          ? nccl_size(*kind, call.count * width, ranks)
                          : std::nullopt;
    const bool message = kind->kind != Operation::Kind::collective;
    if (!size || (message && (call.root < 0 || call.root >= ranks))) {
      report().skip("a call with numbers that cannot be", lines.where());
      return;
    }
    StoredCall out;
    out.kind = kind->kind;
    out.op = kind->op;
    out.bytes = *size;
    out.communicator = c->group;
    out.name = names_of(call.verb);
    if (call.has_stream)
      c->stream = rank.streams.try_emplace(call.stream, static_cast<std::uint32_t>(rank.streams.size())).first->second;
    out.stream = c->stream;
    if (out.stream >= recording_.streams->size())
      recording_.streams->push_back(fmt::format("stream {}", recording_.streams->size()));
    const bool same = c->called && call.count_of_operations == c->last;
    if (message) {
      // Calls of one group have one opCount; alone, each has its own.
      if (!same || !c->in_batch) c->batch = ++batches_;
      c->in_batch = true;
      out.batch = c->batch;
      out.peer = call.root;
      out.sequence = StoredCall::none;
      messages_on_[c->group] = true;
    } else {
      c->in_batch = false;
      out.root = std::clamp(call.root, 0, ranks - 1);
      c->repeat = same ? c->repeat + 1 : 0;
      const std::uint64_t key = ((call.count_of_operations & 0xffffffffffULL) << 24) | (c->repeat & 0xffffff);
      out.key = c->last_key = c->called ? std::max(key, c->last_key + 1) : key;
      out.sequence = sequence(c->group, c->rank);
    }
    c->called = true;
    c->last = call.count_of_operations;
    collected_->store.add(c->rank, out);
  }

  std::uint32_t names_of(std::string_view verb) {
    if (verb.size() > 40) verb = verb.substr(0, 40);
    return recording_.names->add(verb);
  }

  std::uint32_t sequence(std::uint32_t group, std::size_t rank) {
    const auto [at, fresh] = sequence_of_.try_emplace(group, static_cast<std::uint32_t>(collected_->sequences.size()));
    if (fresh) {
      collected_->sequences.emplace_back();
      sequence_group_.push_back(group);
      sequence_members_.emplace_back();
    }
    auto& members = sequence_members_[at->second];
    if (members.try_emplace(rank, true).second) collected_->sequences[at->second].ranks.push_back(rank);
    return at->second;
  }

  void finish_sequence(std::uint32_t s) {
    auto& sequence = collected_->sequences[s];
    const auto g = sequence_group_[s];
    sequence.label = fmt::format("communicator '{}'", groups_[g].name);
    // opCount counts launches of messages too, and ranks send differently often.
    sequence.counting = messages_on_.contains(g) ? Sequence::Counting::ordinal : Sequence::Counting::loose;
  }

  /// By RCCL's globalrank, else by host, process and device.
  void place_unknown() {
    if (waiting_.empty()) return;
    std::ranges::stable_sort(waiting_, [&](const auto& a, const auto& b) {
      const auto &x = ranks_[a.second], &y = ranks_[b.second];
      return std::tuple{a.first, x.global, std::string_view{x.name}} <
             std::tuple{b.first, y.global, std::string_view{y.name}};
    });
    std::map<std::uint32_t, int> next;
    std::int64_t lost = 0;
    for (const auto& [g, r] : waiting_) {
      const int global = ranks_[r].global;
      if (global >= 0 && groups_[g].join(global, r)) continue;
      while (groups_[g].members.contains(next[g])) ++next[g];
      if (!groups_[g].join(next[g]++, r)) ++lost;
    }
    report().notes.push_back(fmt::format(
        "the log has no INIT lines of {} communicators: their ranks are numbered by host, process and device",
        without_init_));
    if (lost > 0)
      throw sim::InputError(fmt::format("{} processes call on communicators that have fewer ranks", lost),
                            "log INIT too: NCCL_DEBUG_SUBSYS=INIT,COLL");
  }

  void tell(std::size_t recorded) {
    auto& notes = report().notes;
    report().generation = without_init_ > 0 ? "COLL lines without INIT" : "INIT and COLL lines";
    if (recorded < static_cast<std::size_t>(recording_.world))
      notes.push_back(
          fmt::format("{} of {} ranks are in the log; the others are taken to do alike", recorded, recording_.world));
    notes.push_back("an NCCL log has no times: nothing is computed between the calls");
    for (const auto& [what, count] : tuning_) notes.push_back(fmt::format("the log says {} for {} calls", what, count));
    if (collected_->store.spilled()) notes.push_back("the calls were kept in a temporary file");
  }

  RecordingOptions options_;
  Recording recording_;
  std::shared_ptr<Collected> collected_ = std::make_shared<Collected>();
  std::vector<LogMessage> messages_;
  std::string last_process_name_;
  std::uint32_t last_process_ = 0, batches_ = 0;
  std::unordered_map<std::string, std::uint32_t> processes_;
  std::unordered_map<std::string, std::vector<std::pair<std::string, std::uint32_t>>> by_pid_;
  std::unordered_map<std::pair<std::uint32_t, std::uint64_t>, std::size_t, KeyHash> rank_of_;
  std::unordered_map<std::pair<std::uint32_t, std::uint64_t>, Communicator, KeyHash> communicators_;
  bool with_init_ = false;
  std::vector<Rank> ranks_;
  std::unordered_map<std::string, std::uint32_t> group_of_;
  std::vector<RecordedGroup> groups_;
  std::unordered_map<std::uint32_t, std::uint32_t> sequence_of_;
  std::vector<std::uint32_t> sequence_group_;
  std::vector<std::unordered_map<std::size_t, bool>> sequence_members_;
  std::unordered_map<std::uint32_t, bool> messages_on_;
  std::vector<std::pair<std::uint32_t, std::size_t>> waiting_;
  std::int64_t without_init_ = 0;
  std::map<std::string, std::int64_t> tuning_;
};

}  // namespace

bool is_nccl_log(const Probe& probe) {
  const std::string_view head = probe.head;
  if (head.find("NCCL INFO ") == std::string_view::npos) return false;
  return head.find(":") != std::string_view::npos && head.find('\0') == std::string_view::npos;
}

Recording open_nccl_log(const std::vector<std::string>& paths, const RecordingOptions& options) {
  Log log{options};
  for (const auto& path : paths) log.read(path);
  return log.finish(paths);
}

}  // namespace linkcast::workloads::readers
