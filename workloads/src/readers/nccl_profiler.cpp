// See nccl_profiler.hpp. Older versions of the plugin print what is no JSON (bare names and pointers, a last element
// "{}]"), so that each event is cut out by its braces and its fields by their names. The GPU's own clock (StartGpuClk,
// StopGpuClk, ns) times the kernels, and what lies between two kernels of a stream is kept as a gap. The trace does not
// say how many ranks a communicator has: as many as the highest rank or peer in it, unless --world does.
#include "nccl_profiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "lines.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "nccl_calls.hpp"
#include "process_groups.hpp"
#include "sequences.hpp"

namespace linkcast::workloads::readers {
namespace {

constexpr std::size_t longest_event = std::size_t{64} << 10;

/// The value of a field, without its quotes; empty where it is missing.
std::string_view field(std::string_view event, std::string_view key) {
  for (auto at = event.find(key); at != std::string_view::npos; at = event.find(key, at + 1)) {
    const auto end = at + key.size();
    if (at == 0 || end >= event.size() || event[end] != '"') continue;
    // A typographic quote ends in 0x9c or 0x9d.
    const auto before = static_cast<unsigned char>(event[at - 1]);
    if (before != '"' && before != 0x9c && before != 0x9d) continue;
    auto from = event.find_first_not_of(" \t", end + 1);
    if (from == std::string_view::npos || event[from] != ':') continue;
    from = event.find_first_not_of(" \t", from + 1);
    if (from == std::string_view::npos) return {};
    if (event[from] == '"') {
      const auto close = event.find('"', from + 1);
      return close == std::string_view::npos ? std::string_view{} : event.substr(from + 1, close - from - 1);
    }
    const auto stop = event.find_first_of(",}", from);
    auto value = event.substr(from, stop == std::string_view::npos ? stop : stop - from);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    return value;
  }
  return {};
}

template <class T>
T number(std::string_view text, T otherwise) {
  T v{};
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v, base);
  return error == std::errc{} && end == text.data() + text.size() ? v : otherwise;
}

struct Event {
  StoredCall call;
  NcclCall kind;
  std::int64_t own = 0;
  std::uint32_t group = 0;
  std::size_t process = 0;
  std::uint64_t begin = 0, end = 0;  // ns of the GPU's clock; 0: not known
};

class Traces {
 public:
  void read(const std::string& path) {
    Lines lines{path};
    path_ = path;
    std::string_view line;
    std::string pending;
    std::int64_t depth = 0;
    while (lines.next(line)) {
      const auto first = line.find_first_not_of(" \t[],");
      if (first == std::string_view::npos) continue;
      if (depth > 0 && line[first] == '{') {
        report().skip("an event that is cut", lines.where());
        pending.clear();
        depth = 0;
      }
      if (depth == 0 && line.find('{') == std::string_view::npos) {
        report().skip("a line that is no event", lines.where());
        continue;
      }
      for (const char c : line) {
        if (c == '{') ++depth;
        if (depth > 0) pending += c;
        if (c == '}' && depth > 0 && --depth == 0) {
          event(pending, lines.where());
          pending.clear();
        }
      }
      if (pending.size() > longest_event) {
        report().skip("an event that is cut", lines.where());
        pending.clear();
        depth = 0;
      }
    }
    if (depth > 0) report().skip("an event that is cut", lines.where());
    if (!lines.problem().empty()) report().skip("the rest of a damaged file: " + lines.problem(), lines.where());
    for (auto& [id, t] : threads_) finish(t);
    threads_.clear();
  }

