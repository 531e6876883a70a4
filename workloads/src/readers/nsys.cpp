// See nsys.hpp. Kernels by their times on the GPU make the streams; a kernel of NCCL does the calls that the same
// process had announced (NVTX) and not yet launched. Which stream waits for which is not in an export: an operation is
// taken to wait for the one on another stream that ended last before it began, and what lies between is a gap. Tables
// are only there when something is in them.
#include "nsys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

#include "linkcast/sim/diagnostic.hpp"
#include "nsys_calls.hpp"
#include "process_groups.hpp"
#include "sequences.hpp"
#include "sqlite_file.hpp"
#include "work_by_name.hpp"

namespace linkcast::workloads::readers {
namespace {

constexpr std::string_view kernels = "CUPTI_ACTIVITY_KIND_KERNEL", runtime = "CUPTI_ACTIVITY_KIND_RUNTIME",
                           ranges = "NVTX_EVENTS", strings = "StringIds";

class Export {
 public:
  void read(const std::string& path) {
    path_ = path;
    const SqliteFile file{path};
    if (!file.has(kernels) && !file.has(ranges))
      throw sim::InputError(fmt::format("{}: has neither kernels nor NVTX ranges", path),
                            "profile with --trace=cuda,nvtx and export with `nsys export --type sqlite`");
    pending_.clear();
    process_of_.clear();
    read_ranges(file);
    read_kernels(file);
    for (auto& [process, calls] : pending_)
      for (const auto& c : calls) {
        if (with_kernels_.contains(process))
          report().skip("an NCCL call without a kernel", fmt::format("{}: at {} ns", path, c.start));
        else
          add_call(process, c.call, 0, 0, 0, 0);
      }
  }

  Recording finish(const std::vector<std::string>& paths, const RecordingOptions& options) {
    if (collected_->store.total() == 0)
      throw sim::InputError(fmt::format("{}: no kernel and no NCCL call of this export can be used", paths[0]));
    if (groups_.empty()) {
      groups_.push_back({"world", "", static_cast<int>(processes_), {}, {}});
      for (std::size_t p = 0; p < processes_; ++p) groups_[0].join(static_cast<int>(p), p);
    }
    auto& notes = report().notes;
    // Processes that are in no communicator.
    std::vector<bool> placed(processes_, false);
    for (const auto& g : groups_)
      for (const auto& [rank, process] : g.members) placed[process] = true;
    std::vector<std::size_t> alone;
    for (std::size_t p = 0; p < processes_; ++p)
      if (!placed[p] && collected_->store.size(p) > 0) alone.push_back(p);
    if (!alone.empty()) {
      groups_.push_back({"without a communicator", "", static_cast<int>(alone.size()), {}, {}});
      for (std::size_t i = 0; i < alone.size(); ++i) groups_.back().join(static_cast<int>(i), alone[i]);
    }
    auto world = world_of(groups_, processes_, options.world, report());
    std::vector<std::size_t> places;
    for (std::size_t p = 0; p < processes_; ++p)
      if (collected_->store.size(p) > 0 && world.world[p] >= 0) places.push_back(p);
    std::ranges::sort(places, {}, [&](std::size_t p) { return world.world[p]; });
    for (auto& [group, s] : sequence_of_) {
      auto& sequence = collected_->sequences[s];
      sequence.label = fmt::format("communicator '{}'", groups_[group].name);
      sequence.counting = Sequence::Counting::ordinal;
      for (const auto& [rank, process] : groups_[group].members) sequence.ranks.push_back(process);
    }
    recording_.world = world.ranks;
    recording_.communicators = std::move(world.communicators);
    for (const auto p : places) recording_.ranks.push_back(world.world[p]);
    if (unsized_ > 0)
      notes.push_back(fmt::format(
          "{} kernels of NCCL have no call with a size (stock NCCL has it in a binary payload): they are kept "
          "as computing, as long as they took",
          unsized_));
    notes.push_back(
        "which stream waits for which is not in an export: taken as the last that ended before, what is between as a "
        "gap");
    if (places.size() < static_cast<std::size_t>(recording_.world))
      notes.push_back(fmt::format("{} of {} ranks are in the export; the others are taken to do alike", places.size(),
                                  recording_.world));
    recording_.source = fmt::format("an nsys export of {} ranks", places.size());
    return recording_of(collected_, std::move(recording_), std::move(places));
  }

