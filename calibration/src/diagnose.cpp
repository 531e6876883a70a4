// From measurements to a verdict: the machine, what a healthy one gives, the hypotheses, their probabilities.
#include "linkcast/calibration/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnose/explain.hpp"
#include "diagnose/variables.hpp"
#include "linkcast/calibration/validate.hpp"
#include "linkcast/topologies/describe.hpp"

namespace linkcast::calibration {
namespace {

using namespace diagnosis;

/// All measurements of the one machine, cases unpacked.
struct Everything {
  Hardware hardware;
  std::optional<models::nccl::Version> nccl;
  std::optional<std::string> system;
  std::vector<Series> series;
  std::vector<PairMatrix> matrices;
  std::vector<PairTest> tests;
  std::vector<Figure> figures;
};

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void overlay(Hardware& under, const Hardware& over) {
  if (!over.gpu.empty()) under.gpu = over.gpu;
  if (over.gpus_per_node > 0) under.gpus_per_node = over.gpus_per_node;
  if (over.nodes > 0) under.nodes = over.nodes;
  if (over.nics_per_node > 0) under.nics_per_node = over.nics_per_node;
  if (over.nic_gbps > 0) under.nic_gbps = over.nic_gbps;
  if (!over.fabric.empty()) under.fabric = over.fabric;
  if (!over.cpu.empty()) under.cpu = over.cpu;
}

/// What the measurements themselves say of the machine, where nobody else does.
void learn_hardware(Everything& all) {
  Hardware told;
  std::set<std::string> systems;
  for (const auto& s : all.series) {
    if (s.system) systems.insert(*s.system);
    if (told.gpu.empty() && !s.devices.empty()) told.gpu = s.devices.front();
    told.nodes = std::max(told.nodes, s.nodes);
    told.gpus_per_node =
        std::max(told.gpus_per_node, s.nodes > 1 ? s.ranks / s.nodes : std::max(s.ranks, s.gpus_per_node));
    told.nics_per_node = std::max(told.nics_per_node, s.nics_per_node);
    told.nic_gbps = std::max(told.nic_gbps, s.nic_gbps);
    if (told.fabric.empty() && s.nodes > 1) told.fabric = s.fabric;
  }
  for (const auto& m : all.matrices) {
    if (m.system) systems.insert(*m.system);
    if (told.gpu.empty()) told.gpu = m.gpu;
    told.gpus_per_node = std::max(told.gpus_per_node, static_cast<int>(m.cells.size() > 1 ? m.cells.size() : 0));
  }
  for (const auto& t : all.tests) {
    if (t.system) systems.insert(*t.system);
    told.nic_gbps = std::max(told.nic_gbps, t.nic_gbps);
    if (told.fabric.empty()) told.fabric = t.fabric;
    told.nodes = std::max(told.nodes, 2);
  }
  if (systems.size() > 1)
    throw sim::InputError(fmt::format("the measurements are of several machines: {}", fmt::join(systems, ", ")),
                          "diagnose one machine at a time");
  if (!systems.empty()) all.system = *systems.begin();
  overlay(told, all.hardware);
  all.hardware = told;
}

Everything unpack(const Measurements& m, const DiagnoseOptions& options) {
  Everything all;
  if (m.cases.size() > 1)
    throw sim::InputError(fmt::format("{} cases at once", m.cases.size()), "diagnose one machine at a time");
  all.series = m.series, all.matrices = m.matrices, all.tests = m.tests, all.figures = m.figures;
  for (const auto& c : m.cases) {
    all.hardware = c.hardware;
    all.nccl = c.nccl;
    append(all.series, c.series), append(all.matrices, c.matrices), append(all.tests, c.tests);
    append(all.figures, c.figures);
  }
  overlay(all.hardware, options.hardware);
  if (options.nccl) all.nccl = options.nccl;
  for (auto& s : all.series)
    if (options.nccl || !s.nccl) s.nccl = all.nccl;  // what the caller says comes first
  learn_hardware(all);
  return all;
}

/// PCIe boxes of the catalog have parameters for what differs from box to box; what the run says of them is used, but
/// not that peer access was off: that is a cause.
void learn_parameters(Machine& machine, const std::vector<Series>& series) {
  if (series.empty() || !machine.cards) return;
  auto first = series.front();
  first.cause.clear();
  first.env.clear();
  auto assumed = assumptions(first);
  assumed.load.params["p2p"] = "true";
  const auto lines = topologies::list_catalog();
  for (const auto& line : lines) {
    if (line.name != machine.topology) continue;
    for (const auto& parameter : line.parameters)
      if (const auto it = assumed.load.params.find(parameter.name); it != assumed.load.params.end())
        machine.params[it->first] = it->second;
  }
}

}  // namespace

std::string_view name_of(Verdict v) {
  return v == Verdict::healthy ? "healthy" : v == Verdict::degraded ? "degraded" : "unknown";
}

namespace {

/// Numbers that no healthy machine gives, whatever the others say: below a third of the least that is normal (from 1
/// MiB on: below, hosts differ by as much), or above three times the most. Says so in the notes.
bool contradict(Diagnosis& d) {
  constexpr double factor = 3;
  std::string slow, fast;
  for (const auto& row : d.rows) {
    if (!row.expected) continue;
    const bool rate = row.measured_GBps > 0 && row.low_GBps > 0;
    const bool large = !row.size || *row.size >= sim::mib(1);
    const bool is_slow = rate ? row.measured_GBps * factor < row.low_GBps : row.measured_us > row.high_us * factor;
    const bool is_fast = rate ? row.measured_GBps > row.high_GBps * factor : row.measured_us * factor < row.low_us;
    if (is_slow && large && slow.empty()) slow = row.what;
    if (is_fast && fast.empty()) fast = row.what;
  }
  if (!slow.empty())
    d.notes.push_back(
        fmt::format("{}: less than a third of what is normal, while other numbers are normal: they "
                    "contradict each other, or are of different set-ups; give them one by one",
                    slow));
  if (!fast.empty())
    d.notes.push_back(
        fmt::format("{}: more than three times what a healthy machine reaches: a wrong unit, or another "
                    "machine?",
                    fast));
  return !slow.empty() || !fast.empty();
}

}  // namespace

Diagnosis diagnose(const Measurements& measurements, const DiagnoseOptions& given) {
  network_named(given.hardware.fabric);
  auto all = unpack(measurements, given);
  auto options = given;
  options.nccl = all.nccl;
  auto machine = given.topology.empty() ? machine_of(all.hardware, all.system)
                                        : machine_of_topology(given.topology, given.params, all.hardware);
  machine.profile = given.profile;
  Evidence evidence;
  if (machine.network == "tcp") {
    // What was used, not what the NICs can do.
    evidence.said_tcp = true;
    machine.network.clear();
  }
  learn_parameters(machine, all.series);
  const Predictor predictor{machine};
  observe_series(all.series, predictor, options, evidence);
  observe_figures(all.figures, predictor, options, evidence);
  observe_matrices(all.matrices, predictor, evidence);
  observe_tests(all.tests, predictor, evidence);

  Diagnosis out;
  out.machine = words_of(machine);
  out.rows = std::move(evidence.rows);
  out.notes = machine.sentences;
  append(out.notes, evidence.notes);
  if (evidence.seen.empty()) {
    if (all.series.empty() && all.figures.empty() && machine.gpu_known)
      judge_variables(predictor, options, evidence, out);
    return out;
  }

  const auto scene = scene_of(predictor, evidence);
  const auto list = hypotheses(scene, evidence);
  const auto judged = judge(list, evidence, predictor, options.threads);
  double healthy = 0;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].normal) healthy += judged[i].probability;
  const bool only_shape = std::all_of(evidence.seen.begin(), evidence.seen.end(),
                                      [](const Observation& o) { return o.kind == Kind::shape; });
  out.verdict = healthy >= 0.5 ? (only_shape ? Verdict::unknown : Verdict::healthy) : Verdict::degraded;
  out.confidence = out.verdict == Verdict::degraded ? 1 - healthy : healthy;
  if (out.verdict == Verdict::healthy && contradict(out)) {
    out.verdict = Verdict::unknown;
    return out;  // no cause explains such numbers
  }
  out.causes = causes_of(list, judged, evidence, predictor, scene, out.verdict != Verdict::degraded);
  return out;
}

}  // namespace linkcast::calibration
