// Reader of what p2pBandwidthLatencyTest prints (CUDA samples): every bandwidth and latency matrix. With P2P reads the
// row's GPU pulls from the column's, so that its cells are turned (performP2PCopy in the sample). The CPU's launch
// times have no place in a PairMatrix. Knows no catalog beyond the names of GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "linkcast/calibration/readers.hpp"
#include "pair_matrix.hpp"
#include "system_of_gpus.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;

class LogReader {
 public:
  LogReader(std::string_view text, const std::string& where)
      : text_{text}, where_{where}, lines_{lines_of(text)}, problems_{text, where} {}

  Measurements read() {
    while (at_ < lines_.size()) read_line();
    finish_run();
    if (tables_ == 0 && !problems_.any()) {
      problems_.whole_file("no matrix of p2pBandwidthLatencyTest in this file",
                           "expected 'Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)' and its rows");
    }
    problems_.throw_if_any();
    return std::move(out_);
  }

 private:
  void read_line() {
    const auto line = trim(lines_[at_]);
    if (line.find("P2P (Peer-to-Peer) GPU Bandwidth Latency Test") != std::string_view::npos) finish_run();
    if (line.substr(0, 8) == "Device: ") note_gpu(line);
    if (line.find("Matrix") != std::string_view::npos) {
      title_ = std::string(line);
      title_at_ = static_cast<int>(at_) + 1;
      tables_of_title_ = 0;
    } else if (!title_.empty() && is_column_numbers(line)) {
      return read_table(line);
    } else if (!line.empty() && !title_.empty()) {
      finish_title();
    }
    ++at_;
  }

  /// "Device: 0, NVIDIA A100-SXM4-80GB, pciBusID: 7, pciDeviceID: 0, pciDomainID:0"
  void note_gpu(std::string_view line) {
    const auto comma = line.find(',');
    if (comma == std::string_view::npos) return;
    gpus_.emplace_back(trim(line.substr(comma + 1, line.find(',', comma + 1) - comma - 1)));
  }

  void read_table(std::string_view header) {
    const bool of_cpu = header.substr(0, 3) == "CPU";
    auto table = read_printed_matrix(lines_, at_, true, problems_);
    ++tables_;
    ++tables_of_title_;
    if (title_.find("Connectivity") != std::string::npos) return note_connectivity(table);
    PairMatrix matrix;
    bool columns_send = false;
    const auto why = read_matrix_title(of_cpu ? title_ + " [CPU]" : title_, matrix, columns_send);
    if (!why.empty()) {
      ++left_out_[why];
      return;
    }
    if (const auto open = title_.rfind('('); open != std::string::npos) {
      const auto unit = title_.substr(open + 1, title_.find(')', open) - open - 1);
      if (matrix.latency ? us_of_unit(unit) != 1 : GBps_of_unit(unit) != 1) {
        problems_.at(title_at_, static_cast<int>(open) + 1, unit.size() + 2,
                     fmt::format("a {} in '{}'", matrix.latency ? "latency" : "bandwidth", unit),
                     "the test prints bandwidth in GB/s and latency in us");
      }
    }
    set_cells(std::move(table.rows), columns_send, 1, matrix);
    matrix.title = title_;
    matrix.source = name_of_file(where_);
    matrices_.push_back(std::move(matrix));
  }

  void note_connectivity(const PrintedMatrix& table) {
    bool any = table.rows.size() < 2;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      for (std::size_t k = 0; k < table.rows[i].size(); ++k) any = any || (i != k && table.rows[i][k].value_or(0) > 0);
    }
    if (any) return;
    out_.notes.push_back(
        fmt::format("{}: the test says that no GPU can access another's memory: its P2P=Enabled matrices are copies "
                    "through the host",
                    where_));
  }

  void finish_title() {
    if (tables_of_title_ == 0) {
      problems_.at(title_at_, 1, title_.size(), "no table under this title", "was the run killed, or the log cut?");
    }
    title_.clear();
  }

  void finish_run() {
    if (!title_.empty()) finish_title();
    const std::set<std::string> kinds(gpus_.begin(), gpus_.end());
    for (auto& matrix : matrices_) {
      matrix.id = fmt::format("{}#{}", name_of_file(where_), ++count_);
      if (kinds.size() == 1) {
        matrix.gpu = *kinds.begin();
        matrix.system = system_of_gpus(matrix.gpu, static_cast<int>(gpus_.size())).system;
      }
      out_.matrices.push_back(std::move(matrix));
    }
    for (const auto& [why, count] : left_out_)
      out_.notes.push_back(fmt::format("{}: {} tables are left out: {}", where_, count, why));
    matrices_.clear();
    left_out_.clear();
    gpus_.clear();
  }

  std::string_view text_;
  const std::string& where_;
  std::vector<std::string_view> lines_;
  Problems problems_;
  std::size_t at_ = 0;
  std::string title_;
  int title_at_ = 0, tables_of_title_ = 0, tables_ = 0, count_ = 0;
  std::vector<std::string> gpus_;
  std::vector<PairMatrix> matrices_;
  std::map<std::string, int> left_out_;
  Measurements out_;
};

}  // namespace

Measurements read_p2p_bandwidth_latency(std::string_view text, const std::string& where) {
  require_text(text, where, kLargestFile);
  return LogReader(text, where).read();
}

}  // namespace linkcast::calibration
