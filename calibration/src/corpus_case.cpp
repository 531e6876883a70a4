// Reader of a case: what somebody measured on what, as in a question to a forum (docs/formats.md). Only `hardware`
// without its notes, the NCCL version and the numbers are taken. Verdict and cause go into Case::answer, which only
// tests look at; symptom, fix, environment and notes would give the answer away and are not read. Knows no topology.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "corpus_machine.hpp"
#include "corpus_tables.hpp"
#include "figure_words.hpp"
#include "linkcast/calibration/readers.hpp"
#include "linkcast/workloads/collective.hpp"
#include "software_facts.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t kLargestFile = 1u << 20;  // the largest known has 30 KiB
constexpr double kLongestUs = 9.2e12;           // sim::Time

class Reader {
 public:
  Reader(std::string_view text, const std::string& where) : text_{text}, where_{where}, yaml_{text, where} {}

  Measurements read() {
    require_text(text_, where_, kLargestFile);
    if (yaml_.load(std::string(text_))) read_keys();
    yaml_.problems.throw_if_any();
    out_.cases.push_back(std::move(case_));
    return std::move(out_);
  }

 private:
  void read_keys() {
    case_.id = stem_of(where_);
    Case::Answer answer;
    YAML::Node measurements;
    yaml_.each(yaml_.root, [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      if (key == "id") {
        if (const auto s = yaml_.text(key, value); !s.empty()) case_.id = s;
      } else if (key == "source") {
        case_.source = yaml_.text(key, value);
      } else if (key == "verdict") {
        answer.verdict = yaml_.text(key, value);
      } else if (key == "cause") {
        answer.cause = yaml_.text(key, value);
      } else if (key == "hardware" && value.IsMap()) {
        read_hardware(value);
      } else if (key == "software" && value.IsMap()) {
        yaml_.each(value, [&](const std::string& name, const YAML::Node&, const YAML::Node& v) {
          if (name == "nccl") read_version(yaml_.text(name, v));
        });
      } else if (key == "measurements") {
        measurements = value;
      } else if (!is_told(key)) {
        const std::vector<std::string> known = {"id",       "source",    "date",  "hardware",
                                                "software", "symptom",   "notes", "measurements",
                                                "verdict",  "after_fix", "cause", "established_by"};
        const auto near = sim::nearest(key, known);
        yaml_.problem(at, fmt::format("unknown key '{}'", key),
                      near.empty() ? "numbers go under 'measurements'" : fmt::format("did you mean '{}'?", near));
      }
    });
    if (!answer.verdict.empty()) case_.answer = answer;
    if (!measurements.IsSequence()) {
      yaml_.problem(yaml_.root, "no list 'measurements'", "expected '- kind: figure', 'value: 186', 'unit: GB/s', …");
      return;
    }
    for (const auto& m : measurements) read_measurement(m);
  }

  static bool is_told(const std::string& key) {
    for (const auto* known :
         {"date", "title", "hardware", "software", "symptom", "notes", "after_fix", "established_by", "confidence"}) {
      if (key == known) return true;
    }
    return false;
  }

  void read_hardware(const YAML::Node& node) {
    auto& h = case_.hardware;
    yaml_.each(node, [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      if (key == "gpu")
        h.gpu = yaml_.text(key, value);
      else if (key == "fabric")
        h.fabric = yaml_.text(key, value);
      else if (key == "cpu")
        h.cpu = yaml_.text(key, value);
      else if (key == "gpus_per_node")
        h.gpus_per_node = yaml_.whole(key, value);
      else if (key == "nodes")
        h.nodes = yaml_.whole(key, value);
      else if (key == "nics_per_node")
        h.nics_per_node = yaml_.whole(key, value);
      else if (key == "nic_gbps")
        h.nic_gbps = yaml_.number(key, value).value_or(0);
      else if (key != "notes")
        note(at, fmt::format("'{}' of the hardware is not read", key));
    });
    if (h.nic_gbps < 0 || h.nic_gbps > 1e6)
      yaml_.problem(node, "'nic_gbps' is not a rate", "expected a number of Gb/s above 0");
  }

  /// "2.26.2", "<= 2.22.3", "2.9.9 / 2.10.3": the first that is named.
  void read_version(std::string_view words) {
    const auto digit = words.find_first_of("0123456789");
    if (digit != std::string_view::npos) case_.nccl = nccl_version_in(words.substr(digit));
  }

  void note(const YAML::Node& at, const std::string& what) {
    out_.notes.push_back(fmt::format("{}:{}: {}", where_, at.Mark().line + 1, what));
  }

  /// One of `measurements`, by its kind.
  struct Item {
    std::string kind, unit, what;
    YAML::Node unit_at, value_at, collective_at;
    std::optional<double> value;
    std::string collective, placement;
    std::optional<sim::Bytes> size;
    int ranks = 0, nodes = 0;
    YAML::Node columns, rows;
  };

