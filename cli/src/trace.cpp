// `linkcast trace`: its commands, and how a trace is named.
#include "trace.hpp"

#include <memory>

namespace linkcast::cli {

void TraceFiles::add_to(Form& form) {
  form.words("FILE", files, "a trace: one file, the files of several ranks, or a folder of them; gzip and zstd too");
  form.text("--format", format, "F", "the format, instead of finding it by content");
  form.list("--beside", beside, "FILE", "belongs to it: an execution trace, a configuration of groups");
  form.text("--world", world, "N", "ranks there are, where the files do not say");
}

workloads::Recording TraceFiles::open(Problems& problems) const {
  workloads::RecordingOptions options;
  options.format = format;
  options.beside = beside;
  if (files.empty()) problems.add("no trace is named", "give a file, the files of several ranks, or a folder");
  if (!world.empty()) problems.collect([&] { return options.world = whole_number("--world", world, 1, 1'000'000); });
  problems.finish();
  return workloads::open_recording(files, options);
}

std::string label_of(const workloads::RecordedCommunicator& c) {
  if (!c.description.empty()) return c.description;
  return c.name.empty() ? "(no name)" : c.name;
}

void add_trace(Form root) {
  auto trace = root.command("trace", "what is in a trace; other forms of it; traces fit to be handed on");
  add_trace_info(trace);
  add_trace_convert(trace);
  add_trace_anonymise(trace);
}

}  // namespace linkcast::cli
