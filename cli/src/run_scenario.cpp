// `linkcast run`: a scenario, that is, a trace on a machine.
#include "run_scenario.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <sstream>

#include "linkcast/planning/evaluate.hpp"
#include "linkcast/planning/jobs.hpp"
#include "linkcast/workloads/timeline_file.hpp"
#include "report_option.hpp"
#include "run_faults.hpp"
#include "run_flows.hpp"
#include "run_jobs.hpp"
#include "run_recording.hpp"
#include "run_study.hpp"
#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string timeline, profile, csv, fidelity, stats;
  std::vector<std::string> set;
  RecordingFlags recording;
  ReportOption report;
  bool json = false, all = false, no_fold = false;
};

/// JSON of a run with the list of its goals as one more member.
std::string with_goals(std::string json, const std::string& goals) {
  const auto end = json.rfind('}');
  return goals.empty() ? json : json.substr(0, end) + ",\n \"goals\": " + goals + "\n}\n";
}

int perform_recording(const Options& o, const workloads::RecordedScenario& scenario, const std::string& goals,
                      planning::ReportFacts facts, Io& io) {
  auto options = scenario.options;
  options.stop = io.stop;
  if (!o.csv.empty()) check_writable("--csv", o.csv, Kind::table);
  std::optional<workloads::TimelineFile> timeline;
  if (!o.timeline.empty()) {
    const auto& machine = scenario.cluster.machine(0);
    timeline.emplace(o.timeline, scenario.recording,
                     workloads::TimelineFileOptions{scenario.cluster.gpus_per_node(), machine.name(), {}});
  }
  ReportExcerpt excerpt;
  if (timeline || o.report.wanted())
    options.each = [&](const workloads::ReplayedOperation& x) {
      if (timeline) timeline->add(x);
      if (o.report.wanted()) excerpt.add(x);
    };
  const auto result = workloads::replay_recording(scenario.recording, scenario.cluster, options);
  if (const auto& skipped = scenario.recording.report->skipped; result.operations == 0 && !skipped.empty())
    throw sim::InputError(
        fmt::format("{}: nothing to replay: {} records were skipped, the first because of: {} ({})", scenario.title,
                    skipped.front().count, skipped.front().why, skipped.front().first),
        "`linkcast trace info` lists everything that was skipped");
  if (timeline) timeline->close();
  if (!o.csv.empty()) write_file("--csv", o.csv, recording_csv(result));
  const Expected expected{o.profile};
  if (o.report.wanted()) {
    excerpt.give_to(facts);
    add_topology(facts, scenario.cluster);
    if (scenario.options.jitter > 0) facts.seed = scenario.options.seed;
    o.report.write(with_goals(recording_json(scenario, result, expected), goals), std::move(facts), io);
  }
  io.out << (o.json ? with_goals(recording_json(scenario, result, expected), goals)
                    : recording_text(scenario, result, o.all ? RecordingPrinting{0, 0, 0} : RecordingPrinting{},
                                     expected));
  return result.interrupted ? interrupted : done;
}

