// See flight_recorder.hpp. A file does not say of which rank it is: its name does ("nccl_trace_rank_3"), else its place
// among the files. time_created_ns is when the CPU enqueued a call, and time_discovered_* when a watchdog looked:
// neither is when the GPU worked, so that no computing is made of the gaps; duration_ms is (TORCH_NCCL_ENABLE_TIMING).
#include "flight_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "byte_source.hpp"
#include "flight_entry.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "sequences.hpp"

namespace linkcast::workloads::readers {
namespace {

using Kind = Datum::Kind;

constexpr std::size_t most_bytes = std::size_t{1} << 30;

int rank_in_name(const std::string& path) {
  auto name = std::filesystem::path{path}.filename().string();
  while (true) {
    const auto dot = name.rfind('.');
    if (dot == std::string::npos || dot == 0) break;
    if (name.find_first_not_of("0123456789", dot + 1) == std::string::npos && dot + 1 < name.size()) break;
    name.resize(dot);
  }
  auto begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  // "v2.5" is no rank: one stands after a separator.
  if (begin == name.size() || (begin > 0 && std::string_view{"_-k."}.find(name[begin - 1]) == std::string_view::npos))
    return -1;
  int rank = -1;
  const auto end = std::from_chars(name.data() + begin, name.data() + name.size(), rank);
  return end.ec == std::errc{} && rank < (1 << 20) ? rank : -1;
}

class Dumps {
 public:
  void read(const std::string& path, int rank) {
    const auto bytes = read_whole(path, most_bytes);
    document_ = looks_like_pickle(bytes) ? read_pickle(bytes, path) : read_json(bytes, "frames");
    if (!document_.problem.empty())
      report().skip("the rest of a damaged file: " + document_.problem.substr(0, 200),
                    fmt::format("{}: byte {}", path, document_.position));
    const auto* root = document_.root;
    const Datum* entries = nullptr;
    const Datum* groups = nullptr;
    if (root != nullptr && root->is(Kind::map)) {
      // Some collectors wrap a dump.
      for (const auto* key : {"dump", "trace"})
        if (const auto* inner = root->get(key); inner != nullptr && inner->is(Kind::map)) root = inner;
      entries = root->get("entries");
      groups = root->get("pg_config");
      if (version_.empty()) version_ = root->word("version");
    } else if (root != nullptr && root->is(Kind::list)) {
      entries = root;  // 1.x
    }
    store_rank_ = world_.size();
    world_.push_back(rank);
    paths_.push_back(path);
    if (groups != nullptr && groups->is(Kind::map))
      for (const auto& [id, config] : groups->entries) configure(id, *config);
    if (entries == nullptr || !entries->is(Kind::list)) {
      report().skip("a file without entries", path);
      return;
    }
    for (std::size_t i = 0; i < entries->items.size(); ++i)
      entry(*entries->items[i], fmt::format("{}: entry {}", path, i));
    flush_batch();
    scheduled_ = 0;
  }

  Recording finish(const RecordingOptions& options) {
    if (collected_->store.total() == 0)
      throw sim::InputError(fmt::format("{}: no entry of a flight recorder can be used", paths_[0]),
                            "TORCH_NCCL_TRACE_BUFFER_SIZE sets how many calls it keeps");
    auto& out = recording_;
    for (const auto r : world_) out.world = std::max(out.world, r + 1);
    for (auto& g : groups_) {
      std::set<int> inside(g.ranks.begin(), g.ranks.end());
      for (const auto r : g.seen)
        if (inside.insert(r).second) g.ranks.push_back(r);
      if (!g.configured) {
        std::ranges::sort(g.ranks);
        for (int r = 0; static_cast<int>(g.ranks.size()) <= g.last_member; ++r)
          if (inside.insert(r).second) g.ranks.push_back(r);
      }
      for (const auto r : g.ranks) out.world = std::max(out.world, r + 1);
    }
    if (options.world > 0) {
      if (out.world > options.world)
        throw sim::InputError(fmt::format("the dumps name rank {}, the world has {}", out.world - 1, options.world));
      out.world = options.world;
    }
    for (const auto& g : groups_) out.communicators.push_back({g.name, g.description, g.ranks});
    std::vector<std::size_t> places;
    for (std::size_t r = 0; r < world_.size(); ++r)
      if (collected_->store.size(r) > 0) places.push_back(r);
    std::ranges::sort(places, {}, [&](std::size_t r) { return world_[r]; });
    for (const auto p : places) out.ranks.push_back(world_[p]);
    std::map<int, std::size_t> dumped;
    for (std::size_t r = 0; r < world_.size(); ++r) dumped.emplace(world_[r], r);
    for (std::size_t s = 0; s < collected_->sequences.size(); ++s) {
      auto& sequence = collected_->sequences[s];
      if (sequence.messages) continue;
      // All members that have a dump take part, whether they came or not.
      for (const auto r : groups_[sequence_group_[s]].ranks)
        if (const auto at = dumped.find(r); at != dumped.end()) sequence.ranks.push_back(at->second);
    }
    tell();
    out.report->generation = version_.empty() ? "1.x" : version_;
    out.source = fmt::format("Flight Recorder dumps of {} ranks", places.size());
    return recording_of(collected_, std::move(out), std::move(places));
  }

