// Reader of the NCCL inspector's JSONL (plugins/profiler/inspector, format v4.0): one record for each call that a
// process saw end. (communicator, sequence number) names a call in all files. The inspector looks now and then and
// loses what ended in between, so that a call may be missing from some ranks or from all: what was lost is said.
// Knows no catalog.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "json_text.hpp"
#include "linkcast/calibration/readers.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestFile = std::size_t{1} << 30;
constexpr double kLongestUs = 9.2e12;  // sim::Time
constexpr std::size_t kShownLines = 5;

/// What makes calls comparable: (operation, ranks, nodes).
using Kind = std::tuple<models::nccl::Op, int, int>;

struct Call {
  double slowest_us = 0;
  int ranks = 0;
};

/// Calls of one kind and size by (communicator, sequence number).
using Calls = std::map<std::pair<std::string, std::int64_t>, Call>;

class Records {
 public:
  void add(const InspectorFile& file) {
    require_text(file.text, file.where, kLargestFile);
    Problems problems(file.text, file.where);
    const auto lines = lines_of(file.text);
    std::size_t records = 0, broken = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto line = trim(lines[i]);
      if (line.empty()) continue;
      const auto record = json::parse(line.begin(), line.end(), nullptr, false);
      const auto& header = json_member(record, "header");
      const bool known = header.is_object() && (record.contains("coll_perf") || record.contains("p2p_perf"));
      std::string why = known ? std::string{} : "not a record of the NCCL inspector";
      if (known) why = record.contains("coll_perf") ? add_collective(record) : add_p2p(record);
      if (why.empty()) {
        ++records;
        continue;
      }
      // The last line of a process that was killed is cut: the rest stands.
      if (i + 1 == lines.size() && record.is_discarded() && records > 0 && line.front() == '{') {
        notes_.push_back(fmt::format("{}:{}: the last record is cut and left out", file.where, i + 1));
        continue;
      }
      if (++broken <= kShownLines)
        problems.at(static_cast<int>(i) + 1, 1, 8, why, "expected {\"header\": …, \"coll_perf\": …}");
    }
    if (broken > kShownLines) problems.whole_file(fmt::format("{} more lines are not records", broken - kShownLines));
    if (records == 0 && broken == 0) problems.whole_file("no record of the NCCL inspector in this file");
    problems.throw_if_any();
    if (name_.empty()) name_ = name_of_file(file.where);
    ++files_;
  }

  Measurements finish() {
    Measurements out;
    out.notes = std::move(notes_);
    for (auto& [kind, sizes] : calls_) out.series.push_back(series(kind, sizes));
    for (auto& [kind, sizes] : messages_) out.series.push_back(messages(kind, sizes));
    for (const auto& [name, count] : unknown_)
      out.notes.push_back(fmt::format("{}: {} records of '{}' are left out: no model for it", name_, count, name));
    return out;
  }

 private:
  /// Empty: taken. The numbers of a record, or what is wrong with it.
  static std::string numbers(const json& perf, const char* size_key, const char* time_key, std::int64_t& size,
                             double& us) {
    const auto& bytes = json_member(perf, size_key);
    const auto& time = json_member(perf, time_key);
    if (!bytes.is_number_integer() || bytes.get<double>() < 1 || bytes.get<double>() > 0x1p62)
      return fmt::format("'{}' is not a number of bytes", size_key);
    if (!time.is_number() || !(time.get<double>() > 0) || !(time.get<double>() < kLongestUs))
      return fmt::format("'{}' is not a time above zero", time_key);
    size = bytes.get<std::int64_t>();
    us = time.get<double>();
    return {};
  }

  std::string add_collective(const json& record) {
    const auto& header = record["header"];
    const auto& perf = record["coll_perf"];
    const auto& name = json_text(json_member(perf, "coll"));
    const auto op = models::nccl::op_from(name);
    const int ranks = json_whole(json_member(header, "n_ranks"), 0);
    if (!op) {
      ++unknown_[name];
      return {};
    }
    if (ranks < 1) return "'n_ranks' is not a number of ranks";
    std::int64_t size = 0;
    double us = 0;
    if (auto why = numbers(perf, "coll_msg_size_bytes", "coll_exec_time_us", size, us); !why.empty()) return why;
    // Of all_gather and reduce_scatter it logs what one rank contributes, and computes algbw from the whole buffer.
    const auto& algbw = json_member(perf, "coll_algobw_gbs");
    if (algbw.is_number() && ranks > 1) {
      const double factor = algbw.get<double>() * 1e3 * us / static_cast<double>(size);
      if (factor > 0.9 * ranks && factor < 1.1 * ranks && size < (std::int64_t{1} << 62) / ranks) size *= ranks;
    }
    const Kind kind{*op, ranks, std::max(1, json_whole(json_member(header, "nnodes"), 1))};
    const auto& number = json_member(perf, "coll_sn");
    auto& call = calls_[kind][size][{json_text(json_member(header, "id")),
                                     number.is_number_integer() ? number.get<std::int64_t>() : -1}];
    call.slowest_us = std::max(call.slowest_us, us);
    ++call.ranks;
    return {};
  }

  std::string add_p2p(const json& record) {
    const auto& perf = record["p2p_perf"];
    std::int64_t size = 0;
    double us = 0;
    if (auto why = numbers(perf, "p2p_msg_size_bytes", "p2p_exec_time_us", size, us); !why.empty()) return why;
    const int nodes = std::max(1, json_whole(json_member(record["header"], "nnodes"), 1));
    messages_[nodes][size].push_back(us);
    return {};
  }

  static double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
  }

  Series common() const {
    Series out;
    out.source = name_;
    out.launch = models::LaunchMode::multi_process;
    return out;
  }

  Series series(const Kind& kind, std::map<std::int64_t, Calls>& sizes) const {
    auto out = common();
    std::tie(out.op, out.ranks, out.nodes) = kind;
    out.gpus_per_node = std::max(1, out.ranks / out.nodes);
    out.id = fmt::format("{}:{}x{}", name_, models::nccl::name_of(out.op), out.ranks);
    std::size_t seen = 0, whole = 0, partial_sizes = 0;
    for (const auto& [size, calls] : sizes) {
      std::vector<double> of_all, of_any;
      for (const auto& [key, call] : calls) {
        of_any.push_back(call.slowest_us);
        if (call.ranks >= out.ranks) of_all.push_back(call.slowest_us);
      }
      seen += of_any.size();
      whole += of_all.size();
      if (of_all.empty()) ++partial_sizes;
      const auto time = sim::Time::from_us(median(of_all.empty() ? of_any : of_all));
      if (time > sim::Time{}) out.points.push_back({sim::Bytes{size}, time});
    }
    out.remarks.push_back(fmt::format(
        "times are the median over calls of the slowest rank's kernel, waiting for the other ranks included"));
    out.remarks.push_back(
        fmt::format("the inspector is lossy: {} calls, {} of them recorded by all {} ranks ({} files)", seen, whole,
                    out.ranks, files_));
    if (partial_sizes > 0) {
      out.remarks.push_back(
          fmt::format("{} of {} sizes have no call that all ranks recorded: the slowest of the recorded ranks stands "
                      "for them",
                      partial_sizes, sizes.size()));
    }
    return out;
  }

  Series messages(int nodes, std::map<std::int64_t, std::vector<double>>& sizes) const {
    auto out = common();
    out.op = models::nccl::Op::sendrecv;
    out.ranks = 2;
    out.nodes = std::min(nodes, 2);
    out.gpus_per_node = out.nodes == 2 ? 1 : 2;
    out.id = fmt::format("{}:p2p", name_);
    for (auto& [size, times] : sizes) {
      const auto time = sim::Time::from_us(median(std::move(times)));
      if (time > sim::Time{}) out.points.push_back({sim::Bytes{size}, time});
    }
    out.remarks.push_back(
        "single sends and receives of whatever ran, the median of each size; waiting for the peer is included");
    return out;
  }

  std::string name_;
  int files_ = 0;
  std::map<Kind, std::map<std::int64_t, Calls>> calls_;
  std::map<int, std::map<std::int64_t, std::vector<double>>> messages_;
  std::map<std::string, int> unknown_;
  std::vector<std::string> notes_;
};

}  // namespace

Measurements read_nccl_inspector(std::span<const InspectorFile> files) {
  Records records;
  for (const auto& file : files) records.add(file);
  return records.finish();
}

}  // namespace linkcast::calibration
