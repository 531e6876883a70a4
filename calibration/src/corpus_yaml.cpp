// Reader of the corpus format (docs/formats.md): one collective measurement in one YAML file.
// yaml-cpp reads the keys; the rows go through the scanner of point_rows.hpp. Knows no topology: whether the
// system exists is for those who predict.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <set>

#include "corpus_keys.hpp"
#include "linkcast/calibration/series.hpp"
#include "point_rows.hpp"
#include "problems.hpp"
#include "secrets.hpp"
#include "software_facts.hpp"
#include "yaml_document.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t kLargestFile = 16u << 20;  // the largest known has 23 KiB
constexpr int kMostRanks = 10'000'000;

/// The text without its `rows:` block, line numbers unchanged, and the lines of the block.
struct SplitText {
  std::string keys;
  std::vector<std::string_view> rows;
  int first_row_line = 0;
};

bool is_rows_key(std::string_view line) {
  if (line.substr(0, 5) != "rows:") return false;
  const auto rest = trim(line.substr(5));
  return rest.empty() || rest.front() == '#';
}

/// Inside the block: rows, comments, empty lines. Anything at the margin that is not a dash begins the next key.
bool belongs_to_rows(std::string_view line) {
  return line.empty() || line.front() == '-' || line.front() == ' ' || line.front() == '\t' || line.front() == '#' ||
         line.front() == '\r';
}

SplitText split(std::string_view text) {
  SplitText out;
  out.keys.reserve(2048);
  bool inside = false;
  int number = 0;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    const auto line = text.substr(0, newline);
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
    ++number;
    if (inside && line.substr(0, 3) != "---" && belongs_to_rows(line)) {
      if (out.first_row_line == 0) out.first_row_line = number;
      if (out.first_row_line + static_cast<int>(out.rows.size()) == number) out.rows.push_back(line);
    } else {
      // A second `rows:` stays in the keys, where it is reported as a duplicate; its lines are dropped with the
      // first's.
      inside = is_rows_key(line);
      out.keys.append(line);
    }
    out.keys.push_back('\n');
  }
  return out;
}

class CorpusReader {
 public:
  CorpusReader(std::string_view text, const std::string& where) : text_{text}, where_{where}, yaml_{text, where} {}

  std::vector<Series> read() {
    require_text(text_, where_, kLargestFile);
    const auto parts = split(text_);
    series_.id = stem_of(where_);
    if (yaml_.load(parts.keys)) {
      read_keys(parts);
      check_whole();
    }
    problems_.throw_if_any();
    return {std::move(series_)};
  }

 private:
  void problem(const YAML::Node& at, std::string text, std::string help = {}) {
    yaml_.problem(at, std::move(text), std::move(help));
  }
  std::optional<std::string> scalar(const std::string& key, const YAML::Node& value) {
    return yaml_.scalar(key, value);
  }

  void read_keys(const SplitText& parts) {
    YAML::Node columns, rows;
    yaml_.each(root_, [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      present_.insert(key);
      if (key == "id")
        text(key, value, series_.id);
      else if (key == "source")
        text(key, value, series_.source);
      else if (key == "title")
        text(key, value, series_.title);
      else if (key == "date")
        text(key, value, series_.date);
      else if (key == "fabric")
        text(key, value, series_.fabric);
      else if (key == "machine_notes")
        text(key, value, series_.machine_notes);
      else if (key == "notes")
        text(key, value, series_.notes);
      else if (key == "cause")
        text(key, value, series_.cause);
      else if (key == "dtype")
        text(key, value, series_.dtype);
      else if (key == "redop")
        text(key, value, series_.redop);
      else if (key == "nodes")
        whole(key, value, series_.nodes);
      else if (key == "gpus_per_node")
        whole(key, value, series_.gpus_per_node);
      else if (key == "nics_per_node")
        whole_or_null(key, value, series_.nics_per_node);
      else if (key == "nic_gbps")
        positive(key, value, series_.nic_gbps);
      else if (key == "ranks")
        ranks_ = value, whole(key, value, series_.ranks);
      else if (key == "system")
        read_system(value);
      else if (key == "kind")
        one_of(key, value, {"collective"});
      else if (key == "placement")
        series_.in_place = one_of(key, value, {"out_of_place", "in_place"}) == "in_place";
      else if (key == "health")
        series_.healthy = one_of(key, value, {"ok", "degraded"}) != "degraded";
      else if (key == "time_derived_from_busbw")
        series_.time_derived_from_busbw = one_of(key, value, {"true", "false"}) == "true";
      else if (key == "collective")
        read_collective(value);
      else if (key == "software")
        read_software(value);
      else if (key == "columns")
        columns = value;
      else if (key == "rows")
        rows = value;
      else
        unknown(key, at);
    });
    read_rows(columns, rows, parts);
  }

