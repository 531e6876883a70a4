// See timeline_file.hpp.
#include "linkcast/workloads/timeline_file.hpp"

#include <fmt/format.h>

#include "linkcast/sim/diagnostic.hpp"
#include "output.hpp"
#include "writer.hpp"

namespace linkcast::workloads {
namespace {

enum class Form : unsigned char { none, perfetto, json };

Form form_of(std::string_view path, bool& gzip) {
  gzip = path.ends_with(".gz");
  if (gzip) path.remove_suffix(3);
  if (path.ends_with("/") && !gzip) return Form::json;
  if (path.ends_with(".pftrace") || path.ends_with(".perfetto-trace")) return Form::perfetto;
  return path.ends_with(".json") ? Form::json : Form::none;
}

}  // namespace

struct TimelineFile::Impl {
  std::unique_ptr<timelines::Writer> writer;
};

bool TimelineFile::understands(std::string_view path) {
  bool gzip = false;
  return form_of(path, gzip) != Form::none;
}

TimelineFile::TimelineFile(const std::string& path, const Recording& recording, const TimelineFileOptions& options)
    : impl_{std::make_unique<Impl>()} {
  timelines::Target target{path};
  const auto form = form_of(path, target.gzip);
  if (form == Form::none)
    throw sim::InputError(
        fmt::format("{}: the ending says no form of timeline", path),
        "known: .pftrace (Perfetto), .json and .json.gz (as PyTorch's profiler); with %r in the name, "
        "or a folder (out/), one file a rank");
  if (path.ends_with("/")) {
    target.path += "rank_%r.json.gz";  // names that holistic trace analysis takes without being told
    target.gzip = true;
  }
  timelines::make_folders(target.path);
  impl_->writer = form == Form::perfetto ? timelines::perfetto_writer(target, recording, options)
                                         : timelines::kineto_writer(target, recording, options);
}

TimelineFile::~TimelineFile() = default;
void TimelineFile::add(const ReplayedOperation& operation) { impl_->writer->add(operation); }
std::vector<std::string> TimelineFile::close() { return impl_->writer->close(); }

}  // namespace linkcast::workloads
