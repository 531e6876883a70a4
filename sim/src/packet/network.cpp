// The network as a whole at work: partitions in windows, and what is asked afterwards. A window is as long as the
// shortest link between two partitions: what one sends in it arrives after it (conservative synchronisation; Chandy,
// Misra 1979). Partitions and windows do not depend on the number of threads.
#include "linkcast/sim/packet/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "linkcast/sim/diagnostic.hpp"
#include "network_impl.hpp"
#include "waits.hpp"

namespace linkcast::sim::packet {
namespace {

/// Threads that take turns at a barrier. They spin: windows are short. After a while they let others run.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_{threads} {}
  void wait() {
    const auto round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
      return;
    }
    for (int spins = 0; round_.load(std::memory_order_acquire) == round;)
      if (++spins > 4'000) std::this_thread::yield();
  }

 private:
  int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> round_{0};
};

}  // namespace

void Network::Impl::start() {
  if (started) return;
  started = true;
  divide();
  for (auto& [transport, paths] : paths_of) {
    Time longest;
    for (const Path& p : paths) longest = std::max(longest, p.base_rtt);
    world.banks[transport] = ControlBank{world.transports[transport].control};
    for (Path& p : paths) {
      p.base_rtt = longest;
      world.banks[transport].add(p);
    }
    paths.resize(1);  // it has the longest; for flows that are opened later
  }
  next_sample = world.options.sample_every > Time{} ? world.options.sample_every : Time::max();
  for (const Early& e : early)
    part_of_flow(e.flow).schedule(static_cast<std::uint32_t>(e.flow), e.at.ps(), e.bytes.count());
  early = {};
  if (world.source == nullptr) return;
  for (std::uint32_t n = 0; n < world.nodes.size(); ++n)
    if (world.nodes[n].endpoint) parts[world.nodes[n].part].start_source(n);
}

Time Network::Impl::next_time() {
  Time next = Time::max();
  for (auto& p : parts) next = std::min(next, p.next_time());
  return next;
}

void Network::Impl::run_all(Time until) {
  start();
  const int threads = std::clamp<int>(world.options.threads, 1, static_cast<int>(parts.size()));
  if (parts.size() == 1) {
    // In pieces, so that a circle is seen soon after everything stands still.
    while (window_ok(until)) parts[0].run(limit);
  } else if (threads == 1) {
    while (window_ok(until)) {
      for (auto& p : parts) p.run(limit);
      for (std::size_t i = 0; i < parts.size(); ++i) exchange(i);
    }
  } else {
    run_threads(until, threads);
  }
  for (const auto& p : parts) now = std::max(now, p.now);
  if (next_time() != Time::max()) return;
  finish();
  if (next_sample != Time::max()) sample(Time::picoseconds(now));
}

void Network::Impl::sample(Time at) {
  for (auto& p : parts) p.sample(at.ps());
}

void Network::Impl::sample_before(Time next) {
  if (next <= next_sample) return;
  sample(next_sample);
  const Time every = world.options.sample_every;
  next_sample = std::max(next_sample + every, (next - Time::picoseconds(1)).ps() / every.ps() * every);
}

