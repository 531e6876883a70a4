// Flows as packets. A sender of a group has a lane for each port of its NIC: its flows from there, and the messages
// that go over them. A lane's state is its endpoint's own, so that partitions run side by side.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>

#include "flow_run.hpp"
#include "linkcast/sim/packet/network.hpp"
#include "linkcast/topologies/packet_fabric.hpp"

namespace linkcast::workloads {
namespace {

namespace packet = sim::packet;
using sim::Time;

constexpr std::size_t slice = 65'536;  // messages of open patterns that are posted ahead
constexpr double most_rows = 1e5;      // of a time series

struct Lane {
  packet::NodeId endpoint;
  FlowMessages messages;
  std::uint32_t base = 0;                      // its first flow
  std::vector<std::uint32_t> first;            // by peer, from `base`; one more at the end
  std::vector<std::pair<float, float>> share;  // by flow: from which part of a message to which; empty: all of it
  std::vector<std::uint32_t> acked;            // by flow, where a peer has several here
  bool open = false;
  const FlowGroup* group = nullptr;

  std::uint32_t flows() const { return first.back(); }
  sim::Bytes part(std::uint32_t flow, sim::Bytes whole) const {
    if (share.empty()) return whole;
    const auto at = [&](float x) {
      return x >= 1 ? whole.count() : static_cast<std::int64_t>(static_cast<double>(whole.count()) * x);
    };
    return sim::Bytes{at(share[flow].second) - at(share[flow].first)};
  }
};

struct Sender {
  FlowSender what;
  std::size_t group;
  std::vector<std::uint32_t> lanes;
};

class Run final : public packet::Source {
 public:
  Run(const FlowScenario& s, const models::PacketSettings& settings)
      : s_{s}, fabric_{s.cluster, settings}, net_{fabric_.fabric(), {fabric_.transport()}, settings.options()} {
    net_.keep_times();
    for (std::size_t g = 0; g < s.groups.size(); ++g)
      for (std::size_t i = 0; i < s.groups[g].senders.size(); ++i) add_sender(g, i);
    lanes_at_.resize(fabric_.fabric().nodes());
    for (std::uint32_t l = 0; l < lanes_.size(); ++l)
      lanes_at_[static_cast<std::size_t>(lanes_[l].endpoint)].push_back(l);
    net_.set_source(this);
    LinkNames names;
    for (std::size_t l = 0; l < fabric_.fabric().links(); ++l)
      names_.push_back(names.distinct(fabric_.fabric().name_of(packet::LinkId{static_cast<std::uint32_t>(l)})));
  }

  void next(packet::NodeId endpoint, Time now, packet::FlowId done, std::vector<Post>& posts) override {
    const auto& here = lanes_at_[static_cast<std::size_t>(endpoint)];
    const auto flow = static_cast<std::uint32_t>(done);
    if (flow == no_flow) {
      for (const auto l : here) begin(lanes_[l], posts);
      return;
    }
    // Lanes were opened in the order of their flows.
    const auto after = std::ranges::upper_bound(here, flow, {}, [&](auto l) { return lanes_[l].base; });
    auto& lane = lanes_[*std::prev(after)];
    if (!lane.open && through(lane, flow - lane.base) && lane.group->concurrency > 0) draw(lane, now, posts);
  }

  FlowsResult run() {
    post_open();
    net_.run_all();
    return result();
  }

 private:
  static constexpr std::uint32_t no_flow = 0xFFFFFFFF;

  void add_sender(std::size_t g, std::size_t index) {
    const auto& group = s_.groups[g];
    Sender sender{{s_, group, index}, g, {}};
    const auto from = s_.ends.place(sender.what.end());
    const auto used = used_peers(sender.what);
    std::vector<double> sent(sender.what.peers.size(), 0);  // share of a message that is given to flows
    for (const auto port : s_.cluster.network().ports_of(from.node, from.nic)) {
      const auto endpoint = fabric_.endpoint(port);
      if (endpoint == packet::no_node) continue;
      Lane lane{endpoint, sender.what.messages(), 0, {0}, {}, {}, is_open(group.pattern), &group};
      bool several = false;
      std::vector<std::pair<float, float>> share;
      for (std::uint32_t p = 0; p < sender.what.peers.size(); ++p) {
        if (used.empty() || used[p]) several = open(sender.what, p, lane, share, sent[p], g) > 1 || several;
        lane.first.push_back(static_cast<std::uint32_t>(share.size()));
      }
      if (std::ranges::any_of(share, [](const auto& x) { return x.first > 0 || x.second < 1; }))
        lane.share = std::move(share);
      if (several) lane.acked.resize(lane.flows());
      if (lane.flows() == 0) continue;
      sender.lanes.push_back(static_cast<std::uint32_t>(lanes_.size()));
      lanes_.push_back(std::move(lane));
    }
    for (std::size_t p = 0; p < sent.size(); ++p)
      if ((used.empty() || used[p]) && sent[p] <= 0)
        throw sim::InputError(fmt::format("nothing connects {} with {}", s_.ends.name(sender.what.end()),
                                          s_.ends.name(sender.what.peers[p])),
                              "choose 'from' and 'to' that reach each other");
    senders_.push_back(std::move(sender));
  }

