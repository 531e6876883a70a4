// See kineto.hpp.
#include "kineto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "kineto_calls.hpp"
#include "kineto_link.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "pytorch_et.hpp"

namespace linkcast::workloads::readers {
namespace {

/// A damaged clock may say anything: a span is at most what a replay takes (and refuses, with its reason).
sim::Time span(std::int64_t ns) {
  constexpr std::int64_t most = 9'000'000'000'000'000;
  return sim::Time::nanoseconds(std::clamp<std::int64_t>(ns, 0, most));
}

constexpr std::int64_t gathered = 5'000;  // ns: idle times are kept together until they make this

struct Traced {
  KinetoFile file;
  KinetoOrder order;
  std::vector<KinetoCall> calls;       // one for each of file.calls
  std::vector<std::uint32_t> streams;  // of the recording, for each of file.streams
};

class Reader final : public OperationReader {
 public:
  Reader(std::shared_ptr<const std::vector<Traced>> traces, std::shared_ptr<Names> names)
      : traces_{std::move(traces)}, idle_{names->add("idle")} {
    for (const auto& t : *traces_) {
      Rank rank;
      rank.ends.assign(t.file.streams.size(), -1);
      rank.idle.assign(t.file.streams.size(), 0);
      rank.latest = t.order.begin;
      ranks_.push_back(std::move(rank));
    }
  }

  bool next(std::size_t r, Operation& out) override {
    auto& rank = ranks_[r];
    const auto& trace = (*traces_)[r];
    while (rank.pending.empty()) {
      if (rank.at < trace.file.gpu.size())
        prepare(trace, rank);
      else if (!finish(trace, rank))
        return false;
    }
    out = std::move(rank.pending.front());
    rank.pending.pop_front();
    return true;
  }

 private:
  struct Rank {
    std::size_t at = 0, wait = 0;
    std::vector<std::int64_t> ends, idle;  // by stream
    std::int64_t latest = 0;
    std::size_t latest_at = 0;
    bool over = false;
    std::deque<Operation> pending;
  };

  void prepare(const Traced& t, Rank& rank) {
    const auto i = rank.at++;
    const auto& k = t.file.gpu[i];
    std::vector<std::uint64_t> after;
    auto ready = rank.ends[k.stream];
    const auto waits_for = [&](std::uint32_t j) {
      after.push_back(j + 1);
      ready = std::max(ready, t.file.gpu[j].start + t.file.gpu[j].duration);
    };
    if (k.after != 0) waits_for(k.after - 1);
    for (; rank.wait < t.order.waits.size() && t.order.waits[rank.wait].first <= i; ++rank.wait)
      if (t.order.waits[rank.wait].first == i) waits_for(t.order.waits[rank.wait].second);
    auto& idle = rank.idle[k.stream];
    idle += k.start - (ready < 0 ? t.order.begin : ready);
    Operation op;
    op.stream = t.streams[k.stream];
    op.after = std::move(after);
    if (idle >= gathered) {
      auto gap = op;
      gap.work = Work::gap;
      gap.name = idle_;
      gap.duration = span(idle);
      rank.pending.push_back(std::move(gap));
      idle = 0;
    }
    rank.ends[k.stream] = k.start + k.duration;
    if (rank.ends[k.stream] > rank.latest) rank.latest = rank.ends[k.stream], rank.latest_at = i;
    op.name = k.name;
    const auto took = span(k.duration);
    std::vector<std::int32_t> calls;
    for (auto c = k.call; c >= 0; c = t.file.calls[static_cast<std::size_t>(c)].next)
      if (t.calls[static_cast<std::size_t>(c)].usable()) calls.push_back(c);
    if (calls.empty()) {
      op.work = k.work;
      op.id = i + 1;
      op.duration = took;
      rank.pending.push_back(std::move(op));
      return;
    }
    for (const auto c : calls) {
      const auto& said = t.calls[static_cast<std::size_t>(c)];
      const bool last = c == calls.back(), message = said.kind != Operation::Kind::collective;
      auto each = op;
      each.kind = said.kind;
      each.op = said.op;
      each.bytes = said.bytes;
      each.communicator = static_cast<std::uint32_t>(said.communicator);
      each.peer = said.peer;
      each.root = said.root;
      if (calls.size() > 1 && message) each.batch = static_cast<std::uint32_t>(i + 1);
      if (last) each.id = i + 1;
      if (last || message) each.measured = took;
      rank.pending.push_back(std::move(each));
    }
  }

