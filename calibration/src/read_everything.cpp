// From paths to everything that was measured: which reader a text needs, by what stands in it. Knows no layout of any
// format beyond what tells them apart.
#include <fmt/format.h>

#include <algorithm>

#include "files.hpp"
#include "linkcast/calibration/measurement_file.hpp"
#include "linkcast/calibration/measurements.hpp"
#include "linkcast/calibration/readers.hpp"
#include "other_machine.hpp"
#include "problems.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

namespace fs = std::filesystem;

enum class Format {
  none,
  collective,
  matrices,
  pair_test,
  points,
  diagnosis_case,
  other_yaml,
  nccl_tests,
  nccl_tests_json,
  perftest,
  perftest_json,
  nvbandwidth,
  nvbandwidth_json,
  p2p_bandwidth_latency,
  osu,
  inspector,
  measurement_file,
};

constexpr std::string_view kKnown =
    "known: nccl-tests text and JSON, perftest and OSU output, nvbandwidth, p2pBandwidthLatencyTest, NCCL inspector "
    "JSONL, the file of 'calibrate measure', and YAML of kind collective, p2p_matrix, perftest, points, or a case";

bool holds(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Format yaml_format(std::string_view text) {
  const auto kind = kind_of(text);
  if (kind == "collective" || (kind.empty() && has_line_starting(text, "collective:"))) return Format::collective;
  if (kind == "p2p_matrix") return Format::matrices;
  if (kind == "perftest" || kind == "osu") return Format::pair_test;
  if (kind == "points" || kind == "time_stats" || kind == "paper_point") return Format::points;
  if (kind.empty() && (has_line_starting(text, "measurements:") || has_line_starting(text, "hardware:")))
    return Format::diagnosis_case;
  return Format::other_yaml;
}

Format json_format(std::string_view text) {
  if (is_measurement_file(text)) return Format::measurement_file;
  if (holds(text, "\"coll_perf\"") || holds(text, "\"p2p_perf\"")) return Format::inspector;
  if (holds(text, "\"nvbandwidth\"")) return Format::nvbandwidth_json;
  if (holds(text, "\"test_info\"")) return Format::perftest_json;
  if (holds(text, "\"results\"") && holds(text, "\"out_of_place\"")) return Format::nccl_tests_json;
  return Format::none;
}

Format format_of(std::string_view text, std::string_view where) {
  const auto start = trim(text.substr(0, 4096));
  const bool yaml = ends_with(where, ".yaml") || ends_with(where, ".yml");
  if (yaml) return yaml_format(text);
  if (start.empty()) return Format::none;
  if (start.front() == '{' || holds(text, "\"nvbandwidth\"")) return json_format(text);
  if (holds(text, "nvbandwidth Version") || (holds(text, "memcpy ") && holds(text, "GPU(column)")))
    return Format::nvbandwidth;
  if (holds(text, "GPU Bandwidth Latency Test") || (holds(text, "P2P=") && holds(text, "Matrix (")))
    return Format::p2p_bandwidth_latency;
  const bool banner = holds(text, "Number of qps") && (holds(text, " BW Test") || holds(text, " Latency Test"));
  if (banner || holds(text, "#bytes")) return Format::perftest;
  if (has_line_starting(text, "# OSU ")) return Format::osu;
  if (holds(text, "nThread ") || holds(text, "_perf") || holds(text, "algbw")) return Format::nccl_tests;
  const auto kind = yaml_format(text);
  return kind == Format::other_yaml ? Format::none : kind;
}

/// What a fit would stumble over, said where it stands: a time that falls as the size grows, a size that stands twice.
void remark_on_points(Series& series) {
  int twice = 0;
  const Point* widest = nullptr;
  for (std::size_t i = 1; i < series.points.size(); ++i) {
    const auto& before = series.points[i - 1];
    const auto& here = series.points[i];
    if (before.size == here.size) ++twice;
    const bool falls = before.size < here.size && here.time.us() < 0.6 * before.time.us();
    if (falls && widest == nullptr) widest = &before;
  }
  if (twice > 0) series.remarks.push_back(fmt::format("{} sizes stand more than once; each row counts", twice));
  if (widest != nullptr) {
    series.remarks.push_back(fmt::format("the time falls from {:.1f} to {:.1f} us between {} and {} bytes",
                                         widest->time.us(), (widest + 1)->time.us(), widest->size.count(),
                                         (widest + 1)->size.count()));
  }
}

void append(Measurements& to, Measurements from) {
  const auto move_all = [](auto& a, auto& b) {
    a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
  };
  move_all(to.series, from.series);
  move_all(to.matrices, from.matrices);
  move_all(to.tests, from.tests);
  move_all(to.figures, from.figures);
  move_all(to.cases, from.cases);
  move_all(to.probes, from.probes);
  move_all(to.notes, from.notes);
}

Measurements of_series(std::vector<Series> series) {
  Measurements out;
  out.series = std::move(series);
  return out;
}

Measurements read_as(Format format, std::string_view text, const std::string& where, const Hints& hints) {
  switch (format) {
    case Format::collective:
      return of_series(read_corpus_yaml(text, where));
    case Format::matrices:
      return read_corpus_matrices(text, where);
    case Format::pair_test:
      return read_corpus_pair_test(text, where);
    case Format::points:
      return read_corpus_points(text, where);
    case Format::diagnosis_case:
      return read_corpus_case(text, where);
    case Format::nccl_tests_json:
      return of_series(read_nccl_tests_json(text, where, hints));
    case Format::perftest:
      return read_perftest(text, where);
    case Format::perftest_json:
      return read_perftest_json(text, where);
    case Format::nvbandwidth:
      return read_nvbandwidth(text, where);
    case Format::nvbandwidth_json:
      return read_nvbandwidth_json(text, where);
    case Format::p2p_bandwidth_latency:
      return read_p2p_bandwidth_latency(text, where);
    case Format::osu:
      return read_osu(text, where);
    case Format::measurement_file:
      return read_measurement_file(text, where);
    case Format::inspector: {
      const InspectorFile file{text, where};
      return read_nccl_inspector({&file, 1});
    }
    case Format::nccl_tests:
    case Format::other_yaml:
    case Format::none:
      return of_series(read_nccl_tests(text, where, hints));
  }
  return {};
}

void refuse_unknown(std::string_view text, const std::string& where, Format format) {
  if (format != Format::none && format != Format::other_yaml) return;
  require_text(text, where, text.size());
  Problems problems(text, where);
  const auto kind = kind_of(text);
  if (format == Format::other_yaml && !kind.empty()) {
    const auto place = place_of(text, text.find("kind:"));
    problems.at(place.line, place.column, 5, fmt::format("a measurement of kind '{}'", kind), std::string(kKnown));
  } else {
    problems.whole_file("no measurement of a known format", std::string(kKnown));
  }
  problems.throw_if_any();
}

/// The files of all paths, and what the inspector wrote, which belongs together across files.
class Reader {
 public:
  explicit Reader(const Hints& hints) : hints_{hints} {}

  void read(const fs::path& path) {
    try {
      if (!require_folder_or_file(path)) return read_file(path, true);
      for (const auto& file : files_below(path, {".yaml", ".yml", ".json", ".jsonl", ".txt", ".log", ".out"}))
        read_file(file, false);
    } catch (const sim::InputError& e) {
      problems_.add(e);
    }
  }

  Measurements finish(std::span<const fs::path> paths) {
    if (!inspector_.empty()) {
      try {
        std::vector<InspectorFile> files;
        for (const auto& [text, where] : inspector_) files.push_back({text, where});
        append(out_, read_nccl_inspector(files));
      } catch (const sim::InputError& e) {
        problems_.add(e);
      }
    }
    problems_.throw_if_any();
    if (out_.empty() && files_read_ == 0) {
      Problems problems({}, paths.empty() ? "" : paths.front().string());
      problems.whole_file("no measurement here", std::string(kKnown));
      problems.throw_if_any();
    }
    for (auto& series : out_.series) remark_on_points(series);
    for (auto& c : out_.cases) {
      for (auto& series : c.series) remark_on_points(series);
    }
    if (hints_.system) {
      refuse_other_machine(*hints_.system, out_.series, out_.matrices);
      for (auto& matrix : out_.matrices) matrix.system = hints_.system;
      for (auto& test : out_.tests) test.system = hints_.system;
      for (auto& probe : out_.probes) probe.system = hints_.system;
    }
    return std::move(out_);
  }

 private:
  void read_file(const fs::path& path, bool named) {
    try {
      auto text = text_of_file(path);
      const auto where = path.string();
      const auto format = format_of(text, where);
      if (named) refuse_unknown(text, where, format);
      if (format == Format::none || format == Format::other_yaml) {
        const auto kind = format == Format::other_yaml ? kind_of(text) : std::string{};
        out_.notes.push_back(kind.empty() ? fmt::format("{}: no measurement of a known format", where)
                                          : fmt::format("{}: of kind '{}', not read", where, kind));
      } else if (format == Format::inspector) {
        inspector_.emplace_back(std::move(text), where);
        ++files_read_;
      } else {
        append(out_, read_as(format, text, where, hints_));
        ++files_read_;
      }
    } catch (const sim::InputError& e) {
      problems_.add(e);
    }
  }

  const Hints& hints_;
  Measurements out_;
  ManyProblems problems_;
  int files_read_ = 0;  // of a known format, whatever was in them
  std::vector<std::pair<std::string, std::string>> inspector_;
};

}  // namespace

Measurements read_any(std::string_view text, const std::string& where, const Hints& hints) {
  const auto format = format_of(text, where);
  refuse_unknown(text, where, format);
  return read_as(format, text, where, hints);
}

Measurements read_everything(std::span<const fs::path> paths, const Hints& hints) {
  Reader reader(hints);
  for (const auto& path : paths) reader.read(path);
  return reader.finish(paths);
}

}  // namespace linkcast::calibration
