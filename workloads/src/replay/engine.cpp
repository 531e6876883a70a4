// See engine.hpp. How things at once slow each other (docs/replay.md):
//   computing beside communication: pace = 1 - (channels of what communicates) / (SMs), since a channel is a block that
//   keeps an SM; at least a third.
//   communication beside communication: of the shares of their time that links decide, those over the same medium
//   (inside the node, between nodes) add up to D; where D > 1 the part on links is stretched by D.
#include "engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::replaying {
namespace {

using Kind = Operation::Kind;
using sim::Time;

constexpr std::size_t first_window = 1'024, most_window = std::size_t{1} << 22;
constexpr double least_pace = 1.0 / 3;

Time total_of(const Path& p) {
  Time t;
  for (const auto x : p) t += x;
  return t;
}

double uniform(std::uint64_t seed, std::uint64_t rank, std::uint64_t n) {
  auto z = seed * 0x9e3779b97f4a7c15ULL + rank * 0xd1342543de82ef95ULL + (n + 1) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1.0p-53;
}

}  // namespace

Engine::Engine(const Recording& recording, const topologies::Cluster& cluster, const RecordingReplayOptions& options)
    : recording_{recording}, options_{options}, costs_{cluster, options.library} {
  if (recording.world > cluster.ranks())
    throw sim::InputError(
        fmt::format("the recording has {} ranks, the topology {} GPUs", recording.world, cluster.ranks()),
        fmt::format("take {} nodes: --nodes, or `nodes:` of the scenario",
                    (recording.world + cluster.gpus_per_node() - 1) / cluster.gpus_per_node()));
  const auto& machine = cluster.machine(0);
  const auto& gpu = machine.gpu_model(machine.gpus()[0]);
  sms_ = gpu.sms;
  peak_ = gpu.peak_bf16 * 1e12;
  memory_ = static_cast<double>(gpu.memory.bytes_per_second());
  for (std::size_t r = 0; r < recording.ranks.size(); ++r) place_[recording.ranks[r]] = r;
  ranks_.resize(recording.ranks.size());
  groups_.resize(recording.communicators.size());
  member_.resize(recording.communicators.size());
  for (std::size_t c = 0; c < groups_.size(); ++c) {
    const auto& communicator = recording.communicators[c];
    const auto& label = communicator.description.empty() ? communicator.name : communicator.description;
    auto found = std::ranges::find(labels_, label);
    if (found == labels_.end()) found = labels_.insert(labels_.end(), label);
    groups_[c].label = static_cast<std::size_t>(found - labels_.begin());
    for (std::size_t m = 0; m < communicator.ranks.size(); ++m) {
      member_[c].emplace(communicator.ranks[m], static_cast<int>(m));
      if (const auto at = place_.find(communicator.ranks[m]); at != place_.end()) {
        groups_[c].members.push_back(at->second);
        ++groups_[c].replayed;
      }
    }
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    auto& rank = ranks_[r];
    rank.calls.assign(groups_.size(), 0);
    rank.exposed.assign(labels_.size(), Time{});
    rank.window = first_window;
    rank.account.rank = recording.ranks[r];
  }
  reader_ = recording.open();
}

void Engine::fetch(std::size_t r) {
  auto& rank = ranks_[r];
  while (!rank.ended && rank.in_flight < static_cast<std::int64_t>(rank.window)) {
    Operation o;
    if (!reader_->next(r, o)) {
      rank.ended = true;
      for (auto& g : groups_)
        if (std::ranges::find(g.members, r) != g.members.end()) ++g.ended;
      for (std::uint32_t c = 0; c < groups_.size(); ++c)
        if (!groups_[c].open.empty() && std::ranges::find(groups_[c].members, r) != groups_[c].members.end())
          try_meeting(c);
      return;
    }
    ++rank.read;
    ++result_.operations;
    admit(r, std::move(o));
  }
}

void Engine::admit(std::size_t r, Operation&& o) {
  auto& rank = ranks_[r];
  Flight* f = nullptr;
  if (free_flights_.empty()) {
    f = &flights_.emplace_back();
  } else {
    f = free_flights_.back();
    free_flights_.pop_back();
    *f = Flight{};
  }
  f->rank = static_cast<std::uint32_t>(r);
  f->o = std::move(o);
  ++rank.in_flight;
  for (const auto id : f->o.after) {
    const auto found = rank.ids.find(id);
    if (found == rank.ids.end()) continue;  // has ended, or never came
    ++f->missing;
    found->second->waiters.push_back(f);
  }
  if (f->o.id != 0) rank.ids[f->o.id] = f;
  if (rank.streams.size() <= f->o.stream) rank.streams.resize(f->o.stream + 1);
  auto& s = rank.streams[f->o.stream];
  s.queue.push_back(f);
  post_heads(r, s);
}

