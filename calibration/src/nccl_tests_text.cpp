// Reader of what nccl-tests prints: any number of runs in one log, among lines of NCCL, MPI, Slurm and shells.
// Sources of the layouts: docs/formats.md. Knows no catalog and no prediction.
#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "linkcast/calibration/series.hpp"
#include "nccl_tests_table.hpp"
#include "problems.hpp"
#include "secrets.hpp"
#include "software_facts.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t kLargestLog = std::size_t{1} << 30;

bool starts_with(std::string_view s, std::string_view prefix) { return s.substr(0, prefix.size()) == prefix; }

std::size_t digits(std::string_view s, std::size_t from) {
  std::size_t n = 0;
  while (from + n < s.size() && std::isdigit(static_cast<unsigned char>(s[from + n])) != 0) ++n;
  return n;
}

/// The length of what launchers write before a line: `[1,0]<stdout>:` of mpirun, `0: ` of srun -l.
std::size_t launcher_prefix(std::string_view line) {
  if (starts_with(line, "[")) {
    for (const std::string_view tag : {"<stdout>:", "<stderr>:"}) {
      const auto at = line.substr(0, 40).find(tag);
      if (at != std::string_view::npos) return at + tag.size();
    }
    return 0;
  }
  const auto begin = std::min(line.find_first_not_of(' '), line.size());
  const auto n = digits(line, begin);
  return n > 0 && line.substr(begin + n, 2) == ": " ? begin + n + 2 : 0;
}

template <class Int>
std::optional<Int> integer(std::string_view s) {
  Int value{};
  const auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc{} || stop != s.data() + s.size()) return std::nullopt;
  return value;
}

class LogReader {
 public:
  LogReader(std::string_view text, const std::string& where, const Hints& hints)
      : text_{text}, where_{where}, hints_{hints}, problems_{text, where} {}