  /// What is left of the last profiler step when the GPU has done its work.
  bool finish(const Traced& t, Rank& rank) {
    if (rank.over || t.file.gpu.empty() || t.order.end - rank.latest < gathered) return false;
    rank.over = true;
    Operation gap;
    gap.stream = t.streams[t.order.main];
    gap.work = Work::gap;
    gap.name = idle_;
    gap.after = {rank.latest_at + 1};
    gap.duration = span(t.order.end - rank.latest);
    rank.pending.push_back(std::move(gap));
    return true;
  }

  std::shared_ptr<const std::vector<Traced>> traces_;
  std::vector<Rank> ranks_;
  std::uint32_t idle_;
};

void give_ranks(std::vector<Traced>& traces, ReadReport& report) {
  for (std::size_t i = 0; i < traces.size(); ++i) {
    auto& rank = traces[i].file.rank;
    if (rank >= 0) continue;
    rank = rank_by_file_name(traces[i].file.path);
    if (rank < 0) rank = static_cast<int>(i);
    report.notes.push_back(fmt::format("{}: no distributedInfo: taken as rank {}", traces[i].file.path, rank));
  }
  std::ranges::stable_sort(traces, {}, [](const Traced& t) { return t.file.rank; });
  for (std::size_t i = 1; i < traces.size(); ++i)
    if (traces[i].file.rank == traces[i - 1].file.rank)
      throw sim::InputError(fmt::format("{}: rank {} again, which {} is of", traces[i].file.path, traces[i].file.rank,
                                        traces[i - 1].file.path),
                            "give one file of each rank");
}

void name_streams(Traced& t, std::vector<std::string>& known) {
  const bool devices = std::ranges::any_of(
      t.file.streams, [&](const auto& s) { return s.number >= 0 && s.device != t.file.streams[0].device; });
  for (std::size_t i = 0; i < t.file.streams.size(); ++i) {
    const auto& s = t.file.streams[i];
    std::string name = i == t.order.main ? known[0] : s.number < 0 ? "host" : fmt::format("stream {}", s.number);
    if (devices && i != t.order.main) name = fmt::format("device {} {}", s.device, name);
    const auto found = std::ranges::find(known, name);
    t.streams.push_back(static_cast<std::uint32_t>(found - known.begin()));
    if (found == known.end()) known.push_back(name);
  }
}

std::string generation_of(const std::vector<Traced>& traces) {
  const auto any = [&](auto f) { return std::ranges::any_of(traces, f); };
  const bool calls = any([](const Traced& t) { return !t.file.calls.empty(); });
  if (!calls) return "without communication";
  if (any([](const Traced& t) { return t.file.calls_on_kernels; })) return "C: metadata on kernels";
  if (any([](const Traced& t) { return t.file.calls_named; })) return "B: metadata on calls of the host";
  return "A: sizes by the inputs of calls";
}

void account(const std::vector<Traced>& traces, const TorchGroups& groups, ReadReport& report) {
  std::int64_t host = 0;
  for (const auto& t : traces) {
    report.records += t.file.events;
    report.used += static_cast<std::int64_t>(t.file.gpu.size());
    host += t.file.host_events;
  }
  if (host > 0)
    report.skipped.push_back({"the host's own events, which a replay does not need", host, traces[0].file.path});
  if (groups.extrapolated > 0)
    report.notes.push_back(
        "lists of ranks that are cut and configured nowhere were continued by the stride of their first two");
  if (groups.assumed_world > 0)
    report.notes.push_back("calls that do not say their process group were taken as of the whole world");
  if (std::ranges::none_of(traces, [](const Traced& t) { return t.order.exact; }))
    report.notes.push_back("what streams wait for is inferred from launches and times (docs/traces/kineto.md)");
  if (traces.size() == 1) report.notes.push_back(fmt::format("rank {} alone is recorded", traces[0].file.rank));
  report.notes.push_back("measured times of NCCL kernels include waiting for other ranks");
}

}  // namespace

bool is_kineto(const Probe& probe) {
  const auto has = [&](std::string_view word) { return probe.head.find(word) != std::string::npos; };
  const bool words = has("\"deviceProperties\"") || has("\"cpu_op\"") || has("\"cuda_runtime\"") ||
                     has("\"ProfilerStep") || has("\"distributedInfo\"") || has("record_param_comms") ||
                     has("\"baseTimeNanoseconds\"") || has("\"gpu_memcpy\"") ||
                     (has("\"kernel\"") && has("\"correlation\""));
  return (has("\"traceEvents\"") && words) || (has("\"schemaVersion\"") && has("\"deviceProperties\""));
}

Recording open_kineto(const std::vector<std::string>& paths, const RecordingOptions& options) {
  Recording out;
  auto& report = *out.report;
  CallsByRecord beside;
  std::vector<std::string> files;
  TorchGroups groups{*out.names, options.world};
  const auto take = [&](const std::string& path, bool trace) {
    if (is_pytorch_et(probe(path)))
      read_calls_of_execution_trace(path, *out.names, beside, groups, report);
    else if (trace)
      files.push_back(path);
    else
      throw sim::InputError(fmt::format("{}: no execution trace", path), "beside a Kineto trace: its execution trace");
  };
  for (const auto& path : paths) take(path, true);
  for (const auto& path : options.beside)
    for (const auto& file : files_of(path)) take(file, is_kineto(probe(file)));
  auto traces = std::make_shared<std::vector<Traced>>();
  for (const auto& path : files) {
    auto& t = traces->emplace_back();
    t.file = read_kineto_file(path, *out.names, report);
    link_calls(t.file, *out.names, beside, report);
    t.order = order_of(t.file, *out.names, report);
    t.file.launches = {}, t.file.marks = {}, t.file.waits = {};
    if (t.file.gpu.empty()) report.skip("a file without a kernel and without a call of communication", path);
  }
  std::erase_if(*traces, [](const Traced& t) { return t.file.gpu.empty(); });
  if (traces->empty())
    throw sim::InputError(fmt::format("{}: nothing to replay: no kernel and no call of communication", paths.front()),
                          "record with ProfilerActivity.CUDA, or with record_shapes=True");
  give_ranks(*traces, report);
  std::vector<KinetoFile*> all;
  for (auto& t : *traces) all.push_back(&t.file);
  out.world = world_of(all, groups, options.world);
  for (std::size_t i = 0; i < traces->size(); ++i) {
    auto& t = (*traces)[i];
    t.calls = resolve_calls(static_cast<int>(i), t.file, *out.names, groups, report);
    name_streams(t, *out.streams);
    out.ranks.push_back(t.file.rank);
    out.steps = std::max(out.steps, t.order.steps);
  }
  out.communicators = groups.communicators();
  for (const auto& c : out.communicators)
    for (const int r : c.ranks)
      if (r >= out.world)
        throw sim::InputError(
            fmt::format("the trace's communicator '{}' has rank {}, the world has {}", c.name, r, out.world),
            "give a world that holds all ranks");
  if (out.ranks.back() >= out.world)
    throw sim::InputError(fmt::format("the trace is of rank {}, the world has {}", out.ranks.back(), out.world));
  report.generation = generation_of(*traces);
  account(*traces, groups, report);
  out.source = traces->size() == 1 ? fmt::format("a Kineto trace of rank {}", out.ranks[0])
                                   : fmt::format("Kineto traces of {} ranks", traces->size());
  out.open = [shared = std::shared_ptr<const std::vector<Traced>>{traces}, names = out.names] {
    return std::make_unique<Reader>(shared, names);
  };
  return out;
}

}  // namespace linkcast::workloads::readers
