// `linkcast trace info`: reads a trace to its end, and says what is in it and what could not be used.
#include <fmt/format.h>

#include <algorithm>

#include "linkcast/workloads/write_recording.hpp"
#include "progress.hpp"
#include "trace.hpp"

namespace linkcast::cli {
namespace {

using workloads::Operation;

struct Options {
  TraceFiles trace;
  bool json = false;
};

void count(TraceSummary& s, const workloads::Recording& recording, const Operation& o,
           const workloads::RecordedClock::Span& span) {
  ++s.operations;
  s.span = std::max(s.span, span.end);
  auto& stream = s.streams[(*recording.streams)[std::min<std::size_t>(o.stream, recording.streams->size() - 1)]];
  ++stream.count;
  stream.busy += span.end - span.start;
  if (o.kind == Operation::Kind::compute) {
    auto& c = s.compute[std::string{workloads::name_of(o.work)}];
    ++c.count;
    c.time += o.duration;
    return;
  }
  const auto what = o.kind == Operation::Kind::send      ? std::string_view{"send"}
                    : o.kind == Operation::Kind::receive ? std::string_view{"receive"}
                                                         : models::nccl::name_of(o.op);
  auto& c = s.called[{label_of(recording.communicators[o.communicator]), std::string{what}}];
  c.smallest = c.count == 0 ? o.bytes : std::min(c.smallest, o.bytes);
  c.largest = std::max(c.largest, o.bytes);
  ++c.count;
  c.bytes += o.bytes.count();
  if (o.measured == sim::Time{}) return;
  ++c.measured_count;
  c.measured += o.measured;
}

int perform(const Options& o, Io& io) {
  Problems problems;
  const auto recording = o.trace.open(problems);
  TraceSummary s;
  {
    Progress bar{io.log, "read"};
    workloads::WalkOptions walking;
    walking.stop = io.stop;
    walking.progress = [&](std::int64_t n) { bar.count(n, "operations"); };
    s.interrupted = !workloads::walk(
        recording,
        [&](std::size_t, const Operation& op, const workloads::RecordedClock::Span& span) {
          count(s, recording, op, span);
        },
        walking);
  }
  io.out << (o.json ? trace_json(o.trace.files, recording, s) : trace_text(recording, s));
  return s.interrupted ? interrupted : done;
}

}  // namespace

void add_trace_info(Form& trace) {
  const auto o = std::make_shared<Options>();
  auto form = trace.command("info", "what is in a trace, and what in it cannot be used");
  o->trace.add_to(form);
  form.flag("--json", o->json, "JSON of schema linkcast.trace_info/1");
  form.examples(
      "  linkcast trace info rank0.pt.trace.json.gz\n"
      "      its format, ranks, communicators, operations, and every kind of record that was skipped\n"
      "  linkcast trace info traces/ --json\n");
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
