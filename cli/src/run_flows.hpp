// `linkcast run` of a scenario whose workload is flows, and its answer printed: flows_text.cpp for people,
// flows_json.cpp for programs.
#pragma once

#include <string>

#include "linkcast/workloads/flow_scenario.hpp"
#include "run_study.hpp"

namespace linkcast::cli {

struct FlowsRun {
  StudyRun study;
  std::string stats;  // file of the time series; empty: none
  bool all = false;   // all rows of every table
};

bool has_flows(const std::string& file, const std::vector<std::string>& set);
int run_flows(const FlowsRun& run, Io& io);
/// Throws where a time series is wanted of something that has none.
void no_stats(const std::string& stats);

std::string flows_text(const workloads::FlowsResult& result, bool all);
/// linkcast.flows/1 (docs/flows.md).
std::string flows_json(const workloads::FlowsResult& result);
/// time_us,link,queue_bytes,sent_bytes,paused_us,ecn_marks,drops
std::string flows_csv(const workloads::FlowsResult& result);

}  // namespace linkcast::cli