  void unknown(const std::string& key, const YAML::Node& at) {
    auto known = descriptive_corpus_keys();
    if (std::find(known.begin(), known.end(), key) != known.end()) return;
    known.insert(known.end(), used_corpus_keys().begin(), used_corpus_keys().end());
    const auto near = sim::nearest(key, known);
    problem(at, fmt::format("unknown key '{}'", key),
            near.empty() ? "free text goes into 'machine_notes' or 'notes'" : fmt::format("did you mean '{}'?", near));
  }

  void text(const std::string& key, const YAML::Node& value, std::string& out) {
    if (auto s = scalar(key, value)) out = std::move(*s);
  }

  void whole(const std::string& key, const YAML::Node& value, int& out) {
    const auto s = scalar(key, value);
    if (!s) {
      if (value.IsNull()) problem(value, fmt::format("'{}' has no value", key), "expected a whole number from 1");
      return;
    }
    int n = 0;
    const auto [stop, error] = std::from_chars(s->data(), s->data() + s->size(), n);
    if (error != std::errc{} || stop != s->data() + s->size() || n < 1 || n > kMostRanks) {
      problem(value, fmt::format("'{}' is not a value for '{}'", *s, key), "expected a whole number from 1");
      return;
    }
    out = n;
  }

  void whole_or_null(const std::string& key, const YAML::Node& value, int& out) {
    if (!value.IsNull()) whole(key, value, out);
  }

  /// A positive number, or null where the source does not say it.
  void positive(const std::string& key, const YAML::Node& value, double& out) {
    const auto s = scalar(key, value);
    if (!s) return;
    char* end = nullptr;
    const double n = std::strtod(s->c_str(), &end);
    if (end != s->c_str() + s->size() || !(n > 0) || n > 1e6) {
      problem(value, fmt::format("'{}' is not a value for '{}'", *s, key), "expected a number of Gb/s above 0");
      return;
    }
    out = n;
  }

  std::string one_of(const std::string& key, const YAML::Node& value, const std::vector<std::string>& allowed) {
    const auto s = scalar(key, value);
    if (!s && !value.IsNull()) return {};
    if (s && std::find(allowed.begin(), allowed.end(), *s) != allowed.end()) return *s;
    problem(value, fmt::format("'{}' is not a value for '{}'", s.value_or("null"), key),
            fmt::format("expected {}", fmt::join(allowed, " or ")));
    return {};
  }

  void read_system(const YAML::Node& value) {
    series_.system = scalar("system", value);
    if (series_.system && series_.system->empty()) series_.system.reset();
  }

  void read_collective(const YAML::Node& value) {
    const auto s = scalar("collective", value);
    if (!s && !value.IsNull()) return;
    if (const auto op = s ? models::nccl::op_from(*s) : std::nullopt) {
      series_.op = *op;
      return;
    }
    const auto names = models::nccl::op_names();
    const auto near = s ? sim::nearest(*s, names) : std::string{};
    problem(value, fmt::format("unknown collective '{}'", s.value_or("null")),
            near.empty() ? fmt::format("expected one of {}", fmt::join(names, ", "))
                         : fmt::format("did you mean '{}'?", near));
  }

