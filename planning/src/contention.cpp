// See contention.hpp. The solver's unknown is the pace of a flow: 1 is what it does alone, and its weight on a cable is
// what it sends there then. Max-min fair paces mean that a full cable holds back everybody who wants it in the same
// proportion: shares follow what each offers, as they do where every NIC that sends has its turn at a switch's port.
#include "contention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "counter_random.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::planning {
namespace {

// A pace of 1 as a rate, so that paces are known to 1e-9.
constexpr sim::Rate unit = sim::Rate::bytes_per_second(1'000'000'000);
// Rates alone are rounded to whole bytes per second, perhaps upwards: without this a cable that they just fill would
// count as too full.
constexpr double rounding = 1 - 1e-8;

double uniform(std::size_t sample, std::size_t job) {
  return unit_interval(mixed((mixed(sample + golden) ^ (job * 0x632be59bd9b4e019)) + golden));
}

/// Shares of a job's phases, which one after the other cannot be more than all its time.
std::vector<double> probabilities(const std::vector<double>& occupancy) {
  double sum = 0;
  for (const double p : occupancy) sum += p;
  auto out = occupancy;
  if (sum > 1)
    for (auto& p : out) p /= sum;
  return out;
}

}  // namespace

double TrafficPhase::seconds() const {
  double most = 0;
  for (const auto& f : flows) most = std::max(most, f.seconds);
  return most;
}

Contention::Contention(const sim::ResourceTable& resources, std::vector<const Phases*> jobs, Memory memory)
    : jobs_{std::move(jobs)}, memory_{memory} {
  struct Load {
    std::uint32_t resource, flow, job;
    double rate;
  };
  // Each load stands here while they are sorted, then in the constraint of its cable and in the usages of its flow.
  std::size_t bytes = 0;
  for (const auto* phases : jobs_)
    for (const auto& phase : *phases)
      for (const auto& f : phase.flows)
        bytes += sizeof(std::vector<sim::Usage>) + 2 * sizeof(double) +
                 f.load.size() * (sizeof(Load) + 2 * sizeof(std::pair<std::uint32_t, double>) + sizeof(sim::Usage));
  if (bytes > memory_.most)
    throw sim::InputError(
        fmt::format("what the jobs send takes {:.1f} GiB to compare, and {:.1f} GiB are what a study takes",
                    static_cast<double>(bytes) * 0x1p-30, static_cast<double>(memory_.most) * 0x1p-30),
        "take fewer or smaller jobs at once");
  std::vector<Load> loads;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    auto& first = first_.emplace_back();
    for (const auto& phase : *jobs_[j]) {
      first.push_back(flows_);
      for (const auto& f : phase.flows) {
        for (const auto& u : f.load)
          loads.push_back({static_cast<std::uint32_t>(u.resource), static_cast<std::uint32_t>(flows_),
                           static_cast<std::uint32_t>(j), u.weight});
        ++flows_;
      }
    }
  }
  std::ranges::sort(loads, [](const Load& a, const Load& b) {
    return a.resource != b.resource ? a.resource < b.resource : a.flow < b.flow;
  });
  // Cables that one job uses alone never hold it back more than they do alone. Those that the same flows load alike are
  // one constraint, that of the slowest.
  std::map<std::vector<std::pair<std::uint32_t, double>>, sim::ResourceId> distinct;
  for (std::size_t i = 0; i < loads.size();) {
    std::size_t end = i;
    bool several = false;
    std::vector<std::pair<std::uint32_t, double>> flows;
    for (; end < loads.size() && loads[end].resource == loads[i].resource; ++end) {
      several = several || loads[end].job != loads[i].job;
      flows.emplace_back(loads[end].flow, loads[end].rate);
    }
    const sim::ResourceId id{loads[i].resource};
    i = end;
    if (!several) continue;
    const auto [found, added] = distinct.try_emplace(std::move(flows), id);
    if (!added && resources[id].capacity < resources[found->second].capacity) found->second = id;
  }
  usages_.resize(flows_);
  now_.assign(flows_, 1);
  for (const auto& [flows, id] : distinct) {
    const auto slot = table_.add({{}, resources[id].capacity, resources[id].bare});
    for (const auto& [flow, rate] : flows)
      usages_[flow].push_back({slot, rate * rounding / static_cast<double>(unit.bytes_per_second())});
    shared_.push_back({flows, id});
  }
}

