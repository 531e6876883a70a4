// From a run of nccl-tests to series. See nccl_tests_run.hpp.
#include "nccl_tests_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "linkcast/workloads/collective.hpp"
#include "system_of_gpus.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::string_view kSuffix = "_perf";

/// The operation, where the log, the caller or the file's name tell it.
std::optional<models::nccl::Op> operation(const Run& run, const std::string& where, const Hints& hints,
                                          std::string& remark, Problems& problems) {
  if (!run.program.empty()) {
    const auto name = run.program.substr(0, run.program.size() - kSuffix.size());
    if (const auto op = models::nccl::op_from(name)) return op;
    problems.at(run.program_at.line, run.program_at.column, run.program.size(),
                fmt::format("no model for '{}'", run.program),
                fmt::format("known: {}", fmt::join(models::nccl::op_names(), ", ")));
    return std::nullopt;
  }
  if (hints.op) return hints.op;
  // Logs before nccl-tests 2.14 do not name the operation; people put it into the file's name.
  std::string plain;
  for (const char c : stem_of(where)) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) plain.push_back(static_cast<char>(std::tolower(c)));
  }
  std::optional<models::nccl::Op> found;
  std::size_t length = 0;
  for (const auto& name : models::nccl::op_names()) {
    auto letters = name;
    letters.erase(std::remove(letters.begin(), letters.end(), '_'), letters.end());
    if (letters.size() > length && plain.find(letters) != std::string::npos) {
      found = models::nccl::op_from(name);
      length = letters.size();
    }
  }
  if (found) {
    remark = fmt::format("the operation, {}, is taken from the file's name", models::nccl::name_of(*found));
  } else {
    problems.at(run.begin.line, run.begin.column, 1, "the log does not say which collective was measured",
                "name it, as in '--op all_reduce'");
  }
  return found;
}

int number_of_ranks(const Run& run, const Hints& hints, Problems& problems) {
  std::set<std::pair<std::string, long>> processes;
  int listed = 0;
  for (const auto& r : run.ranks) {
    processes.emplace(r.host, r.pid);
    listed = std::max(listed, r.rank + 1);
  }
  // Long lists are cut short by nccl-tests itself, and its JSON lists one device for each process.
  const auto per_process = static_cast<std::int64_t>(std::max(run.threads, 1)) * run.gpus;
  const auto started = per_process * static_cast<std::int64_t>(std::max<std::size_t>(processes.size(), 1));
  const auto ranks = std::max<std::int64_t>(listed, started);
  if (!run.ranks.empty() && ranks > 0) return static_cast<int>(std::min<std::int64_t>(ranks, 10'000'000));
  if (hints.ranks) return *hints.ranks;
  problems.at(run.begin.line, run.begin.column, 1, "the log does not say how many GPUs took part",
              "expected lines '#  Rank  0 Group  0 Pid … on host device  0 …'; or name it, as in '--ranks 8'");
  return 0;
}

void note_processes(const Run& run, Series& series) {
  std::set<std::string> hosts;
  std::set<std::pair<std::string, long>> processes;
  for (const auto& r : run.ranks) {
    hosts.insert(r.host);
    processes.emplace(r.host, r.pid);
    if (!r.device_name.empty()) series.devices.push_back(r.device_name);
  }
  series.nodes = std::max<int>(1, static_cast<int>(hosts.size()));
  series.gpus_per_node = std::max(1, series.ranks / series.nodes);
  if (series.ranks < 2 || processes.empty()) return;
  if (static_cast<int>(processes.size()) == series.ranks)
    series.launch = models::LaunchMode::multi_process;
  else if (processes.size() == hosts.size())
    series.launch = models::LaunchMode::single_process;
  else
    series.remarks.push_back(fmt::format("{} processes for {} GPUs: the launch mode is taken as not stated",
                                         processes.size(), series.ranks));
}