  /// Free-form: what the source says about software. Only the keys that decide a prediction are understood, and a
  /// value that cannot be used is a remark on the series, as nothing is known about it then.
  void read_software(const YAML::Node& value) {
    if (value.IsNull()) return;
    if (!value.IsMap()) return problem(value, "'software' is not a mapping", "as in 'software: {nccl: 2.21.5}'");
    yaml_.each(value, [&](const std::string& key, const YAML::Node&, const YAML::Node& v) {
      if (key == "env") {
        if (!v.IsNull() && !v.IsMap()) return problem(v, "'env' is not a mapping of variables to values");
        yaml_.each(v, [&](const std::string& name, const YAML::Node&, const YAML::Node& setting) {
          if (auto s = scalar(name, setting)) series_.env[name] = shown_value_of(name, *s);
        });
        return;
      }
      const auto s = scalar("software." + key, v);
      if (!s) return;
      if (key == "nccl")
        note_nccl_version(*s, series_);
      else if (key == "cuda")
        series_.cuda = *s;
      else if (key == "algo")
        series_.algo = *s;
      else if (key == "net")
        series_.net = *s;
      else if (key == "cuda_graph")
        series_.cuda_graph = *s == "true";
      else if (key == "launch")
        note_launch(*s, series_);
    });
  }

  void read_rows(const YAML::Node& columns, const YAML::Node& rows, const SplitText& parts) {
    auto layout = read_columns(columns);
    if (!layout) return;
    if (rows && rows.IsSequence()) {  // written in one line: `rows: [[8, 10.1], [16, 10.2]]`
      for (const auto& row : rows) {
        const Cell at{"-", row.Mark().line + 1, row.Mark().column + 1};
        std::vector<Cell> cells;
        bool plain = row.IsSequence();
        if (plain) {
          for (const auto& c : row) {
            plain = plain && c.IsScalar();
            if (c.IsScalar()) cells.push_back({c.Scalar(), c.Mark().line + 1, c.Mark().column + 1});
          }
        }
        if (plain)
          add_row(cells, at, *layout, series_.points, problems_);
        else
          problem(row, "not a row", "expected '[size_bytes, time_us]'");
      }
    } else if (rows && !rows.IsNull()) {
      return problem(rows, "'rows' is not a list", "expected lines of '- [size_bytes, time_us]'");
    } else {
      scan_rows(parts.rows, parts.first_row_line, *layout, series_.points, problems_);
    }
    if (present_.count("rows") != 0 && series_.points.empty() && !problems_.any()) problem(root_, "'rows' is empty");
  }

  std::optional<RowLayout> read_columns(const YAML::Node& columns) {
    if (present_.count("columns") == 0) return std::nullopt;  // reported with the other missing keys
    if (!columns.IsSequence()) {
      problem(columns, "'columns' is not a list", "expected [size_bytes, time_us]");
      return std::nullopt;
    }
    std::optional<std::size_t> size_at, time_at;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto name = columns[i].IsScalar() ? columns[i].Scalar() : std::string{};
      if (name == "size_bytes") size_at = i;
      if (name == "time_us") time_at = i;
    }
    if (!size_at || !time_at) {
      problem(columns, "'columns' lacks size_bytes or time_us", "expected [size_bytes, time_us]");
      return std::nullopt;
    }
    return RowLayout{*size_at, *time_at, columns.size()};
  }

  void check_whole() {
    std::vector<std::string> missing;
    for (const auto* key : {"collective", "ranks", "columns", "rows"}) {
      if (present_.count(key) == 0) missing.push_back(fmt::format("'{}'", key));
    }
    if (!missing.empty()) {
      problem(root_, fmt::format("missing key{} {}", missing.size() > 1 ? "s" : "", fmt::join(missing, ", ")));
    }
    if (series_.ranks == 0 || problems_.any()) return;
    if (series_.gpus_per_node == 0) series_.gpus_per_node = std::max(1, series_.ranks / series_.nodes);
    if (series_.ranks > static_cast<std::int64_t>(series_.nodes) * series_.gpus_per_node) {
      problem(ranks_, fmt::format("{} ranks on {} x {} GPUs", series_.ranks, series_.nodes, series_.gpus_per_node),
              "ranks is at most nodes x gpus_per_node");
    }
  }

  std::string_view text_;
  std::string where_;
  YamlDocument yaml_;
  YAML::Node& root_ = yaml_.root;
  Problems& problems_ = yaml_.problems;
  YAML::Node ranks_;
  std::set<std::string> present_;
  Series series_;
};

}  // namespace

std::vector<Series> read_corpus_yaml(std::string_view text, const std::string& where) {
  return CorpusReader(text, where).read();
}

}  // namespace linkcast::calibration
