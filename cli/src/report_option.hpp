// `--report out.html` of every command that answers a question for those who decide: the command gives its JSON and
// what it knows besides, this asks planning for the page and writes it. Knows no schema.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "form.hpp"
#include "linkcast/planning/report.hpp"
#include "linkcast/sim/link_use.hpp"
#include "linkcast/sim/timeline.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/replay_recording.hpp"
#include "linkcast/workloads/scenario_file.hpp"

namespace linkcast::cli {

class ReportOption {
 public:
  void add_to(Form& form);
  bool wanted() const { return !path_.empty(); }
  /// Before the work begins. Throws UsageError.
  void check() const;
  /// Writes the page, where one is wanted; says so, and where charts are missing. Throws UsageError.
  void write(std::string_view json, planning::ReportFacts facts, Io& io) const;

 private:
  std::string path_;
};

/// The scenario and the files that it names, with their hashes.
std::vector<planning::ReportInput> report_inputs(const workloads::ScenarioFile& scenario,
                                                 const std::string& profile = {});
std::vector<planning::ReportInput> report_inputs(const std::vector<std::string>& files);
/// The seed that the scenario names, if it does.
std::optional<std::uint64_t> report_seed(const workloads::ScenarioFile& scenario);

/// The drawing of a machine or cluster, by how busy links were where that is known, and its assumptions.
void add_topology(planning::ReportFacts& facts, const topologies::Cluster& cluster,
                  const std::vector<sim::LinkUse>& links = {});
/// The first lanes of a timeline, from its beginning.
void add_timeline(planning::ReportFacts& facts, const sim::Timeline& timeline);

/// Collects the beginning of the first ranks of a replay.
class ReportExcerpt {
 public:
  void add(const workloads::ReplayedOperation& operation);
  void give_to(planning::ReportFacts& facts) const;

 private:
  std::vector<int> ranks_;
  std::vector<planning::ReportSpan> spans_;
};

}  // namespace linkcast::cli
