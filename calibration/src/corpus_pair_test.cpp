// Reader of the corpus's kind `perftest`: a test between two hosts, by size, of perftest or OSU. Knows no topology.
#include <fmt/format.h>

#include "corpus_machine.hpp"
#include "corpus_tables.hpp"
#include "linkcast/calibration/readers.hpp"
#include "pair_test_rows.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t kLargestFile = 16u << 20;

/// MPI's collectives: between any number of processes, by an MPI library.
bool is_collective(std::string_view tool) {
  return tool.substr(0, 4) == "osu_" && tool != "osu_bw" && tool != "osu_bibw" && tool != "osu_latency" &&
         tool != "osu_mbw_mr" && tool != "osu_multi_lat";
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& where) : text_{text}, where_{where}, yaml_{text, where} {}

  Measurements read() {
    require_text(text_, where_, kLargestFile);
    if (yaml_.load(std::string(text_))) {
      read_keys();
      read_unit();
      read_rows();
    }
    yaml_.problems.throw_if_any();
    if (is_collective(test_.tool))
      out_.notes.push_back(fmt::format("{}: {} is a collective of MPI, not read", where_, test_.tool));
    else
      out_.tests.push_back(std::move(test_));
    return std::move(out_);
  }

 private:
  void read_keys() {
    machine_.id = stem_of(where_);
    yaml_.each(yaml_.root, [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      if (key == "test") {
        const auto name = yaml_.text(key, value);
        test_.tool = tool_in(name);
        if (test_.tool.empty())
          yaml_.problem(value, fmt::format("'{}' names no test", name), "as in 'test: ib_write_bw'");
        test_.bidirectional = name.find("bidirectional") != std::string::npos || test_.tool == "osu_bibw";
      } else if (key == "unit") {
        unit_ = yaml_.text(key, value), unit_at_ = value;
      } else if (key == "qps") {
        test_.qps = yaml_.whole(key, value);
      } else if (key == "memory") {
        test_.memory = memory_in(yaml_.text(key, value));
      } else if (key == "rows") {
        rows_ = value;
      } else if (key != "value" && key != "mtu" && key != "ranks" && !machine_.read(key, value, yaml_)) {
        report_unknown_key(key, at, {"test", "unit", "value", "qps", "memory", "mtu", "ranks", "rows"}, yaml_);
      }
    });
    test_.id = machine_.id;
    test_.source = machine_.source;
    test_.title = machine_.title;
    test_.system = machine_.system;
    test_.fabric = machine_.fabric;
    test_.nic_gbps = machine_.nic_gbps;
    test_.nics = std::max(1, machine_.nics_per_node);
    test_.healthy = machine_.healthy;
    test_.cause = machine_.cause;
    if (test_.tool.empty() && !yaml_.problems.any())
      yaml_.problem(yaml_.root, "missing key 'test'", "as in 'test: ib_write_bw'");
  }

  void read_unit() {
    const auto us = us_of_unit(unit_);
    const auto rate = GBps_of_unit(unit_);
    if (!us && !rate) {
      yaml_.problem(unit_.empty() ? yaml_.root : unit_at_, fmt::format("the unit '{}' is not known", unit_),
                    "expected GB/s, Gb/s, MB/s, MiB/s or us");
    } else if (is_latency_tool(test_.tool) != us.has_value() && !is_collective(test_.tool)) {
      yaml_.problem(unit_at_, fmt::format("{} in '{}'", test_.tool, unit_), "bandwidth is a rate, latency a time");
    }
    test_.latency = us.has_value();
    scale_ = us.value_or(rate.value_or(1));
    // "(aggregate, 104 pairs)": as many streams at once.
    if (const auto at = unit_.find(" pairs"); at != std::string::npos) {
      const auto from = unit_.find_last_not_of("0123456789", at - 1) + 1;
      test_.qps = static_cast<int>(whole_in(std::string_view(unit_).substr(from, at - from)).value_or(0));
    }
  }

  void read_rows() {
    if (!rows_ || !rows_.IsSequence() || rows_.size() == 0)
      return yaml_.problem(yaml_.root, "no list 'rows'", "expected lines of '- [size_bytes, value]'");
    PairTestRows rows{test_, scale_};
    std::vector<std::string> storage;
    for (const auto& row : rows_) {
      const auto cells = cells_of_row(row, storage, yaml_);
      if (cells.size() == 2)
        rows.add(cells[0], cells[1], yaml_.problems);
      else if (!cells.empty())
        yaml_.problem(row, fmt::format("a row of {} numbers, expected 2", cells.size()), "[size_bytes, value]");
    }
    rows.finish(where_, out_.notes);
    if (test_.rows.empty() && !yaml_.problems.any()) yaml_.problem(rows_, "no row with a value");
  }

  std::string_view text_;
  const std::string& where_;
  YamlDocument yaml_;
  CorpusMachine machine_;
  std::string unit_;
  YAML::Node unit_at_, rows_;
  double scale_ = 1;
  PairTest test_;
  Measurements out_;
};

}  // namespace

Measurements read_corpus_pair_test(std::string_view text, const std::string& where) {
  return Reader(text, where).read();
}

}  // namespace linkcast::calibration