  /// Open patterns send to some of their peers only: the others need no flow. Empty: all.
  static std::vector<bool> used_peers(const FlowSender& sender) {
    if (!is_open(sender.group->pattern)) return {};
    std::vector<bool> used(sender.peers.size(), false);
    auto messages = sender.messages();
    while (const auto m = messages.next()) used[m->peer] = true;
    if (std::ranges::find(used, true) == used.end()) used.assign(used.size(), false);
    return used;
  }

  /// The flows to that peer that leave at the lane's endpoint; how many.
  std::size_t open(const FlowSender& sender, std::uint32_t peer, Lane& lane,
                   std::vector<std::pair<float, float>>& share, double& sent, std::size_t group) {
    const auto to = sender.peers[peer];
    const auto hash = flow_hash(*sender.group, sender.end(), to);
    const auto ways = fabric_.ways(s_.ends.place(sender.end()), s_.ends.place(to), hash);
    std::size_t opened = 0;
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const auto& way = ways[w];
      if (way.from != lane.endpoint) continue;
      packet::FlowSpec spec;
      spec.from = way.from;
      spec.to = way.to;
      spec.way = way.links;
      spec.way_back = way.back;
      spec.hash = hash + w;
      spec.group = static_cast<std::uint32_t>(group);
      const auto cap = s_.cluster.network().model().flow_rate;
      if (!cap.is_unlimited()) spec.cap = cap * way.share;
      const auto out = fabric_.port_of(way.from), in = fabric_.port_of(way.to);
      if (out) {
        if (const auto x = fabric_.port_station(*out)) spec.out.push_back({*x, 1});
        if (const auto x = fabric_.host_station(*out, true)) spec.out.push_back({*x, 1});
      }
      if (in)
        if (const auto x = fabric_.host_station(*in, false)) spec.in.push_back({*x, 1});
      const auto id = static_cast<std::uint32_t>(net_.open(spec));
      if (share.empty()) lane.base = id;
      const double end = sent + way.share;
      share.emplace_back(static_cast<float>(sent), end > 1 - 1e-6 ? 1.0F : static_cast<float>(end));
      sent = end;
      ++opened;
    }
    return opened;
  }

  void post(Lane& lane, const FlowMessage& m, Time at, std::vector<Post>& posts) const {
    for (auto f = lane.first[m.peer]; f < lane.first[m.peer + 1]; ++f)
      posts.push_back({packet::FlowId{lane.base + f}, lane.part(f, m.bytes), at});
  }
  /// The lane's next message; false where there is none.
  bool draw(Lane& lane, Time now, std::vector<Post>& posts) const {
    while (const auto m = lane.messages.next()) {
      const auto at = std::max(m->at, now);
      if (at > lane.group->last_post()) return false;
      if (lane.first[m->peer] == lane.first[m->peer + 1]) continue;  // goes by another port
      post(lane, *m, at, posts);
      return true;
    }
    return false;
  }
  void begin(Lane& lane, std::vector<Post>& posts) const {
    if (lane.open) return;
    const int n = lane.group->concurrency;
    for (int i = 0; n == 0 || i < n; ++i)
      if (!draw(lane, {}, posts)) return;
  }
  /// Whether a message is through now that one of its parts is.
  static bool through(Lane& lane, std::uint32_t flow) {
    if (lane.acked.empty()) return true;
    const auto peer = static_cast<std::size_t>(std::ranges::upper_bound(lane.first, flow) - lane.first.begin()) - 1;
    const auto least = [&] {
      auto n = lane.acked[lane.first[peer]];
      for (auto f = lane.first[peer]; f < lane.first[peer + 1]; ++f) n = std::min(n, lane.acked[f]);
      return n;
    };
    const auto before = least();
    ++lane.acked[flow];
    return least() > before;
  }

