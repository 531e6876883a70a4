// What faults change in a scenario. See faults.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "linkcast/planning/faults.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/step.hpp"
#include "scenario_plan.hpp"

namespace linkcast::planning {
namespace {

using topologies::DeviceKind;
using workloads::ScenarioFile;
using workloads::trace::Problems;
using workloads::trace::Value;

Value scalar(std::string text, const workloads::Place& place) {
  Value v;
  v.kind = Value::Kind::scalar;
  v.place = place;
  v.text = std::move(text);
  return v;
}

/// The value at a path, made where it is not there; what is no map on the way becomes one.
Value& at(Value& root, std::initializer_list<std::string_view> path, const workloads::Place& place) {
  auto* v = &root;
  for (const auto key : path) {
    if (!v->is_map()) {
      v->kind = Value::Kind::map;
      v->entries.clear();
    }
    auto found = std::ranges::find_if(v->entries, [&](const auto& e) { return e.first.text == key; });
    if (found == v->entries.end()) {
      v->entries.push_back({scalar(std::string{key}, place), Value{}});
      v->entries.back().second.place = place;
      found = std::prev(v->entries.end());
    }
    v = &found->second;
  }
  return *v;
}

class Applier {
 public:
  Applier(Faulted before, const Elements& elements)
      : elements_{elements}, cluster_{elements.cluster()}, out_{std::move(before)} {
    plan_ = plan_of(out_.scenario);
    world_ = plan_ && plan_->gpus > 0 ? plan_->gpus : cluster_.ranks();
  }

  void add(const Fault& f) {
    if (f.kind == FaultKind::slow) return slow(f);
    if (f.element.node >= 0 && !used(f.element)) {
      out_.notes.push_back(fmt::format("{}: it is not part of the job", to_text(f)));
      return;
    }
    if (f.kind == FaultKind::fail) {
      if (const auto why = ends_the_job(f.element)) {
        if (!out_.outage) out_.outage = *why;
        return;
      }
    }
    feel(f.element);
    edit(f);
  }

  Faulted take() {
    // Chains of stages that a fault is felt on, each once.
    if (plan_) {
      std::set<int> seen;
      std::vector<int> chains;
      for (const int rank : out_.follow) {
        auto p = *plan_;
        p.follow = rank;
        if (seen.insert(workloads::recorded_rank(p, 0)).second) chains.push_back(rank);
      }
      out_.follow = std::move(chains);
    } else {
      out_.follow.clear();
    }
    return std::move(out_);
  }

 private:
  bool used(const Element& e) const {
    if (e.job_node < 0) return false;
    const int each = cluster_.gpus_per_node();
    if (e.kind == ElementKind::gpu) {
      const auto gpus = cluster_.machine(e.job_node).gpus();
      const auto local = std::ranges::find(gpus, topologies::DeviceId{static_cast<std::uint32_t>(e.device)});
      return local != gpus.end() && e.job_node * each + (local - gpus.begin()) < world_;
    }
    return e.job_node * each < world_;
  }

  /// Where no simulation is needed: what is dead takes GPUs of the job with it.
  std::optional<std::string> ends_the_job(const Element& e) const {
    if (e.kind == ElementKind::gpu || e.kind == ElementKind::node) return fmt::format("{} is part of the job", e.name);
    if (e.kind != ElementKind::pcie_link && e.kind != ElementKind::pcie_switch) return std::nullopt;
    // A GPU that PCIe does not join to any CPU is gone: its driver cannot reach it, whatever NVLink does.
    const auto& machine = cluster_.machine(e.job_node);
    const auto gpus = machine.gpus();
    const auto devices = machine.devices();
    std::vector<std::vector<std::size_t>> next(devices.size());
    const auto links = machine.links();
    for (std::size_t i = 0; i < links.size(); ++i) {
      const auto& l = links[i];
      const auto a = static_cast<std::size_t>(l.a), b = static_cast<std::size_t>(l.b);
      if (l.kind != models::LinkKind::pcie && l.kind != models::LinkKind::c2c) continue;
      if (static_cast<int>(i) == e.link || !machine.usable(topologies::LinkId{static_cast<std::uint32_t>(i)})) continue;
      if (e.kind == ElementKind::pcie_switch && (static_cast<int>(a) == e.device || static_cast<int>(b) == e.device))
        continue;
      next[a].push_back(b);
      next[b].push_back(a);
    }
    std::vector<bool> reached(devices.size(), false);
    std::vector<std::size_t> open;
    for (std::size_t d = 0; d < devices.size(); ++d)
      if (devices[d].kind == DeviceKind::cpu) open.push_back(d), reached[d] = true;
    while (!open.empty()) {
      const auto d = open.back();
      open.pop_back();
      for (const auto n : next[d])
        if (!reached[n] && devices[n].kind != DeviceKind::gpu) {
          reached[n] = true;
          open.push_back(n);
        } else {
          reached[n] = true;
        }
    }
    for (const auto gpu : gpus)
      if (!reached[static_cast<std::size_t>(gpu)])
        return fmt::format("without {} the CPUs do not reach {} of the job", e.name,
                           devices[static_cast<std::size_t>(gpu)].name);
    return std::nullopt;
  }

