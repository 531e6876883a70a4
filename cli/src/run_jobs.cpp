// See run_jobs.hpp. The study is planning's; here are its progress and the choice of its form.
#include "run_jobs.hpp"

#include <fmt/format.h>

#include "linkcast/planning/interference.hpp"
#include "progress.hpp"
#include "words.hpp"

namespace linkcast::cli {

int run_jobs(const JobsRun& run, const std::string& other_output, Io& io) {
  Problems problems;
  if (!other_output.empty())
    problems.add(fmt::format("{} is of one job; the scenario has 'jobs'", other_output),
                 "use --json, or run a job's workload in a scenario of its own");
  problems.finish();
  const auto jobs = planning::read_jobs(workloads::open_scenario(run.file, run.set), run.profile);
  planning::InterferenceOptions options;
  options.stop = io.stop;
  const auto result = [&] {
    Progress progress{io.log, "jobs and placements"};
    options.progress = [&](int done, int of) {
      progress.part(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(of));
    };
    return planning::interference(jobs, options);
  }();
  io.out << (run.json ? planning::interference_json(result) : planning::interference_text(result));
  return result.interrupted ? interrupted : done;
}

}  // namespace linkcast::cli