 private:
  struct Pending {
    NvtxCall call;
    std::int64_t start = 0, thread = 0;
  };
  struct Launch {
    std::int64_t start = 0, thread = 0;
  };
  struct Ended {
    std::int64_t end = 0;
    std::uint64_t id = 0;
  };
  struct Stream {
    std::uint32_t index = 0;
    Ended last, before;
  };

  ReadReport& report() { return *recording_.report; }

  std::size_t process(std::int64_t global) {
    const auto key = global >> 24;
    const auto [at, fresh] = process_of_.try_emplace(key, processes_);
    if (fresh) ++processes_;
    return at->second;
  }

  void read_ranges(const SqliteFile& file) {
    const std::string table{ranges};
    if (!file.has(table, "start") || !file.has(table, "text") || !file.has(table, "globalTid")) return;
    const bool ids = file.has(table, "textId") && file.has(strings);
    const auto text = ids ? "COALESCE(n.text, s.value)" : "n.text";
    auto rows =
        file.rows(fmt::format("SELECT {0}, n.start, n.globalTid FROM NVTX_EVENTS n {1} WHERE {0} LIKE '%nccl%' OR "
                              "{0} LIKE '%commHash%' ORDER BY n.start",
                              text, ids ? "LEFT JOIN StringIds s ON s.id = n.textId" : ""));
    while (rows.next()) {
      const auto said = rows.text(0);
      const auto p = process(rows.whole(2));
      if (const auto call = nvtx_call(said)) {
        ++report().records;
        pending_[p].push_back({*call, rows.whole(1), rows.whole(2)});
      } else if (const auto init = nvtx_init(said)) {
        create(*init, p);
      }
    }
    if (!rows.problem().empty()) report().skip("the rest of a damaged table: " + rows.problem(), path_);
  }

  void create(const NvtxInit& init, std::size_t process) {
    const auto [at, fresh] = group_of_.try_emplace(init.communicator, static_cast<std::uint32_t>(groups_.size()));
    if (fresh) groups_.push_back({fmt::format("0x{:x}", init.communicator), "", init.ranks, {}, {}});
    if (groups_[at->second].ranks != init.ranks || !groups_[at->second].join(init.rank, process))
      report().skip("a communicator's creation that contradicts another", path_);
  }