  void feel(const Element& e) {
    for (const int rank : elements_.nearest_ranks(e))
      if (rank < world_) out_.follow.push_back(rank);
  }

  void slow(const Fault& f) {
    const auto kind = workloads::workload_kind(out_.scenario);
    if (!used(f.element)) {
      out_.notes.push_back(fmt::format("{}: it is not part of the job", to_text(f)));
      return;
    }
    if (kind != workloads::WorkloadKind::recording) {
      out_.notes.push_back(fmt::format("{}: nothing computes in this workload", to_text(f)));
      return;
    }
    const int each = cluster_.gpus_per_node();
    auto ranks = elements_.nearest_ranks(f.element);
    if (f.element.kind == ElementKind::node) {
      ranks.clear();
      for (int i = 0; i < each; ++i) ranks.push_back(f.element.job_node * each + i);
    }
    for (const int rank : ranks)
      if (rank < world_) {
        out_.slow.emplace_back(rank, f.factor);
        out_.follow.push_back(rank);
      }
  }

  void edit(const Fault& f) {
    const auto& e = f.element;
    const bool fails = f.kind == FaultKind::fail;
    std::string state = "down";
    if (!fails) {
      const double share = f.kind == FaultKind::degrade ? f.share : goodput_share(cluster_, e, f.bit_error_rate);
      // A whole number of bytes a second, and at least one: a link that carries next to nothing is still up.
      state = fmt::format(
          "{} B/s", std::max<std::int64_t>(1, std::llround(share * static_cast<double>(e.rate.bytes_per_second()))));
    }
    const bool network = !cluster_.network().empty();
    switch (e.kind) {
      case ElementKind::nic:
        if (network)
          over(f, "nic", e.name, state);
        else if (fails)
          over(f, "device", e.name, state);
        return;  // without a network its cable carries nothing that could be slow
      case ElementKind::pcie_link: {
        // A NIC without PCIe is lost, and NCCL takes another.
        const auto& devices = cluster_.machine(e.job_node).devices();
        for (const int d : {e.device, e.other})
          if (fails && devices[static_cast<std::size_t>(d)].kind == DeviceKind::nic)
            return over(f, "device", node_prefix(e) + devices[static_cast<std::size_t>(d)].name, state);
        return over(f, "link", e.name, state);
      }
      case ElementKind::nvlink:
        return over(f, "link", e.name, state);
      case ElementKind::nvswitch:
      case ElementKind::pcie_switch:
        return over(f, "device", e.name, state);
      case ElementKind::leaf:
      case ElementKind::spine:
      case ElementKind::core:
        return over(f, "switch", e.name, state);
      case ElementKind::leaf_spine_cable:
      case ElementKind::spine_core_cable:
        return over(f, "link", e.name, state, f.count);
      case ElementKind::gpu:
      case ElementKind::node:
        return;
    }
  }

  std::string node_prefix(const Element& e) const {
    const auto dot = e.name.rfind('.', e.name.find("]-"));
    return dot == std::string::npos ? "" : e.name.substr(0, dot + 1);
  }

  void over(const Fault& f, std::string_view key, const std::string& name, const std::string& state, int count = 0) {
    auto& list = at(out_.scenario.root, {"overrides"}, f.place);
    if (!list.is_sequence()) {
      list = Value{};
      list.kind = Value::Kind::sequence;
      list.place = f.place;
    }
    Value item;
    item.kind = Value::Kind::map;
    item.place = f.place;
    item.entries.push_back({scalar(std::string{key}, f.place), scalar(name, f.place)});
    item.entries.push_back({scalar("state", f.place), scalar(state, f.place)});
    if (count > 0) item.entries.push_back({scalar("count", f.place), scalar(fmt::format("{}", count), f.place)});
    list.items.push_back(std::move(item));
  }