  ReadReport& report() { return *recording_.report; }

 private:
  struct Progress {
    std::int64_t last = -1, completed = -1;
    std::uint32_t name = 0;
  };
  struct Group {
    std::string name, description;
    std::vector<int> ranks;
    std::set<int> seen;  // that have calls on it
    bool configured = false;
    int last_member = -1;  // that messages name
    std::uint32_t stream = 0, sequence = StoredCall::none;
    std::map<int, Progress> progress;  // by rank of the world
    std::map<int, std::pair<std::int64_t, std::uint64_t>> repeats;
  };

  std::size_t group(const std::string& name) {
    const auto [at, fresh] = group_of_.try_emplace(name, groups_.size());
    if (fresh) {
      groups_.emplace_back();
      groups_.back().name = name;
    }
    return at->second;
  }

  void configure(const std::string& id, const Datum& config) {
    auto& g = groups_[group(config.word("name").empty() ? id : std::string{config.word("name")})];
    if (g.description.empty()) g.description = config.word("desc");
    if (g.configured) return;
    auto ranks = rank_list(config.get("ranks"));
    if (ranks.empty()) return;
    g.configured = true;
    g.ranks = std::move(ranks);
  }

  std::uint32_t stream(const std::string& name) {
    const auto [at, fresh] = stream_of_.try_emplace(name, static_cast<std::uint32_t>(recording_.streams->size()));
    if (fresh) recording_.streams->push_back(name);
    return at->second;
  }

  void entry(const Datum& e, const std::string& where) {
    ++report().records;
    if (!e.is(Kind::map)) {
      report().skip("an entry that is no dictionary", where);
      return;
    }
    std::string name, description;
    if (const auto* pg = e.get("process_group"); pg != nullptr && pg->is(Kind::list) && !pg->items.empty()) {
      if (pg->items[0]->is(Kind::text)) name = pg->items[0]->text;
      if (pg->items.size() > 1 && pg->items[1]->is(Kind::text)) description = pg->items[1]->text;
    }
    if (name.empty()) name = fmt::format("{}", e.whole("pg_id", 0));
    const auto index = group(name);
    auto& g = groups_[index];
    if (g.description.empty()) g.description = description;
    const int me = world_.back();
    std::string why;
    // Of a group that no dump describes, members are known by their calls only.
    const auto ranks = g.configured ? static_cast<int>(g.ranks.size()) : std::max<int>(files_, me + 1);
    const auto found = flight_entry(e, ranks, why);
    if (!found) {
      report().skip(why, where);
      return;
    }
    if (found->coalesced) {
      close_batch(index, *found);
      return;
    }
    if (g.configured && std::ranges::find(g.ranks, me) == g.ranks.end()) {
      report().skip("a call on a group in which this rank is not", where);
      return;
    }
    g.seen.insert(me);
    if (!found->typed) ++untyped_;
    if (found->kind == Operation::Kind::collective)
      collective(*found, index, me);
    else
      message(*found, index, me, where);
  }

  void add(StoredCall call) { collected_->store.add(store_rank_, call); }

