// A timeline as PyTorch's profiler writes one (Chrome's trace format, with Kineto's argument names: libkineto's
// output_json.cpp), so that tools for profiles of ranks read what was never run. A call lasts from when its rank came
// to it, as a kernel does that waits for its peers. Times are microseconds with nanoseconds behind the point.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "output.hpp"
#include "writer.hpp"

namespace linkcast::workloads::timelines {
namespace {

constexpr std::size_t kineto_cuts_lists_at = 30;

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Whole nanoseconds, so that what begins at an end does so to the digit.
std::string microseconds(std::int64_t ns) {
  return ns % 1000 == 0 ? fmt::format("{}", ns / 1000) : fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

std::string_view collective_name(const Operation& o) {
  using models::nccl::Op;
  if (o.kind == Operation::Kind::send) return "send";
  if (o.kind == Operation::Kind::receive) return "recv";
  switch (o.op) {
    case Op::all_reduce:
      return "allreduce";
    case Op::all_gather:
      return "_allgather_base";
    case Op::reduce_scatter:
      return "_reduce_scatter_base";
    case Op::alltoall:
      return "all_to_all";
    default:
      return models::nccl::name_of(o.op);
  }
}

struct File {
  File(std::string path, bool gzip, std::size_t piece) : out{std::move(path), gzip, piece} {}
  Output out;
  std::set<std::pair<int, std::uint64_t>> named;  // tracks
  std::uint64_t correlation = 0;
  bool first = true;
};

class Kineto final : public Writer {
 public:
  Kineto(const Target& target, const Recording& recording, const TimelineFileOptions& options)
      : target_{target}, recording_{recording}, options_{options} {
    split_ = target.path.find("%r") != target.path.npos;
    for (const auto& c : recording.communicators) ranks_.push_back(ranks_text(c.ranks, kineto_cuts_lists_at));
  }

  void add(const ReplayedOperation& x) override {
    const auto& o = *x.operation;
    if (x.communicator == nullptr && o.work == Work::gap) return;  // a profiler sees nothing there
    auto& file = file_of(x.rank);
    const bool computes = x.communicator == nullptr;
    const auto begin = computes ? x.start : x.arrived;
    const auto lane = lanes_.take(x.rank, o.stream, begin, x.end);
    // Of one rank's file: its device, as in a profile. In one file of all: the rank, which keeps them apart.
    const int device = x.rank % std::max(options_.gpus_per_node, 1);
    const int pid = split_ ? device : x.rank;
    const auto stream = std::uint64_t{o.stream} + 1'000 * lane;
    declare(file, x, pid, stream, lane);

    const bool copies = computes && o.work == Work::copy;
    std::string name{x.name};
    if (!computes)
      name = kernel_name(x);
    else if (name.empty())
      name = copies ? "Memcpy DtoD (Device -> Device)" : std::string{name_of(o.work)};
    const auto from = begin.ps() / 1000, to = x.end.ps() / 1000;
    ++file.correlation;
    auto event = fmt::format(
        R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{"External id":{},"device":{},)"
        R"("stream":{},"correlation":{})",
        copies ? "gpu_memcpy" : "kernel", json_text(name), pid, stream, microseconds(from), microseconds(to - from),
        file.correlation, device, stream, file.correlation);
    if (!computes) event += describe(x);
    if (computes && o.work != Work::other) event += fmt::format(R"(,"work":"{}")", name_of(o.work));
    event += "}}";
    put(file, event);
  }

  std::vector<std::string> close() override {
    std::vector<std::string> out;
    if (files_.empty() && !split_) file_of(0);
    for (auto& [rank, file] : files_) {
      file->out.append(
          fmt::format("\n],\n\"traceName\":{}}}\n", json_text(split_ ? fmt::format("rank {}", rank) : "all ranks")));
      file->out.flush();
      out.push_back(file->out.path());
    }
    return out;
  }

 private:
  File& file_of(int rank) {
    auto& file = files_[split_ ? rank : 0];
    if (!file) {
      const auto many = split_ ? std::max<std::size_t>(recording_.ranks.size(), 1) : 1;
      const auto piece =
          std::clamp<std::size_t>((std::size_t{64} << 20) / many, std::size_t{1} << 12, std::size_t{1} << 20);
      file = std::make_unique<File>(split_ ? path_of_rank(target_.path, rank) : target_.path, target_.gzip, piece);
      begin(*file, rank);
    }
    return *file;
  }

  /// The groups that this file's rank is in; in a file of all ranks all of them. A blank behind each colon, as the
  /// profiler writes: holistic trace analysis looks for `"rank": ` by that.
  void begin(File& file, int rank) {
    std::string groups;
    int count = 0;
    for (const auto& c : recording_.communicators) {
      if (split_ && std::ranges::find(c.ranks, rank) == c.ranks.end()) continue;
      groups += fmt::format(
          R"({}{{"pg_name": {}, "pg_desc": {}, "backend_config": "cuda:nccl", "pg_size": {}, "ranks": [{}]}})",
          count++ == 0 ? "" : ",\n", json_text(c.name), json_text(c.description), c.ranks.size(),
          fmt::join(c.ranks, ", "));
    }
    file.out.append(
        fmt::format("{{\n\"schemaVersion\": 1,\n\"deviceProperties\": [{{\"id\": {}, \"name\": {}}}],\n"
                    "\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}, \"pg_count\": {}, "
                    "\"pg_config\": [{}], \"nccl_version\": {}}},\n"
                    "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": 0,\n\"traceEvents\": [\n",
                    rank % std::max(options_.gpus_per_node, 1), json_text(options_.gpu), rank, recording_.world, count,
                    groups, json_text(options_.nccl_version)));
  }

  void put(File& file, std::string_view event) {
    if (!file.first) file.out.append(",\n");
    file.first = false;
    file.out.append(event);
  }

  void declare(File& file, const ReplayedOperation& x, int pid, std::uint64_t stream, std::size_t lane) {
    const auto meta = [&](std::string_view what, std::uint64_t tid, std::string_view name) {
      put(file, fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"ts":0,"args":{{"name":{}}}}})", what, pid, tid,
                            json_text(name)));
    };
    if (file.named.emplace(pid, ~std::uint64_t{0}).second) {
      meta("process_name", 0, fmt::format("rank {}", x.rank));
      put(file, fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":0,"ts":0,"args":)"
                            R"({{"sort_index":{}}}}})",
                            pid, x.rank));
    }
    if (file.named.emplace(pid, stream).second)
      meta("thread_name", stream,
           lane == 0 ? fmt::format("stream {}", x.stream) : fmt::format("stream {} ({})", x.stream, lane + 1));
  }

  std::string describe(const ReplayedOperation& x) const {
    const auto& o = *x.operation;
    const auto& c = *x.communicator;
    const auto [in, out] = elements(x);
    auto text = fmt::format(
        R"(,"Collective name":"{}","In msg nelems":{},"Out msg nelems":{},"Group size":{},"dtype":"Byte",)"
        R"("In split size":"[]","Out split size":"[]","Process Group Name":{},"Process Group Description":{},)"
        R"("Process Group Ranks":"{}")",
        collective_name(o), in, out, c.ranks.size(), json_text(c.name), json_text(c.description),
        ranks_[o.communicator]);
    if (o.kind != Operation::Kind::collective) {
      const auto p = static_cast<std::size_t>(std::max(o.peer, 0));
      const int other = p < c.ranks.size() ? c.ranks[p] : -1;
      const bool sends = o.kind == Operation::Kind::send;
      text += fmt::format(R"(,"Src Rank":{},"Dst Rank":{})", sends ? x.rank : other, sends ? other : x.rank);
    }
    if (x.start > x.arrived)
      text += fmt::format(R"(,"waited for peers us":{})", microseconds(x.start.ps() / 1000 - x.arrived.ps() / 1000));
    return text;
  }

  Target target_;
  const Recording& recording_;
  TimelineFileOptions options_;
  bool split_ = false;
  std::vector<std::string> ranks_;
  std::map<int, std::unique_ptr<File>> files_;
  Lanes lanes_;
};

}  // namespace

std::unique_ptr<Writer> kineto_writer(const Target& target, const Recording& recording,
                                      const TimelineFileOptions& options) {
  return std::make_unique<Kineto>(target, recording, options);
}

}  // namespace linkcast::workloads::timelines
