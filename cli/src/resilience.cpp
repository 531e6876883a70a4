// `linkcast resilience`: what happens when a part fails.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "form.hpp"
#include "linkcast/planning/resilience.hpp"
#include "progress.hpp"
#include "report_option.hpp"
#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::vector<std::string> files, set;
  std::string profile, pairs, kinds, threads, csv;
  ReportOption report;
  bool json = false, all = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::size_t from = 0;
  while (from <= text.size()) {
    const auto comma = std::min(text.find(',', from), text.size());
    out.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return out;
}

int perform(const Options& o, Io& io) {
  Problems problems;
  if (o.files.size() != 1)
    problems.add(o.files.empty() ? "no scenario is named" : "one scenario at a time",
                 "give a file, e.g. configs/resilience-2048.yaml");
  for (const auto& text : o.set) problems.collect([&] { return assignment("--set", text); });
  std::optional<int> pairs;
  planning::ResilienceOptions options;
  if (!o.pairs.empty()) pairs = problems.collect([&] { return whole_number("--pairs", o.pairs, 0, 1'000'000); });
  if (!o.threads.empty())
    options.threads = problems.collect([&] { return whole_number("--threads", o.threads, 1, 1024); }).value_or(0);
  std::vector<planning::ElementKind> kinds;
  const auto known = planning::element_kind_names();
  if (!o.kinds.empty())
    for (const auto& word : split(o.kinds))
      if (const auto i = problems.collect([&] { return one_of("--kinds", word, known); }))
        kinds.push_back(static_cast<planning::ElementKind>(*i));
  if (!o.profile.empty())
    problems.collect([&] {
      options.profile = topologies::Profile::read(o.profile);
      return true;
    });
  problems.finish();
  if (!o.csv.empty()) check_writable("--csv", o.csv, Kind::table);
  o.report.check();

  const auto scenario = workloads::open_scenario(o.files.front(), o.set);
  workloads::trace::Problems wrong;
  auto study =
      planning::ResilienceStudy::read(scenario.root.is_map() ? scenario.root.get("resilience") : nullptr, wrong);
  wrong.throw_if_any();
  if (pairs) study.pairs = *pairs;
  if (!kinds.empty()) study.kinds = kinds;
  planning::Resilience result;
  {
    Progress progress{io.log, "faults"};
    options.stop = io.stop;
    options.progress = [&](std::uint64_t n, std::uint64_t all) { progress.part(n, all); };
    result = planning::study_resilience(scenario, study, options);
  }
  if (result.interrupted && result.rows.empty()) return interrupted;
  if (!o.csv.empty()) write_file("--csv", o.csv, planning::to_csv(result));
  if (o.report.wanted()) {
    planning::ReportFacts facts;
    facts.inputs = report_inputs(scenario, o.profile);
    planning::Evaluator evaluator{options.profile};
    add_topology(facts, evaluator.cluster(scenario));
    o.report.write(planning::to_json(result), std::move(facts), io);
  }
  io.out << (o.json ? planning::to_json(result) : planning::to_text(result, o.all ? 0 : 40));
  if (result.interrupted) return interrupted;
  return planning::some_missed(result.goals) ? check_failed : done;
}

}  // namespace

void add_resilience(Form root) {
  const auto o = std::make_shared<Options>();
  auto form = root.command("resilience", "what happens when a part fails or degrades: every distinct one");
  form.words("FILE", o->files, "a scenario (docs/resilience.md)");
  form.list("--set", o->set, "KEY=VALUE", "over the file's: nodes=128, reliability.spares=8; may be repeated");
  form.text("--profile", o->profile, "FILE", "fitted numbers, as `linkcast calibrate fit` writes them");
  form.group("Faults");
  form.text("--kinds", o->kinds, "LIST", "only these kinds of parts: gpu,node,nic,leaf,spine (default: all)");
  form.text("--pairs", o->pairs, "N", "that many random pairs of parts that fail together");
  form.text("--threads", o->threads, "N", "evaluate on so many threads (default: one for each core)");
  form.group("Output");
  form.flag("--all", o->all, "all rows of the table");
  form.flag("--json", o->json, "JSON: linkcast.resilience/1");
  o->report.add_to(form);
  form.text("--csv", o->csv, "FILE", "the table for spreadsheets");
  form.examples(
      "  linkcast resilience configs/resilience-2048.yaml\n"
      "      every distinct part of 2,048 GPUs and their network, worst first, and the goodput of a month\n"
      "  linkcast resilience configs/resilience-2048.yaml --kinds leaf,spine,leaf-spine-cable --pairs 1000\n"
      "      the network alone, and what two failures at once do\n");
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