bool Network::Impl::window_ok(Time until) {
  const Time next = next_time();
  if (next > until || next == Time::max()) return false;
  for (auto& p : parts)
    if (std::exchange(p.stands_still, false)) stop_if_stuck();
  sample_before(next);
  const Time window = parts.size() == 1 ? Time::microseconds(1'000) : lookahead;
  limit = std::min({until, next_sample, next + window - Time::picoseconds(1)});
  return true;
}

void Network::Impl::exchange(std::size_t to) {
  for (auto& from : parts) {
    parts[to].take(from.outbox[to], from.outbox_hops[to]);
    from.outbox[to].clear();
    from.outbox_hops[to].clear();
  }
}

void Network::Impl::run_threads(Time until, int threads) {
  Barrier barrier{threads};
  std::atomic<bool> go{window_ok(until)};
  std::vector<std::exception_ptr> failed(static_cast<std::size_t>(threads));
  std::atomic<bool> any_failed{false};
  const auto work = [&](int t) {
    const auto mine = [&](const auto& f) {
      try {
        for (std::size_t i = static_cast<std::size_t>(t); i < parts.size(); i += static_cast<std::size_t>(threads))
          f(i);
      } catch (...) {
        failed[static_cast<std::size_t>(t)] = std::current_exception();
        any_failed = true;
      }
    };
    while (go) {
      mine([&](std::size_t i) { parts[i].run(limit); });
      barrier.wait();
      mine([&](std::size_t i) { exchange(i); });
      barrier.wait();
      if (t == 0) {
        try {
          go = !any_failed && window_ok(until);
        } catch (...) {
          failed[0] = std::current_exception();
          any_failed = true;
          go = false;
        }
      }
      barrier.wait();
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (auto& o : others) o.join();
  for (const auto& f : failed)
    if (f) std::rethrow_exception(f);
}

std::vector<const Partition*> Network::Impl::views() const {
  std::vector<const Partition*> out;
  for (const auto& p : parts) out.push_back(&p);
  return out;
}

void Network::Impl::stop_if_stuck() const {
  const auto cycle = waiting_cycle(world, views());
  if (cycle.empty()) return;
  std::string text = "deadlock: packets wait for each other's buffers in a circle: ";
  for (const auto l : cycle) text += world.fabric.name_of(l) + ", ";
  throw Deadlock(text + "and again", cycle);
}

bool Network::Impl::idle() const {
  return early.empty() &&
         std::ranges::all_of(parts, [](const Partition& p) { return p.unfinished == 0 && p.alive == 0; });
}

void Network::Impl::finish() const {
  if (idle()) return check_counts();
  stop_if_stuck();
  throw InternalError("packet network: nothing happens any more, but packets are still under way");
}

void Network::Impl::check_counts() const {
  for (std::size_t i = 0; i < world.queues.size(); ++i)
    if (world.queues[i].bytes != 0) throw InternalError("packet network: bytes in a queue that is empty");
  for (const auto& in : world.inputs)
    if (in.bytes != 0 || in.headroom != 0) throw InternalError("packet network: bytes in a buffer that is empty");
  for (const auto& n : world.nodes)
    if (n.pool != 0) throw InternalError("packet network: a shared buffer that does not add up");
}
Network::Network(const Fabric& fabric, std::vector<Transport> transports, const Options& options)
    : impl_{std::make_unique<Impl>(fabric, std::move(transports), options)} {}
Network::~Network() = default;
Network::Network(Network&&) noexcept = default;

FlowId Network::open(const FlowSpec& flow) { return impl_->open(flow); }

std::uint32_t Network::post(FlowId flow, Time at, Bytes bytes) {
  if (bytes < Bytes{}) throw InternalError("packet network: a message of negative size");
  Impl& m = *impl_;
  if (!m.started) {
    if (at < Time{}) throw InternalError("packet network: a message in the past");
    m.early.push_back({flow, at, bytes});
    return m.world.sends.at(static_cast<std::size_t>(flow)).messages++;
  }
  return m.part_of_flow(flow).post(static_cast<std::uint32_t>(flow), at.ps(), bytes.count());
}

void Network::set_source(Source* source) { impl_->world.source = source; }

Time Network::next_time() {
  impl_->start();
  return impl_->next_time();
}

Time Network::run(Time until, std::vector<Notice>& notices) {
  Impl& m = *impl_;
  m.world.wants_notices = true;
  m.start();
  if (m.parts.size() > 1) throw InternalError("packet network: notices are only told by a network of one partition");
  auto& part = m.parts.front();
  while (part.notices.empty() && part.next_time() <= until && part.next_time() != Time::max()) {
    m.sample_before(part.next_time());
    part.run(std::min(until, m.next_sample));
    if (std::exchange(part.stands_still, false)) m.stop_if_stuck();
  }
  m.now = part.now;
  notices.insert(notices.end(), part.notices.begin(), part.notices.end());
  part.notices.clear();
  return Time::picoseconds(part.now);
}

Time Network::run_all(Time until) {
  impl_->run_all(until);
  return Time::picoseconds(impl_->now);
}

bool Network::idle() const { return impl_->idle(); }

Totals Network::totals() const {
  Totals t;
  for (const auto& p : impl_->parts) {
    t.events += p.events;
    t.packet_hops += p.packet_hops;
    t.packets += p.packets_made;
    t.drops += p.drops;
    t.marks += p.marks;
    t.retransmits += p.retransmits;
    t.notifications += p.notifications;
    t.packets_peak += p.alive_peak;
    t.memory_bytes += p.memory_bytes();
  }
  return t;
}

LinkStats Network::link_stats(LinkId l) const {
  const auto i = static_cast<std::size_t>(l);
  const Counts& c = impl_->world.counts.at(i);
  const Out& o = impl_->world.outs[i];
  const std::int64_t now = impl_->started ? impl_->parts[impl_->world.wires[i].from_part].now : 0;
  LinkStats s;
  s.packets = o.packets_sent;
  s.wire_bytes = o.wire_bytes;
  s.payload_bytes = o.payload_bytes;
  s.marks = c.marks;
  s.drops = c.drops;
  s.trims = c.trims;
  s.link_retries = c.retries;
  s.damaged = c.damaged;
  for (std::size_t v = 0; v < impl_->world.lanes; ++v) {
    const LaneQueue& q = impl_->world.queues[i * impl_->world.lanes + v];
    s.queue_peak = std::max(s.queue_peak, Bytes{q.peak});
    s.queue_byte_seconds += q.byte_picoseconds(now) * 1e-12;
  }
  s.paused = Time::picoseconds(c.paused + (o.blocked_since >= 0 ? now - o.blocked_since : 0));
  s.pauses = c.pauses;
  return s;
}

FlowStats Network::flow_stats(FlowId f) const {
  const auto i = static_cast<std::size_t>(f);
  const SendStats& rare = impl_->world.send_stats.at(i);
  const Send& s = impl_->world.sends[i];
  const Receive& r = impl_->world.receives[i];
  FlowStats out;
  out.first_post = Time::picoseconds(rare.first_post);
  out.last_done = Time::picoseconds(r.last_done);
  out.payload_bytes = r.payload;
  out.packets = std::uint64_t{s.high} + s.retransmits;
  out.retransmits = s.retransmits;
  out.timeouts = rare.timeouts;
  out.marked = r.marks;
  out.notifications = rare.notifications;
  return out;
}

std::vector<Sample> Network::samples() const {
  std::vector<Sample> all;
  for (const auto& p : impl_->parts) all.insert(all.end(), p.samples.begin(), p.samples.end());
  std::ranges::sort(all, {}, [](const Sample& s) { return std::pair{s.at, s.link}; });
  return all;
}

void Network::keep_times() {
  if (std::ranges::any_of(impl_->world.sends, [](const Send& s) { return s.messages != 0; }))
    throw InternalError("packet network: keep_times comes before the first message");
  impl_->world.keeps_times = true;
  impl_->world.posted.resize(impl_->world.sends.size());
  impl_->world.delivered.resize(impl_->world.sends.size());
}

std::vector<std::pair<Time, Time>> Network::times(FlowId f) const {
  const auto i = static_cast<std::size_t>(f);
  std::vector<std::pair<Time, Time>> out;
  if (i >= impl_->world.delivered.size()) return out;
  const auto& done = impl_->world.delivered[i];
  for (std::size_t k = 0; k < std::min(done.size(), impl_->world.posted[i].size()); ++k)
    out.emplace_back(Time::picoseconds(impl_->world.posted[i][k]), Time::picoseconds(done[k]));
  return out;
}

Rate Network::flow_rate(FlowId f) {
  const Send& s = impl_->world.sends.at(static_cast<std::size_t>(f));
  if (!impl_->world.transports[s.transport].acknowledged) return impl_->world.fabric.link(LinkId{s.link}).rate;
  const std::int64_t now = impl_->started ? impl_->part_of_flow(f).now : 0;
  return impl_->world.banks[s.transport].rate(s.control, Time::picoseconds(now));
}

std::vector<LinkId> Network::find_cycle() const { return waiting_cycle(impl_->world, impl_->views()); }

}  // namespace linkcast::sim::packet
