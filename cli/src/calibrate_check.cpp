// `linkcast calibrate check`: has this cluster drifted?
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <memory>

#include "linkcast/calibration/drift.hpp"
#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {

void add_calibrate_check(Form calibrate);

namespace {

struct Options {
  std::string baseline, now, tolerance = "5%", false_alarms = "1%", sure = "90%", textfile, op, ranks;
  bool json = false, both = false;
};

/// "5%", "5 %", "0.5%": above 0, at most `most`; as a share.
double percentage(std::string_view option, std::string_view text, double least, double most, double usual) {
  const auto refuse = [&] [[noreturn]] {
    throw sim::InputError(fmt::format("{}: '{}' is no percentage from {:g}% to {:g}%", option, text, least, most),
                          fmt::format("for example '{} {:g}%'", option, usual * 100));
  };
  auto digits = text;
  if (!digits.ends_with('%')) refuse();
  digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || !(value >= least && value <= most)) refuse();
  return value / 100;
}

calibration::Measurements read(const std::string& path, const calibration::Hints& hints) {
  const std::filesystem::path one[] = {path};
  return calibration::read_everything(one, hints);
}

int perform(const Options& o, Io& io) {
  Problems problems;
  calibration::DriftOptions options;
  calibration::Hints hints;
  if (o.baseline.empty() || o.now.empty()) {
    problems.add("two measurements are compared: the baseline, and a new one",
                 "'linkcast calibrate check monday.log today.log'");
  }
  const auto share = [&](const char* option, const std::string& text, double least, double most, double& into) {
    if (const auto v = problems.collect([&] { return percentage(option, text, least, most, into); })) into = *v;
  };
  share("--tolerance", o.tolerance, 0.1, 1000, options.tolerance);
  share("--false-alarms", o.false_alarms, 0.0001, 50, options.false_alarms);
  share("--sure", o.sure, 50, 99.99, options.confidence);
  if (!o.ranks.empty()) hints.ranks = problems.collect([&] { return whole_number("--ranks", o.ranks, 1, 1'000'000); });
  if (!o.op.empty()) {
    hints.op = models::nccl::op_from(o.op);
    if (!hints.op)
      problems.add(fmt::format("--op: unknown collective '{}'", o.op), suggestion(o.op, models::nccl::op_names()));
  }
  problems.finish();

  const auto baseline = problems.collect([&] { return read(o.baseline, hints); });
  const auto now = problems.collect([&] { return read(o.now, hints); });
  problems.finish();
  for (const auto* side : {&*baseline, &*now})
    for (const auto& note : side->notes) io.log.note(note);

  const auto drift = calibration::find_drift(*baseline, *now, options);
  if (drift.compared.empty() && !drift.broken()) {
    problems.add("the two have nothing in common, so nothing can be compared",
                 "measure the same collectives, sizes and ranks, or the same pairs, as in the baseline");
    for (const auto& n : drift.not_compared) problems.add(fmt::format("{}: {}", n.what, n.reason));
    problems.finish();
  }
  if (!o.textfile.empty()) replace_file("--textfile", o.textfile, calibration::drift_textfile(drift));
  io.out << (o.json ? calibration::drift_json(drift) : calibration::drift_text(drift));
  return drift.broken() || drift.slower() || (o.both && drift.faster()) ? check_failed : done;
}

constexpr const char* examples =
    "  linkcast calibrate check monday.log today.log\n"
    "      the same nccl-tests command on two days\n"
    "  linkcast calibrate check baseline/ today/ --textfile /var/lib/node_exporter/linkcast.prom\n"
    "      folders; metrics for an alert\n"
    "  linkcast calibrate check before.log after.log --tolerance 2% --both\n"
    "      did the new driver change anything, for better or worse?\n";

}  // namespace

void add_calibrate_check(Form calibrate) {
  const auto o = std::make_shared<Options>();
  auto form = calibrate.command("check", "has this cluster drifted? exit status 1 where it has");
  form.word("BASELINE", o->baseline, "file or folder: how it was");
  form.word("NEW", o->now, "file or folder: how it is");
  form.group("Measurements");
  form.text("--op", o->op, "OP", "the collective, where a log does not name it");
  form.text("--ranks", o->ranks, "N", "the number of ranks, where a log does not name it");
  form.group("Judgement");
  form.text("--tolerance", o->tolerance, "P", "a time that is longer by less is no drift (default 5%)");
  form.text("--sure", o->sure, "P", "how sure it must be that the tolerance is exceeded (default 90%)");
  form.text("--false-alarms", o->false_alarms, "P",
            "how often an unchanged cluster may be called changed, all tests together (default 1%)");
  form.flag("--both", o->both, "what has become faster fails too");
  form.group("Output");
  form.flag("--json", o->json, "JSON of schema linkcast.drift/1");
  form.text("--textfile", o->textfile, "FILE", "also write metrics for node_exporter's textfile collector there");
  form.examples(examples);
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