void Engine::post_heads(std::size_t, Stream& s) {
  std::uint32_t batch = 0;
  for (std::size_t i = 0; i < s.queue.size(); ++i) {
    auto* f = s.queue[i];
    const bool message = f->o.kind == Kind::send || f->o.kind == Kind::receive;
    if (i > 0 && (batch == 0 || !message || f->o.batch != batch)) break;
    if (!f->posted && f->missing == 0) {
      f->posted = true;
      if (s.ended >= f->arrived) f->path = s.path;
      f->arrived = now_;
      f->path[path_idle] += now_ - total_of(f->path);
      post(f);
      if (s.queue.empty() || i >= s.queue.size() || s.queue[i] != f) return;  // it ended at once
    }
    batch = message ? f->o.batch : 0;
  }
}

Time Engine::compute_time(const Flight& f) {
  const auto& o = f.o;
  double us = o.duration.us();
  if (o.duration == Time{} && (o.flops > 0 || o.touched > 0))
    us = 1e6 * std::max(peak_ > 0 ? o.flops / peak_ : 0, memory_ > 0 ? o.touched / memory_ : 0);
  if (o.work == Work::gap) return Time::from_us(us);
  us *= options_.compute_scale;
  if (const auto w = options_.work_scale.find(o.work); w != options_.work_scale.end()) us *= w->second;
  if (const auto s = options_.slow_ranks.find(world_rank(f)); s != options_.slow_ranks.end()) us *= s->second;
  if (options_.jitter > 0) {
    const auto n = static_cast<std::uint64_t>(ranks_[f.rank].read) * 2;
    const auto rank = static_cast<std::uint64_t>(world_rank(f));
    const double z = std::sqrt(-2 * std::log(uniform(options_.seed, rank, n))) *
                     std::cos(2 * 3.14159265358979323846 * uniform(options_.seed, rank, n + 1));
    us *= std::exp(options_.jitter * z);
  }
  return Time::from_us(us);
}

void Engine::post(Flight* f) {
  auto& rank = ranks_[f->rank];
  switch (f->o.kind) {
    case Kind::compute:
      start({f}, nullptr, 0, compute_time(*f));
      break;
    case Kind::collective: {
      const auto c = f->o.communicator;
      if (!member_[c].contains(world_rank(*f)))
        throw sim::InputError(fmt::format("rank {} calls {} on communicator '{}', in which it is not", world_rank(*f),
                                          models::nccl::name_of(f->o.op), recording_.communicators[c].name));
      auto& g = groups_[c];
      const auto index = rank.calls[c]++;
      const auto at = static_cast<std::size_t>(index - g.first);
      while (g.open.size() <= at) g.open.emplace_back();
      advance(rank);
      ++rank.waits;
      g.open[at].arrived.push_back(f);
      try_meeting(c);
      break;
    }
    case Kind::send:
    case Kind::receive:
      advance(rank);
      ++rank.messages_waited;
      try_message(f);
      break;
  }
}

