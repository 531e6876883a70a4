// See inspector.hpp. The inspector loses calls; (communicator, coll_sn) names one on every rank, so that what one rank
// lost is as the others say, and what all lost is counted. Its clocks are those of a thread that looks now and then: no
// computing is made of them. In its Prometheus mode it only writes averages: no calls, and that is said.
#include "inspector.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "lines.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "nccl_calls.hpp"
#include "process_groups.hpp"
#include "sequences.hpp"

namespace linkcast::workloads::readers {
namespace {

using simdjson::dom::element;

struct Record {
  std::uint64_t number = 0;  // coll_sn, p2p_sn
  std::int64_t time = 0;     // us
  StoredCall call;
  std::uint32_t group = 0, rank = 0;
};

class Files {
 public:
  void read(const std::string& path) {
    Lines lines{path};
    std::string_view line;
    std::string pending;
    while (lines.next(line)) {
      const auto begin = line.find_first_not_of(" \t");
      if (begin == std::string_view::npos || line[begin] == '#') continue;
      if (line.starts_with("nccl_") && line.find('{') != std::string_view::npos) {
        report().skip("a Prometheus metric: an average over many calls", lines.where());
        ++metrics_;
        continue;
      }
      // The README shows records over several lines.
      if (pending.empty()) {
        if (record(line, lines.where())) continue;
        pending = line;
        pending_where_ = lines.where();
        if (line[begin] != '{' || complete(pending)) give_up(pending);
      } else {
        // A record begins anew: the one before it was cut.
        if (line.starts_with("{\"header\"")) {
          give_up(pending);
          if (!record(line, lines.where())) {
            pending = line;
            pending_where_ = lines.where();
          }
          continue;
        }
        pending += line;
        if (!complete(pending)) {
          if (pending.size() > Lines::longest) give_up(pending);
          continue;
        }
        if (!record(pending, pending_where_)) give_up(pending);
        pending.clear();
      }
    }
    if (!pending.empty()) give_up(pending);
    if (!lines.problem().empty()) report().skip("the rest of a damaged file: " + lines.problem(), lines.where());
  }