  void collective(const FlightEntry& f, std::size_t index, int me) {
    auto& g = groups_[index];
    if (g.stream == 0) g.stream = stream("process group " + g.name);
    if (g.sequence == StoredCall::none) {
      g.sequence = static_cast<std::uint32_t>(collected_->sequences.size());
      auto& s = collected_->sequences.emplace_back();
      s.label = label(g);
      sequence_group_.push_back(index);
    }
    StoredCall call;
    call.kind = Operation::Kind::collective;
    call.op = f.op;
    call.bytes = f.barrier ? 0 : f.bytes;
    call.communicator = static_cast<std::uint32_t>(index);
    call.stream = g.stream;
    call.name = recording_.names->add(f.name.substr(0, 100));
    call.sequence = g.sequence;
    auto& progress = g.progress[me];
    auto& [last, repeat] = g.repeats[me];
    const auto sequence = f.sequence >= 0 ? std::min(f.sequence, std::int64_t{1} << 38) : last + 1;
    // Those of one coalesced group have one number.
    repeat = sequence == last ? repeat + 1 : 0;
    if (sequence < last) report().skip("a collective_seq_id that runs backwards: taken as the next", paths_.back());
    last = std::max(sequence, last);
    call.key = (static_cast<std::uint64_t>(last) << 24) | (repeat & 0xffffff);
    call.measured = static_cast<std::int64_t>(f.milliseconds * 1e9);
    progress.last = last;
    progress.name = call.name;
    if (f.state == "completed") progress.completed = last;
    if (!f.state.empty() && f.state != "completed") ++unfinished_;
    if (f.state == "scheduled") ++scheduled_;
    flush_batch();
    add(call);
  }

  void message(const FlightEntry& f, std::size_t index, int me, const std::string& where) {
    auto& g = groups_[index];
    const bool sends = f.kind == Operation::Kind::send;
    const int mine = sends ? f.source : f.destination;
    if (g.configured &&
        (static_cast<std::size_t>(mine) >= g.ranks.size() || g.ranks[static_cast<std::size_t>(mine)] != me)) {
      report().skip("a message in which another rank says what this one does", where);
      return;
    }
    g.last_member = std::max({g.last_member, f.source, f.destination});
    StoredCall call;
    call.kind = f.kind;
    call.op = f.op;
    call.bytes = f.bytes;
    call.communicator = static_cast<std::uint32_t>(index);
    call.peer = sends ? f.destination : f.source;
    call.name = recording_.names->add(f.name.substr(0, 100));
    call.measured = static_cast<std::int64_t>(f.milliseconds * 1e9);
    // Not coalesced, each pair of ranks has a communicator and a stream of its own (ProcessGroupNCCL::pointToPoint).
    const auto low = std::min(f.source, f.destination), high = std::max(f.source, f.destination);
    call.stream = stream(fmt::format("process group {}, {}:{}", g.name, low, high));
    if (f.state == "scheduled") {
      // Perhaps of a coalesced group: only the entry that closes it says so.
      if (!open_batch_.empty() && (open_group_ != index || open_sequence_ != f.sequence)) flush_batch();
      open_group_ = index;
      open_sequence_ = f.sequence;
      open_batch_.push_back(call);
      return;
    }
    flush_batch();
    add(call);
  }

  void close_batch(std::size_t index, const FlightEntry& f) {
    // Only the entry that closes a group says how far it came.
    if (f.state == "completed") {
      if (auto p = groups_[index].progress.find(world_.back());
          p != groups_[index].progress.end() && p->second.last == f.sequence)
        p->second.completed = f.sequence;
      unfinished_ -= scheduled_;
    }
    scheduled_ = 0;
    if (open_batch_.empty() || open_group_ != index) return flush_batch();
    ++batches_;
    const auto all = stream(fmt::format("process group {}", groups_[index].name));
    for (auto& call : open_batch_) {
      call.batch = batches_;
      call.stream = all;
      // One kernel does them all: its time is that of a message only where there is one.
      if (open_batch_.size() == 1) call.measured = static_cast<std::int64_t>(f.milliseconds * 1e9);
    }
    flush_batch();
  }

  void flush_batch() {
    for (const auto& call : open_batch_) add(call);
    open_batch_.clear();
  }

  static std::string label(const Group& g) {
    return g.description.empty() ? fmt::format("process group {}", g.name)
                                 : fmt::format("process group {} ({})", g.name, g.description);
  }

