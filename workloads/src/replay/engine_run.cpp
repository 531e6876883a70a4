// The engine's loop: what happens when nothing runs any more, and the result at the end.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::replaying {
namespace {

using Kind = Operation::Kind;
using sim::Time;

constexpr std::size_t most_window = std::size_t{1} << 22;

}  // namespace

/// Nothing runs and something waits: either more has to be read, or some recordings do not have a call that others
/// have, or it is a deadlock.
void Engine::release_ended() {
  const auto read = result_.operations;
  for (std::size_t r = 0; r < ranks_.size(); ++r) fetch(r);
  if (result_.operations > read || !events_.empty()) return;
  bool widened = false;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    auto& rank = ranks_[r];
    if (rank.ended || rank.window >= most_window || rank.in_flight < static_cast<std::int64_t>(rank.window)) continue;
    rank.window *= 2;
    widened = true;
    fetch(r);
  }
  if (widened || !events_.empty()) return;
  if (!release_message()) explain();
}

/// The first message whose other side will never come: its recording has ended and does not have it.
bool Engine::release_message() {
  const MessageKey* least = nullptr;
  for (const auto& [key, w] : messages_) {
    const bool send = !w.sends.empty() && w.sends.begin()->first >= w.received;
    const bool receive = !w.receives.empty() && w.receives.begin()->first >= w.sent;
    if (!send && !receive) continue;
    const auto peer =
        recording_.communicators[key.communicator].ranks[static_cast<std::size_t>(send ? key.to : key.from)];
    if (!ranks_[place_.at(peer)].ended) continue;
    const auto order = [](const MessageKey& k) { return std::tuple{k.communicator, k.from, k.to, k.tag}; };
    if (least == nullptr || order(key) < order(*least)) least = &key;
  }
  if (least == nullptr) return false;
  const auto key = *least;
  auto& w = messages_.at(key);
  auto& queue = !w.sends.empty() && w.sends.begin()->first >= w.received ? w.sends : w.receives;
  auto* f = queue.begin()->second;
  queue.erase(queue.begin());
  ++unmatched_;
  ++result_.messages;
  const auto& members = recording_.communicators[key.communicator].ranks;
  const auto& cost = costs_.message(members[static_cast<std::size_t>(key.from)],
                                    members[static_cast<std::size_t>(key.to)], f->o.bytes);
  auto* total = count_call({groups_[key.communicator].label, -1, 2, f->o.bytes.count()}, cost, f->o.measured);
  start({f}, &cost, key.communicator, stretched(cost.time, cost, *total), total);
  return true;
}

void Engine::explain() {
  std::string why;
  int shown = 0;
  for (std::size_t r = 0; r < ranks_.size() && shown < 8; ++r) {
    for (const auto& s : ranks_[r].streams) {
      if (s.queue.empty() || shown >= 8) continue;
      const auto& o = s.queue.front()->o;
      const auto& name = (*recording_.names)[o.name];
      const auto what = o.kind == Kind::collective ? std::string{models::nccl::name_of(o.op)}
                        : o.kind == Kind::send     ? fmt::format("send to member {}", o.peer)
                        : o.kind == Kind::receive  ? fmt::format("receive from member {}", o.peer)
                                                   : std::string{"compute"};
      why += fmt::format("{}rank {} waits in {}{}{}", why.empty() ? "" : "; ", recording_.ranks[r], what,
                         name.empty() ? "" : " '" + name + "'",
                         o.kind == Kind::compute ? "" : " on '" + recording_.communicators[o.communicator].name + "'");
      ++shown;
    }
  }
  throw sim::InputError(fmt::format("deadlock at {:.3f} us: {}", now_.us(), why),
                        "the ranks of a communicator must make the same calls in the same order");
}

RecordingResult Engine::run() {
  for (std::size_t r = 0; r < ranks_.size(); ++r) fetch(r);
  std::uint64_t handled = 0;
  const auto waiting = [&] { return std::ranges::any_of(ranks_, [](const Rank& r) { return r.in_flight > 0; }); };
  while (true) {
    if (events_.empty()) {
      if (!waiting()) break;
      release_ended();
      continue;
    }
    const auto e = events_.top();
    events_.pop();
    if (e.version != e.activity->version || !e.activity->running) continue;
    now_ = e.at;
    end(e.activity);
    if ((++handled & 0xfff) == 0) {
      if (options_.progress) options_.progress(result_.operations, now_);
      if (options_.stop.stop_requested()) {
        result_.interrupted = true;
        break;
      }
    }
  }
  auto& out = result_;
  out.end = now_;
  Path path{};
  Time last;
  for (auto& rank : ranks_) {
    advance(rank);
    auto& a = rank.account;
    for (std::size_t l = 0; l < labels_.size(); ++l)
      if (rank.exposed[l] != Time{}) a.exposed[labels_[l]] = rank.exposed[l];
    Time sum = a.compute + a.bubble + a.wait + a.idle;
    for (const auto& [label, t] : a.exposed) sum += t;
    if (sum != now_) throw sim::InternalError("the account of a rank does not add up");
    for (const auto& s : rank.streams)
      if (s.ended >= last) last = s.ended, path = s.path;
    out.by_rank.push_back(a);
  }
  path[path_idle] += now_ - total_of(path);
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == Time{}) continue;
    const auto name = i == path_compute                                              ? std::string{"compute"}
                      : i == path_idle                                               ? std::string{"idle"}
                      : i - path_first_label < labels_.size() && i + 1 < path.size() ? labels_[i - path_first_label]
                                                                                     : std::string{"other groups"};
    out.critical_path[name] += path[i];
  }
  for (auto& [key, t] : totals_) {
    if (t.shortest == Time::max()) t.shortest = Time{};
    out.totals.push_back(std::move(t));
  }
  std::ranges::stable_sort(out.totals, [](const auto& a, const auto& b) { return a.time > b.time; });
  out.notes = costs_.notes();
  if (unmatched_ > 0)
    out.notes.push_back(fmt::format("{} calls went on without ranks whose recordings ended before", unmatched_));
  if (lonely_messages_ > 0)
    out.notes.push_back(fmt::format("{} messages with ranks that were not recorded: taken as ready when this side is",
                                    lonely_messages_));
  const double seconds = now_.seconds();
  if (seconds > 0) {
    out.tokens_per_second = recording_.tokens / seconds;
    if (peak_ > 0 && recording_.world > 0) out.mfu = recording_.model_flops / seconds / (peak_ * recording_.world);
  }
  return std::move(out);
}

}  // namespace linkcast::workloads::replaying

namespace linkcast::workloads {

RecordingResult replay_recording(const Recording& recording, const topologies::Cluster& cluster,
                                 const RecordingReplayOptions& options) {
  return replaying::Engine{recording, cluster, options}.run();
}

}  // namespace linkcast::workloads
