// Readers of perftest (linux-rdma/perftest): what ib_write_bw, ib_read_lat and the others print, and their
// --out_json. "MB/sec" and "MiB/sec" are 2^20 bytes, "Gb/sec" 1e9 bits (perftest_parameters.c: format_factor). The
// JSON does not say its unit: the message rate beside it does. Knows no catalog.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "json_text.hpp"
#include "linkcast/calibration/readers.hpp"
#include "nccl_tests_table.hpp"
#include "pair_test_rows.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;
constexpr double kGBpsOfMiB = 1.048576e-3;
constexpr double kGBpsOfGb = 0.125;

/// "RDMA_Write BW Test", "Send Bidirectional BW Test", "RDMA_Read_Latency_Test": the tool's name, or empty.
std::string tool_of_title(std::string title, bool& bidirectional) {
  std::replace(title.begin(), title.end(), '_', ' ');
  if (title.find(" Test") == std::string::npos) return {};
  const bool bw = title.find(" BW ") != std::string::npos;
  if (!bw && title.find(" Latency ") == std::string::npos) return {};
  for (const auto& [words, name] :
       {std::pair{"RDMA Write", "write"}, {"RDMA Read", "read"}, {"Send", "send"}, {"Atomic", "atomic"}}) {
    if (title.find(words) == std::string::npos) continue;
    bidirectional = title.find("Bidirectional") != std::string::npos;
    return fmt::format("ib_{}_{}", name, bw ? "bw" : "lat");
  }
  return {};
}

std::string fabric_of_link(std::string_view link) {
  if (link.substr(0, 2) == "IB") return "ib";
  return link.substr(0, 8) == "Ethernet" ? "roce" : "";
}