  void read_measurement(const YAML::Node& node) {
    if (!node.IsMap()) return yaml_.problem(node, "not a measurement", "expected '- kind: figure' and its keys");
    Item item;
    yaml_.each(node, [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      if (key == "kind")
        item.kind = yaml_.text(key, value);
      else if (key == "unit")
        item.unit = yaml_.text(key, value), item.unit_at = value;
      else if (key == "value")
        item.value = yaml_.number(key, value), item.value_at = value;
      else if (key == "what")
        item.what = yaml_.text(key, value);
      else if (key == "collective")
        item.collective = yaml_.text(key, value), item.collective_at = value;
      else if (key == "placement")
        item.placement = yaml_.text(key, value);
      else if (key == "ranks" || key == "gpus")
        item.ranks = yaml_.whole(key, value);
      else if (key == "nodes")
        item.nodes = yaml_.whole(key, value);
      else if (key == "columns")
        item.columns = value;
      else if (key == "rows")
        item.rows = value;
      else if (key == "size_bytes" && !value.IsNull())
        item.size = parse_size({value.IsScalar() ? value.Scalar() : "", value.Mark().line + 1, value.Mark().column + 1},
                               yaml_.problems);
      else if (key != "size_bytes" && key != "title" && key != "matrix" && key != "note" && key != "tool")
        note(at, fmt::format("'{}' of a measurement is not read", key));
    });
    if (item.kind == "figure")
      read_figure(node, item);
    else if (item.kind == "perftest")
      read_test(node, item);
    else if (item.kind == "nccl_tests")
      read_series(node, item);
    else if (item.kind == "p2p_matrix")
      read_pairs(node);
    else
      note(node, fmt::format("a measurement of kind '{}' is not read", item.kind));
  }

  MachineSize size_of(const Item& item) const {
    return {item.nodes > 0 ? item.nodes : case_.hardware.nodes, case_.hardware.gpus_per_node};
  }

  bool has_value(const YAML::Node& node, const Item& item) {
    if (item.value && *item.value > 0 && *item.value < 1e12) return true;
    if (!item.value && item.value_at.IsDefined() && item.value_at.IsScalar()) return false;  // already said
    yaml_.problem(item.value ? item.value_at : node, "no 'value' above zero", "as in 'value: 186' and 'unit: GB/s'");
    return false;
  }

  void read_figure(const YAML::Node& node, const Item& item) {
    if (!has_value(node, item)) return;
    Figure figure;
    figure.op = op_in_words(item.collective.empty() ? item.what : item.collective);
    figure.size = item.size ? item.size : size_in_words(item.what);
    figure.ranks = item.ranks > 0 ? std::optional(item.ranks) : ranks_in_words(item.what, size_of(item));
    figure.metric = metric_in_words(item.what, figure.op.has_value(), figure.size.has_value());
    figure.what = item.what;
    figure.env = env_in_words(item.what);
    if (const auto rate = GBps_of_unit(item.unit)) {
      figure.GBps = *item.value * *rate;
    } else if (const auto us = us_of_unit(item.unit); us && figure.size) {  // a time: its algorithm bandwidth
      figure.GBps = static_cast<double>(figure.size->count()) / (*item.value * *us) * 1e-3;
      figure.metric = Figure::Metric::algbw;
    } else if (const double nics = case_.hardware.nics_per_node * case_.hardware.nic_gbps / 8;
               nics > 0 && item.unit.starts_with('%') && item.unit.find("gain") == std::string::npos) {
      figure.GBps = *item.value / 100 * nics;  // of what the NICs of a node carry
      if (figure.metric == Figure::Metric::unknown) figure.metric = Figure::Metric::busbw;
    } else {
      return note(node, fmt::format("a figure in '{}' is no bandwidth, not read", item.unit));
    }
    case_.figures.push_back(std::move(figure));
  }

  void read_test(const YAML::Node& node, const Item& item) {
    if (!has_value(node, item)) return;
    const auto rate = GBps_of_unit(item.unit);
    const auto us = us_of_unit(item.unit);
    if (!rate && !us) return note(node, fmt::format("a test in '{}' is not read", item.unit));
    PairTest test;
    test.id = fmt::format("{}#{}", case_.id, case_.tests.size() + 1);
    test.source = case_.source;
    test.title = item.what;
    test.fabric = case_.hardware.fabric;
    test.nic_gbps = case_.hardware.nic_gbps;
    read_test_words(item.what, test);
    test.latency = us.has_value();
    test.rows.push_back({item.size.value_or(size_in_words(item.what).value_or(sim::Bytes{})),
                         *item.value * rate.value_or(us.value_or(1))});
    case_.tests.push_back(std::move(test));
  }

  void read_pairs(const YAML::Node& node) {
    PairMatrix matrix;
    const auto why = read_matrix(node, "title", matrix, yaml_);
    if (!why.empty()) return note(node, fmt::format("'{}' is left out: {}", matrix.title, why));
    matrix.id = fmt::format("{}#{}", case_.id, case_.matrices.size() + 1);
    matrix.source = case_.source;
    matrix.gpu = case_.hardware.gpu;
    case_.matrices.push_back(std::move(matrix));
  }