void Engine::try_meeting(std::uint32_t c) {
  auto& g = groups_[c];
  if (g.busy || g.open.empty()) return;
  auto& m = g.open.front();
  const int here = static_cast<int>(m.arrived.size());
  if (here == 0) return;
  if (here < g.replayed) {
    if (g.ended == 0 || !without_rest(c)) return;
    ++unmatched_;
  }
  auto members = std::move(m.arrived);
  g.open.pop_front();
  ++g.first;
  g.busy = true;
  ++result_.collectives;
  const auto& head = members.front()->o;
  auto bytes = head.bytes;
  auto measured = Time::max();  // a kernel's time has its waiting in it: the shortest of the ranks is the call
  for (const auto* f : members) {
    if (f->o.op != head.op)
      throw sim::InputError(fmt::format("communicator '{}', call {}: rank {} calls {} where rank {} calls {}",
                                        recording_.communicators[c].name, g.first - 1, world_rank(*members.front()),
                                        models::nccl::name_of(head.op), world_rank(*f), models::nccl::name_of(f->o.op)),
                            "these recordings are not of the same steps, or start at different calls");
    bytes = std::max(bytes, f->o.bytes);
    if (f->o.measured != Time{}) measured = std::min(measured, f->o.measured);
  }
  if (measured == Time::max()) measured = Time{};
  static const Cost nothing{};
  const auto& communicator = recording_.communicators[c];
  const bool alone = communicator.ranks.size() < 2 || bytes == sim::Bytes{};
  const Cost& cost = alone ? nothing : costs_.collective(c, communicator, head.op, bytes, head.root);
  const auto time = options_.keep_communication && measured != Time{} ? measured : cost.time;
  auto& total =
      totals_[{g.label, static_cast<int>(head.op), static_cast<int>(communicator.ranks.size()), bytes.count()}];
  if (total.count++ == 0) {
    total.communicator = labels_[g.label];
    total.operation = bytes == sim::Bytes{} ? "barrier" : models::nccl::name_of(head.op);
    total.ranks = static_cast<int>(communicator.ranks.size());
    total.bytes = bytes;
    total.algorithm = cost.algorithm;
    total.protocol = cost.protocol;
    total.bound_by = cost.bound_by;
    total.between_nodes = cost.between_nodes;
    total.shortest = Time::max();
  }
  if (measured != Time{}) {
    total.measured += measured;
    ++total.measured_count;
  }
  start(std::move(members), &cost, c, time);
}

/// Whether all ranks that have not come to the first open call of a communicator will never: their recordings have
/// ended.
bool Engine::without_rest(std::uint32_t c) const {
  const auto& arrived = groups_[c].open.front().arrived;
  const auto calls_it = [&](const Stream& s) {
    return std::ranges::any_of(
        s.queue, [&](const Flight* f) { return f->o.kind == Kind::collective && f->o.communicator == c; });
  };
  return std::ranges::all_of(groups_[c].members, [&](std::size_t r) {
    return std::ranges::any_of(arrived, [&](const Flight* f) { return f->rank == r; }) ||
           (ranks_[r].ended && std::ranges::none_of(ranks_[r].streams, calls_it));
  });
}

void Engine::try_message(Flight* f) {
  const auto c = f->o.communicator;
  const auto& communicator = recording_.communicators[c];
  const auto me = member_[c].find(world_rank(*f));
  if (me == member_[c].end() || f->o.peer < 0 || static_cast<std::size_t>(f->o.peer) >= communicator.ranks.size())
    throw sim::InputError(fmt::format("rank {} exchanges a message with member {} of communicator '{}'", world_rank(*f),
                                      f->o.peer, communicator.name),
                          fmt::format("it has {} members", communicator.ranks.size()));
  const bool sends = f->o.kind == Kind::send;
  const int from = sends ? me->second : f->o.peer, to = sends ? f->o.peer : me->second;
  const int world_from = communicator.ranks[static_cast<std::size_t>(from)];
  const int world_to = communicator.ranks[static_cast<std::size_t>(to)];
  std::vector<Flight*> members{f};
  if (place_.contains(communicator.ranks[static_cast<std::size_t>(f->o.peer)])) {
    auto& w = messages_[{c, from, to, f->o.tag}];
    auto& mine = sends ? w.sends : w.receives;
    auto& others = sends ? w.receives : w.sends;
    if (others.empty()) {
      mine.push_back(f);
      return;
    }
    members.push_back(others.front());
    others.pop_front();
    if (w.sends.empty() && w.receives.empty()) messages_.erase({c, from, to, f->o.tag});
  } else {
    ++lonely_messages_;
  }
  ++result_.messages;
  auto bytes = f->o.bytes;
  for (const auto* m : members) bytes = std::max(bytes, m->o.bytes);
  static const Cost nothing{};
  const Cost& cost = world_from == world_to ? nothing : costs_.message(world_from, world_to, bytes);
  auto measured = Time::max();
  for (const auto* m : members)
    if (m->o.measured != Time{}) measured = std::min(measured, m->o.measured);
  const auto time = options_.keep_communication && measured != Time::max() ? measured : cost.time;
  auto& total = totals_[{groups_[c].label, -1, 2, bytes.count()}];
  if (total.count++ == 0) {
    total.communicator = labels_[groups_[c].label];
    total.operation = "send";
    total.ranks = 2;
    total.bytes = bytes;
    total.algorithm = cost.algorithm;
    total.protocol = cost.protocol;
    total.bound_by = cost.bound_by;
    total.between_nodes = cost.between_nodes;
    total.shortest = Time::max();
  }
  if (measured != Time::max()) {
    total.measured += measured;
    ++total.measured_count;
  }
  start(std::move(members), &cost, c, time);
}

