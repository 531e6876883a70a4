// The fluid network over fixed-point arithmetic. Knows no message, no protocol.
//
// Why integers. Rates are multiples of 2^-12 bytes per second, weights of 2^-40, what is left of a flow of one rate
// unit times one picosecond; sums and products of them are exact in 128 bits. So the allocation does not depend on
// the order in which flows came or are stored, bytes are neither lost nor made, and a folded network computes the
// same numbers as the whole one, bit for bit. A fair share is rounded up to the next rate unit: with the rounding
// up of completion times to picoseconds, shares like 1/3 then end at the tick at which the exact share would.
#include "linkcast/sim/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "completion_heap.hpp"
#include "flow_pool.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::sim {
namespace {

constexpr int rate_bits = 12, weight_bits = 40;
constexpr std::int64_t unlimited_rate = std::int64_t{1} << 62;  // 2^50 bytes per second
constexpr Wide bytes_unit = Wide{1'000'000'000'000} << rate_bits;
constexpr Time never = Time::max();

std::int64_t rate_units(Rate r) {
  const bool beyond = r.bytes_per_second() >= (unlimited_rate >> rate_bits);
  return beyond ? unlimited_rate : r.bytes_per_second() << rate_bits;
}

Wide divide_up(Wide a, std::int64_t b) {
  if (a <= 0) return 0;
  if (static_cast<std::uint64_t>(a >> 64) == 0) {  // the common case of the completion times of small transfers
    const auto low = static_cast<std::uint64_t>(a), d = static_cast<std::uint64_t>(b);
    return static_cast<Wide>(low / d + (low % d != 0));
  }
  return (a + b - 1) / b;
}

}  // namespace

std::int64_t fixed_weight(double weight) {
  if (!(weight > 0) || weight > 4194304.0) throw InternalError("fluid network: a weight must be in (0, 2^22]");
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(weight * fixed_weight_one)));
}

ResourceId ResourceTable::add(Resource r) {
  if (r.capacity <= Rate{} || r.bare < r.capacity) {
    throw InternalError("resource '" + r.name + "' needs 0 < capacity <= bare");
  }
  resources_.push_back(std::move(r));
  return ResourceId{static_cast<std::uint32_t>(resources_.size() - 1)};
}

struct FluidNetwork::Impl {
  struct Member {
    std::uint32_t flow, use;
  };

  explicit Impl(const ResourceTable& t) : table{t}, members(t.size()), load(t.size(), 0), done(t.size(), 0) {
    capacity.reserve(t.size());
    for (std::size_t i = 0; i < t.size(); ++i) {
      capacity.push_back(static_cast<Wide>(t[ResourceId{static_cast<std::uint32_t>(i)}].capacity.bytes_per_second())
                         << (rate_bits + weight_bits));
    }
    rest.resize(t.size()), open.resize(t.size()), level.resize(t.size());
    seen_resource.resize(t.size(), 0), touched.resize(t.size(), 0);
  }

  const ResourceTable& table;
  FlowPool flows;
  CompletionHeap heap;
  // By resource.
  std::vector<Wide> capacity;
  std::vector<std::vector<Member>> members;
  std::vector<Wide> load;  // the sum of weight x rate of its members
  std::vector<Wide> done;  // bytes that ended flows have carried, 2^-40
  // What waits to be solved again, all of it at the instant `dirty_at`.
  std::vector<std::uint32_t> dirty_resources, dirty_flows;
  Time dirty_at;
  // Scratch of the solver, by resource or for the component at hand.
  std::vector<Wide> rest;
  std::vector<std::int64_t> open, level;
  std::vector<std::uint32_t> seen_resource, touched, seen_flow;
  std::vector<std::uint32_t> component, working, changed;
  std::vector<std::uint32_t> component_flows, fixed_now;
  std::vector<std::int64_t> new_rate;  // by flow; 0: not fixed yet
  std::uint32_t epoch = 0, touch_epoch = 0;

