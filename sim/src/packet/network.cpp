// The network as a whole: opening flows, cutting it into partitions, running them in windows, and what is asked
// afterwards. A window is as long as the shortest link between two partitions: what one sends in it arrives after it
// (conservative synchronisation; Chandy, Misra 1979). Partitions and windows do not depend on the number of threads.
#include "linkcast/sim/packet/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <thread>

#include "cut.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "partition.hpp"
#include "waits.hpp"

namespace linkcast::sim::packet {
namespace {

std::uint64_t ps_per_byte(Rate rate) {  // 2^-32 ps, rounded up: nothing is faster than its link
  if (rate.is_unlimited()) return 0;
  __extension__ using Wide = unsigned __int128;
  const auto r = static_cast<Wide>(rate.bytes_per_second());
  return static_cast<std::uint64_t>(((Wide{1'000'000'000'000} << 32) + r - 1) / r);
}

/// Controls that do nothing to a flow before it is told of congestion.
bool calm(const ControlSettings& control) {
  if (const auto* plain = std::get_if<Uncontrolled>(&control)) return plain->window == Bytes{};
  return std::holds_alternative<dcqcn::Settings>(control) || std::holds_alternative<infiniband_cct::Settings>(control);
}

/// Rules in which one base round trip, the longest, counts for all flows: with each its own, those with the short ones
/// would be pushed aside (HPCC: T of the whole network; NSCC: the network's RTT).
bool one_round_trip(const ControlSettings& control) {
  return std::holds_alternative<hpcc::Settings>(control) || std::holds_alternative<nscc::Settings>(control);
}

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

struct Network::Impl {
  World world;
  std::vector<Partition> parts;
  std::vector<std::uint32_t> receivers;  // by flow: its endpoint
  struct Early {
    FlowId flow;
    Time at;
    Bytes bytes;
  };
  std::vector<Early> early;                             // messages from before the start
  std::map<std::uint16_t, std::vector<Path>> paths_of;  // by transport, where one_round_trip
  Time lookahead = Time::max();
  Time next_sample = Time::max();
  std::int64_t now = 0;
  bool started = false;

  Impl(const Fabric& fabric, std::vector<Transport> transports, const Options& options)
      : world{fabric, std::move(transports), options} {
    check();
    build();
  }

  bool may_drop(const NodeKind& k, const Transport& t) const {
    const auto lanes = world.fabric.lanes();
    if (k.control != FlowControl::none)
      return !lanes[t.lane].lossless || (t.acknowledged && !lanes[t.control_lane].lossless);
    return k.shared.count() <= (std::int64_t{1} << 50);  // more is never full
  }

  void check() const {
    Bytes mtu{1};
    for (const auto& t : world.transports) {
      mtu = std::max(mtu, t.mtu);
      if (t.mtu < Bytes{1})
        throw InputError(fmt::format("transport '{}': an mtu of {} B", t.name, t.mtu.count()), "at least 1 B");
      if (t.recovery != Recovery::none && t.retransmit_timeout <= Time{})
        throw InputError(fmt::format("transport '{}': retransmit_timeout must be more than 0", t.name), "500 us, say");
      if (const auto wrong = problems(t.control); !wrong.empty())
        throw InputError(fmt::format("transport '{}': {}", t.name, wrong.front()), "");
    }
    world.fabric.check(mtu);
    const auto kinds = world.fabric.kinds();
    for (const auto& t : world.transports) {
      const auto lanes = world.fabric.lanes();
      if (t.lane >= lanes.size() || t.control_lane >= lanes.size())
        throw InputError(fmt::format("transport '{}' uses lane {}, but the network has {}", t.name,
                                     std::max(t.lane, t.control_lane), lanes.size()),
                         "lanes count from 0");
      if (t.ack_every < 1 || t.ack_every > 255)
        throw InputError(fmt::format("transport '{}': an acknowledgement for {} packets", t.name, t.ack_every),
                         "1 to 255");
      // What is not acknowledged is a link's own protocol: its flows are looked at when they are opened.
      if (t.recovery == Recovery::none && t.acknowledged) {
        for (const auto& k : kinds) {
          if (!may_drop(k, t)) continue;
          throw InputError(fmt::format("transport '{}' cannot repair a loss, but {} may drop its packets", t.name,
                                       k.name.empty() ? "a node" : k.name),
                           "a lossy class needs recovery go_back_n or selective; or make the lane lossless");
        }
        for (std::uint32_t l = 0; l < world.fabric.links(); ++l) {
          const auto& link = world.fabric.link(LinkId{l});
          if (link.bit_error_rate == 0 || link.link_retry) continue;
          throw InputError(fmt::format("transport '{}' cannot repair a loss, but {} damages packets", t.name,
                                       world.fabric.name_of(LinkId{l})),
                           "use recovery go_back_n or selective, or let the link repair it (link_retry)");
        }
      }
      const bool reorders = t.paths > 0 || std::ranges::any_of(kinds, [](const NodeKind& k) {
                              return k.choice != Choice::hash && k.choice != Choice::by_destination;
                            });
      if (!reorders || !t.acknowledged) continue;
      if (std::holds_alternative<hpcc::Settings>(t.control))
        throw InputError(
            fmt::format("transport '{}': HPCC compares what it hears of one way, but the routing uses several", t.name),
            "another control, or a routing that keeps a flow on one way");
      if (!t.any_order && t.recovery == Recovery::none)
        throw InputError(fmt::format("transport '{}' wants packets in order, but the routing reorders them", t.name),
                         "any_order: true, or a routing that keeps a flow on one way");
    }
  }

