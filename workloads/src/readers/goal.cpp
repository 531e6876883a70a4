// See goal.hpp. computing on a stream per CPU; messages on streams by NIC, direction and peer, in one batch, so that
// one that is ready never waits for one before it. As in LogGOPSim a send is done when it was handed over: who requires
// a send waits for what the send waited for. `irequires` waits for what the other waits for.
#include "goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "goal_rank.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "stream_names.hpp"

namespace linkcast::workloads::readers {
namespace {

using namespace goal;

constexpr std::int64_t most_bytes = std::int64_t{1} << 50, most_ns = std::int64_t{4'000'000'000'000'000};
constexpr std::size_t most_slots = 32;

struct Match {
  std::int64_t peer = any, tag = any;
};
/// What receives from anybody, or with any tag, are matched with, by rank and place.
using Matches = std::map<std::pair<int, std::uint32_t>, Match>;

/// Sends go to receives in the order of the file: first to those that name them, then to those that take any.
Matches matches_of(const Schedule& schedule) {
  struct Sent {
    int from;
    std::int64_t tag;
    bool taken = false;
  };
  std::map<int, std::vector<Sent>> sent;
  std::map<int, std::vector<std::pair<std::uint32_t, Match>>> wanted;
  for (int r = 0; r < schedule.ranks(); ++r) {
    const auto rank = schedule.read(r, nullptr);
    for (std::uint32_t i = 0; i < rank.nodes.size(); ++i) {
      const auto& n = rank.nodes[i];
      if (n.kind == goal::Node::Kind::send && n.peer >= 0 && n.peer < schedule.ranks())
        sent[static_cast<int>(n.peer)].push_back({r, n.tag});
      if (n.kind == goal::Node::Kind::receive) wanted[r].push_back({i, {n.peer, n.tag}});
    }
  }
  Matches out;
  for (auto& [r, list] : wanted) {
    if (std::ranges::none_of(list, [](const auto& w) { return w.second.peer == any || w.second.tag == any; })) continue;
    auto& sends = sent[r];
    for (const bool open : {false, true})
      for (const auto& [i, want] : list) {
        const bool takes_any = want.peer == any || want.tag == any;
        if (takes_any != open) continue;
        const auto found = std::ranges::find_if(sends, [&, &w = want](const Sent& s) {
          return !s.taken && (w.peer == any || w.peer == s.from) && (w.tag == any || w.tag == s.tag);
        });
        if (found != sends.end()) found->taken = true;
        if (open) out[{r, i}] = found == sends.end() ? Match{} : Match{found->from, found->tag};
      }
  }
  return out;
}

class Reader final : public OperationReader {
 public:
  Reader(std::shared_ptr<const Schedule> schedule, std::shared_ptr<const Matches> matches, std::string path,
         const Recording& recording)
      : schedule_{std::move(schedule)},
        matches_{std::move(matches)},
        path_{std::move(path)},
        report_{recording.report},
        names_{recording.names},
        streams_{recording.streams},
        ranks_(static_cast<std::size_t>(schedule_->ranks())) {}

  bool next(std::size_t r, Operation& out) override {
    auto& s = ranks_[r];
    if (!s.open) {
      s.open = true;
      s.rank = schedule_->read(static_cast<int>(r), report_.get());
      order(s, static_cast<int>(r));
      s.waited.resize(s.rank.nodes.size());
    }
    while (s.next < s.order.size()) {
      const auto i = s.order[s.next++];
      if (make(s, static_cast<int>(r), i, out)) return true;
    }
    s = State{};
    s.open = true;
    return false;
  }

 private:
  struct State {
    bool open = false;
    Rank rank;
    std::vector<std::uint32_t> order;
    std::size_t next = 0;
    std::vector<std::vector<std::uint64_t>> waited;  // ids that a send or a begun node waited for
    std::map<std::pair<std::int64_t, int>, std::uint32_t> slots;
    std::size_t sends = 0, receives = 0;
  };

  std::string what(const State& s, std::uint32_t i) const {
    return i < s.rank.labels.size() ? s.rank.labels[i] : fmt::format("node {}", i);
  }

  /// By the file, but dependencies first. Throws sim::InputError on a circle.
  void order(State& s, int r) const {
    const auto n = s.rank.nodes.size();
    std::vector<std::uint32_t> missing(n);
    std::vector<std::vector<std::uint32_t>> waiters(n);
    for (std::uint32_t i = 0; i < n; ++i)
      for (const auto* list : {&s.rank.nodes[i].requires_, &s.rank.nodes[i].begins_})
        for (const auto d : *list) {
          ++missing[i];
          waiters[d].push_back(i);
        }
    std::set<std::uint32_t> ready;
    for (std::uint32_t i = 0; i < n; ++i)
      if (missing[i] == 0) ready.insert(i);
    while (!ready.empty()) {
      const auto i = *ready.begin();
      ready.erase(ready.begin());
      s.order.push_back(i);
      for (const auto w : waiters[i])
        if (--missing[w] == 0) ready.insert(w);
    }
    if (s.order.size() == n) return;
    std::uint32_t at = 0;
    while (missing[at] == 0) ++at;
    std::vector<std::uint32_t> way;
    while (std::ranges::find(way, at) == way.end()) {
      way.push_back(at);
      const auto& node = s.rank.nodes[at];
      std::uint32_t next = at;
      for (const auto* list : {&node.requires_, &node.begins_})
        for (const auto d : *list)
          if (missing[d] > 0) next = d;
      at = next;
    }
    std::string circle;
    for (auto k = std::ranges::find(way, at); k != way.end(); ++k) circle += what(s, *k) + " requires ";
    throw sim::InputError(fmt::format("{}: rank {}: dependencies in a circle: {}{}", path_, r, circle, what(s, at)),
                          "one of these dependencies has to go");
  }

  bool make(State& s, int r, std::uint32_t i, Operation& out) {
    const auto& n = s.rank.nodes[i];
    const auto where = [&] {
      return n.line > 0 ? fmt::format("{}:{}", path_, n.line) : fmt::format("{}: rank {}: node {}", path_, r, i);
    };
    out = Operation{};
    out.id = std::uint64_t{i} + 1;
    for (const auto d : n.requires_) {
      if (s.rank.nodes[d].kind == goal::Node::Kind::send)
        out.after.insert(out.after.end(), s.waited[d].begin(), s.waited[d].end());
      else
        out.after.push_back(std::uint64_t{d} + 1);
    }
    for (const auto d : n.begins_) out.after.insert(out.after.end(), s.waited[d].begin(), s.waited[d].end());
    std::ranges::sort(out.after);
    out.after.erase(std::ranges::unique(out.after).begin(), out.after.end());
    s.waited[i] = out.after;
    if (n.kind == goal::Node::Kind::calc) {
      out.duration = sim::Time::nanoseconds(std::min(n.size, most_ns));
      out.name = names_->add("calc");
      out.stream = n.cpu == 0 ? 0 : streams_(fmt::format("cpu {}", n.cpu));
      ++report_->used;
      return true;
    }
    const bool send = n.kind == goal::Node::Kind::send;
    Match match{n.peer, n.tag};
    if (!send && (n.peer == any || n.tag == any))
      if (const auto found = matches_->find({r, i}); found != matches_->end()) match = found->second;
    if (match.peer < 0 || match.peer >= schedule_->ranks() || match.peer == r || n.size > most_bytes) {
      report_->skip(!send && match.peer == any ? "a receive from anybody for which nobody sends"
                    : match.peer == r          ? "a message to oneself"
                                               : "a message with a rank that is not there",
                    where());
      out.work = Work::gap;  // keeps the dependencies
      return true;
    }
    out.kind = send ? Operation::Kind::send : Operation::Kind::receive;
    out.peer = static_cast<std::int32_t>(match.peer);
    out.tag = match.tag;
    out.bytes = sim::Bytes{n.size};
    out.batch = 1;
    out.name = names_->add(send ? "send" : "recv");
    const auto [slot, fresh] = s.slots.try_emplace({match.peer, n.nic * 2 + (send ? 1 : 0)}, 0u);
    if (fresh)
      slot->second = streams_(fmt::format("nic {}: {} {}", n.nic, send ? "send" : "receive",
                                          (send ? s.sends++ : s.receives++) % most_slots));
    out.stream = slot->second;
    ++report_->used;
    return true;
  }

  std::shared_ptr<const Schedule> schedule_;
  std::shared_ptr<const Matches> matches_;
  std::string path_;
  std::shared_ptr<ReadReport> report_;
  std::shared_ptr<Names> names_;
  StreamNames streams_;
  std::vector<State> ranks_;
};

}  // namespace

bool is_goal(const Probe& probe) {
  if (Schedule::is_binary(probe.head)) return true;
  // "num_ranks N" is the first that is not a comment.
  auto text = std::string_view{probe.head};
  while (!text.empty()) {
    const auto at = text.find_first_not_of(" \t\r\n");
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at);
    const auto end = text.starts_with("//") ? text.find('\n') : text.starts_with("/*") ? text.find("*/") : 0;
    if (end == 0) break;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + (text.starts_with("/*") ? 2 : 1));
  }
  return text.starts_with("num_ranks");
}