void Engine::start(std::vector<Flight*> members, const Cost* cost, std::uint32_t communicator, Time duration) {
  Activity* a = nullptr;
  if (free_activities_.empty()) {
    a = &activities_.emplace_back();
  } else {
    a = free_activities_.back();
    free_activities_.pop_back();
    const auto version = a->version;
    *a = Activity{};
    a->version = version;
  }
  a->members = std::move(members);
  a->cost = cost;
  a->communicator = communicator;
  a->start = a->updated = now_;
  a->remaining = duration;
  a->running = true;
  for (auto* f : a->members) {
    auto& rank = ranks_[f->rank];
    advance(rank);
    if (cost == nullptr) {
      if (f->o.work != Work::gap) ++rank.computes;
    } else if (f->o.kind == Kind::collective) {
      --rank.waits;
    } else {
      --rank.messages_waited;
    }
    rank.running.push_back(a);
  }
  schedule(a);
  if (options_.share)
    for (std::size_t i = 0; i < a->members.size(); ++i) repace(a->members[i]->rank);
}

void Engine::schedule(Activity* a) {
  ++a->version;
  const double left = static_cast<double>(a->remaining.ps()) / a->pace;
  const auto ps = a->pace == 1 ? a->remaining.ps() : static_cast<std::int64_t>(std::ceil(left));
  events_.push({now_ + Time::picoseconds(ps), order_++, a, a->version});
}

double Engine::pace_of(const Activity& a) const {
  if (a.cost == nullptr) {
    if (a.members.front()->o.work == Work::gap || sms_ <= 0) return 1;
    double taken = 0;
    for (const auto* other : ranks_[a.members.front()->rank].running)
      if (other->cost != nullptr) taken += other->cost->channels;
    return std::max(least_pace, 1 - taken / sms_);
  }
  double demand = 1;
  for (const auto* f : a.members) {
    double sum = 0;
    for (const auto* other : ranks_[f->rank].running)
      if (other->cost != nullptr && other->cost->between_nodes == a.cost->between_nodes) sum += other->cost->on_links;
    demand = std::max(demand, sum);
  }
  return 1 / (1 - a.cost->on_links + a.cost->on_links * demand);
}

void Engine::repace(std::size_t r) {
  auto& running = ranks_[r].running;
  if (running.size() < 2 && (running.empty() || running.front()->pace == 1)) return;
  for (auto* a : running) {
    const double pace = pace_of(*a);
    if (pace == a->pace) continue;
    const auto done = static_cast<std::int64_t>(static_cast<double>((now_ - a->updated).ps()) * a->pace);
    a->remaining = std::max(Time{}, a->remaining - Time::picoseconds(done));
    a->updated = now_;
    a->pace = pace;
    schedule(a);
  }
}