  void build() {
    World& w = world;
    const Fabric& f = w.fabric;
    w.lanes = static_cast<std::uint32_t>(f.lanes().size());
    for (std::uint32_t v = 0; v < w.lanes; ++v) {
      const auto bit = static_cast<std::uint8_t>(1U << v);
      if (f.lanes()[v].strict) w.strict |= bit;
      if (f.lanes()[v].lossless) w.lossless |= bit;
      if (f.lanes()[v].marks) w.marking |= bit;
    }
    for (const auto& t : w.transports) {
      w.banks.emplace_back(t.control);
      w.telemetry = w.telemetry || w.banks.back().wants_telemetry();
    }
    for (std::size_t i = 0; i < w.transports.size(); ++i) {
      auto& t = w.transports[i];
      if (w.banks[i].wants_every_ack()) t.ack_every = 1;
      if (const auto* d = std::get_if<dcqcn::Settings>(&t.control))
        t.min_time_between_cnps = std::max(t.min_time_between_cnps, d->min_time_between_cnps);
    }
    build_links();
    build_nodes();
    for (std::size_t s = 0; s < f.stations(); ++s)
      w.stations.push_back({0, ps_per_byte(f.station_rate(StationId{static_cast<std::uint32_t>(s)}))});
  }

  /// Flows that share a station are of one part, so this waits until they are known.
  void divide() {
    World& w = world;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> together;
    std::vector<std::uint32_t> user(w.stations.size(), nil);
    const auto uses = [&](std::uint32_t first, std::uint32_t count, std::uint32_t endpoint) {
      for (std::uint32_t i = first; i < first + count; ++i) {
        auto& u = user[w.station_refs[i].station];
        if (u == nil) u = endpoint;
        if (u != endpoint) together.emplace_back(u, endpoint);
      }
    };
    for (std::size_t f = 0; f < w.sends.size(); ++f) {
      uses(w.sends[f].stations, w.sends[f].station_count, w.sends[f].from);
      uses(w.receives[f].stations, w.receives[f].station_count, receivers[f]);
    }
    const auto cut = cut_into(w.fabric, w.options.partitions, together);
    lookahead = cut.lookahead;
    for (std::uint32_t n = 0; n < w.nodes.size(); ++n) w.nodes[n].part = cut.part_of[n];
    for (std::uint32_t l = 0; l < w.wires.size(); ++l) {
      const LinkSpec& spec = w.fabric.link(LinkId{l});
      w.wires[l].from_part = cut.part_of[static_cast<std::size_t>(spec.from)] & 0x7FU;
      w.wires[l].to_part = cut.part_of[static_cast<std::size_t>(spec.to)] & 0x7FU;
    }
    const auto count = static_cast<std::size_t>(cut.parts);
    w.most_packets = std::max<std::size_t>(1, w.options.most_packets / count);
    for (std::size_t i = 0; i < count; ++i) {
      parts.emplace_back(w, static_cast<std::uint8_t>(i));
      parts.back().outbox.resize(count);
      parts.back().outbox_hops.resize(count);
    }
  }