  Recording finish(const std::vector<std::string>& paths, const RecordingOptions& options) {
    if (events_.empty())
      throw sim::InputError(fmt::format("{}: no COLL or P2P event can be used", paths[0]),
                            "NCCL_PROFILE_EVENT_MASK must have collectives (bit 1) and messages (bit 2)");
    int largest = 0;
    for (const auto& g : groups_) largest = std::max(largest, g.ranks);
    for (auto& g : groups_)
      if (g.ranks == largest && options.world > largest) g.ranks = options.world;
    auto world = world_of(groups_, processes_.size(), options.world, report());
    // As the GPU ran them, where it says so of all.
    const bool timed = std::ranges::all_of(events_, [](const Event& e) { return e.begin != 0; });
    std::ranges::stable_sort(events_, [&](const Event& a, const Event& b) {
      return std::tuple{a.process, timed ? a.begin : 0} < std::tuple{b.process, timed ? b.begin : 0};
    });
    auto collected = std::make_shared<Collected>();
    collected->sequences.resize(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto& s = collected->sequences[g];
      // SeqNum counts each function by itself.
      s.counting = Sequence::Counting::ordinal;
      s.label = fmt::format("communicator '{}'", groups_[g].name);
      for (const auto& [place, process] : groups_[g].members) s.ranks.push_back(process);
    }
    std::map<std::pair<std::size_t, std::uint32_t>, std::uint64_t> ended;
    std::int64_t gaps = 0;
    for (auto& e : events_) {
      const auto size = nccl_size(e.kind, e.own, groups_[e.group].ranks);
      if (!size) {
        report().skip("an event with numbers that cannot be", groups_[e.group].name);
        continue;
      }
      e.call.bytes = *size;
      auto& last = ended[{e.process, e.call.stream}];
      if (timed && last != 0 && e.begin > last) {
        StoredCall gap;
        gap.work = Work::gap;
        gap.stream = e.call.stream;
        gap.name = recording_.names->add("gap");
        gap.duration = static_cast<std::int64_t>(std::min<std::uint64_t>(e.begin - last, 9'000'000'000'000ULL)) * 1000;
        collected->store.add(e.process, gap);
        ++gaps;
      }
      last = std::max(last, e.end);
      collected->store.add(e.process, e.call);
    }
    std::vector<std::size_t> places;
    for (std::size_t p = 0; p < processes_.size(); ++p)
      if (collected->store.size(p) > 0) places.push_back(p);
    if (places.empty()) throw sim::InputError(fmt::format("{}: no COLL or P2P event can be used", paths[0]));
    std::ranges::sort(places, {}, [&](std::size_t p) { return world.world[p]; });
    recording_.world = world.ranks;
    recording_.communicators = std::move(world.communicators);
    for (const auto p : places) recording_.ranks.push_back(world.world[p]);
    auto& notes = report().notes;
    if (options.world == 0)
      notes.push_back(fmt::format(
          "the trace does not say how many ranks there are: {} by the highest rank or peer in it", recording_.world));
    notes.push_back(timed ? fmt::format("{} gaps between kernels by the GPU's clock: whatever ran in them", gaps)
                          : std::string{"some kernels have no times of the GPU's clock: no gaps are kept"});
    if (places.size() < static_cast<std::size_t>(recording_.world))
      notes.push_back(fmt::format("{} of {} ranks have a trace; the others are taken to do alike", places.size(),
                                  recording_.world));
    recording_.source = fmt::format("NCCL profiler traces of {} ranks", places.size());
    return recording_of(collected, std::move(recording_), std::move(places));
  }

 private:
  struct Thread {
    bool open = false;
    Event event;
    std::uint32_t stream = 0, batch = 0;
    int root = 0;
  };

  ReadReport& report() { return *recording_.report; }

  void event(std::string_view text, const std::string& where) {
    const auto name = field(text, "name"), kind = field(text, "cat"), phase = field(text, "ph");
    if (text.size() < 5 && name.empty()) return;  // the empty one that closes the list
    if (kind.empty() || phase.empty()) {
      report().skip("an event without name, category or phase", where);
      return;
    }
    const auto pid = number<std::int64_t>(field(text, "pid"), 0);
    auto& t = threads_[pid];
    const bool begins = phase == "b";
    if (kind == "GROUP_API") {
      if (begins) t.batch = ++batches_;
      return;
    }
    if (kind == "COLL_API" || kind == "P2P_API") {
      if (!begins) return;
      t.stream = stream(pid, field(text, "Stream"));
      t.root = number<int>(field(text, "root"), 0);
      return;
    }
    if (kind == "COLL" || kind == "P2P") {
      if (begins) {
        finish(t);
        begin(t, text, name, kind == "COLL", pid, where);
      } else {
        finish(t);
      }
      return;
    }
    if (!t.open) return;
    auto& e = t.event;
    if (kind == "PROXY" || kind == "NET") {
      if (const auto peer = number<int>(field(text, "Peer"), -1); peer >= 0 && peer < (1 << 20))
        groups_[e.group].ranks = std::max(groups_[e.group].ranks, peer + 1);
    } else if (kind == "GPU" && begins && name == "KernelCh") {
      const auto from = number<std::uint64_t>(field(text, "StartGpuClk"), 0);
      const auto to = number<std::uint64_t>(field(text, "StopGpuClk"), 0);
      if (from == 0 || to < from) return;
      e.begin = e.begin == 0 ? from : std::min(e.begin, from);
      e.end = std::max(e.end, to);
    }
  }

