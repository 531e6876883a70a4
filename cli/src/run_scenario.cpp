// `linkcast run`: a scenario, that is, a trace on a machine.
#include "run_scenario.hpp"

#include <memory>
#include <sstream>

#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::string scenario, timeline, profile;
  std::vector<std::string> set;
  bool json = false, all = false, no_fold = false;
};

int perform(const Options& o, Io& io) {
  Problems problems;
  if (o.scenario.empty()) problems.add("no scenario is named", "give a file, e.g. configs/data-parallel-dgx-h100.yaml");
  for (const auto& text : o.set) problems.collect([&] { return assignment("--set", text); });
  std::shared_ptr<const topologies::Profile> profile;
  if (!o.profile.empty())
    problems.collect([&] {
      profile = topologies::Profile::read(o.profile);
      return true;
    });
  problems.finish();

  if (!o.timeline.empty()) check_writable("--timeline", o.timeline);
  sim::Timeline timeline;
  workloads::ScenarioOptions options;
  options.set = o.set;
  options.fold = !o.no_fold;
  options.profile = profile;
  if (!o.timeline.empty()) options.timeline = &timeline;
  const auto result = workloads::run_scenario(o.scenario, options);
  const Expected expected{o.profile};
  io.out << (o.json ? scenario_json(result, expected)
                    : scenario_text(result, o.all ? ScenarioPrinting{0, 0, 0} : ScenarioPrinting{}, expected));
  if (!o.timeline.empty()) {
    std::ostringstream text;
    timeline.write(text);
    write_file("--timeline", o.timeline, text.str());
  }
  return done;
}

}  // namespace

void add_run(Form root) {
  const auto o = std::make_shared<Options>();
  auto form = root.command("run", "a trace of collectives and compute on a machine");
  form.word("SCENARIO", o->scenario, "a scenario file (docs/trace.md)");
  form.list("--set", o->set, "KEY=VALUE", "over the file's: topology=dgx-a100, env.NCCL_ALGO=Ring; may be repeated");
  form.group("Simulation");
  form.text("--profile", o->profile, "FILE", "fitted numbers, as `linkcast calibrate fit` writes them");
  form.flag("--no-fold", o->no_fold, "simulate every GPU, also those that behave alike");
  form.group("Output");
  form.flag("--all", o->all, "all rows of every table");
  form.flag("--json", o->json, "JSON of schema linkcast.run/1");
  form.text("--timeline", o->timeline, "FILE", "write a timeline for ui.perfetto.dev");
  form.examples(
      "  linkcast run configs/data-parallel-dgx-h100.yaml\n"
      "      how long a step takes, and how much of the communication is exposed\n"
      "  linkcast run configs/data-parallel-dgx-h100.yaml --set topology=dgx-a100 --json\n"
      "      the same step on another machine\n"
      "  linkcast run configs/tensor-parallel-dgx-a100.yaml --timeline step.json\n"
      "      what every rank does when, for ui.perfetto.dev\n");
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