  void build_links() {
    World& w = world;
    const Fabric& f = w.fabric;
    const std::size_t links = f.links();
    std::vector<Rate> fastest(f.nodes(), Rate::bytes_per_second(0));
    for (std::uint32_t l = 0; l < links; ++l) {
      const auto& spec = f.link(LinkId{l});
      auto& r = fastest[static_cast<std::size_t>(spec.from)];
      r = std::max(r, spec.rate);
    }
    w.wires.resize(links);
    w.outs.resize(links);
    w.counts.resize(links);
    w.queues.resize(links * w.lanes);
    w.returns.resize(links * w.lanes);
    w.inputs.resize(links * w.lanes);
    for (std::uint32_t l = 0; l < links; ++l) {
      const LinkSpec& spec = f.link(LinkId{l});
      const auto to = static_cast<std::size_t>(spec.to);
      const NodeKind& kind = f.kind(spec.to);
      const LinkId back = f.reverse(LinkId{l});
      Wire& wire = w.wires[l];
      wire.delay = spec.delay.ps();
      wire.back_delay = (back == no_link ? spec.delay : f.link(back).delay).ps();
      wire.to = static_cast<std::uint32_t>(spec.to) & 0x1FFFFFF;
      wire.header = static_cast<std::uint32_t>(spec.header.count()) & 0xFFFFF;
      wire.from_part = wire.to_part = 0;
      wire.control = static_cast<unsigned>(kind.control) & 3U;
      wire.to_endpoint = f.is_endpoint(spec.to);
      wire.cut_through = !wire.to_endpoint && kind.cut_through && fastest[to] <= spec.rate;
      wire.errors = spec.bit_error_rate > 0;
      wire.ps_per_byte = ps_per_byte(spec.rate);
      if (kind.control == FlowControl::credit)
        for (std::uint32_t v = 0; v < w.lanes; ++v) w.queues[l * w.lanes + v].credit = kind.input.count();
    }
  }