  void begin(Thread& t, std::string_view text, std::string_view name, bool collective, std::int64_t pid,
             const std::string& where) {
    ++report().records;
    const auto call = nccl_call(name);
    if (!call || (call->kind == Operation::Kind::collective) != collective) {
      report().skip(fmt::format("'{}': no model for it", name.substr(0, 60)), where);
      return;
    }
    const auto rank = number<int>(field(text, "Rank"), -1);
    const auto count = number<std::int64_t>(field(text, "Count"), -1);
    const auto width = bytes_of_type(field(text, "Datatype"));
    const auto peer = number<int>(field(text, "Peer"), -1);
    if (rank < 0 || rank >= (1 << 20) || count < 0 || count > (std::int64_t{1} << 56) || width == 0 ||
        (!collective && (peer < 0 || peer >= (1 << 20)))) {
      report().skip("an event with numbers that cannot be", where);
      return;
    }
    const auto hash = number<std::uint64_t>(field(text, "CommHash"), 0);
    const auto [at, fresh] = group_of_.try_emplace(hash, static_cast<std::uint32_t>(groups_.size()));
    if (fresh) groups_.push_back({fmt::format("0x{:x}", hash), "", 0, {}, {}});
    auto& g = groups_[at->second];
    g.ranks = std::max({g.ranks, rank + 1, peer + 1});
    auto process = process_of(fmt::format("{}", pid));
    if (const auto had = g.members.find(rank); had != g.members.end())
      process = had->second;
    else if (!g.join(rank, process)) {
      process = process_of(fmt::format("{} {} rank {}", path_, pid, rank));
      if (!g.join(rank, process)) {
        report().skip("an event of a rank that another process is", where);
        return;
      }
    }
    t.open = true;
    t.event = Event{};
    auto& e = t.event;
    e.kind = *call;
    e.own = count * width;
    e.group = at->second;
    e.process = process;
    e.call.kind = call->kind;
    e.call.op = call->op;
    e.call.communicator = at->second;
    e.call.name = recording_.names->add(name.substr(0, 60));
    e.call.stream = t.stream;
    e.call.peer = collective ? -1 : peer;
    if (collective)
      e.call.sequence = at->second;
    else
      e.call.batch = t.batch;
    e.call.root = std::max(0, t.root);
  }

  void finish(Thread& t) {
    if (!t.open) return;
    t.open = false;
    auto& e = t.event;
    e.call.root = std::min(e.call.root, groups_[e.group].ranks - 1);
    if (e.end > e.begin)
      e.call.measured =
          static_cast<std::int64_t>(std::min<std::uint64_t>(e.end - e.begin, 9'000'000'000'000ULL)) * 1000;
    events_.push_back(e);
  }

  std::uint32_t stream(std::int64_t pid, std::string_view pointer) {
    if (pointer.empty()) return 0;
    auto& of = streams_[pid];
    const auto n = static_cast<std::uint32_t>(of.size());
    const auto at = of.try_emplace(std::string{pointer}, n).first->second;
    while (recording_.streams->size() <= at)
      recording_.streams->push_back(fmt::format("stream {}", recording_.streams->size()));
    return at;
  }

  std::size_t process_of(const std::string& name) {
    return processes_.try_emplace(name, processes_.size()).first->second;
  }

  Recording recording_;
  std::string path_;
  std::vector<Event> events_;
  std::map<std::int64_t, Thread> threads_;
  std::map<std::int64_t, std::map<std::string, std::uint32_t>> streams_;
  std::unordered_map<std::string, std::size_t> processes_;
  std::unordered_map<std::uint64_t, std::uint32_t> group_of_;
  std::vector<RecordedGroup> groups_;
  std::uint32_t batches_ = 0;
};

}  // namespace

bool is_nccl_profiler(const Probe& probe) {
  const std::string_view head = probe.head;
  const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
  return has("GROUP_API\"") || has("COLL_API\"") || has("P2P_API\"") || (has("CommHash\"") && has("\"COLL\""));
}

Recording open_nccl_profiler(const std::vector<std::string>& paths, const RecordingOptions& options) {
  Traces traces;
  for (const auto& path : paths) traces.read(path);
  return traces.finish(paths, options);
}

}  // namespace linkcast::workloads::readers