  bool has_slack(std::uint32_t r, Wide used) const {
    // Far from saturated, where far means more than any rounding: then it bounds nobody's rate.
    return capacity[r] - used > (capacity[r] >> 20);
  }

  std::uint32_t start(Time now, std::size_t usages, Bytes bytes, Rate cap) {
    if (bytes <= Bytes{} || cap <= Rate{}) throw InternalError("fluid network: a flow needs bytes > 0 and a cap > 0");
    flush_before(now);
    const auto f = flows.take(usages);
    if (f >= new_rate.size()) new_rate.resize(f + 1, 0), seen_flow.resize(f + 1, 0);
    flows.left[f] = static_cast<Wide>(bytes.count()) * bytes_unit;
    flows.bytes[f] = bytes.count();
    flows.rate[f] = 0;
    flows.cap[f] = rate_units(cap);
    flows.since[f] = now;
    return f;
  }

  void attach(Time now, std::uint32_t f) {
    const auto uses = flows.uses(f);
    for (std::uint32_t u = 0; u < uses.size(); ++u) {
      auto& list = members[uses[u].resource];
      uses[u].place = static_cast<std::uint32_t>(list.size());
      list.push_back({f, u});
    }
    // Where the flow's own cap leaves slack on all its resources, nobody else's rate changes: max-min allocations
    // are unique, and a resource with slack is no one's bottleneck.
    const bool bounded = flows.cap[f] < unlimited_rate || uses.empty();
    if (bounded && dirty_flows.empty() && dirty_resources.empty()) {
      set_rate(now, f, flows.cap[f]);
      if (std::ranges::all_of(uses, [&](const FlowUse& u) { return has_slack(u.resource, load[u.resource]); })) return;
      set_rate(now, f, 0);
    }
    dirty_flows.push_back(f);
    dirty_at = now;
  }

  void set_rate(Time now, std::uint32_t f, std::int64_t rate) {
    const std::int64_t old = flows.rate[f];
    if (old == rate) return;
    flows.left[f] -= static_cast<Wide>(old) * (now - flows.since[f]).ps();
    flows.since[f] = now;
    flows.rate[f] = rate;
    for (const auto& u : flows.uses(f)) load[u.resource] += static_cast<Wide>(u.weight) * (rate - old);
    if (rate == 0) return heap.erase(f);
    Time end = now;
    if (rate < unlimited_rate && flows.left[f] > 0) {
      const Wide ps = divide_up(flows.left[f], rate) + now.ps();
      end = ps >= never.ps() ? Time::picoseconds(never.ps() - 1) : Time::picoseconds(static_cast<std::int64_t>(ps));
    }
    heap.set(f, end);
  }

  Wide carried_by(std::uint32_t f, std::int64_t weight, Time now) const {
    const Wide total = static_cast<Wide>(flows.bytes[f]) * bytes_unit;
    const Wide left = std::max<Wide>(0, flows.left[f] - static_cast<Wide>(flows.rate[f]) * (now - flows.since[f]).ps());
    return (total - left) / bytes_unit * weight + (total - left) % bytes_unit * weight / bytes_unit;
  }

  void detach(Time now, std::uint32_t f, bool whole) {
    for (const auto& u : flows.uses(f)) {
      done[u.resource] += whole ? static_cast<Wide>(flows.bytes[f]) * u.weight : carried_by(f, u.weight, now);
      if (!has_slack(u.resource, load[u.resource])) dirty_resources.push_back(u.resource), dirty_at = now;
      load[u.resource] -= static_cast<Wide>(u.weight) * flows.rate[f];
      auto& list = members[u.resource];
      const Member moved = list.back();
      list[u.place] = moved;
      flows.arena[flows.first[moved.flow] + moved.use].place = u.place;
      list.pop_back();
    }
    heap.erase(f);
    std::erase(dirty_flows, f);
    flows.give_back(f);
  }

