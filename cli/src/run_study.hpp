// What `linkcast run` adds where a scenario has goals, and the answer where its workload is one collective.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "form.hpp"
#include "linkcast/topologies/profile.hpp"
#include "report_option.hpp"

namespace linkcast::cli {

struct StudyRun {
  std::string file;
  std::vector<std::string> set;
  std::shared_ptr<const topologies::Profile> profile;
  bool json = false;
  const ReportOption* report = nullptr;  // null: none is wanted
};

bool has_collective(const std::string& file, const std::vector<std::string>& set);
/// Whether the scenario says something under that key.
bool has_key(const std::string& file, const std::vector<std::string>& set, std::string_view key);
/// The whole answer; `goals` as run_goals' status.
int run_collective(const StudyRun& run, Io& io);

/// The goals' lines (or their JSON list), and whether one was missed. Empty where the scenario has none.
struct GoalsAnswer {
  std::string text, json;
  bool missed = false;
};
GoalsAnswer goals_of(const StudyRun& run);

}  // namespace linkcast::cli