  std::vector<Series> read() {
    require_text(text_, where_, kLargestLog);
    auto rest = text_;
    while (!rest.empty()) {
      const auto newline = rest.find('\n');
      ++number_;
      read_line(rest.substr(0, newline));
      rest = newline == std::string_view::npos ? std::string_view{} : rest.substr(newline + 1);
    }
    finish();
    std::vector<Series> out;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      auto id = name_of_file(where_);
      if (runs_.size() > 1) id += fmt::format("#{}", i + 1);
      for (auto& series : series_of(runs_[i], id, where_, hints_, problems_)) out.push_back(std::move(series));
    }
    if (out.empty() && !problems_.any()) say_nothing_found();
    problems_.throw_if_any();
    return out;
  }

 private:
  void read_line(std::string_view line) {
    const auto prefix = launcher_prefix(line);
    // Blanks keep the columns of what follows.
    std::string unprefixed;
    if (prefix > 0) {
      unprefixed = std::string(prefix, ' ') + std::string(line.substr(prefix));
    }
    const auto content = trim(line.substr(prefix));
    if (content.empty()) return;
    if (content.front() == '#') return read_comment(content.substr(1), line);
    const auto program = program_in(content);
    // After a table, a command or a setting belongs to the run that comes.
    const bool announces = !program.empty() || (content.find("NCCL_") != std::string_view::npos &&
                                                content.find('=') != std::string_view::npos);
    if (announces && !run_.rows.empty() && !in_table_) finish();
    if (content.find("NCCL") != std::string_view::npos) note_nccl(content);
    const auto whole = prefix > 0 ? std::string_view(unprefixed) : line;
    if (table_is_possible(content.front())) {
      const auto cells = cells_of(whole, number_);
      if (looks_like_row(cells) && (in_table_ || cells.size() >= 8)) {
        if (run_.begin.line == 0 || !has_begun_) begin_at(1);
        return read_row(cells, whole, number_, layout_, run_, problems_);
      }
    }
    if (!program.empty()) {
      mentioned_ = program;
      mentioned_at_ = {number_, static_cast<int>(program.data() - line.data()) + 1};
    }
    ++run_.skipped_lines;
  }

  static bool table_is_possible(char first) {
    return first == '-' || std::isdigit(static_cast<unsigned char>(first)) != 0;
  }

  void begin_at(int column) {
    has_begun_ = true;
    run_.begin = {number_, column};
  }

  void read_comment(std::string_view after_hash, std::string_view line) {
    const auto text = trim(after_hash);
    const int column = static_cast<int>(after_hash.data() - line.data());
    if (starts_with(text, "nccl-tests version")) {
      next_run(column);
      if (const auto code = number_after(text, "nccl-library=")) run_.nccl = nccl_version_of_code(*code);
    } else if (starts_with(text, "nThread")) {
      if (has_parameters_) next_run(column);
      if (!has_begun_) begin_at(column);
      has_parameters_ = true;
      run_.threads = static_cast<int>(number_after(text, "nThread ").value_or(1));
      run_.gpus = static_cast<int>(number_after(text, "nGpus ").value_or(1));
      run_.graph = static_cast<int>(number_after(text, "graph: ").value_or(0));
    } else if (starts_with(text, "Collective test starting:")) {
      note_program(text, line);
    } else if (starts_with(text, "Collective test concluded:")) {
      if (run_.program.empty()) note_program(text, line);
      in_table_ = false;
    } else if (starts_with(text, "Rank ")) {
      read_rank(text, line);
    } else if (starts_with(text, "Out of bounds values")) {
      run_.failed_check = run_.failed_check || text.find("FAILED") != std::string_view::npos;
      in_table_ = false;
    } else if (starts_with(text, "Avg bus bandwidth")) {
      in_table_ = false;
    } else if (const auto layout = column_line(text)) {
      if (!has_begun_) begin_at(column);
      layout_ = *layout;
      run_.cpu_time = layout->cpu_time;
      in_table_ = true;
    }
  }

  static std::optional<long> number_after(std::string_view text, std::string_view name) {
    const auto at = text.find(name);
    if (at == std::string_view::npos) return std::nullopt;
    const auto n = digits(text, at + name.size());
    return integer<int>(text.substr(at + name.size(), n));
  }

  void note_program(std::string_view text, std::string_view line) {
    const auto program = program_in(text);
    if (program.empty()) return;
    run_.program = program;
    run_.program_at = {number_, static_cast<int>(program.data() - line.data()) + 1};
  }

  /// `Rank  0 Group  0 Pid   1275 on node0 device  0 [0000:41:00] NVIDIA H100 80GB HBM3`; `Group` since 2.14.
  void read_rank(std::string_view text, std::string_view line) {
    const auto cells = cells_of(text, number_);
    const auto after = [&](std::string_view word) -> std::string_view {
      for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
        if (cells[i].text == word) return cells[i + 1].text;
      }
      return {};
    };
    const auto rank = integer<int>(after("Rank"));
    const auto pid = integer<long>(after("Pid"));
    const auto bracket = text.find(']');
    if (!rank || *rank < 0 || *rank > 10'000'000 || !pid || after("on").empty() || bracket == std::string_view::npos) {
      problems_.at(number_, static_cast<int>(text.data() - line.data()) + 1, text.size(),
                   "the line of this rank is cut",
                   "expected 'Rank  0 Group  0 Pid 1275 on host device  0 [0000:41:00] GPU name'");
      return;
    }
    run_.ranks.push_back({*rank, *pid, std::string(after("on")), std::string(trim(text.substr(bracket + 1)))});
  }

  /// `NCCL version 2.18.3+cuda12.1`, `NCCL_ALGO set by environment to Ring.`, `-x NCCL_ALGO=Ring`, `export NCCL_…=…`.
  void note_nccl(std::string_view line) {
    constexpr std::string_view kVersion = "NCCL version ";
    if (const auto at = line.find(kVersion); at != std::string_view::npos && !run_.nccl) {
      run_.nccl = nccl_version_in(line.substr(at + kVersion.size()));
    }
    constexpr std::string_view kSet = " set by environment to ";
    for (auto at = line.find("NCCL_"); at != std::string_view::npos; at = line.find("NCCL_", at + 1)) {
      auto end = at;
      while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '_')) ++end;
      const auto name = line.substr(at, end - at);
      auto rest = line.substr(end);
      if (starts_with(rest, kSet)) {
        rest.remove_prefix(kSet.size());
        if (!rest.empty() && rest.back() == '.') rest.remove_suffix(1);
        run_.env[std::string(name)] = shown_value_of(name, trim(rest));
      } else if (starts_with(rest, "=")) {
        rest = rest.substr(1, rest.find_first_of(" \t\r\"'\\", 1) - 1);
        if (!rest.empty()) run_.env[std::string(name)] = shown_value_of(name, rest);
      }
    }
  }

  void next_run(int column) {
    if (has_begun_) finish();
    begin_at(column);
  }

  void finish() {
    if (run_.program.empty() && !mentioned_.empty()) {
      run_.program = mentioned_;
      run_.program_at = mentioned_at_;
    }
    if (!run_.rows.empty()) {
      runs_.push_back(std::move(run_));
    } else if (has_begun_) {
      ++runs_without_rows_;
      empty_at_ = run_.begin;
    }
    run_ = {};
    mentioned_.clear();
    layout_ = {};
    has_begun_ = has_parameters_ = in_table_ = false;
  }

  void say_nothing_found() {
    if (runs_without_rows_ > 0) {
      problems_.at(empty_at_.line, empty_at_.column, 1, "this run has no rows with a time",
                   "did it fail before the first size?");
    } else {
      problems_.whole_file("no nccl-tests table in this file",
                           "expected lines such as '8  2  float  sum  -1  22.7  0.00  0.00  0 …'");
    }
  }

  std::string_view text_;
  std::string where_;
  const Hints& hints_;
  Problems problems_;
  int number_ = 0;

  std::vector<Run> runs_;
  int runs_without_rows_ = 0;
  Place empty_at_;
  Run run_;  // being read
  TableLayout layout_;
  bool has_begun_ = false, has_parameters_ = false, in_table_ = false;
  std::string mentioned_;  // the last program that a command line named
  Place mentioned_at_;
};

}  // namespace

std::vector<Series> read_nccl_tests(std::string_view text, const std::string& where, const Hints& hints) {
  return LogReader(text, where, hints).read();
}

}  // namespace linkcast::calibration
