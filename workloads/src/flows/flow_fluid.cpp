// Flows as rates that share links by max-min fairness: no queues, no losses, congestion control that is perfect at
// once. Messages of one flow go one after the other, as on a queue pair.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <queue>
#include <unordered_map>

#include "flow_run.hpp"
#include "linkcast/sim/fluid.hpp"

namespace linkcast::workloads {
namespace {

using sim::Time;

struct Sum {  // of a flow
  sim::Bytes bytes;
  Time first, last;
  bool busy = false;
};

struct Pending {
  sim::Bytes bytes;
  Time posted;
};

struct Sender {
  Sender(const FlowScenario& scenario, const FlowGroup& group, std::size_t index)
      : what{scenario, group, index}, messages{what.messages()}, flows(what.peers.size()) {}
  FlowSender what;
  FlowMessages messages;
  std::vector<Sum> flows;  // by peer
  std::size_t tally = 0;
};

struct Active {
  std::uint32_t sender, peer;
  Pending message;
  Time latency;
};

struct Event {
  Time at;
  std::uint64_t order;
  std::uint32_t sender;
  FlowMessage message;  // bytes 0: the sender may post its next
  bool operator>(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
};

class Run {
 public:
  explicit Run(const FlowScenario& s) : s_{s}, resources_{s.cluster.resources()}, net_{resources_} {
    for (const auto& g : s.groups) {
      for (std::size_t i = 0; i < g.senders.size(); ++i) {
        senders_.emplace_back(s, g, i);
        senders_.back().tally = tallies_.size();
      }
      tallies_.emplace_back(s, g);
    }
  }

  FlowsResult run() {
    for (std::uint32_t i = 0; i < senders_.size(); ++i) begin(i);
    std::vector<sim::FlowId> ended;
    while (true) {
      const auto done = net_.next_completion();
      const auto posted = events_.empty() ? Time::max() : events_.top().at;
      const auto now = std::min(done, posted);
      if (now == Time::max()) break;
      ended.clear();
      if (done == now) net_.complete(now, ended);
      // All of them are taken out before any starts: the network gives their numbers to the next that do.
      std::vector<Active> through;
      for (const auto id : ended) through.push_back(active_.extract(static_cast<std::uint32_t>(id)).mapped());
      for (const auto& a : through) complete(now, a);
      while (!events_.empty() && events_.top().at == now) {
        const auto e = events_.top();
        events_.pop();
        if (e.message.bytes > sim::Bytes{0}) {
          post(e.sender, e.message, now);
          if (is_open(senders_[e.sender].what.group->pattern)) draw(e.sender);
        } else {
          draw(e.sender, now);
        }
      }
      last_ = now;
    }
    return result();
  }

 private:
  void begin(std::uint32_t i) {
    const auto& g = *senders_[i].what.group;
    if (is_open(g.pattern)) {
      draw(i);
      return;
    }
    for (int n = 0; g.concurrency == 0 || n < g.concurrency; ++n)
      if (!draw(i, g.start)) return;
  }
  /// Makes the sender's next message; false where there is none.
  bool draw(std::uint32_t i, Time not_before = {}) {
    if (not_before > senders_[i].what.group->last_post()) return false;
    auto m = senders_[i].messages.next();
    if (!m) return false;
    m->at = std::max(m->at, not_before);
    events_.push({m->at, order_++, i, *m});
    return true;
  }

  void post(std::uint32_t i, const FlowMessage& m, Time now) {
    auto& flow = senders_[i].flows[m.peer];
    if (flow.bytes == sim::Bytes{0}) flow.first = now;
    flow.bytes += m.bytes;
    if (flow.busy)
      waiting_[key(i, m.peer)].push_back({m.bytes, now});
    else
      start(i, m.peer, {m.bytes, now}, now);
  }