/// Which column of the printed table is what.
struct Columns {
  std::size_t count = 0, value = 0;
  double scale = 0;
  bool latency = false;
};

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
    if (out_.tests.empty() && !problems_.any()) {
      if (banner_ > 0)
        problems_.at(banner_, 1, 1, "this test has no row with a value", "did the client connect?");
      else
        problems_.whole_file("no table of perftest in this file",
                             "expected '#bytes #iterations BW peak[MiB/sec] BW average[MiB/sec] …' and its rows");
    }
    for (std::size_t k = 0; k < out_.tests.size() && out_.tests.size() > 1; ++k)
      out_.tests[k].id += fmt::format("#{}", k + 1);
    problems_.throw_if_any();
    return std::move(out_);
  }

 private:
  void read_line(std::string_view line) {
    const auto content = trim(line);
    if (content.empty()) return;
    bool bidirectional = false;
    if (auto tool = tool_of_title(std::string(content), bidirectional); !tool.empty()) {
      begin();
      banner_ = number_;
      test_.tool = std::move(tool);
      test_.bidirectional = bidirectional;
    } else if (content.find("#bytes") != std::string_view::npos) {
      begin();
      read_header(content, static_cast<int>(content.data() - line.data()) + 1);
    } else if (content.front() == '-' && content.find_first_not_of('-') == std::string_view::npos) {
      return;
    } else if (columns_.count > 0 && is_row(content)) {
      read_row(line);
    } else {
      read_fact(content);
    }
  }

  /// Server and client often write into one log: a second title or header before the first row changes nothing.
  void begin() {
    if (!test_.rows.empty() || rows_.rounded_away > 0) finish();
  }

  static bool is_row(std::string_view content) {
    const auto first = content.substr(0, content.find_first_of(" \t"));
    return whole_in(first).has_value();
  }

  void read_fact(std::string_view content) {
    const auto after = [&](std::string_view name) -> std::string_view {
      const auto at = content.find(name);
      if (at == std::string_view::npos) return {};
      const auto colon = content.find(':', at + name.size());
      return colon == std::string_view::npos ? std::string_view{} : trim(content.substr(colon + 1));
    };
    if (auto qps = after("Number of qps"); !qps.empty())
      test_.qps =
          static_cast<int>(std::clamp(whole_in(qps.substr(0, qps.find_first_of(" \t"))).value_or(0), 0L, 1'000'000L));
    if (const auto link = after("Link type"); !link.empty()) test_.fabric = fabric_of_link(link);
    if (const auto device = after("Device  "); !device.empty()) test_.title = fmt::format("device {}", device);
    if (after("Use ROCm memory").substr(0, 2) == "ON") test_.memory = MemoryKind::gpu;
    const bool gpu = content.find("--use_cuda") != std::string_view::npos ||
                     content.find("--use_rocm") != std::string_view::npos ||
                     content.find("initializing CUDA") != std::string_view::npos ||
                     content.find("Picking device No.") != std::string_view::npos;
    if (!gpu) return;
    begin();  // these stand before the title
    test_.memory = MemoryKind::gpu;
  }

  void read_header(std::string_view header, int column) {
    columns_ = {};
    const auto cells = cells_of(header, number_);
    for (const auto& cell : cells) {
      // "BW peak[…]", "99% percentile[…]", "MsgRate Port1[…]", "tps average" are one column each.
      const bool first_half = cell.text == "BW" || cell.text == "99%" || cell.text == "99.9%" || cell.text == "tps" ||
                              cell.text == "MsgRate";
      if (cell.text.substr(0, 8) == "average[" && columns_.value == 0) {
        columns_.value = columns_.count;
        const auto unit = cell.text.substr(8, cell.text.find(']') - 8);
        if (unit == "MB/sec" || unit == "MiB/sec")
          columns_.scale = kGBpsOfMiB;
        else if (unit == "Gb/sec")
          columns_.scale = kGBpsOfGb;
        else
          problems_.at(number_, column + cell.column - 1, cell.text.size(),
                       fmt::format("the unit '{}' is not known", unit),
                       "perftest prints MiB/sec (or MB/sec, the same) and Gb/sec");
      }
      if (cell.text == "t_typical[usec]" || (cell.text == "t_avg[usec]" && columns_.value == 0)) {
        columns_.value = columns_.count;
        columns_.latency = true;
        columns_.scale = 1;
      }
      if (!first_half) ++columns_.count;
    }
    if (columns_.value == 0) {
      columns_.count = 0;
      problems_.at(number_, column, header.size(), "no column of averages in this table",
                   "expected 'BW average[…]', 't_typical[usec]' or 't_avg[usec]'");
    }
    rows_.scale = columns_.scale;
    test_.latency = columns_.latency;
  }

  void read_row(std::string_view line) {
    const auto cells = cells_of(line, number_);
    if (cells.size() != columns_.count) {
      const auto& last = cells.size() > columns_.count ? cells[columns_.count] : cells.back();
      problems_.at(
          number_, last.column, last.text.size(),
          fmt::format("a row of {} numbers under {} columns", cells.size(), columns_.count),
          cells.size() < columns_.count ? "the row is cut; copy the log again" : "another line was written into it");
      return;
    }
    rows_.add(cells[0], cells[columns_.value], problems_);
  }

  void finish() {
    test_.id = name_of_file(where_);
    test_.source = name_of_file(where_);
    if (test_.tool.empty()) test_.tool = tool_in(where_);
    rows_.finish(where_, out_.notes);
    if (!test_.rows.empty()) out_.tests.push_back(std::move(test_));
    test_ = {};
    columns_ = {};
  }

  const std::string& where_;
  std::vector<std::string_view> lines_;
  Problems problems_;
  int number_ = 0, banner_ = 0;
  PairTest test_;
  PairTestRows rows_{test_};
  Columns columns_;
  Measurements out_;
};