void note_system(const Hints& hints, Series& series) {
  if (hints.system) {
    series.system = hints.system;
    return;
  }
  const std::set<std::string> kinds(series.devices.begin(), series.devices.end());
  if (kinds.empty()) {
    series.remarks.push_back("the log names no GPU; name a system to compare with");
  } else if (kinds.size() > 1) {
    series.remarks.push_back(
        fmt::format("GPUs of different kinds ({}); name a system to compare with", fmt::join(kinds, ", ")));
  } else {
    auto guess = system_of_gpus(*kinds.begin(), series.gpus_per_node);
    series.system = std::move(guess.system);
    if (!guess.remark.empty()) series.remarks.push_back(std::move(guess.remark));
  }
}

/// nccl-tests prints busbw = algbw x a factor of the operation and the ranks: a check that both are right.
void check_factor(const Run& run, Series& series) {
  const auto widest = std::max_element(run.rows.begin(), run.rows.end(),
                                       [](const RunRow& a, const RunRow& b) { return a.busbw < b.busbw; });
  if (widest == run.rows.end() || widest->algbw < 1 || series.ranks < 2) return;
  const double printed = widest->busbw / widest->algbw;
  const double expected = workloads::busbw_factor(series.op, series.ranks);
  if (std::abs(printed / expected - 1) < 0.02) return;
  series.remarks.push_back(fmt::format("busbw is {:.3f} x algbw, where {} on {} GPUs gives {:.3f}: another operation?",
                                       printed, models::nccl::name_of(series.op), series.ranks, expected));
}

}  // namespace

std::string_view program_in(std::string_view text) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::size_t from = std::string_view::npos;
  while (true) {
    const auto at = text.rfind(kSuffix, from);
    if (at == std::string_view::npos) return {};
    const auto end = at + kSuffix.size();
    std::size_t begin = at;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    if (begin < at && (end == text.size() || !is_word(text[end]))) return text.substr(begin, end - begin);
    if (at == 0) return {};
    from = at - 1;
  }
}

std::vector<Series> series_of(const Run& run, const std::string& id, const std::string& where, const Hints& hints,
                              Problems& problems) {
  Series common;
  std::string remark;
  const auto op = operation(run, where, hints, remark, problems);
  common.ranks = number_of_ranks(run, hints, problems);
  if (!op || common.ranks == 0) return {};
  common.op = *op;
  if (!remark.empty()) common.remarks.push_back(remark);
  common.source = name_of_file(where);
  common.nccl = run.nccl;
  common.env = run.env;
  common.cuda_graph = run.graph > 0;
  common.cpu_time = run.cpu_time;
  common.skipped_lines = run.skipped_lines;
  note_processes(run, common);
  note_system(hints, common);
  check_factor(run, common);
  if (run.rows_without_bytes > 0) {
    common.remarks.push_back(fmt::format("{} rows move no byte and are left out", run.rows_without_bytes));
  }
  if (run.wrong_rows > 0 || run.failed_check) {
    common.healthy = false;
    common.wrong_results = true;
    common.cause = "nccl-tests' own check of the results failed";
  }

  std::vector<std::pair<std::string, std::string>> kinds;  // in the order of the log
  for (const auto& row : run.rows) {
    const std::pair kind{row.dtype, row.redop};
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  std::vector<Series> out;
  for (const auto& [dtype, redop] : kinds) {
    for (const bool in_place : {false, true}) {
      auto series = common;
      series.id = id;
      if (kinds.size() > 1) series.id += fmt::format(":{}{}{}", dtype, redop.empty() ? "" : "_", redop);
      if (in_place) series.id += ":in_place";
      series.dtype = dtype;
      series.redop = redop;
      series.in_place = in_place;
      for (const auto& row : run.rows) {
        const auto& time = in_place ? row.in_place : row.out_of_place;
        if (time && row.dtype == dtype && row.redop == redop) series.points.push_back({row.size, *time});
      }
      std::stable_sort(series.points.begin(), series.points.end(),
                       [](const Point& a, const Point& b) { return a.size < b.size; });
      if (!series.points.empty()) out.push_back(std::move(series));
    }
  }
  return out;
}

}  // namespace linkcast::calibration