  /// Messages that come by themselves, some ahead of the time at which they do.
  void post_open() {
    struct Coming {
      FlowMessage message;
      std::uint32_t sender;
      bool operator>(const Coming& o) const {
        return message.at != o.message.at ? message.at > o.message.at : sender > o.sender;
      }
    };
    std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming;
    std::vector<std::optional<FlowMessages>> messages(senders_.size());
    const auto draw_open = [&](std::uint32_t i) {
      if (const auto m = messages[i]->next()) coming.push({*m, i});
    };
    for (std::uint32_t i = 0; i < senders_.size(); ++i) {
      if (!is_open(senders_[i].what.group->pattern)) continue;
      messages[i].emplace(senders_[i].what.messages());
      draw_open(i);
    }
    std::vector<Post> posts;
    while (!coming.empty()) {
      Time last;
      for (std::size_t n = 0; n < slice && !coming.empty(); ++n) {
        const auto c = coming.top();
        coming.pop();
        last = c.message.at;
        posts.clear();
        for (const auto l : senders_[c.sender].lanes) post(lanes_[l], c.message, last, posts);
        for (const auto& p : posts) net_.post(p.flow, p.at, p.bytes);
        draw_open(c.sender);
      }
      if (!coming.empty()) net_.run_all(last);
    }
  }

  void tally(const Sender& sender, FlowTally& tally, FlowsResult& out) const {
    struct Flow {
      sim::Bytes bytes;
      Time first = Time::max(), last;
      std::uint32_t messages = 0;
    };
    std::vector<Flow> flows(sender.what.peers.size());
    std::vector<std::vector<std::vector<std::pair<Time, Time>>>> times;  // by lane, flow, message
    for (const auto l : sender.lanes) {
      auto& of_lane = times.emplace_back();
      for (std::uint32_t f = 0; f < lanes_[l].flows(); ++f) {
        const packet::FlowId id{lanes_[l].base + f};
        of_lane.push_back(net_.times(id));
        out.timeouts += net_.flow_stats(id).timeouts;
      }
    }
    const auto from = sender.what.end();
    auto messages = sender.what.messages();
    while (const auto m = messages.next()) {
      auto& flow = flows[m->peer];
      Time posted = Time::max(), delivered;
      bool there = true;
      for (std::size_t l = 0; l < sender.lanes.size() && there; ++l) {
        const auto& lane = lanes_[sender.lanes[l]];
        for (auto f = lane.first[m->peer]; f < lane.first[m->peer + 1] && there; ++f) {
          there = flow.messages < times[l][f].size();
          if (!there) break;
          posted = std::min(posted, times[l][f][flow.messages].first);
          delivered = std::max(delivered, times[l][f][flow.messages].second);
        }
      }
      if (!there || posted == Time::max()) break;  // the group's time was over
      ++flow.messages;
      flow.bytes += m->bytes;
      flow.first = std::min(flow.first, posted);
      flow.last = std::max(flow.last, delivered);
      tally.message(from, sender.what.peers[m->peer], m->bytes, posted, delivered);
    }
    sim::Bytes bytes;
    Time first = Time::max(), last;
    for (std::size_t p = 0; p < flows.size(); ++p) {
      const auto& f = flows[p];
      if (f.messages == 0) continue;
      tally.flow(from, sender.what.peers[p], f.bytes, f.first, f.last);
      bytes += f.bytes;
      first = std::min(first, f.first);
      last = std::max(last, f.last);
    }
    if (bytes > sim::Bytes{0}) tally.sender(from, bytes, first, last);
  }

  FlowsResult result() {
    FlowsResult out;
    std::deque<FlowTally> tallies;
    for (const auto& g : s_.groups) tallies.emplace_back(s_, g);
    for (const auto& sender : senders_) tally(sender, tallies[sender.group], out);
    double bytes = 0;
    for (auto& t : tallies) {
      out.groups.push_back(t.result());
      out.end = std::max(out.end, out.groups.back().end);
      bytes += static_cast<double>(out.groups.back().bytes.count());
    }
    links(out, bytes);
    const auto totals = net_.totals();
    out.events = totals.events;
    out.packet_hops = totals.packet_hops;
    out.packets = totals.packets;
    out.drops = totals.drops;
    out.marks = totals.marks;
    out.retransmits = totals.retransmits;
    out.notifications = totals.notifications;
    out.packets_peak = totals.packets_peak;
    out.memory_bytes = totals.memory_bytes;
    samples(out);
    return out;
  }

