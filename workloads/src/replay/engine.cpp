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

constexpr std::size_t first_window = 1'024;
// A stated bound, not a measured one: NCCL keeps at most 32 of an A100's 108 SMs.
constexpr double least_pace = 1.0 / 3;
// Of one rank at once, beyond which a pace is only changed where it differs by a hundredth: each change of one is a
// change of all.
constexpr std::size_t many = 64;
constexpr double most_us = 8e12;  // of 9.2e12 that picoseconds in 64 bits hold

[[noreturn]] void too_long() {
  throw sim::InputError("the replay lasts longer than 92 days of simulated time",
                        "are the trace's times in another unit?");
}

double uniform(std::uint64_t seed, std::uint64_t rank, std::uint64_t n) {
  auto z = seed * 0x9e3779b97f4a7c15ULL + rank * 0xd1342543de82ef95ULL + (n + 1) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1.0p-53;
}

}  // namespace

Engine::Engine(const Recording& recording, const topologies::Cluster& cluster, const RecordingReplayOptions& options)
    : recording_{recording},
      options_{options},
      costs_{options.costs ? options.costs : std::make_shared<CallCosts>(cluster, options.library)} {
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
  for (const auto& [rank, factor] : options.slow_ranks)
    if (!place_.contains(rank))
      throw sim::InputError(
          rank < 0 || rank >= recording.world
              ? fmt::format("there is no rank {} to slow down: the world has {}", rank, recording.world)
              : fmt::format("rank {} was not recorded: it does as those that were", rank),
          fmt::format("slow down a recorded rank, such as {}", recording.ranks.empty() ? 0 : recording.ranks.front()));
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
  f->index = rank.read;
  f->o = std::move(o);
  ++rank.in_flight;
  number(f);
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
  take_turns(s);
}

/// What meets what is decided by the order in which each rank makes its calls, not by when their turn comes.
void Engine::number(Flight* f) {
  if (f->o.kind == Kind::compute) return;
  const auto c = f->o.communicator;
  const auto& communicator = recording_.communicators[c];
  if (!member_[c].contains(world_rank(*f)))
    throw sim::InputError(
        fmt::format("rank {} uses communicator '{}', in which it is not", world_rank(*f), communicator.name));
  if (f->o.kind == Kind::collective) {
    f->number = ranks_[f->rank].calls[c]++;
    return;
  }
  if (f->o.peer < 0 || static_cast<std::size_t>(f->o.peer) >= communicator.ranks.size())
    throw sim::InputError(fmt::format("rank {} exchanges a message with member {} of communicator '{}'", world_rank(*f),
                                      f->o.peer, communicator.name),
                          fmt::format("it has {} members", communicator.ranks.size()));
  if (!replayed_peer(*f)) return;
  auto& w = messages_[key_of(*f)];
  f->number = f->o.kind == Kind::send ? w.sent++ : w.received++;
}

bool Engine::replayed_peer(const Flight& f) const {
  return place_.contains(recording_.communicators[f.o.communicator].ranks[static_cast<std::size_t>(f.o.peer)]);
}

Engine::MessageKey Engine::key_of(const Flight& f) const {
  const int me = member_[f.o.communicator].at(world_rank(f));
  const bool sends = f.o.kind == Kind::send;
  return {f.o.communicator, sends ? me : f.o.peer, sends ? f.o.peer : me, f.o.tag};
}

/// The first of the queue, and behind it the messages of its batch.
void Engine::take_turns(Stream& s) {
  while (s.reached < s.queue.size()) {
    auto* f = s.queue[s.reached];
    if (s.reached > 0) {
      const bool message = f->o.kind == Kind::send || f->o.kind == Kind::receive;
      if (!message || f->o.batch == 0 || f->o.batch != s.queue.front()->o.batch) return;
    }
    f->reached = true;
    ++s.reached;
    if (f->missing == 0) take_turn(f, s);
  }
}

void Engine::take_turn(Flight* f, Stream& s) {
  if (s.ended >= f->arrived) f->path = s.path;
  f->arrived = now_;
  f->path[path_idle] += now_ - total_of(f->path);
  post(f);
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
    const auto n = static_cast<std::uint64_t>(f.index) * 2;
    const auto rank = static_cast<std::uint64_t>(world_rank(f));
    const double z = std::sqrt(-2 * std::log(uniform(options_.seed, rank, n))) *
                     std::cos(2 * 3.14159265358979323846 * uniform(options_.seed, rank, n + 1));
    us *= std::exp(options_.jitter * z);
  }
  if (!(us < most_us)) too_long();
  return Time::from_us(us);
}

