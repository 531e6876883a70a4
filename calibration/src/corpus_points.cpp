// Reader of the corpus's kinds of single points. `points`: rows named by `row_fields`, one series for each operation,
// number of ranks and environment. `time_stats`: the median of an inspector's kernel times. `paper_point`: sentences
// with a number; those that say operation, ranks and size become series, tests of one NIC become tests, other
// bandwidths of a collective become figures. The rest is a note. Knows no topology.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "corpus_machine.hpp"
#include "corpus_tables.hpp"
#include "figure_words.hpp"
#include "linkcast/calibration/readers.hpp"
#include "linkcast/workloads/collective.hpp"
#include "pair_test_rows.hpp"
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
    if (yaml_.load(std::string(text_))) {
      read_keys();
      if (points_.IsSequence())
        for (const auto& point : points_) read_point(point);
      else if (rows_.IsSequence())
        read_rows();
      else
        yaml_.problem(yaml_.root, "no list 'rows' or 'points'", "expected '- [all_reduce, 8, 1073741824, 7701.98]'");
    }
    yaml_.problems.throw_if_any();
    for (auto& series : out_.series) {
      std::stable_sort(series.points.begin(), series.points.end(),
                       [](const Point& a, const Point& b) { return a.size < b.size; });
    }
    if (without_place_ > 0)
      out_.notes.push_back(fmt::format("{}: {} points are no measurement of a collective, a matrix or a pair; not read",
                                       where_, without_place_));
    return std::move(out_);
  }

 private:
  void read_keys() {
    machine_.id = stem_of(where_);
    yaml_.each(yaml_.root, [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      if (key == "collective")
        collective_ = yaml_.text(key, value);
      else if (key == "dtype")
        dtype_ = yaml_.text(key, value);
      else if (key == "redop")
        redop_ = yaml_.text(key, value);
      else if (key == "row_fields")
        fields_ = yaml_.text(key, value);
      else if (key == "rows")
        rows_ = value;
      else if (key == "points")
        points_ = value;
      else if (key != "columns" && !machine_.read(key, value, yaml_))
        report_unknown_key(key, at, {"collective", "dtype", "redop", "columns", "row_fields", "rows", "points"}, yaml_);
    });
  }

  /// The series of one kind, made when its first point comes.
  Series& series_for(models::nccl::Op op, int nodes, int ranks, std::map<std::string, std::string> env,
                     const std::string& what) {
    const auto title = what.empty() ? machine_.title : fmt::format("{}: {}", machine_.title, what);
    for (auto& s : out_.series) {
      if (s.op == op && s.nodes == nodes && s.ranks == ranks && s.env == env && s.title == title) return s;
    }
    auto& s = out_.series.emplace_back();
    s.id = fmt::format("{}#{}", machine_.id, out_.series.size());
    s.source = machine_.source;
    s.title = title;
    s.date = machine_.date;
    s.system = machine_.system;
    s.nodes = nodes;
    s.gpus_per_node = machine_.gpus_per_node > 0 ? machine_.gpus_per_node : std::max(1, ranks / nodes);
    s.ranks = ranks;
    s.fabric = nodes > 1 ? machine_.fabric : "";
    s.nics_per_node = machine_.nics_per_node;
    s.nic_gbps = machine_.nic_gbps;
    s.nccl = machine_.nccl;
    s.env = std::move(env);
    s.healthy = machine_.healthy;
    s.cause = machine_.cause;
    s.op = op;
    if (!dtype_.empty()) s.dtype = dtype_;
    if (!redop_.empty()) s.redop = redop_;
    return s;
  }

  static void add(Series& series, sim::Bytes size, sim::Time time) {
    for (const auto& p : series.points) {
      if (p.size != size) continue;
      series.remarks.push_back(fmt::format("size {} stands twice; the first of them is taken", size.count()));
      return;
    }
    series.points.push_back({size, time});
  }

  void read_rows() {
    // MSCCL++, RCCL, …: their kernels say nothing about NCCL's.
    if (lower(machine_.software_notes).substr(0, 8) == "not nccl") {
      out_.notes.push_back(fmt::format("{}: not measured with NCCL, not read", where_));
      return;
    }
    std::vector<std::string> names;
    for (std::size_t from = 0; from <= fields_.size();) {
      auto end = std::min(fields_.find(',', from), fields_.size());
      const auto field = trim(std::string_view(fields_).substr(from, end - from));
      names.emplace_back(field.substr(0, field.find(' ')));
      from = end + 1;
    }
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    const auto size_at = column("size_bytes");
    const bool median = column("time_us") == names.size();
    const auto time_at = median ? column("median_us") : column("time_us");
    if (size_at == names.size() || time_at == names.size()) {
      return yaml_.problem(yaml_.root, "'row_fields' names no size_bytes or no time_us",
                           "as in 'row_fields: collective, ranks, size_bytes, time_us'");
    }
    std::vector<std::string> storage;
    for (const auto& row : rows_) {
      const auto cells = cells_of_row(row, storage, yaml_);
      if (cells.size() <= std::max(size_at, time_at)) {
        if (!cells.empty())
          yaml_.problem(row, fmt::format("a row of {} values under {} fields", cells.size(), names.size()));
        continue;
      }
      const auto cell = [&](std::string_view name) {
        const auto at = column(name);
        return at < cells.size() ? cells[at].text : std::string_view{};
      };
      const auto size = parse_size(cells[size_at], yaml_.problems);
      const auto time = parse_time_us(cells[time_at], yaml_.problems);
      const auto name = cell("collective").empty() ? std::string_view(collective_) : cell("collective");
      const auto op = models::nccl::op_from(name);
      const auto ranks = cell("ranks").empty() ? static_cast<long>(machine_.gpus) : whole_in(cell("ranks")).value_or(0);
      if (!op) yaml_.problem(row, fmt::format("unknown collective '{}'", name));
      if (ranks < 1 || ranks > 10'000'000)
        yaml_.problem(row, "no number of ranks", "'ranks' in the row, or 'gpus' of the machine");
      if (!op || ranks < 1 || ranks > 10'000'000 || !size || !time) continue;
      auto env = machine_.env;
      for (const auto& field : names) {
        const auto value = cell(field);
        if (field.substr(0, 5) == "NCCL_" && !value.empty() && value != "default") env[field] = std::string(value);
      }
      auto& series = series_for(*op, std::max(1, machine_.nodes), static_cast<int>(ranks), std::move(env), {});
      if (median && series.points.empty())
        series.remarks.push_back("median kernel times of all ranks, waiting for the others included");
      add(series, *size, *time);
    }
  }

  void read_point(const YAML::Node& point) {
    std::string what, unit, conditions;
    std::optional<double> value;
    if (point.IsMap()) {
      yaml_.each(point, [&](const std::string& key, const YAML::Node&, const YAML::Node& v) {
        if (key == "what") what = yaml_.text(key, v);
        if (key == "unit") unit = yaml_.text(key, v);
        if (key == "conditions") conditions = yaml_.text(key, v);
        if (key == "value") value = yaml_.number(key, v);
      });
    }
    if (!value || !(*value > 0) || *value > 1e12)
      return yaml_.problem(point, "not a point", "expected 'what', a 'value' above zero and its 'unit'");
    const auto rate = GBps_of_unit(unit);
    const auto us = us_of_unit(unit);
    if (const auto tool = tool_in(what); !tool.empty() && (rate || us)) {
      PairTest test;
      test.id = fmt::format("{}#{}", machine_.id, out_.tests.size() + 1);
      test.source = machine_.source;
      test.title = what;
      test.system = machine_.system;
      test.fabric = machine_.fabric;
      test.nic_gbps = machine_.nic_gbps;
      test.healthy = machine_.healthy;
      test.cause = machine_.cause;
      read_test_words(what + ", " + conditions, test);
      test.latency = us.has_value();
      test.rows.push_back({size_in_words(conditions).value_or(sim::Bytes{}), *value * rate.value_or(us.value_or(1))});
      out_.tests.push_back(std::move(test));
      return;
    }
    const auto op = op_in_words(what);
    if (!op || (!rate && !us)) {
      ++without_place_;
      return;
    }
    read_collective_point(*op, what, conditions, *value, rate, us);
  }

  void read_collective_point(models::nccl::Op op, const std::string& what, const std::string& conditions, double value,
                             std::optional<double> rate, std::optional<double> us) {
    const int nodes = std::max(1, nodes_in_words(conditions) > 0 ? nodes_in_words(conditions) : machine_.nodes);
    const auto ranks = ranks_in_words(conditions, {nodes, machine_.gpus_per_node});
    const auto size = size_in_words(conditions);
    const auto env = env_in_words(conditions);
    if (ranks && size) {
      const double bytes = static_cast<double>(size->count());
      const bool of_bus = metric_in_words(what, true, true) == Figure::Metric::busbw;
      const double algbw = rate ? value * *rate / (of_bus ? workloads::busbw_factor(op, *ranks) : 1) : 0;
      const double time_us = us ? value * *us : bytes / algbw * 1e-3;
      if (std::isfinite(time_us) && time_us > 1e-3 && time_us < kLongestUs) {
        auto& series = series_for(op, nodes, *ranks, env, what);
        series.time_derived_from_busbw = rate.has_value();
        return add(series, *size, sim::Time::from_us(time_us));
      }
    }
    if (!rate) {
      ++without_place_;
      return;
    }
    Figure figure;
    figure.metric = metric_in_words(what, true, size.has_value());
    figure.op = op;
    figure.size = size;
    figure.ranks = ranks;
    figure.GBps = value * *rate;
    figure.what = fmt::format("{}: {}, {}", machine_.id, what, conditions);
    figure.env = env;
    out_.figures.push_back(std::move(figure));
  }

  std::string_view text_;
  const std::string& where_;
  YamlDocument yaml_;
  CorpusMachine machine_;
  std::string collective_, dtype_, redop_, fields_;
  YAML::Node rows_, points_;
  int without_place_ = 0;
  Measurements out_;
};

}  // namespace

Measurements read_corpus_points(std::string_view text, const std::string& where) { return Reader(text, where).read(); }

}  // namespace linkcast::calibration