  void read_series(const YAML::Node& node, const Item& item) {
    Series series;
    const auto words = item.placement.empty() ? item.what : item.placement;
    const auto op = op_in_words(item.collective);
    if (!op) {
      const auto names = models::nccl::op_names();
      const auto near = sim::nearest(item.collective, names);
      yaml_.problem(item.collective.empty() ? node : item.collective_at,
                    fmt::format("unknown collective '{}'", item.collective),
                    near.empty() ? fmt::format("expected one of {}", fmt::join(names, ", "))
                                 : fmt::format("did you mean '{}'?", near));
      return;
    }
    const auto& h = case_.hardware;
    series.op = *op;
    if (item.collective != models::nccl::name_of(*op))
      series.remarks.push_back(fmt::format("'{}' is taken as {}", item.collective, models::nccl::name_of(*op)));
    const int told = nodes_in_words(words);
    series.nodes = std::max(1, item.nodes > 0 ? item.nodes : told > 0 ? told : h.nodes);
    series.ranks = item.ranks > 0 ? item.ranks : ranks_in_words(words, size_of(item)).value_or(0);
    if (series.ranks == 0) series.ranks = series.nodes * std::max(1, h.gpus_per_node);
    series.gpus_per_node = std::max(1, (series.ranks + series.nodes - 1) / series.nodes);
    series.id = fmt::format("{}#{}", case_.id, case_.series.size() + 1);
    series.source = case_.source;
    series.title = words;
    series.fabric = series.nodes > 1 ? h.fabric : "";
    series.nics_per_node = h.nics_per_node;
    series.nic_gbps = h.nic_gbps;
    series.nccl = case_.nccl;
    series.env = env_in_words(words);
    if (lower(words).find("one process") != std::string::npos) series.launch = models::LaunchMode::single_process;
    read_points(node, item, series);
    if (!series.points.empty()) case_.series.push_back(std::move(series));
  }

  /// Rows of [size, time, algbw, busbw]; a time that the source does not have follows from a bandwidth.
  void read_points(const YAML::Node& node, const Item& item, Series& series) {
    std::vector<std::string> names = {"size_bytes", "time_us", "algbw_GBps", "busbw_GBps"};
    if (item.columns.IsSequence()) {
      names.clear();
      for (const auto& name : item.columns) names.push_back(name.IsScalar() ? name.Scalar() : "");
    }
    if (!item.rows.IsSequence()) return yaml_.problem(node, "no list 'rows'", "expected '- [size_bytes, time_us, …]'");
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    std::vector<std::string> storage;
    for (const auto& row : item.rows) {
      const auto cells = cells_of_row(row, storage, yaml_);
      if (cells.empty()) continue;
      const auto cell = [&](std::string_view name) {
        const auto at = column(name);
        const bool there = at < cells.size() && !cells[at].text.empty() && cells[at].text != "null";
        return there ? std::optional(cells[at]) : std::nullopt;
      };
      const auto size_cell = cell("size_bytes");
      if (!size_cell) {
        yaml_.problem(row, "a row without a size", "name its columns, as in 'columns: [size_bytes, time_us]'");
        continue;
      }
      const auto size = parse_size(*size_cell, yaml_.problems);
      std::optional<sim::Time> time;
      if (const auto time_cell = cell("time_us")) {
        time = parse_time_us(*time_cell, yaml_.problems);
      } else {
        const auto algbw = cell("algbw_GBps");
        const auto busbw = cell("busbw_GBps");
        const auto rate = number_in(algbw ? algbw->text : busbw ? busbw->text : "");
        const double factor = algbw ? 1 : workloads::busbw_factor(series.op, series.ranks);
        const double us = size && rate ? static_cast<double>(size->count()) / (*rate / factor) * 1e-3 : 0;
        if (!(us > 1e-6 && us < kLongestUs))
          yaml_.problem(row, "neither a time nor a bandwidth above zero", "'time_us', 'algbw_GBps' or 'busbw_GBps'");
        else
          time = sim::Time::from_us(us), series.time_derived_from_busbw = true;
      }
      if (!size || !time) continue;
      const auto same =
          std::find_if(series.points.begin(), series.points.end(), [&](const Point& p) { return p.size == *size; });
      if (same != series.points.end())
        series.remarks.push_back(fmt::format("size {} stands twice; the first of them is taken", size->count()));
      else
        series.points.push_back({*size, *time});
    }
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const Point& a, const Point& b) { return a.size < b.size; });
  }

  std::string_view text_;
  const std::string& where_;
  YamlDocument yaml_;
  Case case_;
  Measurements out_;
};

}  // namespace

Measurements read_corpus_case(std::string_view text, const std::string& where) { return Reader(text, where).read(); }

}  // namespace linkcast::calibration