void Engine::post(Flight* f) {
  auto& rank = ranks_[f->rank];
  switch (f->o.kind) {
    case Kind::compute:
      start({f}, nullptr, 0, compute_time(*f), nullptr);
      break;
    case Kind::collective: {
      const auto c = f->o.communicator;
      auto& g = groups_[c];
      const auto at = static_cast<std::size_t>(f->number - g.first);
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
  auto* total = count_call(
      {g.label, static_cast<int>(head.op), static_cast<int>(communicator.ranks.size()), bytes.count()}, cost, measured);
  start(std::move(members), &cost, c, stretched(time, cost, *total), total);
}

ReplayedTotal* Engine::count_call(const TotalKey& key, const Cost& cost, Time measured) {
  auto& total = totals_[key];
  if (total.count++ == 0) {
    total.communicator = labels_[key.label];
    total.operation = key.op < 0       ? "send"
                      : key.bytes == 0 ? "barrier"
                                       : models::nccl::name_of(static_cast<models::nccl::Op>(key.op));
    total.ranks = key.ranks;
    total.bytes = sim::Bytes{key.bytes};
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
  return &total;
}

Time Engine::stretched(Time time, const Cost& cost, const ReplayedTotal& total) const {
  if (options_.stretch.empty() || !cost.between_nodes) return time;
  const auto found = options_.stretch.find({total.communicator, total.operation});
  if (found == options_.stretch.end()) return time;
  const double us = time.us() * found->second;
  if (!(us < most_us)) too_long();
  return Time::from_us(us);
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
  const auto key = key_of(*f);
  std::vector<Flight*> members{f};
  if (replayed_peer(*f)) {
    const auto found = messages_.find(key);
    auto& w = found->second;
    const bool sends = f->o.kind == Kind::send;
    auto& others = sends ? w.receives : w.sends;
    const auto other = others.find(f->number);
    if (other == others.end()) {
      (sends ? w.sends : w.receives).emplace(f->number, f);
      return;
    }
    members.push_back(other->second);
    others.erase(other);
    // Both sides have read as many and all have met: counting may begin again.
    if (w.sends.empty() && w.receives.empty() && w.sent == w.received && f->number + 1 == w.sent)
      messages_.erase(found);
  } else {
    ++lonely_messages_;
  }
  const int world_from = communicator.ranks[static_cast<std::size_t>(key.from)];
  const int world_to = communicator.ranks[static_cast<std::size_t>(key.to)];
  ++result_.messages;
  auto bytes = f->o.bytes;
  for (const auto* m : members) bytes = std::max(bytes, m->o.bytes);
  static const Cost nothing{};
  const Cost& cost = world_from == world_to ? nothing : costs_.message(world_from, world_to, bytes);
  auto measured = Time::max();
  for (const auto* m : members)
    if (m->o.measured != Time{}) measured = std::min(measured, m->o.measured);
  if (measured == Time::max()) measured = Time{};
  const auto time = options_.keep_communication && measured != Time{} ? measured : cost.time;
  auto* total = count_call({groups_[c].label, -1, 2, bytes.count()}, cost, measured);
  start(std::move(members), &cost, c, stretched(time, cost, *total), total);
}

void Engine::start(std::vector<Flight*> members, const Cost* cost, std::uint32_t communicator, Time duration,
                   ReplayedTotal* total) {
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
  a->total = total;
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
  if (static_cast<double>(now_.ps()) + static_cast<double>(a->remaining.ps()) / a->pace > most_us * 1e6) too_long();
  const double left = static_cast<double>(a->remaining.ps()) / a->pace;
  const auto ps = a->pace == 1 ? a->remaining.ps() : static_cast<std::int64_t>(std::ceil(left));
  events_.push({now_ + Time::picoseconds(ps), order_++, a, a->version});
}

double Engine::pace_of(const Activity& a) const {
  if (a.cost == nullptr) {
    if (a.members.front()->o.work == Work::gap || sms_ <= 0) return 1;
    return std::max(least_pace, 1 - ranks_[a.members.front()->rank].channels / sms_);
  }
  double demand = 1;
  for (const auto* f : a.members) demand = std::max(demand, ranks_[f->rank].demand[a.cost->between_nodes ? 1 : 0]);
  return 1 / (1 - a.cost->on_links + a.cost->on_links * demand);
}

void Engine::repace(std::size_t r) {
  auto& rank = ranks_[r];
  auto& running = rank.running;
  rank.channels = rank.demand[0] = rank.demand[1] = 0;
  for (const auto* a : running) {
    if (a->cost == nullptr) continue;
    rank.channels += a->cost->channels;
    rank.demand[a->cost->between_nodes ? 1 : 0] += a->cost->on_links;
  }
  if (running.size() < 2 && (running.empty() || running.front()->pace == 1)) return;
  const double tolerance = running.size() > many ? 0.01 : 0;
  for (auto* a : running) {
    const double pace = pace_of(*a);
    if (std::fabs(pace - a->pace) <= tolerance * a->pace) continue;
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
  if (a->total != nullptr) {
    const auto time = now_ - a->start;
    a->total->time += time;
    a->total->shortest = std::min(a->total->shortest, time);
    a->total->longest = std::max(a->total->longest, time);
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
  while (!s.queue.empty() && s.queue.front()->done) {
    free_flights_.push_back(s.queue.front());
    s.queue.pop_front();
    --s.reached;
  }
  --rank.in_flight;
  const auto stream = f->o.stream;
  const auto waiters = std::move(f->waiters);
  for (auto* w : waiters) {
    w->path = path;
    w->arrived = now_;
    if (--w->missing == 0 && w->reached) take_turn(w, rank.streams[w->o.stream]);
  }
  take_turns(ranks_[r].streams[stream]);
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

}  // namespace linkcast::workloads::replaying
