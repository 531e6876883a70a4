// `linkcast trace anonymise`: a trace fit to be handed on.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "linkcast/workloads/anonymise.hpp"
#include "progress.hpp"
#include "trace.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string output, key;
  bool force = false;
};

int perform(const Options& o, Io& io) {
  Problems problems;
  if (o.files.empty()) problems.add("no trace is named", "give files or a folder of them");
  if (o.output.empty()) problems.add("no output is named", "-o FILE, or of several traces -o FOLDER/");
  if (!o.force && std::ranges::find(o.files, o.output) == o.files.end() && std::filesystem::is_regular_file(o.output))
    problems.add(fmt::format("--output: '{}' exists already", o.output), "--force overwrites it");
  problems.finish();
  workloads::AnonymiseReport report;
  {
    Progress bar{io.log, "anonymise"};
    workloads::AnonymiseOptions options;
    options.key = o.key;
    options.stop = io.stop;
    options.progress = [&](std::uint64_t now, std::uint64_t all) { bar.part(now, all); };
    report = workloads::anonymise(o.files, o.output, options);
  }
  for (const auto& f : report.files) io.out << "written to " << f.to << "\n";
  if (report.interrupted) {
    io.log.warning("interrupted: the other files are not written");
    return interrupted;
  }
  std::string replaced;
  for (const auto& [kind, n] : report.replaced)
    replaced += fmt::format("{}{} {}", replaced.empty() ? "" : ", ", n, kind);
  io.out << "replaced, different ones: " << (replaced.empty() ? "nothing" : replaced) << "\n";
  io.out << "Names that a program gives itself (annotations, process groups) stay: look through them before you hand "
            "the trace on.\n";
  return done;
}

}  // namespace

void add_trace_anonymise(Form& trace) {
  const auto o = std::make_shared<Options>();
  auto form = trace.command("anonymise", "a trace without names of people and machines, fit to be handed on");
  form.words("FILE", o->files, "traces and logs in any format that is text; gzip and zstd too");
  form.text("-o,--output", o->output, "FILE", "or a folder, for several; .gz compresses");
  form.flag("--force", o->force, "overwrite the output");
  form.text("--key", o->key, "TEXT", "the same key gives the same pseudonyms (default: random, and forgotten)");
  form.examples(
      "  linkcast trace anonymise rank0.pt.trace.json.gz -o for-others.json.gz\n"
      "  linkcast trace anonymise logs/ -o for-others/\n"
      "      several ranks at once: the same host has the same pseudonym in all of them\n");
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
