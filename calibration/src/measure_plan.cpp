// Costs and choice of items. See measure_plan.hpp.
#include "linkcast/calibration/measure_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::calibration {
namespace {

constexpr double sample_us = 5'000;   // long against the clock's grain and a kernel's start, short against a budget
constexpr int most_iterations = 100;  // what a stream takes in while it waits at a gate
constexpr double loads = 1 << 14;     // of a pointer chase

/// One iteration, in microseconds.
struct OneIteration {
  const Speeds& speeds;

  double operator()(const CopyRequest& r) const {
    double GBps = speeds.copy_GBps;
    for (const auto& t : r.transfers)
      if (t.from == host_memory || t.to == host_memory || !r.peer_access) GBps = std::min(GBps, speeds.host_GBps);
    // A block of 512 threads moves some 20 GB/s; many GPUs on one port share it. Both are guesses on the safe side.
    if (r.engine == Engine::sm && r.blocks > 0) GBps = std::min(GBps, 15.0 * r.blocks);
    const double sharing = r.transfers.size() > 2 ? static_cast<double>(r.transfers.size()) / 2 : 1;
    return speeds.copy_start_us + static_cast<double>(r.size.count()) / GBps * 1e-3 * sharing;
  }
  double operator()(const ChaseRequest&) const { return speeds.launch_us + loads * 1.0; }  // a load: at most 1 us
  double operator()(const LaunchRequest& r) const { return speeds.launch_us * static_cast<double>(r.gpus.size()); }
  double operator()(const CollectiveRequest& r) const {
    // LL moves half of what Simple does, one channel a small part.
    double GBps = speeds.collective_GBps * (r.choice.protocol == "LL" ? 0.5 : 1);
    if (r.choice.channels > 0) GBps = std::min(GBps, 5.0 * r.choice.channels);
    return speeds.collective_start_us + static_cast<double>(r.size.count()) / GBps * 1e-3;
  }
};

Repetitions& repetitions(Request& request) {
  return std::visit([](auto& r) -> Repetitions& { return r.repeat; }, request);
}

const std::array<std::string, 7> kKindNames = {"launch", "host", "pairs", "pattern", "chase", "sm-rate", "collective"};

}  // namespace

Timing timing_of(std::vector<sim::Time> samples) {
  if (samples.empty()) throw sim::InternalError("a timing without samples");
  std::ranges::sort(samples);
  // Between two neighbours, as NumPy's default does.
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, samples.size() - 1);
    const double part = place - static_cast<double>(below);
    return static_cast<double>(samples[below].ps()) * (1 - part) + static_cast<double>(samples[above].ps()) * part;
  };
  Timing t;
  t.median = sim::Time::picoseconds(std::llround(at(0.5)));
  t.spread = sim::Time::picoseconds(std::llround(at(0.75) - at(0.25)));
  t.n = static_cast<int>(samples.size());
  return t;
}

std::string_view name_of(ItemKind k) { return kKindNames[static_cast<std::size_t>(k)]; }
std::span<const std::string> item_kind_names() { return kKindNames; }

void set_repetitions(std::span<Item> items, const Speeds& speeds, int rounds) {
  for (auto& item : items) {
    for (auto& cell : item.cells) {
      if (cell.measured()) continue;
      auto& repeat = repetitions(cell.request);
      const double us = std::max(std::visit(OneIteration{speeds}, cell.request), 0.1);
      repeat.rounds = rounds;
      repeat.iterations = static_cast<int>(std::clamp(sample_us / us, 1.0, double{most_iterations}));
      repeat.warmup = std::min(repeat.iterations, 5);
    }
  }
}

double estimated_s(const Request& request, const Speeds& speeds) {
  const auto& repeat = std::visit([](const auto& r) -> const Repetitions& { return r.repeat; }, request);
  const double us = std::visit(OneIteration{speeds}, request);
  return speeds.cell_s + us * 1e-6 * (repeat.warmup + double{1} * repeat.rounds * repeat.iterations);
}

double estimated_s(const Item& item, const Speeds& speeds) {
  double sum = item.kind == ItemKind::collective ? speeds.communicator_s : 0;
  for (const auto& cell : item.cells)
    if (!cell.measured()) sum += estimated_s(cell.request, speeds);
  return sum;
}

std::size_t next_item(std::span<const Item> items, std::span<const double> costs, double left_s) {
  auto best = costs.size();
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (!(costs[i] <= left_s)) continue;
    if (best == costs.size() || items[i].information * costs[best] > items[best].information * costs[i]) best = i;
  }
  return best;
}

Plan plan(std::span<const Item> items, std::span<const double> costs, double budget_s) {
  Plan out;
  std::vector<double> open(costs.begin(), costs.end());
  for (;;) {
    const auto next = next_item(items, open, budget_s - out.total_s);
    if (next == open.size()) break;
    out.order.push_back(next);
    out.total_s += costs[next];
    open[next] = std::nan("");  // fits no more
  }
  for (std::size_t i = 0; i < open.size(); ++i)
    if (!std::isnan(open[i])) out.dropped.push_back(i);
  return out;
}

Speeds first_timings(Machine& machine, const Discovery& there) {
  Speeds speeds;
  const Repetitions few{1, 3, 1};
  const auto us = [](const Timing& t) { return std::max(t.median.us(), 0.01); };
  const auto rate = [&](const Timing& large, const Timing& small, sim::Bytes more) {
    return std::max(static_cast<double>(more.count()) * 1e-3 / std::max(us(large) - us(small), 0.01), 0.01);
  };
  const auto small = sim::kib(4), large = sim::mib(16);
  if (!there.gpus.empty()) {
    const double before = machine.elapsed_s();
    speeds.launch_us = us(machine.launch({LaunchKind::kernel, {0}, few}));
    CopyRequest copy{{{0, there.gpus.size() > 1 ? 1 : 0}}, Engine::copy_engine, true, false, false, 0, small, few};
    if (there.gpus.size() > 1) copy.peer_access = there.peer_access[0][1];
    const auto start = machine.copy(copy).each.front();
    copy.size = large;
    speeds.copy_start_us = us(start);
    speeds.copy_GBps = rate(machine.copy(copy).each.front(), start, large - small);
    copy.transfers = {{host_memory, 0}};
    const auto from_host = machine.copy(copy).each.front();
    speeds.host_GBps = rate(from_host, start, large - small);
    // What four requests took beyond their own times, each.
    speeds.cell_s = std::max((machine.elapsed_s() - before) / 4, 1e-4);
  }
  if (there.ranks > 1) {
    const double before = machine.elapsed_s();
    CollectiveRequest call;
    call.size = small;
    call.repeat = few;
    const auto start = machine.collective(call).wall;
    speeds.communicator_s = machine.elapsed_s() - before;
    call.size = large;
    speeds.collective_start_us = us(start);
    speeds.collective_GBps = rate(machine.collective(call).wall, start, large - small);
  }
  return speeds;
}

}  // namespace linkcast::calibration
