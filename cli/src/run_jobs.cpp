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
    options.progress = [&](int n, int of) {
      progress.part(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(of));
    };
    return planning::interference(jobs, options);
  }();
  if (run.report != nullptr) {
    planning::ReportFacts facts;
    facts.inputs = report_inputs(workloads::open_scenario(run.file, run.set));
    run.report->write(planning::interference_json(result), std::move(facts), io);
  }
  io.out << (run.json ? planning::interference_json(result) : planning::interference_text(result));
  if (result.interrupted) return interrupted;
  return planning::some_missed(result.goals) ? check_failed : done;
}

}  // namespace linkcast::cli