  const Elements& elements_;
  const topologies::Cluster& cluster_;
  Faulted out_;
  std::optional<workloads::Plan> plan_;
  int world_ = 0;
};

/// The scenario that records the chain of stages beside `rank`, with the slow GPUs that it meets in every layer.
ScenarioFile followed(const Faulted& f, const std::optional<workloads::Plan>& plan, int rank) {
  auto out = f.scenario;
  const workloads::Place nowhere = out.root.place;
  std::map<int, double> slow;
  if (plan) {
    auto here = *plan;
    here.follow = rank;
    if (rank != plan->follow)
      at(out.root, {"workload", "step", "plan", "follow"}, nowhere) = scalar(fmt::format("{}", rank), nowhere);
    const auto replica = workloads::place_of(here, rank).replica;
    for (const auto& [who, factor] : f.slow) {
      const auto place = workloads::place_of(here, who);
      if (place.replica != replica) continue;
      auto& known = slow[workloads::recorded_rank(here, place.stage)];
      known = std::max(known, factor);
    }
  } else {
    for (const auto& [who, factor] : f.slow) slow[who] = std::max(slow[who], factor);
  }
  for (const auto& [who, factor] : slow) {
    const auto key = fmt::format("{}", who);
    auto& v = at(out.root, {"replay", "slow_ranks", key}, nowhere);
    const double already = v.is_scalar() ? std::strtod(v.text.c_str(), nullptr) : 1;
    v = scalar(fmt::format("{}", factor * already), nowhere);
  }
  return out;
}

}  // namespace

std::optional<workloads::Plan> plan_of(const workloads::ScenarioFile& s) {
  const auto* workload = s.root.is_map() ? s.root.get("workload") : nullptr;
  const auto* step = workload != nullptr && workload->is_map() ? workload->get("step") : nullptr;
  if (step == nullptr || !step->is_map() || step->get("serving") != nullptr) return std::nullopt;
  const auto* plan = step->get("plan");
  if (plan == nullptr) return std::nullopt;
  return workloads::read_plan(workloads::written_in_place(*plan), s.path, plan->place.line, plan->place.column);
}

double goodput_share(double bit_error_rate, sim::Bytes packet, sim::Rate rate, sim::Time round_trip) {
  const double bytes = static_cast<double>(packet.count());
  const double p = -std::expm1(8 * bytes * std::log1p(-bit_error_rate));
  const double in_flight = static_cast<double>(round_trip.ps()) * 1e-12 * static_cast<double>(rate.bytes_per_second());
  const double n = 1 + std::ceil(in_flight / bytes);
  return (1 - p) / (1 - p + n * p);
}

double goodput_share(const topologies::Cluster& cluster, const Element& e, double bit_error_rate) {
  if (e.link >= 0) {
    // NVLink's flits of 128 bytes with 16 of header (docs/topology.md), PCIe's largest usual TLP of
    // 256 bytes with 24 around it: what a retry sends again is counted in those.
    const auto& l = cluster.machine(std::max(0, e.job_node)).links()[static_cast<std::size_t>(e.link)];
    const sim::Bytes packet{l.kind == models::LinkKind::nvlink ? 144 : 280};
    // One lane or NVLink of the width has its own retry.
    return goodput_share(bit_error_rate, packet, l.bare * (1.0 / std::max(1, l.width)), l.latency * 2);
  }
  const auto& net = cluster.network();
  const auto& packet = net.model().packet;
  const sim::Bytes bytes{packet.payload.count() + packet.header.count()};
  sim::Time one_way;
  if (!e.cables.empty()) {
    const auto& c = net.cables()[static_cast<std::size_t>(e.cables.front())];
    one_way = net.cable_models()[c.model].latency;
  }
  // Only InfiniBand's links send again by themselves; elsewhere the sending NIC does, when the other end has told it.
  if (net.model().name != "ib") {
    const auto way = net.way(topologies::NicPlace{cluster.original_node(0), 0},
                             topologies::NicPlace{cluster.original_node(cluster.nodes() - 1), 0});
    one_way = net.model().latency + (way ? way->latency : sim::Time{});
  }
  return goodput_share(bit_error_rate, bytes, e.rate, one_way * 2);
}

Faulted apply(const ScenarioFile& scenario, const Elements& elements, std::span<const Fault> faults) {
  return apply(Faulted{scenario, {}, {}, {}, {}}, elements, faults);
}

Faulted apply(const Faulted& before, const Elements& elements, std::span<const Fault> faults) {
  Applier applier{before, elements};
  for (const auto& f : faults) applier.add(f);
  return applier.take();
}

Evaluation evaluate(Evaluator& evaluator, const Faulted& f, ScenarioFile* view) {
  if (f.outage) {
    Evaluation out;
    out.outage = true;
    out.outage_reason = *f.outage;
    return out;
  }
  const auto plan = plan_of(f.scenario);
  auto follow = f.follow;
  if (follow.empty()) follow.push_back(plan ? plan->follow : 0);
  std::optional<Evaluation> worst;
  for (const int rank : follow) {
    auto scenario = followed(f, plan, rank);
    auto e = evaluator.run(scenario);
    if (e.outage) return e;
    if (worst && e.time <= worst->time) continue;
    worst = std::move(e);
    if (view != nullptr) *view = std::move(scenario);
  }
  worst->notes.insert(worst->notes.end(), f.notes.begin(), f.notes.end());
  return std::move(*worst);
}

}  // namespace linkcast::planning
