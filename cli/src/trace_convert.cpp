// `linkcast trace convert`: a trace in another form. What the other form cannot say is said.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "linkcast/workloads/chakra_file.hpp"
#include "linkcast/workloads/timeline_file.hpp"
#include "linkcast/workloads/write_recording.hpp"
#include "progress.hpp"
#include "trace.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

using workloads::Operation;

struct Options {
  TraceFiles trace;
  std::string output, to;
  bool force = false, json = false;
};

const std::vector<std::string>& forms() {
  static const std::vector<std::string> all{"linkcast", "kineto", "perfetto", "chakra"};
  return all;
}

/// By the ending; empty: it says nothing.
std::string form_of(const std::string& output) {
  if (output.ends_with(".jsonl")) return "linkcast";
  if (output.ends_with(".et")) return "chakra";
  if (output.ends_with(".pftrace") || output.ends_with(".perfetto-trace")) return "perfetto";
  if (output.ends_with(".json") || output.ends_with(".json.gz") || output.ends_with("/")) return "kineto";
  return {};
}

struct Written {
  std::vector<std::string> files;
  std::int64_t operations = 0;
  bool whole = false;
};

Written write(const Options& o, const std::string& to, const workloads::Recording& recording, Io& io) {
  Progress bar{io.log, "convert"};
  Written out;
  workloads::WalkOptions walking;
  walking.stop = io.stop;
  walking.progress = [&](std::int64_t n) { bar.count(n, "operations"); };
  if (to == "linkcast") {
    check_writable("--output", o.output);
    std::ofstream file{o.output, std::ios::binary};
    out.whole = workloads::write_recording(recording, file, walking);
    file.flush();
    if (!file) throw UsageError{fmt::format("error: --output: cannot write '{}'", o.output)};
    out.files = {o.output};
    return out;
  }
  if (to == "chakra") {
    out.whole = workloads::write_chakra(recording, o.output, out.files, walking);
    return out;
  }
  workloads::TimelineFile file{o.output, recording};
  out.whole = workloads::walk(
      recording,
      [&](std::size_t r, const Operation& op, const workloads::RecordedClock::Span& span) {
        file.add(workloads::as_recorded(recording, r, op, span));
      },
      walking);
  out.files = file.close();
  return out;
}

int perform(const Options& o, Io& io) {
  Problems problems;
  if (o.output.empty()) problems.add("no output is named", "-o steps.jsonl, -o steps.json.gz, -o 'steps.%r.et', …");
  auto to = o.to.empty() ? form_of(o.output) : o.to;
  if (!o.to.empty())
    problems.collect([&] { return one_of("--to", o.to, forms()); });
  else if (!o.output.empty() && to.empty())
    problems.add(fmt::format("--output: the ending of '{}' says no form", o.output),
                 ".jsonl (Linkcast's own), .json and .json.gz (as PyTorch's profiler), .pftrace (Perfetto), .et "
                 "(Chakra); or --to");
  if (!o.output.empty() && !o.force && !o.output.ends_with("/") && std::filesystem::exists(o.output))
    problems.add(fmt::format("--output: '{}' exists already", o.output), "--force overwrites it");
  const auto recording = o.trace.open(problems);
  const auto written = write(o, to, recording, io);
  if (!written.whole) {
    std::error_code ignored;  // half a trace is none
    for (const auto& f : written.files) std::filesystem::remove(f, ignored);
    io.log.warning("interrupted: nothing is written");
    return interrupted;
  }
  const auto& report = *recording.report;
  io.out << fmt::format("{} records of {} read, {} used\n", report.records, report.format, report.used);
  for (const auto& k : report.skipped)
    io.out << fmt::format("  skipped {:>9}  {} (first: {})\n", k.count, k.why, k.first);
  for (const auto& n : report.notes) io.out << fmt::format("note: {}\n", n);
  for (const auto& f : written.files) io.out << "written to " << f << "\n";
  return done;
}

}  // namespace

void add_trace_convert(Form& trace) {
  const auto o = std::make_shared<Options>();
  auto form = trace.command("convert", "a trace in another form");
  o->trace.add_to(form);
  form.text("-o,--output", o->output, "FILE", "its ending says the form; %r in it, or folder/, is one file a rank");
  form.text("--to", o->to, "FORM", "linkcast (.jsonl), kineto (.json, .json.gz), perfetto (.pftrace), chakra (.et)");
  form.flag("--force", o->force, "overwrite the output");
  form.examples(
      "  linkcast trace convert rank0.pt.trace.json.gz -o step.jsonl\n"
      "      Linkcast's own recording: everything that was understood, one operation a line\n"
      "  linkcast trace convert step.jsonl -o 'step.%r.et'\n"
      "      Chakra, one file a rank\n"
      "  linkcast trace convert step.jsonl -o step.pftrace\n"
      "      for ui.perfetto.dev, at the times that were recorded\n");
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