void Engine::end(Activity* a) {
  a->running = false;
  const bool compute = a->cost == nullptr;
  std::size_t spent = path_compute;
  if (!compute) {
    spent = std::min(path_first_label + groups_[a->communicator].label, std::tuple_size_v<Path> - 1);
  } else if (a->members.front()->o.work == Work::gap) {
    spent = path_idle;
  }
  // Whoever came last decides when it started.
  const Flight* last = a->members.front();
  for (const auto* f : a->members)
    if (f->arrived > last->arrived) last = f;
  Path path = last->path;
  path[path_idle] += a->start - last->arrived;  // calls of one communicator run one after the other
  path[spent] += now_ - a->start;
  for (auto* f : a->members) {
    auto& rank = ranks_[f->rank];
    advance(rank);
    if (compute && f->o.work != Work::gap) --rank.computes;
    std::erase(rank.running, a);
  }
  if (!compute) {
    const auto& first = *a->members.front();
    const bool message = first.o.kind != Kind::collective;
    auto bytes = first.o.bytes;
    for (const auto* f : a->members) bytes = std::max(bytes, f->o.bytes);
    const auto ranks = message ? 2 : static_cast<int>(recording_.communicators[a->communicator].ranks.size());
    auto& total =
        totals_[{groups_[a->communicator].label, message ? -1 : static_cast<int>(first.o.op), ranks, bytes.count()}];
    const auto time = now_ - a->start;
    total.time += time;
    total.shortest = std::min(total.shortest, time);
    total.longest = std::max(total.longest, time);
  }
  if (options_.each) {
    for (const auto* f : a->members) {
      ReplayedOperation x;
      x.rank = world_rank(*f);
      x.stream = (*recording_.streams)[std::min<std::size_t>(f->o.stream, recording_.streams->size() - 1)];
      x.name = (*recording_.names)[f->o.name];
      x.operation = &f->o;
      if (!compute) {
        x.communicator = &recording_.communicators[a->communicator];
        x.algorithm = a->cost->algorithm;
        x.protocol = a->cost->protocol;
      }
      x.arrived = f->arrived;
      x.start = a->start;
      x.end = now_;
      options_.each(x);
    }
  }
  const auto members = std::move(a->members);
  const auto communicator = a->communicator;
  const bool collective = !compute && members.front()->o.kind == Kind::collective;
  if (options_.share)
    for (const auto* f : members) repace(f->rank);
  free_activities_.push_back(a);
  if (collective) groups_[communicator].busy = false;
  for (auto* f : members) ended_flight(f, path);
  if (collective) try_meeting(communicator);
}

void Engine::ended_flight(Flight* f, const Path& path) {
  const auto r = f->rank;
  auto& rank = ranks_[r];
  f->done = true;
  if (f->o.id != 0)
    if (const auto found = rank.ids.find(f->o.id); found != rank.ids.end() && found->second == f) rank.ids.erase(found);
  auto& s = rank.streams[f->o.stream];
  s.path = path;
  s.ended = now_;
  if (s.queue.front() == f)
    s.queue.pop_front();
  else
    std::erase(s.queue, f);  // of a batch
  --rank.in_flight;
  for (auto* w : f->waiters) {
    w->path = path;
    w->arrived = now_;
    if (--w->missing == 0) post_heads(r, rank.streams[w->o.stream]);
  }
  const auto stream = f->o.stream;
  free_flights_.push_back(f);
  post_heads(r, ranks_[r].streams[stream]);
  if (ranks_[r].in_flight < static_cast<std::int64_t>(ranks_[r].window / 2)) fetch(r);
}

void Engine::advance(Rank& r) {
  const auto elapsed = now_ - r.since;
  r.since = now_;
  if (elapsed == Time{}) return;
  const Activity* communication = nullptr;
  for (const auto* a : r.running)
    if (a->cost != nullptr) {
      communication = a;
      break;
    }
  if (communication != nullptr) r.account.communication += elapsed;
  if (r.computes > 0)
    r.account.compute += elapsed;
  else if (communication != nullptr)
    r.exposed[groups_[communication->communicator].label] += elapsed;
  else if (r.messages_waited > 0)
    r.account.bubble += elapsed;
  else if (r.waits > 0)
    r.account.wait += elapsed;
  else
    r.account.idle += elapsed;
}

/// Nothing runs and something waits: either more has to be read, or some recordings do not have a call that others
/// have, or it is a deadlock.
void Engine::release_ended() {
  bool widened = false;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    auto& rank = ranks_[r];
    if (rank.ended || rank.window >= most_window || rank.in_flight < static_cast<std::int64_t>(rank.window)) continue;
    rank.window *= 2;
    widened = true;
    fetch(r);
  }
  if (widened || !events_.empty()) return;
  // A message whose other side's recording has ended.
  for (auto& [key, w] : messages_) {
    auto& queue = w.sends.empty() ? w.receives : w.sends;
    if (queue.empty()) continue;
    const auto peer =
        recording_.communicators[key.communicator].ranks[static_cast<std::size_t>(w.sends.empty() ? key.from : key.to)];
    const auto& other = ranks_[place_.at(peer)];
    if (!other.ended || other.in_flight > 0) continue;
    ++unmatched_;
    auto* f = queue.front();
    queue.pop_front();
    ++result_.messages;
    const auto& members = recording_.communicators[key.communicator].ranks;
    const auto& cost = costs_.message(members[static_cast<std::size_t>(key.from)],
                                      members[static_cast<std::size_t>(key.to)], f->o.bytes);
    start({f}, &cost, key.communicator, cost.time);
    return;
  }
  explain();
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
