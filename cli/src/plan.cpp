// `linkcast plan`: which machine, how many, and how to lay the training step out on them.
#include "linkcast/planning/plan.hpp"

#include <memory>

#include "form.hpp"
#include "progress.hpp"
#include "report_option.hpp"
#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::string file, profile, threads, csv;
  std::vector<std::string> set;
  ReportOption report;
  bool json = false, all = false;
};

int perform(const Options& o, Io& io) {
  Problems problems;
  if (o.file.empty()) problems.add("no scenario is named", "give a file, e.g. configs/plan-70b.yaml");
  planning::PlanSearchOptions options;
  options.stop = io.stop;
  if (!o.threads.empty())
    options.threads = problems.collect([&] { return whole_number("--threads", o.threads, 1, 1024); }).value_or(0);
  std::shared_ptr<const topologies::Profile> profile;
  if (!o.profile.empty())
    problems.collect([&] {
      profile = topologies::Profile::read(o.profile);
      return true;
    });
  problems.finish();
  if (!o.csv.empty()) check_writable("--csv", o.csv, Kind::table);
  o.report.check();

  const auto scenario = workloads::open_scenario(o.file, o.set);
  const planning::PlanQuestion question{scenario, profile};
  planning::PlanAnswer answer;
  {
    Progress bar{io.log, "plan"};
    options.progress = [&](std::int64_t n, std::int64_t all) {
      bar.part(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(all));
    };
    answer = planning::search(question, options);
  }
  if (!o.csv.empty()) replace_file("--csv", o.csv, planning::to_csv(answer));
  if (o.report.wanted()) {
    planning::ReportFacts facts;
    facts.inputs = report_inputs(scenario, o.profile);
    facts.seed = report_seed(scenario);
    o.report.write(planning::json_report(answer), std::move(facts), io);
  }
  io.out << (o.json ? planning::json_report(answer) : planning::to_text(answer, o.all));
  if (answer.interrupted) return interrupted;
  return answer.met() ? done : check_failed;
}

}  // namespace

void add_plan(Form root) {
  const auto o = std::make_shared<Options>();
  auto form = root.command("plan", "searches machines, sizes and layouts of a training step for what meets the goals");
  form.word("SCENARIO", o->file, "a scenario with `search` and `goals` (docs/plan.md)");
  form.list("--set", o->set, "KEY=VALUE", "over the file's, such as search.gpus=[512]; may be repeated");
  form.text("--profile", o->profile, "FILE", "fitted numbers, as `linkcast calibrate fit` writes them");
  form.text("--threads", o->threads, "N", "default: all cores");
  form.group("Output");
  form.flag("--all", o->all, "all layouts that are kept of each machine, not three");
  o->report.add_to(form);
  form.text("--csv", o->csv, "FILE", "the options as CSV");
  form.flag("--json", o->json, "JSON of schema linkcast.plan/1");
  form.examples(
      "  linkcast plan configs/plan-70b.yaml\n"
      "      machines, sizes and layouts for a 70B model: exit status 1 where none meets the goals\n"
      "  linkcast plan configs/plan-70b.yaml --set 'goals=[\"step_time <= 3 s\"]' --json\n"
      "      another goal, for programs\n");
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