/// One object of --out_json; a run over all sizes (-a) writes one for each.
void read_object(const JsonObject& object, const std::string& where, std::vector<PairTest>& tests,
                 std::vector<std::string>& notes, Problems& problems) {
  const auto problem = [&](std::string what, std::string help = {}) {
    problems.at(object.at.line, object.at.column, 1, std::move(what), std::move(help));
  };
  const auto& info = json_member(object.value, "test_info");
  const auto& results = json_member(object.value, "results");
  PairTest test;
  test.id = test.source = name_of_file(where);
  test.tool = tool_of_title(json_text(json_member(info, "test")), test.bidirectional);
  test.latency = is_latency_tool(test.tool);
  test.qps = json_whole(json_member(info, "Number_of_qps"), 0);
  test.fabric = fabric_of_link(json_text(json_member(info, "Link_type")));
  if (const auto device = json_text(json_member(info, "Device")); !device.empty())
    test.title = fmt::format("device {}", device);
  if (info.contains("cuda_device") || json_text(json_member(info, "Use_ROCm_memory")) == "ON")
    test.memory = MemoryKind::gpu;

  const auto& size = json_member(results, "MsgSize");
  const auto& bandwidth = json_member(results, "BW_average");
  const auto& typical = json_member(results, "t_typical");
  const auto& latency = typical.is_number() ? typical : json_member(results, "t_avg");
  const auto& value = bandwidth.is_number() ? bandwidth : latency;
  if (!size.is_number_unsigned() || size.get<std::uint64_t>() == 0 || size.get<std::uint64_t>() > 1u << 31)
    return problem("'MsgSize' is not a number of bytes");
  if (!value.is_number()) return problem("'results' has neither 'BW_average' nor 't_typical'");
  if (!std::isfinite(value.get<double>()) || value.get<double>() < 0)
    return problem(fmt::format("{} is no measured value", value.get<double>()), "expected a number above zero");
  if (value.get<double>() == 0) {
    notes.push_back(fmt::format("{}: a row of 0.00 is left out", where));
    return;
  }
  double scale = 1;
  test.latency = !bandwidth.is_number();
  if (!test.latency) {
    const auto& messages = json_member(results, "MsgRate");
    const double bytes = messages.is_number() ? messages.get<double>() * 1e6 * size.get<double>() : 0;
    const double unit = bytes / value.get<double>();
    if (unit > 0.5 * 0x100000 && unit < 2.0 * 0x100000)
      scale = kGBpsOfMiB;
    else if (unit > 0.5 * 125e6 && unit < 2.0 * 125e6)
      scale = kGBpsOfGb;
    else
      return problem("the unit of 'BW_average' cannot be told",
                     "'MsgRate' x 'MsgSize' gives neither MiB/sec nor Gb/sec");
  }
  const PairTest::Row row{sim::Bytes{size.get<std::int64_t>()}, value.get<double>() * scale};
  const auto goes_on = [&](const PairTest& t) {
    return t.tool == test.tool && t.qps == test.qps && t.title == test.title && t.bidirectional == test.bidirectional &&
           t.memory == test.memory && t.latency == test.latency && t.rows.back().size < row.size;
  };
  if (!tests.empty() && goes_on(tests.back())) {
    tests.back().rows.push_back(row);
  } else {
    test.rows.push_back(row);
    tests.push_back(std::move(test));
  }
}

}  // namespace

Measurements read_perftest(std::string_view text, const std::string& where) {
  require_text(text, where, kLargestFile);
  return LogReader(text, where).read();
}

Measurements read_perftest_json(std::string_view text, const std::string& where) {
  require_text(text, where, kLargestFile);
  Problems problems(text, where);
  Measurements out;
  for (const auto& object : json_objects(text, "\"test_info\"", problems))
    read_object(object, where, out.tests, out.notes, problems);
  if (out.tests.empty() && out.notes.empty() && !problems.any())
    problems.whole_file("no 'test_info' in this file", "expected what perftest writes with --out_json");
  for (std::size_t k = 0; k < out.tests.size() && out.tests.size() > 1; ++k)
    out.tests[k].id += fmt::format("#{}", k + 1);
  problems.throw_if_any();
  return out;
}

}  // namespace linkcast::calibration