  void links(FlowsResult& out, double delivered) const {
    const auto& f = fabric_.fabric();
    const double seconds = out.end.seconds();
    double waiting = 0;
    for (std::size_t i = 0; i < f.links(); ++i) {
      const packet::LinkId id{static_cast<std::uint32_t>(i)};
      const auto x = net_.link_stats(id);
      if (x.packets == 0 && x.drops == 0 && x.damaged == 0) continue;
      waiting += x.queue_byte_seconds;
      out.paused += x.paused;
      FlowLink link;
      link.name = names_[i];
      link.bytes = static_cast<double>(x.wire_bytes);
      if (seconds > 0) {
        link.utilisation = link.bytes / (static_cast<double>(f.link(id).rate.bytes_per_second()) * seconds);
        link.queue_mean = sim::Bytes{std::llround(x.queue_byte_seconds / seconds)};
      }
      link.queue_peak = x.queue_peak;
      link.paused = x.paused;
      link.pauses = x.pauses;
      link.marks = x.marks;
      link.drops = x.drops;
      link.damaged = x.damaged;
      link.retries = x.link_retries;
      out.links.push_back(std::move(link));
    }
    if (delivered > 0) out.queueing = Time::picoseconds(std::llround(waiting / delivered * 1e12));
  }

  void samples(FlowsResult& out) const {
    std::vector<std::uint32_t> at(fabric_.fabric().links(), no_flow);
    for (const auto& s : net_.samples()) {
      auto& place = at[static_cast<std::size_t>(s.link)];
      if (place == no_flow) {
        place = static_cast<std::uint32_t>(out.sampled_links.size());
        out.sampled_links.push_back(names_[static_cast<std::size_t>(s.link)]);
      }
      out.samples.push_back({s.at, place, s.queue, s.wire_bytes, s.paused, s.marks, s.drops});
    }
  }

  const FlowScenario& s_;
  topologies::PacketFabric fabric_;
  packet::Network net_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<std::uint32_t>> lanes_at_;  // by node
  std::vector<Sender> senders_;
  std::vector<std::string> names_;  // by link
};

/// About how long it takes where nothing gets in its way: the busiest end's bytes at its line.
double about_seconds(const FlowScenario& s) {
  double most = 0;
  for (const auto& g : s.groups) {
    const double line = static_cast<double>(s.ends.line(g.senders.front()).bytes_per_second());
    double seconds = g.start.seconds();
    if (g.duration) {
      seconds += g.duration->seconds();
    } else {
      const auto flows = g.to.empty() ? g.receivers.size() : std::size_t{1};
      const auto busiest = static_cast<double>(
          is_open(g.pattern) ? std::size_t{1} : std::max(flows, g.to.empty() ? g.senders.size() : 1));
      const double load = is_open(g.pattern) ? g.load : 1;
      seconds += busiest * static_cast<double>(g.messages.value_or(1)) * g.sizes.mean() / (load * line);
    }
    most = std::max(most, seconds);
  }
  return most;
}

/// The next of 1, 2, 5, 10, … us.
Time round_up(double us) {
  double step = 1;
  while (true) {
    for (const double x : {1.0, 2.0, 5.0})
      if (step * x >= us) return Time::from_us(step * x);
    step *= 10;
  }
}

}  // namespace

FlowsResult run_flows_packet(const FlowScenario& scenario, const FlowsOptions& options) {
  auto settings = scenario.packet;
  if (!options.samples) {
    settings.sample_every = {};
  } else if (settings.sample_every == Time{}) {
    const auto links = 2.0 * static_cast<double>(scenario.cluster.network().cables().size());
    settings.sample_every = round_up(about_seconds(scenario) * 1e6 * links / most_rows);
  }
  auto out = Run{scenario, settings}.run();
  out.routing = models::name_of(settings.routing);
  out.flow_control = models::name_of(settings.flow_control);
  out.control = models::name_of(settings.control);
  out.sample_every = settings.sample_every;
  std::ranges::stable_sort(out.links, [](const auto& a, const auto& b) { return a.utilisation > b.utilisation; });
  return out;
}

}  // namespace linkcast::workloads