Recording open_goal(const std::vector<std::string>& paths, const RecordingOptions& options) {
  if (paths.size() > 1) throw sim::InputError(fmt::format("{}: one file has all ranks", paths[1]), "give one file");
  Recording out;
  const auto schedule = std::make_shared<const Schedule>(paths[0], *out.report);
  if (options.world > 0 && options.world != schedule->ranks())
    throw sim::InputError(
        fmt::format("{}: a schedule of {} ranks, not {}", paths[0], schedule->ranks(), options.world));
  const auto matches = std::make_shared<const Matches>(schedule->has_any() ? matches_of(*schedule) : Matches{});
  out.world = schedule->ranks();
  out.ranks.resize(static_cast<std::size_t>(out.world));
  std::iota(out.ranks.begin(), out.ranks.end(), 0);
  out.communicators.push_back({"world", "", out.ranks});
  out.report->notes.push_back("a send is done when it was handed over: what requires it waits for what it waited for");
  if (!matches->empty())
    out.report->notes.push_back(
        fmt::format("{} receives from anybody or with any tag were given the first send that no other receive names",
                    matches->size()));
  out.source = fmt::format("a GOAL schedule of {} ranks", out.world);
  Recording shared = out;  // what readers need of it, without its `open`
  out.open = [schedule, matches, path = paths[0], shared] {
    return std::make_unique<Reader>(schedule, matches, path, shared);
  };
  return out;
}

}  // namespace linkcast::workloads::readers