std::vector<std::size_t> Contention::contended(const PhaseState& state) const {
  std::vector<std::size_t> out;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    if (state[j] < 0) continue;
    const auto at = first(j, state[j]);
    const auto count = (*jobs_[j])[static_cast<std::size_t>(state[j])].flows.size();
    for (std::size_t f = at; f < at + count; ++f)
      if (!usages_[f].empty()) out.push_back(f);
  }
  return out;
}

Contention::Known Contention::solve(const std::vector<std::size_t>& flows) const {
  sim::FluidNetwork network{table_};
  std::vector<sim::FlowId> ids;
  for (const auto f : flows) ids.push_back(network.start(sim::Time{}, usages_[f], sim::gib(1), unit));
  Known out;
  // A flow never has more than it wants: `unit`, whose number is below 2^32.
  for (const auto id : ids) out.push_back(static_cast<std::uint32_t>(network.rate(id).bytes_per_second()));
  return out;
}

const Contention::Paces& Contention::paces(const PhaseState& state) {
  const auto flows = contended(state);
  auto found = solved_.find(state);
  if (found == solved_.end()) {
    // Of a state: its paces, its key, and what a node of the map takes beside them.
    const auto bytes = flows.size() * sizeof(std::uint32_t) + state.size() * sizeof(int) + 128;
    if (known_bytes_ + bytes > memory_.known) {
      solved_.clear();
      known_bytes_ = 0;
    }
    found = solved_.try_emplace(state, solve(flows)).first;
    known_bytes_ += bytes;
  }
  for (const auto f : set_) now_[f] = 1;
  for (std::size_t i = 0; i < flows.size(); ++i)
    now_[flows[i]] = static_cast<double>(found->second[i]) / static_cast<double>(unit.bytes_per_second());
  set_ = flows;
  return now_;
}

double Contention::stretch_at(const Paces& paces, std::size_t job, int phase) const {
  const auto& p = (*jobs_[job])[static_cast<std::size_t>(phase)];
  const double alone = p.seconds();
  if (alone <= 0) return 1;
  double together = alone;
  for (std::size_t f = 0; f < p.flows.size(); ++f)
    together = std::max(together, p.flows[f].seconds / std::max(paces[first(job, phase) + f], 1e-9));
  return together / alone;
}

double Contention::stretch(const PhaseState& state, std::size_t job) {
  return state[job] < 0 ? 1 : stretch_at(paces(state), job, state[job]);
}

std::vector<std::pair<PhaseState, double>> Contention::states(const PhaseTable& occupancy, std::size_t job, int phase) {
  PhaseState start(jobs_.size(), -1);
  start[job] = phase;
  std::vector<std::vector<double>> odds;
  double count = 1;
  for (std::size_t k = 0; k < jobs_.size(); ++k) {
    odds.push_back(k == job ? std::vector<double>{} : probabilities(occupancy[k]));
    count *= 1 + static_cast<double>(std::ranges::count_if(odds.back(), [](double p) { return p > 0; }));
  }
  std::vector<std::pair<PhaseState, double>> out;
  if (count > static_cast<double>(most_states)) {
    sampled_ = true;
    for (std::size_t s = 0; s < samples; ++s) {
      auto state = start;
      for (std::size_t k = 0; k < jobs_.size(); ++k) {
        double u = uniform(s, k);
        for (std::size_t q = 0; q < odds[k].size() && state[k] < 0; ++q)
          if ((u -= odds[k][q]) < 0) state[k] = static_cast<int>(q);
      }
      if (job < state.size()) state[job] = phase;
      out.emplace_back(std::move(state), 1.0 / static_cast<double>(samples));
    }
    return out;
  }
  out.emplace_back(start, 1);
  for (std::size_t k = 0; k < jobs_.size(); ++k) {
    double idle = 1;
    for (const double p : odds[k]) idle -= p;
    const auto before = std::move(out);
    out.clear();
    for (const auto& [state, p] : before) {
      if (k == job || idle > 0) out.emplace_back(state, k == job ? p : p * idle);
      for (std::size_t q = 0; q < odds[k].size(); ++q) {
        if (odds[k][q] <= 0) continue;
        out.emplace_back(state, p * odds[k][q]);
        out.back().first[k] = static_cast<int>(q);
      }
    }
  }
  return out;
}