  void read_kernels(const SqliteFile& file) {
    const std::string table{kernels};
    for (const auto* column : {"start", "end", "streamId", "globalPid"})
      if (file.has(table) && !file.has(table, column)) {
        report().skip(fmt::format("a table of kernels without '{}'", column), path_);
        return;
      }
    if (!file.has(table)) return;
    const bool named = file.has(strings) && file.has(table, "shortName");
    const bool device = file.has(table, "deviceId");
    const bool launches = file.has(std::string{runtime}, "correlationId") && file.has(table, "correlationId") && named;
    std::map<std::pair<std::int64_t, std::int64_t>, Launch> launched;
    if (launches) {
      auto rows = file.rows(
          "SELECT k.globalPid, k.correlationId, r.start, r.globalTid FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds "
          "s "
          "ON s.id = k.shortName JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId AND "
          "(r.globalTid >> 24) = (k.globalPid >> 24) WHERE s.value LIKE 'nccl%'");
      while (rows.next()) launched[{rows.whole(0), rows.whole(1)}] = {rows.whole(2), rows.whole(3)};
    }
    auto query =
        fmt::format("SELECT k.start AS begun, k.end, {}, k.streamId, k.globalPid, {}, {}, 0 FROM {} k {}",
                    device ? "k.deviceId" : "0", launches ? "k.correlationId" : "0", named ? "s.value" : "NULL",
                    kernels, named ? "LEFT JOIN StringIds s ON s.id = k.shortName" : "");
    for (const auto* other : {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"})
      if (file.has(other, "start") && file.has(other, "streamId") && file.has(other, "globalPid"))
        query += fmt::format(" UNION ALL SELECT k.start, k.end, {}, k.streamId, k.globalPid, 0, NULL, 1 FROM {} k",
                             file.has(other, "deviceId") ? "k.deviceId" : "0", other);
    auto rows = file.rows(query + " ORDER BY begun");
    streams_.clear();
    while (rows.next()) {
      ++report().records;
      const auto start = rows.whole(0), end = rows.whole(1);
      if (rows.null(0) || rows.null(1) || end < start || end - start > 9'000'000'000'000) {
        report().skip("a kernel with times that cannot be", fmt::format("{}: at {} ns", path_, start));
        continue;
      }
      const auto p = process(rows.whole(4));
      with_kernels_[p] = true;
      auto& stream = stream_of(p, rows.whole(2), rows.whole(3));
      const auto name = rows.text(6);
      if (is_nccl_kernel(name)) {
        const auto launch = launched.find({rows.whole(4), rows.whole(5)});
        nccl_kernel(p, stream, name, start, end, launch == launched.end() ? nullptr : &launch->second);
      } else {
        const auto work = rows.whole(7) != 0 ? Work::copy : work_by_name(name);
        compute(p, stream, name.empty() ? "memory" : name, work, start, end);
      }
    }
    if (!rows.problem().empty()) report().skip("the rest of a damaged table: " + rows.problem(), path_);
  }

  Stream& stream_of(std::size_t process, std::int64_t device, std::int64_t id) {
    auto& s = streams_[process][{device, id}];
    if (s.index == 0) {
      const auto name = fmt::format("stream {}", id);
      const auto found = std::ranges::find(*recording_.streams, name);
      s.index = static_cast<std::uint32_t>(found - recording_.streams->begin());
      if (found == recording_.streams->end()) recording_.streams->push_back(name);
    }
    return s;
  }

  /// Puts a gap before what begins now, and says after what on another stream it comes.
  std::uint64_t arrive(std::size_t process, Stream& stream, std::int64_t start) {
    Ended last;
    for (auto& [key, other] : streams_[process]) {
      if (&other == &stream) continue;
      const auto& e = other.last.end <= start ? other.last : other.before;
      if (e.id != 0 && e.end <= start && e.end > last.end) last = e;
    }
    const auto own = stream.last.end;
    if (own > last.end) last = Ended{};  // its own stream was the last
    const auto free = std::max(own, last.end);
    if (free == 0 || free >= start) return last.id;
    StoredCall gap;
    gap.work = Work::gap;
    gap.stream = stream.index;
    gap.after = last.id;
    gap.name = recording_.names->add("gap");
    gap.duration = std::min<std::int64_t>(start - free, 9'000'000'000'000) * 1000;
    collected_->store.add(process, gap);
    return 0;
  }

  void leave(std::size_t process, Stream& stream, std::int64_t end) {
    stream.before = stream.last;
    stream.last = {end, collected_->store.size(process)};
  }

  void compute(std::size_t process, Stream& stream, std::string_view name, Work work, std::int64_t start,
               std::int64_t end) {
    StoredCall out;
    out.after = arrive(process, stream, start);
    out.work = work;
    out.stream = stream.index;
    out.name = recording_.names->add(name.substr(0, 200));
    out.duration = (end - start) * 1000;
    collected_->store.add(process, out);
    leave(process, stream, end);
  }

  void nccl_kernel(std::size_t process, Stream& stream, std::string_view name, std::int64_t start, std::int64_t end,
                   const Launch* launch) {
    const auto kernel = kernel_call(name);
    auto& calls = pending_[process];
    std::vector<NvtxCall> done;
    for (auto at = calls.begin(); at != calls.end();) {
      if (at->start > (launch != nullptr ? launch->start : start)) break;
      if ((launch != nullptr && at->thread != launch->thread) || !runs(kernel, at->call.call)) {
        ++at;
        continue;
      }
      done.push_back(at->call);
      at = calls.erase(at);
    }
    std::erase_if(done, [&](const NvtxCall& c) { return !c.sized || !group_of_.contains(c.communicator); });
    if (done.empty()) {
      ++unsized_;
      compute(process, stream, name, Work::other, start, end);
      return;
    }
    const auto after = arrive(process, stream, start);
    const auto before = collected_->store.size(process);
    ++batches_;
    for (const auto& c : done) add_call(process, c, stream.index, after, done.size() == 1 ? end - start : 0, batches_);
    if (collected_->store.size(process) > before) leave(process, stream, end);
  }

  void add_call(std::size_t process, const NvtxCall& c, std::uint32_t stream, std::uint64_t after, std::int64_t took,
                std::uint32_t batch) {
    const auto found = group_of_.find(c.communicator);
    if (!c.sized || found == group_of_.end()) {
      report().skip("an NCCL call without a size or a known communicator", path_);
      return;
    }
    const auto g = found->second;
    const auto size = nccl_size(c.call, c.own, groups_[g].ranks);
    const bool message = c.call.kind != Operation::Kind::collective;
    if (!size || (message && c.peer >= groups_[g].ranks) || !groups_[g].places.contains(process)) {
      report().skip("an NCCL call with numbers that cannot be", path_);
      return;
    }
    StoredCall out;
    out.kind = c.call.kind;
    out.op = c.call.op;
    out.bytes = *size;
    out.communicator = g;
    out.stream = stream;
    out.after = after;
    out.peer = message ? c.peer : -1;
    out.batch = message ? batch : 0;
    out.root = std::clamp(c.root, 0, groups_[g].ranks - 1);
    out.measured = took * 1000;
    out.name = recording_.names->add(message ? (out.kind == Operation::Kind::send ? "ncclSend" : "ncclRecv")
                                             : models::nccl::nccl_name_of(out.op));
    if (!message) {
      const auto [at, fresh] = sequence_of_.try_emplace(g, static_cast<std::uint32_t>(collected_->sequences.size()));
      if (fresh) collected_->sequences.emplace_back();
      out.sequence = at->second;
    }
    collected_->store.add(process, out);
  }

  Recording recording_;
  std::shared_ptr<Collected> collected_ = std::make_shared<Collected>();
  std::string path_;
  std::size_t processes_ = 0;
  std::map<std::int64_t, std::size_t> process_of_;  // of this file
  std::map<std::size_t, std::deque<Pending>> pending_;
  std::map<std::size_t, bool> with_kernels_;
  std::map<std::size_t, std::map<std::pair<std::int64_t, std::int64_t>, Stream>> streams_;
  std::unordered_map<std::uint64_t, std::uint32_t> group_of_;
  std::vector<RecordedGroup> groups_;
  std::map<std::uint32_t, std::uint32_t> sequence_of_;
  std::int64_t unsized_ = 0;
  std::uint32_t batches_ = 0;
};

}  // namespace

bool is_nsys(const Probe& probe) {
  using namespace std::string_view_literals;
  return probe.head.starts_with("SQLite format 3\0"sv);
}

Recording open_nsys(const std::vector<std::string>& paths, const RecordingOptions& options) {
  Export all;
  for (const auto& path : paths) all.read(path);
  return all.finish(paths, options);
}

}  // namespace linkcast::workloads::readers