int perform(Options o, Io& io) {
  Problems problems;
  if (o.files.empty())
    problems.add("no scenario is named",
                 "give a file, e.g. configs/data-parallel-dgx-h100.yaml, or a trace and --topology");
  if (o.files.size() > 1 && o.recording.topology.empty())
    problems.add("one scenario at a time", "several files are the trace of several ranks: say --topology");
  for (const auto& text : o.set) problems.collect([&] { return assignment("--set", text); });
  static const std::vector<std::string> fidelities{"flow", "chunk", "packet"};
  if (!o.fidelity.empty()) problems.collect([&] { return one_of("--fidelity", o.fidelity, fidelities); });
  if (!o.recording.topology.empty()) {
    problems.finish();
    o.report.check();
    planning::ReportFacts facts;
    if (o.report.wanted()) facts.inputs = report_inputs(o.files);
    auto scenario = recorded_scenario(o.files, o.recording, o.set, o.profile);
    if (!o.fidelity.empty())
      scenario.options.library.fidelity =
          static_cast<workloads::Fidelity>(one_of("--fidelity", o.fidelity, fidelities));
    no_stats(o.stats);
    return perform_recording(o, scenario, {}, std::move(facts), io);
  }
  for (const auto& name : o.recording.given())
    problems.add(fmt::format("{} belongs to a trace with --topology; a scenario says that itself", name),
                 "change the scenario by --set, such as --set env.NCCL_ALGO=Tree or --set replay.compute_scale=0.5");
  std::shared_ptr<const topologies::Profile> profile;
  if (!o.profile.empty())
    problems.collect([&] {
      profile = topologies::Profile::read(o.profile);
      return true;
    });
  problems.finish();
  if (!o.fidelity.empty()) o.set.push_back("fidelity=" + o.fidelity);
  o.report.check();
  const auto* report = o.report.wanted() ? &o.report : nullptr;

  if (has_key(o.files.front(), o.set, "search"))
    throw sim::InputError(
        fmt::format("{}: what it runs is still to be searched", o.files.front()),
        fmt::format("`linkcast plan {}` does that; --set search=~ leaves the search out", o.files.front()));
  const auto* elsewhere = !o.timeline.empty() ? "--timeline" : !o.csv.empty() ? "--csv" : "";
  if (planning::has_jobs(o.files.front(), o.set)) {
    if (has_key(o.files.front(), o.set, "faults"))
      throw sim::InputError(
          fmt::format("{}: jobs with faults", o.files.front()),
          "`linkcast resilience` says what each fault does to each job; --set faults= leaves them out");
    return run_jobs({o.files.front(), o.set, profile, o.json, report}, elsewhere, io);
  }
  const auto faults = run_faults({o.files.front(), o.set, profile, o.json, report}, io);
  if (faults.status) return *faults.status;
  const StudyRun study{o.files.front(), faults.set, profile, o.json, report};
  if (has_flows(o.files.front(), faults.set)) {
    if (*elsewhere != '\0')
      throw sim::InputError(fmt::format("{} belongs to traces and steps", elsewhere),
                            "of flows: --stats FILE, at --fidelity packet");
    return run_flows({study, o.stats, o.all}, io);
  }
  no_stats(o.stats);
  if (has_collective(o.files.front(), faults.set)) {
    if (*elsewhere != '\0')
      throw sim::InputError(fmt::format("{} belongs to traces and steps", elsewhere),
                            "of one collective: `linkcast collective --timeline`, or `linkcast sweep --out FILE`");
    return run_collective(study, io);
  }
  const auto goals = goals_of(study);
  const auto judged = [&](int status) {
    if (!o.json) io.out << goals.text;
    return status == done && goals.missed ? check_failed : status;
  };
  planning::ReportFacts facts;
  if (report != nullptr) {
    const auto scenario = workloads::open_scenario(o.files.front(), faults.set);
    facts.inputs = report_inputs(scenario, o.profile);
    facts.seed = report_seed(scenario);
  }
  if (workloads::is_recorded_scenario(o.files.front(), faults.set))
    return judged(perform_recording(o, workloads::read_recorded_scenario(o.files.front(), faults.set, profile),
                                    goals.json, std::move(facts), io));
  if (!o.timeline.empty()) check_writable("--timeline", o.timeline);
  sim::Timeline timeline;
  workloads::ScenarioOptions options;
  options.set = faults.set;
  options.fold = !o.no_fold;
  options.profile = profile;
  if (!o.timeline.empty() || report != nullptr) options.timeline = &timeline;
  const auto result = workloads::run_scenario(o.files.front(), options);
  const Expected expected{o.profile};
  if (report != nullptr) {
    planning::Evaluator evaluator{profile};
    add_topology(facts, evaluator.cluster(workloads::open_scenario(o.files.front(), faults.set)), result.links);
    add_timeline(facts, timeline);
    report->write(with_goals(scenario_json(result, expected), goals.json), std::move(facts), io);
  }
  io.out << (o.json ? with_goals(scenario_json(result, expected), goals.json)
                    : scenario_text(result, o.all ? ScenarioPrinting{0, 0, 0} : ScenarioPrinting{}, expected));
  if (!o.timeline.empty()) {
    std::ostringstream text;
    timeline.write(text);
    write_file("--timeline", o.timeline, text.str());
  }
  return judged(done);
}

}  // namespace

void add_run(Form root) {
  const auto o = std::make_shared<Options>();
  auto form = root.command("run", "a trace, or a training step, on a machine");
  form.words("FILE", o->files, "a scenario (docs/trace.md, docs/replay.md), or with --topology the files of a trace");
  form.list("--set", o->set, "KEY=VALUE", "over the file's: topology=dgx-a100, env.NCCL_ALGO=Ring; may be repeated");
  o->recording.add_to(form);
  form.group("Simulation");
  form.text("--profile", o->profile, "FILE", "fitted numbers, as `linkcast calibrate fit` writes them");
  form.text("--fidelity", o->fidelity, "F", "flow, chunk or packet (default: as the scenario says, else flow)");
  form.flag("--no-fold", o->no_fold, "simulate every GPU, also those that behave alike");
  form.group("Output");
  form.flag("--all", o->all, "all rows of every table");
  form.flag("--json", o->json,
            "JSON: linkcast.run/1; of traces and steps linkcast.replay/1; of jobs linkcast.interference/1; of flows "
            "linkcast.flows/1");
  form.text("--csv", o->csv, "FILE", "of traces and steps: the table of communication, for spreadsheets");
  form.text("--stats", o->stats, "FILE", "of flows at fidelity packet: queues, pauses, marks and drops over time, CSV");
  o->report.add_to(form);
  form.text("--timeline", o->timeline, "FILE",
            "write a timeline: .pftrace, .json, .json.gz; of traces also %r or folder/, one a rank");
  form.examples(
      "  linkcast run configs/data-parallel-dgx-h100.yaml\n"
      "      how long a step takes, and how much of the communication is exposed\n"
      "  linkcast run configs/data-parallel-dgx-h100.yaml --set topology=dgx-a100 --json\n"
      "      the same step on another machine\n"
      "  linkcast run configs/tensor-parallel-dgx-a100.yaml --timeline step.json\n"
      "      what every rank does when, for ui.perfetto.dev\n"
      "  linkcast run configs/packet/incast.yaml --fidelity packet --stats queues.csv\n"
      "      how long flows take where they meet, and what every queue did meanwhile\n");
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
