// `linkcast calibrate fit`: a profile from measurements.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>

#include "calibrate.hpp"
#include "linkcast/calibration/cross_validation.hpp"
#include "linkcast/calibration/expected_error.hpp"
#include "linkcast/calibration/fit.hpp"
#include "linkcast/topologies/fabric.hpp"
#include "log_hints.hpp"
#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::vector<std::string> paths, only;
  std::string output, profile, name, seed, expected, hold_back = "20%", threads;
  HintOptions hints;
  bool shared = false, priors = false, cross = false, json = false, force = false;
};

double share(const std::string& text) {
  char* end = nullptr;
  double x = std::strtod(text.c_str(), &end);
  const bool percent = *end == '%';
  if (percent) x /= 100;
  if (end == text.c_str() || *(end + (percent ? 1 : 0)) != '\0' || !(x >= 0) || x > 0.9)
    throw sim::InputError(fmt::format("--hold-back {}: not a share of the points", text), "from 0% to 90%");
  return x;
}

/// A line that overwrites itself on a terminal; elsewhere one every ten seconds, so that a short fit says nothing.
std::function<void(const std::string&)> progress_on(Log& log) {
  using Clock = std::chrono::steady_clock;
  static constexpr auto first = std::chrono::seconds(5), between = std::chrono::seconds(10);
  return [&log, next = Clock::now() + first](const std::string& text) mutable {
    if (log.on_terminal()) return log.status(text);
    const auto now = Clock::now();
    if (!text.empty() && now >= next) log.note(text), next = now + between;
  };
}

int perform(const Options& o, Io& io) {
  Problems problems;
  calibration::FitOptions options;
  if (o.paths.empty())
    problems.add("no measurement is named", "give files or folders: logs of nccl-tests, perftest, …");
  options.hold_back = problems.collect([&] { return share(o.hold_back); }).value_or(0.2);
  if (!o.seed.empty())
    options.seed = static_cast<std::uint64_t>(
        problems.collect([&] { return whole_number("--seed", o.seed, 0, 1'000'000'000); }).value_or(1));
  options.threads = thread_count(o.threads, problems);
  const auto hints = o.hints.read(problems);
  if (!o.expected.empty() && !o.cross) problems.add("--expected-errors belongs to --cross-validate", "add it");
  if (o.priors && !o.profile.empty()) problems.add("--from-priors and --profile exclude each other", "keep one");
  if (o.priors) options.start = topologies::Profile::priors();
  if (!o.profile.empty())
    problems.collect([&] {
      options.start = topologies::Profile::read(o.profile);
      return true;
    });
  std::error_code ignored;
  if (!o.output.empty() && !o.force && std::filesystem::is_regular_file(o.output, ignored))
    problems.add(fmt::format("'{}' is there already", o.output), "--force replaces it; -o names another file");
  problems.finish();
  if (!o.output.empty()) check_writable("-o", o.output);
  options.progress = progress_on(io.log);
  options.shared = o.shared;
  options.only = o.only;
  options.stop = io.stop;
  if (!o.name.empty()) options.name = o.name;

  std::vector<std::filesystem::path> paths(o.paths.begin(), o.paths.end());
  auto measured = calibration::read_everything(paths, hints);
  for (const auto& note : measured.notes) io.log.note(note);
  if (o.cross) {
    const auto validated = calibration::cross_validate(measured, options);
    if (io.stop.stop_requested()) return interrupted;  // half of it is nothing to keep
    if (!o.output.empty()) write_file("-o", o.output, calibration::profile_text(validated.all, options));
    if (!o.expected.empty()) {
      const auto expected = calibration::expectations(validated);
      write_file("--expected-errors", o.expected + "/expected_error_rows.inc", calibration::rows_text(expected));
      write_file("--expected-errors", o.expected + "/expected_error_widening.inc",
                 calibration::widening_text(expected));
      for (std::size_t c = 0; c < 3; ++c)
        io.log.note(fmt::format("90 % interval, sizes {}: holds {:.1f} % of {} points of sources left out",
                                std::array{"below 1 MiB", "1 to 64 MiB", "from 64 MiB"}[c], 100 * expected.coverage[c],
                                expected.points[c]));
    }
    io.out << (o.json ? calibration::json_report(validated) : calibration::text_report(validated));
    return io.stop.stop_requested() ? interrupted : done;
  }
  const auto result = calibration::fit(measured, options);
  options.progress({});
  if (io.stop.stop_requested()) return interrupted;
  if (!o.output.empty()) write_file("-o", o.output, calibration::profile_text(result, options));
  io.out << (o.json ? calibration::json_report(result) : calibration::text_report(result));
  if (o.output.empty() && !o.json) io.log.note("nothing was written: -o FILE.yaml keeps the profile for --profile");
  return io.stop.stop_requested() ? interrupted : done;
}

constexpr const char* examples =
    "  linkcast calibrate fit all_reduce.log all_gather.log --system dgx-h100 -o ours.yaml\n"
    "  linkcast collective all_reduce --topology dgx-h100 --nodes 16 --profile ours.yaml\n"
    "      the cluster's own numbers in every prediction\n"
    "  linkcast calibrate fit measured.json -o ours.yaml\n"
    "      from what `linkcast calibrate measure` wrote\n";

}  // namespace

void add_calibrate_fit(Form group) {
  const auto o = std::make_shared<Options>();
  auto form = group.command("fit", "a profile from measurements, with intervals and the error on points held back");
  form.words("PATH", o->paths, "files or folders: nccl-tests, perftest, nvbandwidth, p2pBandwidthLatencyTest, …");
  form.group("Measurements");
  o->hints.add_to(form);
  form.group("Fit");
  form.text("--profile", o->profile, "FILE", "start from this profile instead of the catalog's numbers");
  form.list("--only", o->only, "PATH", "fit only numbers that begin so: gpus.h100-sxm.simple; may be repeated");
  form.text("--hold-back", o->hold_back, "SHARE", "of the points that the fit never sees (default 20%)");
  form.text("--seed", o->seed, "N", "of what is held back (default 1)");
  form.flag("--from-priors", o->priors, "start from the catalog's priors, without the numbers that are shipped");
  form.flag("--cross-validate", o->cross, "leave one source out in turn (implies --shared, nothing held back)");
  form.text("--expected-errors", o->expected, "FOLDER",
            "with --cross-validate: write the tables that the program ships there");
  form.flag("--shared", o->shared, "change numbers for all machines of a kind, where the catalog says them");
  form.text("--threads", o->threads, "N",
            "threads of --cross-validate (default: all cores); results do not depend on it");
  form.group("Output");
  form.text("-o,--output", o->output, "FILE", "write the profile there");
  form.flag("--force", o->force, "replace that file if it is there");
  form.text("--name", o->name, "NAME", "of the profile");
  form.flag("--json", o->json, "JSON of schema linkcast.fit/1");
  form.examples(examples);
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
