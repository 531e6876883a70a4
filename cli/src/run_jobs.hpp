// `linkcast run` of a scenario with `jobs`: what several jobs on one network do to each other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "form.hpp"
#include "linkcast/topologies/profile.hpp"
#include "report_option.hpp"

namespace linkcast::cli {

struct JobsRun {
  std::string file;
  std::vector<std::string> set;
  std::shared_ptr<const topologies::Profile> profile;
  bool json = false;
  const ReportOption* report = nullptr;  // null: none is wanted
};

/// `other_output`: an option that was given and has no meaning for several jobs; empty: none.
int run_jobs(const JobsRun& run, const std::string& other_output, Io& io);

}  // namespace linkcast::cli
