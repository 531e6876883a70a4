// `linkcast validate`: predictions against measurements.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "linkcast/calibration/report.hpp"
#include "linkcast/calibration/steps.hpp"
#include "linkcast/calibration/validate.hpp"
#include "log_hints.hpp"
#include "words.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string fidelity = "flow", floor = "shipped", threads, profile, models;
  HintOptions hints;
  bool json = false, points = false;
};

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Files of steps that a path names. A folder is one of steps when all its YAML is.
std::vector<fs::path> step_files(const std::string& path) {
  std::vector<fs::path> out;
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored) && calibration::is_step_file(text_of(path))) return {path};
  if (!fs::is_directory(path, ignored)) return {};
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".yaml") continue;
    if (!calibration::is_step_file(text_of(entry.path()))) return {};
    out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

/// Step times: their models lie in the folder beside, or where --models says.
int perform_steps(const Options& o, const std::vector<fs::path>& files, int threads, Problems& problems, Io& io) {
  std::vector<calibration::StepRow> rows;
  for (const auto& f : files)
    problems.collect([&] {
      for (auto& r : calibration::read_step_rows(text_of(f), f.string())) rows.push_back(std::move(r));
      return true;
    });
  problems.finish();
  const auto folder = o.models.empty() ? files.front().parent_path().parent_path() / "models" : fs::path{o.models};
  if (!fs::is_directory(folder))
    throw sim::InputError(fmt::format("no folder of model cards: {}", folder.string()), "say where with --models");
  calibration::StepOptions options;
  options.threads = threads;
  const auto v = calibration::validate_steps(std::move(rows), calibration::model_cards(folder.string()), options);
  io.out << (o.json ? calibration::json_report(v) : calibration::text_report(v, o.points));
  if (v.all.rows == 0) throw sim::InputError("nothing could be predicted", "the report says why for each row");
  return done;
}

int perform(const Options& o, Io& io) {
  Problems problems;
  calibration::ValidateOptions options;
  if (o.paths.empty()) problems.add("no measurement is named", "give files or folders, e.g. tests/data/collectives");
  const std::vector<std::string> fidelities{"flow", "chunk", "packet"}, floors{"shipped", "known"};
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

  std::vector<fs::path> steps;
  std::vector<std::string> others;
  for (const auto& path : o.paths) {
    const auto found = step_files(path);
    steps.insert(steps.end(), found.begin(), found.end());
    if (found.empty()) others.push_back(path);
  }
  if (!steps.empty() && !others.empty())
    throw sim::InputError(fmt::format("{} holds step times, {} other measurements", steps.front().string(), others[0]),
                          "validate them one after the other");
  if (!steps.empty()) return perform_steps(o, steps, options.threads, problems, io);

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
  form.words("PATH", o->paths, "files or folders: corpus YAML, nccl-tests output (text, JSON), step times");
  form.group("Measurements");
  o->hints.add_to(form);
  form.group("Simulation");
  form.text("--profile", o->profile, "FILE", "fitted numbers, as `linkcast calibrate fit` writes them");
  form.text("--floor", o->floor, "F", "launch floor: shipped (the catalog's) or known (the series' smallest time)");
  form.text("--fidelity", o->fidelity, "F", "flow, chunk or packet (default flow)");
  form.text("--threads", o->threads, "N", "threads (default: all cores); results do not depend on it");
  form.text("--models", o->models, "DIR", "model cards of step times (default: the folder `models` beside theirs)");
  form.group("Output");
  form.flag("--points", o->points, "a row for every point");
  form.flag("--json", o->json, "JSON of schema linkcast.validate/1");
  form.examples(examples);
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