  void start(std::uint32_t i, std::uint32_t peer, Pending message, Time now) {
    auto& sender = senders_[i];
    sender.flows[peer].busy = true;
    const auto from = sender.what.end(), to = sender.what.peers[peer];
    usages_.clear();
    s_.cluster.network().add(s_.ends.place(from), s_.ends.place(to), 1, flow_hash(*sender.what.group, from, to),
                             [&](topologies::CableId cable, bool forward, double weight) {
                               usages_.push_back({s_.cluster.cable(cable, forward), weight});
                             });
    const auto latency = tallies_[sender.tally].latency(from, to);
    const auto id = net_.start(now, usages_, message.bytes, s_.cluster.network().model().flow_rate);
    active_[static_cast<std::uint32_t>(id)] = {i, peer, message, latency};
  }

  void complete(Time now, const Active& a) {
    auto& sender = senders_[a.sender];
    auto& flow = sender.flows[a.peer];
    const auto delivered = now + a.latency;
    flow.last = delivered;
    flow.busy = false;
    end_ = std::max(end_, delivered);
    tallies_[sender.tally].message(sender.what.end(), sender.what.peers[a.peer], a.message.bytes, a.message.posted,
                                   delivered);
    if (const auto w = waiting_.find(key(a.sender, a.peer)); w != waiting_.end()) {
      const auto next = w->second.front();
      w->second.pop_front();
      if (w->second.empty()) waiting_.erase(w);
      start(a.sender, a.peer, next, now);
    }
    // Its acknowledgement takes the way back.
    if (!is_open(sender.what.group->pattern) && sender.what.group->concurrency > 0)
      events_.push({delivered + a.latency, order_++, a.sender, {}});
  }

  FlowsResult result() {
    FlowsResult out;
    for (auto& s : senders_) {
      auto& tally = tallies_[s.tally];
      sim::Bytes bytes;
      Time first = Time::max(), last;
      for (std::size_t p = 0; p < s.flows.size(); ++p) {
        const auto& f = s.flows[p];
        if (f.bytes == sim::Bytes{0}) continue;
        tally.flow(s.what.end(), s.what.peers[p], f.bytes, f.first, f.last);
        bytes += f.bytes;
        first = std::min(first, f.first);
        last = std::max(last, f.last);
      }
      if (bytes > sim::Bytes{0}) tally.sender(s.what.end(), bytes, first, last);
    }
    for (auto& t : tallies_) out.groups.push_back(t.result());
    out.end = end_;
    out.events = order_;
    const auto carried = net_.carried(last_);
    LinkNames names;
    for (std::size_t r = 0; r < carried.size(); ++r) {
      if (carried[r] <= 0) continue;
      const sim::ResourceId id{static_cast<std::uint32_t>(r)};
      FlowLink link;
      link.name = names.distinct(s_.cluster.resource_name(id));
      link.bytes = carried[r];
      link.utilisation =
          carried[r] / (static_cast<double>(resources_[id].capacity.bytes_per_second()) * out.end.seconds());
      out.links.push_back(std::move(link));
    }
    return out;
  }

  static std::uint64_t key(std::uint32_t sender, std::uint32_t peer) { return (std::uint64_t{sender} << 32) | peer; }

  const FlowScenario& s_;
  sim::ResourceTable resources_;
  sim::FluidNetwork net_;
  std::vector<Sender> senders_;
  std::deque<FlowTally> tallies_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::unordered_map<std::uint64_t, std::deque<Pending>> waiting_;  // behind the message that is under way
  std::unordered_map<std::uint32_t, Active> active_;                // by sim::FlowId
  std::vector<sim::Usage> usages_;
  std::uint64_t order_ = 0;
  Time last_, end_;
};

}  // namespace

FlowsResult run_flows_fluid(const FlowScenario& scenario, const FlowsOptions&) {
  auto out = Run{scenario}.run();
  std::ranges::stable_sort(out.links, [](const auto& a, const auto& b) { return a.utilisation > b.utilisation; });
  return out;
}

}  // namespace linkcast::workloads