  /// Who has not come to what: the question for which these dumps are made.
  void tell() {
    auto& notes = report().notes;
    const std::set<int> dumped(world_.begin(), world_.end());
    for (const auto& g : groups_) {
      std::vector<int> silent;
      for (const auto r : g.ranks)
        if (!dumped.contains(r)) silent.push_back(r);
      if (!silent.empty() && !g.seen.empty())
        notes.push_back(fmt::format("{}: no dump of {} of its {} ranks: {}", label(g), silent.size(), g.ranks.size(),
                                    some(silent)));
      std::int64_t latest = -1;
      std::uint32_t name = 0;
      for (const auto& [r, p] : g.progress)
        if (p.last > latest) latest = p.last, name = p.name;
      if (latest < 0) continue;
      std::vector<int> missing, running;
      for (const auto r : g.ranks) {
        if (!dumped.contains(r)) continue;
        const auto p = g.progress.find(r);
        if (p == g.progress.end() || p->second.last < latest)
          missing.push_back(r);
        else if (p->second.completed < latest)
          running.push_back(r);
      }
      if (!missing.empty())
        notes.push_back(
            fmt::format("{}: rank {} {} not come to collective {} ({}), to which {} ranks have", label(g),
                        some(missing), missing.size() > 1 ? "have" : "has", latest, (*recording_.names)[name],
                        std::ranges::count_if(g.progress, [&](const auto& p) { return p.second.last == latest; })));
      else if (!running.empty())
        notes.push_back(
            fmt::format("{}: all ranks with a dump have come to collective {} ({}); it is not completed on "
                        "rank {}",
                        label(g), latest, (*recording_.names)[name], some(running)));
    }
    if (unfinished_ > 0)
      notes.push_back(fmt::format("{} calls were not completed when the dumps were made", unfinished_));
    if (untyped_ > 0)
      notes.push_back(fmt::format("{} calls have no data types: 4 bytes an element are assumed", untyped_));
    notes.push_back(
        "a flight recorder keeps the last calls only and no times of computing: nothing is computed between them");
    if (dumped.size() < static_cast<std::size_t>(recording_.world))
      notes.push_back(
          fmt::format("{} of {} ranks have a dump; the others are taken to do alike", dumped.size(), recording_.world));
  }

  static std::string some(const std::vector<int>& ranks) {
    std::string out;
    for (std::size_t i = 0; i < ranks.size() && i < 16; ++i) out += fmt::format("{}{}", i ? ", " : "", ranks[i]);
    if (ranks.size() > 16) out += fmt::format(" and {} more", ranks.size() - 16);
    return out;
  }

  Recording recording_;
  std::shared_ptr<Collected> collected_ = std::make_shared<Collected>();
  Document document_;
  std::vector<int> world_;
  std::vector<std::string> paths_;
  std::size_t store_rank_ = 0;
  std::string version_;
  std::map<std::string, std::size_t> group_of_;
  std::vector<Group> groups_;
  std::map<std::string, std::uint32_t> stream_of_;
  std::vector<std::size_t> sequence_group_;
  std::vector<StoredCall> open_batch_;
  std::size_t open_group_ = 0;
  std::int64_t open_sequence_ = -1, unfinished_ = 0, untyped_ = 0, scheduled_ = 0;
  std::uint32_t batches_ = 0;

 public:
  int files_ = 1;
};

}  // namespace

bool is_flight_recorder(const Probe& probe) {
  const std::string_view head = probe.head;
  if (looks_like_pickle(head)) return true;
  const auto first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return false;
  const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
  return (has("\"pg_config\"") && (has("\"pg_status\"") || has("\"entries\""))) ||
         (has("\"profiling_name\"") && has("\"input_sizes\"")) || (has("\"entries\"") && has("\"record_id\""));
}

Recording open_flight_recorder(const std::vector<std::string>& paths, const RecordingOptions& options) {
  std::vector<int> ranks;
  for (const auto& path : paths) ranks.push_back(rank_in_name(path));
  auto sorted = ranks;
  std::ranges::sort(sorted);
  const bool named = sorted.front() >= 0 && std::ranges::adjacent_find(sorted) == sorted.end();
  Dumps dumps;
  dumps.files_ = static_cast<int>(paths.size());
  if (!named)
    dumps.report().notes.push_back(
        fmt::format("the files' names do not end in a rank: taken as ranks 0 to {} in their order", paths.size() - 1));
  for (std::size_t i = 0; i < paths.size(); ++i) dumps.read(paths[i], named ? ranks[i] : static_cast<int>(i));
  return dumps.finish(options);
}

}  // namespace linkcast::workloads::readers
