// Faults of a scenario: parts of the machine and the network that are dead, narrow, faulty or slow, for the whole run
// or for some of it. A fault is a set of edits of the scenario (its `overrides`, its slow ranks): whoever evaluates
// that knows nothing of faults. docs/resilience.md has the keys.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/planning/elements.hpp"
#include "linkcast/planning/evaluate.hpp"
#include "linkcast/sim/units.hpp"
#include "linkcast/workloads/scenario_file.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::planning {

enum class FaultKind : unsigned char { fail, degrade, errors, slow };
std::string_view name_of(FaultKind k);

struct Fault {
  FaultKind kind = FaultKind::fail;
  Element element;
  int count = 0;                   // fail, degrade, errors: of the cables between two switches; 0: all
  double share = 0.5;              // degrade: of the rate that is left
  double bit_error_rate = 0;       // errors
  double factor = 1;               // slow: computing takes so many times as long
  std::optional<sim::Time> at;     // from when; none: the whole run
  std::optional<sim::Time> lasts;  // none: to the end
  std::optional<sim::Time> stall;  // how long the job stands still when it begins; none: as usual for its kind
  workloads::Place place;          // in the scenario
};
/// "leaf[3] fails", "node[4].nic[2] at 50 %", "leaf[0]-spine[0] with bit errors of 1e-09", "node[4].gpu[1] 1.3 times as
/// slow".
std::string to_text(const Fault& fault);

/// The list `faults`. Problems, each at its place: names, units, faults that contradict each other.
std::vector<Fault> read_faults(workloads::trace::Problems& problems, const workloads::trace::Value& v,
                               const Elements& elements);
/// Of a whole scenario; none where it has none. Throws sim::InputError.
std::vector<Fault> faults_of(const workloads::ScenarioFile& scenario, const Elements& elements);

/// The share of its rate that a link with bit errors carries when broken packets are sent again from the first that
/// was lost (go-back-n, as link-level retry of NVLink, PCIe and InfiniBand does and RoCE's NICs do end to end):
///   p = 1 - (1 - ber)^(8 L),  share = (1 - p) / (1 - p + n p),
/// L bytes of a packet on the wire, n = 1 + round_trip x rate / L packets that are sent before the sender knows.
/// (Bertsekas, Gallager: Data Networks, 2nd edition, section 2.4.1: a packet takes 1 + n p / (1 - p) sendings.)
double goodput_share(double bit_error_rate, sim::Bytes packet, sim::Rate rate, sim::Time round_trip);
/// The same of an element of a cluster: its packets, its rate, its round trip.
double goodput_share(const topologies::Cluster& cluster, const Element& element, double bit_error_rate);

/// A scenario with faults in it.
struct Faulted {
  workloads::ScenarioFile scenario;
  std::optional<std::string> outage;  // the job cannot run, whatever is simulated: why
  /// Of a training step: ranks that feel the faults first, one for each chain of stages that is to be looked at.
  std::vector<int> follow;
  std::vector<std::pair<int, double>> slow;  // ranks of the job, and how many times as long they compute
  std::vector<std::string> notes;            // faults that change nothing here, and why
};
/// All of them at once, whenever they begin.
Faulted apply(const workloads::ScenarioFile& scenario, const Elements& elements, std::span<const Fault> faults);
/// More faults on top of those. `elements`: of the scenario with the first in it, so that a share is one of what was
/// left.
Faulted apply(const Faulted& before, const Elements& elements, std::span<const Fault> faults);

/// What it comes to: an outage, or the slowest of what its followed ranks see. `view` gets the scenario that was the
/// slowest: it has nothing of faults in it any more.
Evaluation evaluate(Evaluator& evaluator, const Faulted& faulted, workloads::ScenarioFile* view = nullptr);

}  // namespace linkcast::planning
