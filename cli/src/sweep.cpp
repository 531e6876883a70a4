// `linkcast sweep`: the variants of a scenario, side by side, kept in a file.
#include <fmt/format.h>

#include <algorithm>

#include <memory>

#include "form.hpp"
#include "linkcast/planning/study.hpp"
#include "linkcast/planning/sweep.hpp"
#include "progress.hpp"
#include "report_option.hpp"
#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::string file, out, profile, limit, threads;
  std::vector<std::string> set;
  ReportOption report;
  bool json = false, all = false, dry_run = false;
};

int perform(const Options& o, Io& io) {
  Problems problems;
  if (o.file.empty()) problems.add("no scenario is named", "give a file, e.g. configs/sweep-1000.yaml");
  planning::SweepOptions options;
  options.out = o.out;
  options.stop = io.stop;
  if (!o.limit.empty())
    options.limit = problems.collect([&] { return whole_number("--limit", o.limit, 1, 1'000'000'000); }).value_or(0);
  if (!o.threads.empty())
    options.threads = problems.collect([&] { return whole_number("--threads", o.threads, 1, 1024); }).value_or(0);
  planning::StudyOptions study_options;
  study_options.version = LINKCAST_VERSION;
  if (!o.profile.empty())
    problems.collect([&] {
      study_options.profile = topologies::Profile::read(o.profile);
      return true;
    });
  problems.finish();

  o.report.check();
  const planning::Study study{workloads::open_scenario(o.file, o.set), study_options};
  if (o.dry_run) {
    io.out << fmt::format("{}: {} variants\n", study.title(), study.variants().count());
    for (const auto& axis : study.variants().axes())
      io.out << fmt::format("  {}: {} values, {} to {}\n", axis.key, axis.choices.size(), axis.choices.front().name,
                            axis.choices.back().name);
    return done;
  }
  planning::SweepResult result;
  {
    Progress bar{io.log, "sweep"};
    options.progress = [&](std::int64_t n, std::int64_t all) {
      bar.part(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(all));
    };
    result = planning::sweep(study, options);
  }
  std::string command = fmt::format("linkcast sweep {}", o.file);
  for (const auto& s : o.set) command += fmt::format(" --set {}", s);
  if (options.limit > 0) command += fmt::format(" --limit {}", options.limit);

  bool met = false, known = false;
  std::size_t errors = 0;
  for (const auto& row : result.rows) {
    if (row[study.column("status")] == "error") ++errors;
    const auto goals = planning::judged(study, row);
    met = met || planning::all_met(goals);
    known = known || std::ranges::any_of(goals, [](const auto& g) { return g.known; });
  }
  if (o.report.wanted()) {
    const auto scenario = workloads::open_scenario(o.file, o.set);
    planning::ReportFacts facts;
    facts.inputs = report_inputs(scenario, o.profile);
    facts.seed = report_seed(scenario);
    o.report.write(planning::json_table(study, result.rows, command, !result.interrupted), std::move(facts), io);
  }
  if (o.json) {
    io.out << planning::json_table(study, result.rows, command, !result.interrupted);
  } else {
    io.out << fmt::format("{}: {} variants", study.title(), result.variants);
    if (result.resumed > 0) io.out << fmt::format(", {} of them from {}", result.resumed, o.out);
    io.out << (result.interrupted ? fmt::format("; interrupted: {} are done\n\n", result.rows.size()) : "\n\n");
    if (!study.goals().empty()) {
      io.out << "goals: "
             << (!known ? "none of them has a value here\n"
                 : met  ? "some variants meet all of them\n"
                        : "no variant meets all of them\n");
      for (const auto& g : study.goals()) io.out << "  " << g.text << "\n";
      if (!result.rows.empty())
        for (const auto& g : planning::judged(study, result.rows.front()))
          if (!g.known) io.out << fmt::format("  ? {}: {}\n", g.goal.text, planning::verdict_text(g));
      io.out << "\n";
    }
    io.out << planning::text_table(study, result.rows, o.all ? 0 : 40);
    io.out << "\nerror: median distance of predictions from measurements; *: not measured there\n";
  }
  if (!o.out.empty()) io.log.note(fmt::format("{} rows in {}", result.rows.size(), o.out));
  if (result.interrupted) return interrupted;
  if (errors > 0) return wrong_input;
  return study.goals().empty() || met || !known ? done : check_failed;
}

}  // namespace

void add_sweep(Form root) {
  const auto o = std::make_shared<Options>();
  auto form = root.command("sweep", "all variants of a scenario, on all cores, kept in a file");
  form.word("SCENARIO", o->file, "a scenario with `variants` or `options` (docs/sweep.md)");
  form.list("--set", o->set, "KEY=VALUE", "over the file's, such as nccl=2.27; may be repeated");
  form.text("--profile", o->profile, "FILE", "fitted numbers, as `linkcast calibrate fit` writes them");
  form.text("--limit", o->limit, "N", "at most so many variants, spread evenly over the grid");
  form.text("--threads", o->threads, "N", "default: all cores");
  form.flag("--dry-run", o->dry_run, "read and check everything, say how many variants there are");
  form.group("Output");
  form.text("-o,--out", o->out, "FILE", "CSV of the rows; a sweep that was stopped goes on from there");
  o->report.add_to(form);
  form.flag("--all", o->all, "all rows of the table");
  form.flag("--json", o->json, "JSON of schema linkcast.sweep/1");
  form.examples(
      "  linkcast sweep configs/sweep-1000.yaml --out results.csv\n"
      "      a thousand variants; the same command goes on where it was stopped\n"
      "  linkcast sweep configs/studies/03-nic-rate.yaml --json\n"
      "      for programs\n");
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