  Recording finish(const std::vector<std::string>& paths, const RecordingOptions& options) {
    if (records_.empty()) {
      if (metrics_ > 0)
        throw sim::InputError(
            fmt::format("{}: only Prometheus metrics, which are averages: no single call can be replayed", paths[0]),
            "run the inspector without NCCL_INSPECTOR_PROM_DUMP: it then writes JSON Lines");
      throw sim::InputError(fmt::format("{}: no record of the NCCL inspector can be used", paths[0]),
                            "expected lines {\"header\": ..., \"metadata\": ..., \"coll_perf\": ...}");
    }
    auto world = world_of(groups_, processes_.size(), options.world, report());
    std::ranges::stable_sort(records_, [](const Record& a, const Record& b) {
      return std::tuple{a.rank, a.group, a.number} < std::tuple{b.rank, b.group, b.number};
    });
    drop_repeated();
    count_missing();
    // Of one communicator in its own order; of several as they were written.
    std::vector<std::size_t> order(records_.size());
    std::int64_t latest = 0;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      order[i] = i;
      const bool same = i > 0 && records_[i - 1].rank == records_[i].rank && records_[i - 1].group == records_[i].group;
      latest = same ? std::max(latest, records_[i].time) : records_[i].time;
      records_[i].time = latest;
    }
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return std::tuple{records_[a].rank, records_[a].time} < std::tuple{records_[b].rank, records_[b].time};
    });
    auto collected = std::make_shared<Collected>();
    collected->sequences.resize(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto& s = collected->sequences[g];
      s.label = fmt::format("communicator '{}'", groups_[g].name);
      s.lossy = true;
      if (!collective_groups_.contains(static_cast<std::uint32_t>(g))) continue;
      for (const auto& [place, process] : groups_[g].members) s.ranks.push_back(process);
    }
    for (const auto i : order) collected->store.add(records_[i].rank, records_[i].call);
    std::vector<Record>{}.swap(records_);
    std::vector<std::size_t> places;
    for (std::size_t p = 0; p < processes_.size(); ++p)
      if (collected->store.size(p) > 0) places.push_back(p);
    std::ranges::sort(places, {}, [&](std::size_t p) { return world.world[p]; });
    recording_.world = world.ranks;
    recording_.communicators = std::move(world.communicators);
    for (const auto p : places) recording_.ranks.push_back(world.world[p]);
    auto& notes = report().notes;
    notes.push_back(
        "the NCCL inspector says when calls end to no better than its interval: nothing is computed between them");
    if (places.size() < static_cast<std::size_t>(recording_.world))
      notes.push_back(fmt::format("{} of {} ranks have records; the others are taken to do alike", places.size(),
                                  recording_.world));
    report().generation = version_;
    recording_.source = fmt::format("NCCL inspector records of {} ranks", places.size());
    return recording_of(collected, std::move(recording_), std::move(places));
  }

 private:
  ReadReport& report() { return *recording_.report; }

  static bool complete(std::string_view text) {
    std::int64_t depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
      if (quoted) continue;
      if (text[i] == '{') ++depth;
      if (text[i] == '}') --depth;
    }
    return depth <= 0;
  }

  void give_up(std::string& pending) {
    ++report().records;
    report().skip("a line that is no record, or is cut", pending_where_);
    pending.clear();
  }

  static std::int64_t whole(const element& of, std::string_view key, std::int64_t otherwise) {
    std::int64_t v = 0;
    return of[key].get(v) == simdjson::SUCCESS ? v : otherwise;
  }
  static double number(const element& of, std::string_view key) {
    double v = 0;
    return of[key].get(v) == simdjson::SUCCESS && std::isfinite(v) ? v : 0;
  }
  static std::string_view word(const element& of, std::string_view key) {
    std::string_view v;
    return of[key].get(v) == simdjson::SUCCESS ? v : std::string_view{};
  }

  /// False: not JSON, or not whole.
  bool record(std::string_view line, const std::string& where) {
    element root, header;
    if (parser_.parse(line.data(), line.size()).get(root) != simdjson::SUCCESS || !root.is_object()) return false;
    ++report().records;
    if (root["header"].get(header) != simdjson::SUCCESS || !header.is_object()) {
      report().skip("a line that is no record, or is cut", where);
      return true;
    }
    element metadata, perf;
    const bool has_metadata = root["metadata"].get(metadata) == simdjson::SUCCESS && metadata.is_object();
    const bool collective = root["coll_perf"].get(perf) == simdjson::SUCCESS && perf.is_object();
    if (!collective && (root["p2p_perf"].get(perf) != simdjson::SUCCESS || !perf.is_object())) {
      if (root["dump_stats"].error() != simdjson::SUCCESS) report().skip("a record without coll_perf", where);
      return true;
    }
    const auto id = word(header, "id");
    const auto ranks = whole(header, "n_ranks", 0), rank = whole(header, "rank", -1);
    const auto name = word(perf, collective ? "coll" : "p2p");
    const auto kind = nccl_call(name);
    if (ranks < 1 || ranks > (1 << 20) || rank < 0 || rank >= ranks) {
      report().skip("a record without its rank", where);
      return true;
    }
    if (!kind || (kind->kind == Operation::Kind::collective) != collective) {
      report().skip(fmt::format("'{}': no model for it", name.substr(0, 60)), where);
      return true;
    }
    const auto g = group(id, header, static_cast<int>(ranks));
    // The last device of a process that holds several is told by its rank only.
    const auto process = has_metadata ? fmt::format("{}:{}", word(metadata, "hostname"), whole(metadata, "pid", 0))
                                      : fmt::format("rank {}", rank);
    const auto place = static_cast<int>(rank);
    auto p = process_of(process);
    if (const auto had = groups_[g].members.find(place); had != groups_[g].members.end())
      p = had->second;
    else if (!groups_[g].join(place, p)) {
      p = process_of(fmt::format("{} rank {}", process, rank));
      if (!groups_[g].join(place, p)) {
        report().skip("a record of a rank that another process is", where);
        return true;
      }
    }
    if (version_.empty() && has_metadata) version_ = word(metadata, "inspector_output_format_version");
    Record r;
    r.group = g;
    r.rank = static_cast<std::uint32_t>(p);
    r.number = static_cast<std::uint64_t>(std::max<std::int64_t>(0, whole(perf, collective ? "coll_sn" : "p2p_sn", 0)));
    r.time = has_metadata ? whole(metadata, "dump_timestamp_us", 0) : 0;
    if (!fill(r, perf, *kind, collective, static_cast<int>(ranks))) {
      report().skip("a record with numbers that cannot be", where);
      return true;
    }
    if (collective) collective_groups_.insert(g);
    records_.push_back(r);
    return true;
  }

  bool fill(Record& r, const element& perf, const NcclCall& kind, bool collective, int ranks) {
    auto own = whole(perf, collective ? "coll_msg_size_bytes" : "p2p_msg_size_bytes", -1);
    const auto us = number(perf, collective ? "coll_exec_time_us" : "p2p_exec_time_us");
    const auto bandwidth = number(perf, "coll_algobw_gbs");
    if (own < 0 || us < 0 || us > 1e12) return false;
    auto size = nccl_size(kind, own, ranks);
    // It computes algbw from the whole buffer: where that says that the size is whole already, it is.
    if (size && *size != own && bandwidth > 0 && us > 0) {
      const double factor = bandwidth * 1e3 * us / static_cast<double>(std::max<std::int64_t>(own, 1));
      if (factor > 0.9 && factor < 1.1 && ranks > 1) size = own;
    }
    if (!size) return false;
    auto& c = r.call;
    c.kind = kind.kind;
    c.op = kind.op;
    c.bytes = *size;
    c.measured = static_cast<std::int64_t>(std::min(us, 9e12) * 1e6);
    c.communicator = r.group;
    c.stream = streams_[r.group];
    c.key = r.number;
    c.name = recording_.names->add(models::nccl::nccl_name_of(kind.op));
    if (collective) {
      c.sequence = r.group;
      return true;
    }
    c.name = recording_.names->add(kind.kind == Operation::Kind::send ? "Send" : "Recv");
    const auto peer = whole(perf, "p2p_peer", -1);
    c.peer = static_cast<std::int32_t>(std::clamp<std::int64_t>(peer, -1, ranks));
    // Which messages went together is not said; that a rank waits for one before it posts the next would be a guess
    // that can lock up. They are posted as NCCL posts a group.
    c.batch = r.group + 1;
    return peer >= 0 && peer < ranks;
  }

  std::uint32_t group(std::string_view id, const element& header, int ranks) {
    const auto key = fmt::format("{}/{}", id, ranks);
    const auto [at, fresh] = group_of_.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
    if (fresh) {
      const auto name = word(header, "comm_name");
      groups_.push_back({std::string{id}, name == "unknown" ? "" : std::string{name}, ranks, {}, {}});
      streams_.push_back(static_cast<std::uint32_t>(recording_.streams->size()));
      recording_.streams->push_back(fmt::format("communicator {}", id));
    }
    return at->second;
  }

  std::size_t process_of(const std::string& name) {
    return processes_.try_emplace(name, processes_.size()).first->second;
  }

  void drop_repeated() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const auto& r = records_[i];
      if (kept > 0 && r.call.sequence != StoredCall::none) {
        const auto& b = records_[kept - 1];
        if (b.rank == r.rank && b.group == r.group && b.number == r.number && b.call.sequence == r.call.sequence) {
          report().skip("a call that its rank recorded before", fmt::format("coll_sn {}", r.number));
          continue;
        }
      }
      records_[kept++] = r;
    }
    records_.resize(kept);
  }

  /// Calls that no rank recorded are holes in the numbers. Sorted by rank, communicator and number before.
  void count_missing() {
    std::map<std::uint32_t, std::vector<std::uint64_t>> seen;
    std::map<std::uint32_t, std::int64_t> recorded;
    for (const auto& r : records_) {
      if (r.call.sequence == StoredCall::none) continue;
      seen[r.group].push_back(r.number);
      ++recorded[r.group];
    }
    for (auto& [g, numbers] : seen) {
      std::ranges::sort(numbers);
      const auto all = static_cast<std::int64_t>(numbers.size());
      numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
      const auto calls = static_cast<std::int64_t>(numbers.size());
      const auto span = static_cast<std::int64_t>(numbers.back() - numbers.front()) + 1;
      const auto files = static_cast<std::int64_t>(groups_[g].members.size());
      if (span == calls && all == calls * files) continue;
      report().notes.push_back(fmt::format(
          "communicator '{}': coll_sn {} to {} are {} calls, of which {} are recorded by some rank and {} by none; its "
          "{} "
          "recorded ranks have {} of {} records",
          groups_[g].name, numbers.front(), numbers.back(), span, calls, span - calls, files, all, span * files));
      missing_ += span - calls;
    }
    if (missing_ > 0) {
      report().skip("calls that no rank recorded (holes in coll_sn)", "all files");
      report().skipped.back().count = missing_;
    }
  }

  Recording recording_;
  simdjson::dom::parser parser_;
  std::vector<Record> records_;
  std::string version_, pending_where_;
  std::unordered_map<std::string, std::size_t> processes_;
  std::unordered_map<std::string, std::uint32_t> group_of_;
  std::vector<RecordedGroup> groups_;
  std::vector<std::uint32_t> streams_;
  std::set<std::uint32_t> collective_groups_;
  std::int64_t metrics_ = 0, missing_ = 0;
};

}  // namespace

bool is_inspector(const Probe& probe) {
  const std::string_view head = probe.head;
  const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
  return (has("\"header\"") && (has("\"coll_perf\"") || has("\"p2p_perf\"") || has("\"dump_stats\""))) ||
         has("nccl_collective_exec_time_microseconds{") || has("nccl_p2p_exec_time_microseconds{") ||
         has("nccl_bus_bandwidth_gbs{");
}

Recording open_inspector(const std::vector<std::string>& paths, const RecordingOptions& options) {
  Files files;
  for (const auto& path : paths) files.read(path);
  return files.finish(paths, options);
}

}  // namespace linkcast::workloads::readers