  // A change of an earlier instant has to take effect there before time goes on.
  void flush_before(Time now) {
    if (dirty_at < now) flush();
  }
  void flush() {
    if (dirty_flows.empty() && dirty_resources.empty()) return;
    collect_component();
    solve();
    for (const auto f : component_flows) set_rate(dirty_at, f, new_rate[f]);
    for (const auto r : component) {
      // Rounding shares up passes the capacity by one rate unit for each member and unit of weight, at most.
      const Wide slop = (capacity[r] >> 30) + (static_cast<Wide>(members[r].size() + 1) << (weight_bits + rate_bits));
      if (load[r] > capacity[r] + slop) {
        throw InternalError("fluid network: more than its rate on '" + table[ResourceId{r}].name + "'");
      }
    }
    dirty_flows.clear();
    dirty_resources.clear();
  }

  void reach(std::uint32_t r) {
    if (std::exchange(seen_resource[r], epoch) != epoch) component.push_back(r);
  }
  void reach_flow(std::uint32_t f) {
    if (std::exchange(seen_flow[f], epoch) == epoch) return;
    component_flows.push_back(f);
    for (const auto& u : flows.uses(f)) reach(u.resource);
  }
  void collect_component() {
    ++epoch;
    component.clear();
    component_flows.clear();
    for (const auto f : dirty_flows) reach_flow(f);
    for (const auto r : dirty_resources) reach(r);
    for (std::size_t i = 0; i < component.size(); ++i) {
      for (const auto& m : members[component[i]]) reach_flow(m.flow);
    }
  }

  void set_level(std::uint32_t r) {
    const Wide share = divide_up(rest[r], open[r]);
    level[r] = share >= unlimited_rate ? unlimited_rate : std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
  }

  void fix(std::uint32_t f, std::int64_t rate) {
    if (new_rate[f] != 0) return;
    new_rate[f] = rate;
    for (const auto& u : flows.uses(f)) {
      rest[u.resource] -= static_cast<Wide>(u.weight) * rate;
      open[u.resource] -= u.weight;
      if (std::exchange(touched[u.resource], touch_epoch) != touch_epoch) changed.push_back(u.resource);
    }
  }

  // Progressive filling in rounds. The lowest level of all resources, L, is found; flows whose cap is below it are
  // fixed at their caps, which only raises levels; where there are none, all flows of all resources at level L and
  // all with that cap are fixed together. No step depends on the order of resources or flows.
  void solve() {
    working.clear();
    for (const auto r : component) {
      rest[r] = capacity[r];
      std::int64_t sum = 0;
      for (const auto& m : members[r]) {
        if (__builtin_add_overflow(sum, flows.arena[flows.first[m.flow] + m.use].weight, &sum)) {
          throw InternalError("fluid network: weights on '" + table[ResourceId{r}].name + "' add up to 2^23 or more");
        }
      }
      open[r] = sum;
      if (sum == 0) continue;
      set_level(r);
      working.push_back(r);
    }
    for (const auto f : component_flows) new_rate[f] = 0;
    const auto by_cap = [this](std::uint32_t a, std::uint32_t b) { return flows.cap[a] < flows.cap[b]; };
    if (!std::is_sorted(component_flows.begin(), component_flows.end(), by_cap)) {
      std::sort(component_flows.begin(), component_flows.end(), by_cap);
    }
    for (std::size_t next = 0; next < component_flows.size();) {
      if (new_rate[component_flows[next]] != 0) {
        ++next;
        continue;
      }
      std::int64_t lowest = unlimited_rate;
      std::size_t kept = 0;
      for (const auto r : working) {
        if (open[r] == 0) continue;
        working[kept++] = r;
        lowest = std::min(lowest, level[r]);
      }
      working.resize(kept);
      ++touch_epoch;
      changed.clear();
      const bool caps_first = flows.cap[component_flows[next]] < lowest;
      for (; next < component_flows.size(); ++next) {
        const auto f = component_flows[next];
        if (caps_first ? flows.cap[f] >= lowest : flows.cap[f] > lowest) break;
        fix(f, flows.cap[f]);
      }
      if (!caps_first) {
        for (const auto r : working) {
          if (level[r] != lowest) continue;
          for (const auto& m : members[r]) fix(m.flow, lowest);
        }
      }
      for (const auto r : changed) {
        if (open[r] != 0) set_level(r);
      }
    }
  }
};

