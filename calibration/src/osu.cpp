// Reader of the OSU micro-benchmarks' output between two processes: osu_bw, osu_bibw, osu_mbw_mr, osu_latency. Their
// MB/s are 1e6 bytes. Their collectives are MPI's, which nothing here predicts: a note. Knows no catalog.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "linkcast/calibration/readers.hpp"
#include "nccl_tests_table.hpp"
#include "pair_test_rows.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;

class LogReader {
 public:
  LogReader(std::string_view text, const std::string& where)
      : where_{where}, lines_{lines_of(text)}, problems_{text, where} {}

  Measurements read() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      number_ = static_cast<int>(i) + 1;
      read_line(lines_[i]);
    }
    finish();
    if (out_.tests.empty() && out_.notes.empty() && !problems_.any()) {
      if (title_at_ > 0)
        problems_.at(title_at_, 1, 1, "this test has no row with a value", "was the run killed, or the log cut?");
      else
        problems_.whole_file("no OSU benchmark in this file", "expected '# OSU MPI Bandwidth Test v7.5' and its rows");
    }
    for (std::size_t k = 0; k < out_.tests.size() && out_.tests.size() > 1; ++k)
      out_.tests[k].id += fmt::format("#{}", k + 1);
    problems_.throw_if_any();
    return std::move(out_);
  }

 private:
  void read_line(std::string_view line) {
    const auto content = trim(line);
    if (content.substr(0, 1) == "#") return read_comment(trim(content.substr(1)));
    const auto cells = cells_of(line, number_);
    if (!in_table_ || cells.empty() || !whole_in(cells[0].text)) {
      if (content.find("osu_") != std::string_view::npos && memory_in_command(content) && test_.rows.empty())
        test_.memory = MemoryKind::gpu;
      return;
    }
    if (cells[0].text == "0") return;  // a latency of no byte
    if (cells.size() != columns_) {
      problems_.at(number_, cells.back().column, cells.back().text.size(),
                   fmt::format("a row of {} numbers under {} columns", cells.size(), columns_),
                   cells.size() < columns_ ? "the row is cut; copy the log again" : "another line was written into it");
      return;
    }
    rows_.add(cells[0], cells[1], problems_);
  }

  static bool memory_in_command(std::string_view line) {
    return line.find(" D D") != std::string_view::npos || line.find(" -d cuda") != std::string_view::npos;
  }

  void read_comment(std::string_view text) {
    if (text.substr(0, 4) == "OSU ") {
      finish();
      title_at_ = number_;
      test_.title = std::string(text);
      test_.tool = tool_of(lower(text));
    } else if (text.substr(0, 11) == "Send Buffer") {  // "… on DEVICE (D) and Receive Buffer on DEVICE (D)"
      const bool host = text.find("HOST (H)") != std::string_view::npos;
      const bool gpu = text.find("DEVICE (D)") != std::string_view::npos;
      if (host != gpu) test_.memory = gpu ? MemoryKind::gpu : MemoryKind::host;
    } else if (const auto pairs = text.find("pairs: "); pairs != std::string_view::npos) {
      const auto digits = text.substr(pairs + 7, text.find_first_not_of("0123456789", pairs + 7) - pairs - 7);
      test_.qps = static_cast<int>(std::clamp(whole_in(digits).value_or(0), 0L, 1'000'000L));
    } else if (text.substr(0, 4) == "Size") {
      read_header(text);
    }
  }

  /// "# Size          Bandwidth (MB/s)", "# Size    MB/s    Messages/s", "# Size    Avg Latency(us)"
  void read_header(std::string_view text) {
    in_table_ = false;
    const auto open = text.find('(');
    auto unit = open == std::string_view::npos ? trim(text.substr(4)) : text.substr(open + 1);
    unit = unit.substr(0, unit.find_first_of(" \t)"));
    test_.latency = us_of_unit(unit).has_value();
    const auto scale = test_.latency ? us_of_unit(unit) : GBps_of_unit(unit);
    if (!scale) {
      problems_.at(number_, 1, text.size(), fmt::format("the unit '{}' is not known", unit), "OSU prints MB/s and us");
      return;
    }
    rows_.scale = *scale;
    // Columns stand apart by two blanks or more: "Size    Avg Latency(us)   Min Latency(us)".
    columns_ = 1;
    for (std::size_t i = 1; i < text.size(); ++i) {
      const bool gap = text[i] == '\t' || (text[i] == ' ' && text[i - 1] == ' ');
      if (gap && i + 1 < text.size() && text[i + 1] != ' ' && text[i + 1] != '\t') ++columns_;
    }
    in_table_ = true;
  }

  /// From the title in lower case. Empty: a collective, or nothing that is known.
  static std::string tool_of(std::string_view title) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTools = {
        {{"multiple bandwidth", "osu_mbw_mr"},
         {"bi-directional bandwidth test", "osu_bibw"},
         {"bandwidth test", "osu_bw"},
         {"multi latency test", "osu_multi_lat"},
         {" latency test", "osu_latency"}}};
    for (const std::string_view collective : {"allreduce", "alltoall", "allgather", "bcast", "broadcast", "reduce",
                                              "gather", "scatter", "barrier", "put", "get", "accumulate"}) {
      if (title.find(collective) != std::string_view::npos) return {};
    }
    for (const auto& [words, tool] : kTools) {
      if (title.find(words) != std::string_view::npos) return std::string(tool);
    }
    return {};
  }

  void finish() {
    test_.id = test_.source = name_of_file(where_);
    test_.bidirectional = test_.tool == "osu_bibw";
    rows_.finish(where_, out_.notes);
    if (!test_.rows.empty() && test_.tool.empty())
      out_.notes.push_back(fmt::format("{}: '{}' is no test between two processes, not read", where_, test_.title));
    else if (!test_.rows.empty())
      out_.tests.push_back(std::move(test_));
    test_ = {};
    in_table_ = false;
  }

  const std::string& where_;
  std::vector<std::string_view> lines_;
  Problems problems_;
  int number_ = 0, title_at_ = 0;
  PairTest test_;
  PairTestRows rows_{test_};
  bool in_table_ = false;
  std::size_t columns_ = 2;
  Measurements out_;
};

}  // namespace

Measurements read_osu(std::string_view text, const std::string& where) {
  require_text(text, where, kLargestFile);
  return LogReader(text, where).read();
}

}  // namespace linkcast::calibration
