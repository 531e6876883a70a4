// `linkcast validate`: predictions against measurements.
#include <fmt/format.h>
#include <algorithm>

#include <memory>

#include "linkcast/calibration/report.hpp"
#include "linkcast/calibration/validate.hpp"
#include "log_hints.hpp"
#include "words.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string fidelity = "flow", floor = "shipped", threads, profile;
  HintOptions hints;
  bool json = false, points = false;
};

int perform(const Options& o, Io& io) {
  Problems problems;
  calibration::ValidateOptions options;
  if (o.paths.empty()) problems.add("no measurement is named", "give files or folders, e.g. tests/data/collectives");
  const std::vector<std::string> fidelities{"flow", "chunk"}, floors{"shipped", "known"};
  if (const auto i = problems.collect([&] { return one_of("--fidelity", o.fidelity, fidelities); }))
    options.fidelity = static_cast<workloads::Fidelity>(*i);
  if (const auto i = problems.collect([&] { return one_of("--floor", o.floor, floors); }))
    options.floor = static_cast<calibration::Floor>(*i);
  options.threads = thread_count(o.threads, problems);
  const auto hints = o.hints.read(problems);
  if (!o.profile.empty())
    problems.collect([&] {
      options.profile = topologies::Profile::read(o.profile);
      return true;
    });
  problems.finish();

  std::vector<calibration::Series> series;
  for (const auto& path : o.paths) {
    problems.collect([&] {
      auto reading = calibration::read_measurements(path, hints);
      for (auto& s : reading.series) series.push_back(std::move(s));
      for (const auto& note : reading.notes) io.log.note(note);
      return true;
    });
  }
  problems.finish();

  const auto validation = calibration::validate(std::move(series), options);
  if (o.json) {
    io.out << calibration::json_report(validation);
  } else {
    io.out << calibration::text_report(validation, {o.points, true});
  }
  const bool any =
      std::any_of(validation.series.begin(), validation.series.end(), [](const auto& v) { return !v.rows.empty(); });
  if (!any) {
    throw sim::InputError("nothing could be predicted: no series names a machine of the catalog",
                          "the report says why for each; --system NAME names the machine of a log");
  }
  return done;
}

constexpr const char* examples =
    "  linkcast validate tests/data/collectives\n"
    "      every measurement of a folder: a row per series, per family, and the whole\n"
    "  linkcast validate all_reduce.log --system dgx-h100 --points\n"
    "      what nccl-tests printed on your machine, size by size\n"
    "  linkcast validate tests/data/collectives --floor known --json\n"
    "      each host's smallest time taken as known; for a program to read\n";

}  // namespace

void add_validate(Form root) {
  const auto o = std::make_shared<Options>();
  auto form = root.command("validate", "predictions against measurements");
  form.words("PATH", o->paths, "files or folders: corpus YAML, nccl-tests output (text, JSON)");
  form.group("Measurements");
  o->hints.add_to(form);
  form.group("Simulation");
  form.text("--profile", o->profile, "FILE", "fitted numbers, as `linkcast calibrate fit` writes them");
  form.text("--floor", o->floor, "F", "launch floor: shipped (the catalog's) or known (the series' smallest time)");
  form.text("--fidelity", o->fidelity, "F", "flow or chunk (default flow)");
  form.text("--threads", o->threads, "N", "threads (default: all cores); results do not depend on it");
  form.group("Output");
  form.flag("--points", o->points, "a row for every point");
  form.flag("--json", o->json, "JSON of schema linkcast.validate/1");
  form.examples(examples);
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