FluidNetwork::FluidNetwork(const ResourceTable& resources) : impl_{std::make_unique<Impl>(resources)} {}
FluidNetwork::~FluidNetwork() = default;
FluidNetwork::FluidNetwork(FluidNetwork&&) noexcept = default;

FlowId FluidNetwork::start(Time now, std::span<const Usage> usages, Bytes bytes, Rate cap, double multiplicity) {
  const auto f = impl_->start(now, usages.size(), bytes, cap);
  const auto uses = impl_->flows.uses(f);
  const bool whole = multiplicity == std::floor(multiplicity) && multiplicity >= 1;
  for (std::size_t i = 0; i < usages.size(); ++i) {
    std::int64_t weight = fixed_weight(whole ? usages[i].weight : usages[i].weight * multiplicity);
    if (whole && __builtin_mul_overflow(weight, static_cast<std::int64_t>(multiplicity), &weight)) {
      throw InternalError("fluid network: weight times multiplicity is 2^23 or more");
    }
    uses[i] = {static_cast<std::uint32_t>(usages[i].resource), 0, weight};
  }
  impl_->attach(now, f);
  return FlowId{f};
}

FlowId FluidNetwork::start(Time now, std::span<const FixedUsage> usages, Bytes bytes, Rate cap) {
  const auto f = impl_->start(now, usages.size(), bytes, cap);
  const auto uses = impl_->flows.uses(f);
  for (std::size_t i = 0; i < usages.size(); ++i) {
    uses[i] = {static_cast<std::uint32_t>(usages[i].resource), 0, usages[i].weight};
  }
  impl_->attach(now, f);
  return FlowId{f};
}

void FluidNetwork::stop(Time now, FlowId id) {
  impl_->flush_before(now);
  impl_->detach(now, static_cast<std::uint32_t>(id), false);
}

Time FluidNetwork::next_completion() const {
  impl_->flush();
  return impl_->heap.empty() ? never : impl_->heap.top_time();
}

void FluidNetwork::complete(Time now, std::vector<FlowId>& ended) {
  impl_->flush();
  ended.clear();
  auto& heap = impl_->heap;
  if (!heap.empty() && heap.top_time() < now) throw InternalError("fluid network: time ran past a completion");
  while (!heap.empty() && heap.top_time() == now) {
    const auto f = heap.top();
    impl_->detach(now, f, true);
    ended.push_back(FlowId{f});
  }
}

Rate FluidNetwork::rate(FlowId id) const {
  impl_->flush();
  const auto units = impl_->flows.rate[static_cast<std::size_t>(id)];
  if (units >= unlimited_rate) return Rate::unlimited();
  return Rate::bytes_per_second((units + (std::int64_t{1} << (rate_bits - 1))) >> rate_bits);
}

std::vector<double> FluidNetwork::carried(Time now) const {
  impl_->flush_before(now);
  auto& flows = impl_->flows;
  std::vector<Wide> sum = impl_->done;
  for (std::uint32_t f = 0; f < flows.alive.size(); ++f) {
    if (!flows.alive[f]) continue;
    for (const auto& u : flows.uses(f)) sum[u.resource] += impl_->carried_by(f, u.weight, now);
  }
  std::vector<double> out;
  out.reserve(sum.size());
  for (const Wide s : sum) out.push_back(static_cast<double>(s) / fixed_weight_one);
  return out;
}

std::size_t FluidNetwork::active() const {
  impl_->flush();
  return impl_->heap.size();
}

}  // namespace linkcast::sim