PhaseTable Contention::expected(const PhaseTable& occupancy) {
  PhaseTable out;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    auto& row = out.emplace_back(jobs_[j]->size(), 1.0);
    for (std::size_t q = 0; q < occupancy[j].size(); ++q) {
      if (occupancy[j][q] <= 0) continue;
      // Bytes go at the mean of the paces over time; written so that paces of 1 give 1 to the bit.
      Paces mean(flows_, 1);
      const auto at = first(j, static_cast<int>(q));
      const auto count = (*jobs_[j])[q].flows.size();
      for (const auto& [state, p] : states(occupancy, j, static_cast<int>(q))) {
        const auto& now = paces(state);
        for (std::size_t f = at; f < at + count; ++f) mean[f] += p * (now[f] - 1);
      }
      row[q] = stretch_at(mean, j, static_cast<int>(q));
    }
  }
  return out;
}

PhaseTable Contention::worst(const PhaseTable& occupancy) {
  PhaseTable always = occupancy;
  for (auto& row : always)
    for (auto& p : row) p = p > 0 ? 1.0 / static_cast<double>(row.size()) : 0;
  PhaseTable out;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    auto& row = out.emplace_back(jobs_[j]->size(), 1.0);
    for (std::size_t q = 0; q < occupancy[j].size(); ++q) {
      if (occupancy[j][q] <= 0) continue;
      const int phase = static_cast<int>(q);
      PhaseState harmful(jobs_.size(), -1);  // each other job in the phase that harms most by itself
      harmful[j] = phase;
      for (std::size_t k = 0; k < jobs_.size(); ++k) {
        double most = 0;
        for (std::size_t x = 0; k != j && x < occupancy[k].size(); ++x) {
          if (occupancy[k][x] <= 0) continue;
          PhaseState pair(jobs_.size(), -1);
          pair[j] = phase;
          pair[k] = static_cast<int>(x);
          if (const double s = stretch(pair, j); s > most) most = s, harmful[k] = static_cast<int>(x);
        }
      }
      row[q] = std::max(row[q], stretch(harmful, j));
      for (const auto& [state, p] : states(always, j, phase)) row[q] = std::max(row[q], stretch(state, j));
    }
  }
  return out;
}

std::optional<sim::ResourceId> Contention::bottleneck(const PhaseState& state, std::size_t job) {
  if (state[job] < 0 || stretch(state, job) <= 1) return std::nullopt;
  const auto& now = paces(state);
  const auto at = first(job, state[job]);
  const auto& flows = (*jobs_[job])[static_cast<std::size_t>(state[job])].flows;
  std::size_t slowest = at;
  double longest = 0;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const double seconds = flows[f].seconds / std::max(now[at + f], 1e-9);
    if (now[at + f] < 1 && seconds > longest) longest = seconds, slowest = at + f;
  }
  const auto sends = [&](std::size_t flow) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (state[j] < 0) continue;
      const auto begin = first(j, state[j]);
      if (flow >= begin && flow < begin + (*jobs_[j])[static_cast<std::size_t>(state[j])].flows.size()) return true;
    }
    return false;
  };
  std::optional<sim::ResourceId> fullest;
  double most = 0;
  for (std::size_t s = 0; s < shared_.size(); ++s) {
    double load = 0;
    bool uses = false;
    for (const auto& [flow, rate] : shared_[s].flows) {
      if (!sends(flow)) continue;
      load += rate * now[flow];
      uses = uses || flow == slowest;
    }
    const auto capacity = table_[sim::ResourceId{static_cast<std::uint32_t>(s)}].capacity.bytes_per_second();
    const double full = uses ? load / static_cast<double>(capacity) : 0;
    // Of cables that are equally full up to rounding the first.
    const bool fuller = full > most + 1e-6,
               first_of_equals = fullest && full > most - 1e-6 && shared_[s].representative < *fullest;
    if (uses && (fuller || first_of_equals)) most = std::max(most, full), fullest = shared_[s].representative;
  }
  return fullest;
}

}  // namespace linkcast::planning