  void build_nodes() {
    World& w = world;
    const Fabric& f = w.fabric;
    w.nodes.resize(f.nodes());
    w.dests.resize(f.nodes());
    for (std::uint32_t n = 0; n < f.nodes(); ++n) {
      NodeState& node = w.nodes[n];
      node.kind = f.kind_index(NodeId{n});
      const NodeKind& kind = f.kind(NodeId{n});
      const auto small = [](Bytes b) {
        return static_cast<std::uint32_t>(std::min<std::int64_t>(b.count(), std::int64_t{1} << 31));
      };
      node.shared = std::min(kind.shared.count(), largest_pool);
      node.alpha = static_cast<std::uint64_t>(std::min(kind.alpha, 65'536.0) * 65'536.0);
      node.reserve = small(kind.reserve);
      node.resume_offset = small(kind.resume_offset);
      node.choice = kind.choice;
      node.control = kind.control;
      node.endpoint = f.is_endpoint(NodeId{n});
      node.salt = static_cast<std::uint32_t>(mix(w.options.seed, n));
      node.turn = node.salt >> 8;
      const auto place = placed(f, n);
      node.row = place.row;
      node.site = place.site;
      w.dests[n] = {place.hangs_on, place.last_link};
      if (!node.endpoint && f.kind(NodeId{n}).choice == Choice::flowlet) {
        node.flowlets = static_cast<std::uint32_t>(w.flowlets.size());
        w.flowlets.resize(w.flowlets.size() + flowlet_entries);
      }
    }
  }

  std::vector<LinkId> sample_way(NodeId from, LinkId first, NodeId to) const {
    const Fabric& f = world.fabric;
    std::vector<LinkId> way{first};
    NodeId at = f.link(first).to;
    while (at != to) {
      if (f.is_endpoint(at) || way.size() > 64) return {};
      const auto next = f.routes(at, to);
      if (next.empty()) return {};
      way.push_back(next.front());
      at = f.link(next.front()).to;
    }
    (void)from;
    return way;
  }

  /// One packet with nothing in the way.
  Time crossing(const std::vector<LinkId>& way, Bytes payload) const {
    Time sum;
    for (const auto l : way) {
      const Wire& w = world.wires[static_cast<std::size_t>(l)];
      const auto size = static_cast<std::uint64_t>(payload.count()) + std::uint64_t{w.header};
      sum += Time::picoseconds(w.delay);
      if (!w.cut_through) sum += Time::picoseconds(static_cast<std::int64_t>((size * w.ps_per_byte) >> 32));
    }
    return sum;
  }

  [[noreturn]] void unreachable(const FlowSpec& spec) const {
    throw InputError(
        fmt::format("no way from {} to {}", world.fabric.name_of(spec.from), world.fabric.name_of(spec.to)),
        "a cable or a switch is missing or down, or the routing leaves it out");
  }

  /// The first link, and the whole way (for given ways) or one that the tables allow.
  std::pair<LinkId, std::vector<LinkId>> way_of(const FlowSpec& spec, NodeId from, NodeId to,
                                                const std::vector<LinkId>& given) const {
    const Fabric& f = world.fabric;
    NodeId at = from;
    for (const auto l : given) {
      if (static_cast<std::size_t>(l) >= f.links() || f.link(l).from != at)
        throw InternalError("packet network: a way whose links do not meet");
      at = f.link(l).to;
    }
    if (!given.empty() && at == to) return {given.front(), given};
    if (given.size() > 1) unreachable(spec);
    LinkId first = no_link;
    if (!given.empty()) {
      first = given.front();
    } else {
      const auto out = f.out_links(from);
      if (out.size() != 1) unreachable(spec);
      first = out.front();
    }
    auto way = sample_way(from, first, to);
    if (way.empty()) unreachable(spec);
    return {first, std::move(way)};
  }

  FlowId open(const FlowSpec& spec) {
    if (started && parts.size() > 1) throw InternalError("packet network: flows are opened before parts run");
    World& w = world;
    const Transport& t = w.transports.at(spec.transport);
    const Fabric& f = w.fabric;
    if (!f.is_endpoint(spec.from) || !f.is_endpoint(spec.to) || spec.from == spec.to)
      throw InternalError("packet network: a flow is between two endpoints");
    const auto [first, way] = way_of(spec, spec.from, spec.to, spec.way);
    const bool given = spec.way.size() > 1 || f.link(first).to == spec.to;
    for (const auto l : t.acknowledged ? std::vector<LinkId>{} : way) {
      if (!may_drop(f.kind(f.link(l).to), t) && (f.link(l).bit_error_rate == 0 || f.link(l).link_retry)) continue;
      throw InputError(
          fmt::format("transport '{}' cannot repair a loss, but {} may lose its packets", t.name, f.name_of(l)),
          "a way of links that lose nothing, or acknowledgements and recovery");
    }
    Send s;
    s.link = static_cast<std::uint32_t>(first);
    s.from = static_cast<std::uint32_t>(spec.from);
    s.transport = spec.transport;
    s.entropy = static_cast<std::uint16_t>(mix(spec.hash) >> 48);
    s.given_way = given;
    s.route = given ? keep_way(way) : static_cast<std::uint32_t>(spec.to);
    if (spec.cap < Rate::bytes_per_second(2'000'000))
      throw InputError(fmt::format("a flow is held to {} B/s", spec.cap.bytes_per_second()), "at least 2 MB/s");
    if (!spec.cap.is_unlimited()) s.cap_ps_per_byte = ps_per_byte(spec.cap), s.capped = true;
    s.stations = static_cast<std::uint32_t>(w.station_refs.size());
    s.station_count = keep_stations(spec.out);
    Receive r;
    r.transport = spec.transport;
    r.entropy = static_cast<std::uint16_t>(mix(spec.hash, 1) >> 48);
    r.stations = static_cast<std::uint32_t>(w.station_refs.size());
    r.station_count = keep_stations(spec.in);
    if (t.acknowledged) {
      const auto [back_first, back] = way_of(spec, spec.to, spec.from, spec.way_back);
      r.link = static_cast<std::uint32_t>(back_first);
      r.given_way = spec.way_back.size() > 1 || f.link(back_first).to == spec.from;
      r.route = r.given_way ? keep_way(back) : static_cast<std::uint32_t>(spec.from);
      Path path;
      path.line = f.link(first).rate;
      path.base_rtt = crossing(way, t.mtu) + crossing(back, t.control_bytes);
      path.hops = static_cast<int>(way.size());
      path.packet = t.mtu + f.link(first).header;
      auto& bank = w.banks[spec.transport];
      if (one_round_trip(t.control)) {
        auto& paths = paths_of[spec.transport];
        if (started && !paths.empty()) path.base_rtt = std::max(path.base_rtt, paths.front().base_rtt);
        if (!started) paths.push_back(path);
      }
      s.control = bank.add(path);
      s.calm = calm(t.control) && bank.rate(s.control, Time{}) >= path.line;
    }
    w.sends.push_back(s);
    w.receives.push_back(r);
    w.send_stats.emplace_back();
    receivers.push_back(static_cast<std::uint32_t>(spec.to));
    if (w.keeps_times) w.posted.emplace_back(), w.delivered.emplace_back();
    return FlowId{static_cast<std::uint32_t>(w.sends.size() - 1)};
  }

  /// What is left of the way after its first link.
  std::uint32_t keep_way(const std::vector<LinkId>& way) {
    const auto at = static_cast<std::uint32_t>(world.ways.size());
    for (std::size_t i = 1; i < way.size(); ++i) world.ways.push_back(static_cast<std::uint32_t>(way[i]));
    return at;
  }

  std::uint8_t keep_stations(const std::vector<StationUse>& uses) {
    for (const auto& u : uses) {
      const auto i = static_cast<std::size_t>(u.station);
      const double each = static_cast<double>(world.stations.at(i).ps_per_byte) * u.weight;
      world.station_refs.push_back({static_cast<std::uint32_t>(u.station), static_cast<std::uint64_t>(each + 0.5)});
    }
    return static_cast<std::uint8_t>(uses.size());
  }

  Partition& part_of_flow(FlowId f) { return parts[world.nodes[world.sends[static_cast<std::size_t>(f)].from].part]; }

  void start() {
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

  Time next_time() {
    Time next = Time::max();
    for (auto& p : parts) next = std::min(next, p.next_time());
    return next;
  }

  void run_all(Time until) {
    start();
    const int threads = std::clamp<int>(world.options.threads, 1, static_cast<int>(parts.size()));
    if (parts.size() == 1) {
      // In pieces, so that a circle is seen soon after everything stands still.
      while (window_ok(until)) parts[0].run(limit_);
    } else if (threads == 1) {
      while (window_ok(until)) {
        for (auto& p : parts) p.run(limit_);
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

  void sample(Time at) {
    for (auto& p : parts) p.sample(at.ps());
  }

  /// Takes the samples that are due before anything at `next` happens.
  void sample_before(Time next) {
    if (next <= next_sample) return;
    sample(next_sample);
    const Time every = world.options.sample_every;
    next_sample = std::max(next_sample + every, (next - Time::picoseconds(1)).ps() / every.ps() * every);
  }

  bool window_ok(Time until) {
    const Time next = next_time();
    if (next > until || next == Time::max()) return false;
    for (auto& p : parts)
      if (std::exchange(p.stands_still, false)) stop_if_stuck();
    sample_before(next);
    const Time window = parts.size() == 1 ? Time::microseconds(1'000) : lookahead;
    limit_ = std::min({until, next_sample, next + window - Time::picoseconds(1)});
    return true;
  }

  void exchange(std::size_t to) {
    for (auto& from : parts) {
      parts[to].take(from.outbox[to], from.outbox_hops[to]);
      from.outbox[to].clear();
      from.outbox_hops[to].clear();
    }
  }

  void run_threads(Time until, int threads) {
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
        mine([&](std::size_t i) { parts[i].run(limit_); });
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

  std::vector<const Partition*> views() const {
    std::vector<const Partition*> out;
    for (const auto& p : parts) out.push_back(&p);
    return out;
  }

  void stop_if_stuck() const {
    const auto cycle = waiting_cycle(world, views());
    if (cycle.empty()) return;
    std::string text = "deadlock: packets wait for each other's buffers in a circle: ";
    for (const auto l : cycle) text += world.fabric.name_of(l) + ", ";
    throw Deadlock(text + "and again", cycle);
  }

  bool idle() const {
    return early.empty() &&
           std::ranges::all_of(parts, [](const Partition& p) { return p.unfinished == 0 && p.alive == 0; });
  }

  void finish() const {
    if (idle()) return check_counts();
    stop_if_stuck();
    throw InternalError("packet network: nothing happens any more, but packets are still under way");
  }

  /// What no fabric may do: a byte that is lost or made, a buffer that is not empty when all have arrived.
  void check_counts() const {
    for (std::size_t i = 0; i < world.queues.size(); ++i)
      if (world.queues[i].bytes != 0) throw InternalError("packet network: bytes in a queue that is empty");
    for (const auto& in : world.inputs)
      if (in.bytes != 0 || in.headroom != 0) throw InternalError("packet network: bytes in a buffer that is empty");
    for (const auto& n : world.nodes)
      if (n.pool != 0) throw InternalError("packet network: a shared buffer that does not add up");
  }

 private:
  Time limit_;
};

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
