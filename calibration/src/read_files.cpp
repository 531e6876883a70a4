// From paths to series: which reader a file needs, folders, and the problems of many files in one error.
// Knows no layout of any format beyond what tells them apart.
#include <fmt/format.h>

#include <filesystem>

#include "files.hpp"
#include "linkcast/calibration/measurement_file.hpp"
#include "linkcast/calibration/series.hpp"
#include "other_machine.hpp"
#include "problems.hpp"

namespace linkcast::calibration {
namespace {

namespace fs = std::filesystem;

enum class Format { corpus, other_yaml, nccl_tests, nccl_tests_json, measurement_file, none };

Format format_of(const fs::path& path, std::string_view text) {
  const auto extension = path.extension().string();
  const auto content = trim(text.substr(0, 4096));
  if (extension == ".yaml" || extension == ".yml") {
    const auto kind = kind_of(text);
    if (kind == "collective" || (kind.empty() && has_line_starting(text, "collective:"))) return Format::corpus;
    return Format::other_yaml;
  }
  if (!content.empty() && content.front() == '{') {
    if (is_measurement_file(text)) return Format::measurement_file;
    return text.find("\"results\"") != std::string_view::npos && text.find("\"out_of_place\"") != std::string_view::npos
               ? Format::nccl_tests_json
               : Format::none;
  }
  if (extension == ".json") return Format::none;
  return text.find("nThread ") != std::string_view::npos || text.find("_perf") != std::string_view::npos ||
                 text.find("algbw") != std::string_view::npos
             ? Format::nccl_tests
             : Format::none;
}

/// The collectives of `calibrate measure`: the rest of its file is for those who look at more than series.
std::vector<Series> collectives_of(std::string_view text, const std::string& where, const Hints& hints) {
  auto series = read_measurement_file(text, where).series;
  if (series.empty()) {
    Problems problems(text, where);
    problems.whole_file("no collective in this measurement", "calibrate measure --only collective measures some");
    problems.throw_if_any();
  }
  if (hints.system)
    for (auto& s : series) s.system = hints.system;
  return series;
}

std::vector<Series> read_as(Format format, std::string_view text, const std::string& where, const Hints& hints) {
  switch (format) {
    case Format::nccl_tests:
      return read_nccl_tests(text, where, hints);
    case Format::nccl_tests_json:
      return read_nccl_tests_json(text, where, hints);
    case Format::measurement_file:
      return collectives_of(text, where, hints);
    default:
      return read_corpus_yaml(text, where);
  }
}

/// A file that the user named: what it looks like decides, and if nothing does, its name.
std::vector<Series> read_file(const fs::path& path, const Hints& hints) {
  const auto text = text_of_file(path);
  auto format = format_of(path, text);
  const auto extension = path.extension();
  if (format == Format::other_yaml) {
    const auto kind = kind_of(text);
    if (!kind.empty() && kind != "collective") {
      Problems problems(text, path.string());
      const auto place = place_of(text, text.find("kind:"));
      problems.at(place.line, place.column, 5, fmt::format("a measurement of kind '{}'", kind),
                  "expected 'kind: collective'");
      problems.throw_if_any();
    }
  }
  if (format == Format::none) format = extension == ".json" ? Format::nccl_tests_json : Format::nccl_tests;
  return read_as(format, text, path.string(), hints);
}

Reading read_folder(const fs::path& folder, const Hints& hints) {
  Reading out;
  ManyProblems problems_of_files;
  for (const auto& file : files_below(folder, {".yaml", ".yml", ".json", ".txt", ".log", ".out"})) {
    try {
      const auto text = text_of_file(file);
      const auto format = format_of(file, text);
      if (format == Format::other_yaml || format == Format::none) {
        const auto kind = format == Format::other_yaml ? kind_of(text) : std::string{};
        out.notes.push_back(kind.empty() ? fmt::format("{}: not a collective measurement", file.string())
                                         : fmt::format("{}: of kind '{}', not read", file.string(), kind));
        continue;
      }
      for (auto& series : read_as(format, text, file.string(), hints)) out.series.push_back(std::move(series));
    } catch (const sim::InputError& e) {
      problems_of_files.add(e);
    }
  }
  problems_of_files.throw_if_any();
  if (out.series.empty()) {
    Problems problems({}, folder.string());
    problems.whole_file("no measurement in this folder",
                        "expected *.yaml of kind collective, or nccl-tests output in *.txt, *.log, *.out, *.json");
    problems.throw_if_any();
  }
  return out;
}

}  // namespace

Reading read_measurements(const fs::path& path, const Hints& hints) {
  auto out = require_folder_or_file(path) ? read_folder(path, hints) : Reading{read_file(path, hints), {}};
  if (hints.system) refuse_other_machine(*hints.system, out.series);
  return out;
}

std::vector<Series> read_series(const fs::path& path, const Hints& hints) {
  return read_measurements(path, hints).series;
}

}  // namespace linkcast::calibration
