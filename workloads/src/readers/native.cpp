// See native.hpp. A barrier becomes a call without bytes that waits for all streams of its rank, and that all streams
// wait for afterwards.
#include "native.hpp"

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <unordered_map>

#include "../trace_read.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {
namespace {

class Reader final : public OperationReader {
 public:
  Reader(std::shared_ptr<const Trace> trace, std::shared_ptr<Names> names,
         std::shared_ptr<std::vector<std::string>> streams, std::shared_ptr<ReadReport> report)
      : trace_{std::move(trace)},
        names_{std::move(names)},
        streams_{std::move(streams)},
        report_{std::move(report)},
        reader_{trace_->open()},
        ranks_(static_cast<std::size_t>(trace_->ranks)) {}

  bool next(std::size_t r, Operation& out) override {
    const auto op = reader_->next(static_cast<int>(r));
    if (op == nullptr) return false;
    ++report_->records;
    ++report_->used;
    auto& rank = ranks_[r];
    out = Operation{};
    out.id = ++rank.made;
    out.name = names_->add(op->name);
    out.stream = stream(op->stream);
    out.communicator = static_cast<std::uint32_t>(op->communicator);
    for (const auto& name : op->after)
      if (const auto found = rank.names.find(name); found != rank.names.end()) out.after.push_back(found->second);
    if (op->kind == TraceOp::Kind::barrier) {
      out.kind = Operation::Kind::collective;
      for (const auto& [s, id] : rank.last) out.after.push_back(id);
      rank.last.clear();
      rank.barrier = out.id;
    } else {
      if (!rank.last.contains(out.stream) && rank.barrier != 0) out.after.push_back(rank.barrier);
      rank.last[out.stream] = out.id;
      out.duration = op->duration;
      if (op->kind == TraceOp::Kind::collective) {
        out.kind = Operation::Kind::collective;
        out.op = op->call.op;
        out.bytes = op->call.bytes;
        out.root = op->call.root;
      }
    }
    if (!op->name.empty()) rank.names[op->name] = out.id;
    return true;
  }

 private:
  struct Rank {
    std::uint64_t made = 0, barrier = 0;
    std::map<std::uint32_t, std::uint64_t> last;  // by stream, since the last barrier
    std::unordered_map<std::string, std::uint64_t> names;
  };

  std::uint32_t stream(const std::string& name) {
    for (std::size_t i = 0; i < streams_->size(); ++i)
      if ((*streams_)[i] == name) return static_cast<std::uint32_t>(i);
    streams_->push_back(name);
    return static_cast<std::uint32_t>(streams_->size() - 1);
  }

  std::shared_ptr<const Trace> trace_;
  std::shared_ptr<Names> names_;
  std::shared_ptr<std::vector<std::string>> streams_;
  std::shared_ptr<ReadReport> report_;
  std::unique_ptr<TraceReader> reader_;
  std::vector<Rank> ranks_;
};

}  // namespace

bool is_native(const Probe& probe) { return probe.head.find("\"linkcast.trace/1\"") != std::string::npos; }

Recording recording_of(Trace trace) {
  Recording out;
  out.world = trace.ranks;
  out.ranks.resize(static_cast<std::size_t>(trace.ranks));
  std::iota(out.ranks.begin(), out.ranks.end(), 0);
  for (const auto& c : trace.communicators) out.communicators.push_back({c.name, "", c.ranks});
  out.source = fmt::format("a trace of {} ranks", trace.ranks);
  auto shared = std::make_shared<const Trace>(std::move(trace));
  out.open = [shared, names = out.names, streams = out.streams, report = out.report] {
    return std::make_unique<Reader>(shared, names, streams, report);
  };
  return out;
}

Recording open_native(const std::vector<std::string>& paths, const RecordingOptions&) {
  if (paths.size() > 1)
    throw sim::InputError(fmt::format("{}: one file has all ranks of a trace", paths[1]), "give one file");
  trace::Problems problems;
  auto trace = trace::read_line_trace(problems, paths[0], -1);
  problems.throw_if_any();
  return recording_of(std::move(trace));
}

}  // namespace linkcast::workloads::readers
