// From paths to series: which reader a file needs, folders, and the problems of many files in one error.
// Knows no layout of any format beyond what tells them apart.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "linkcast/calibration/series.hpp"
#include "problems.hpp"

namespace linkcast::calibration {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 30;

/// Each file's problems were rendered with that file's lines; one InputError can quote only one text.
class ManyFiles : public sim::InputError {
 public:
  ManyFiles(std::vector<sim::Diagnostic> diagnostics, std::string rendered)
      : sim::InputError(std::move(diagnostics), {}), rendered_{std::move(rendered)} {}
  const char* what() const noexcept override { return rendered_.c_str(); }

 private:
  std::string rendered_;
};

enum class Format { corpus, other_yaml, nccl_tests, nccl_tests_json, none };

bool has_line_starting(std::string_view text, std::string_view start) {
  for (std::size_t at = text.find(start); at != std::string_view::npos; at = text.find(start, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') return true;
  }
  return false;
}

std::string kind_of(std::string_view text) {
  constexpr std::string_view kKey = "kind:";
  std::size_t at = text.find(kKey);
  while (at != std::string_view::npos && at != 0 && text[at - 1] != '\n') at = text.find(kKey, at + 1);
  if (at == std::string_view::npos) return {};
  const auto from = at + kKey.size();
  return std::string(trim(text.substr(from, text.find_first_of("\n#", from) - from)));
}

Format format_of(const fs::path& path, std::string_view text) {
  const auto extension = path.extension().string();
  const auto content = trim(text.substr(0, 4096));
  if (extension == ".yaml" || extension == ".yml") {
    const auto kind = kind_of(text);
    if (kind == "collective" || (kind.empty() && has_line_starting(text, "collective:"))) return Format::corpus;
    return Format::other_yaml;
  }
  if (!content.empty() && content.front() == '{') {
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

std::string read_text(const fs::path& path) {
  std::error_code ec;
  const auto size = fs::file_size(path, ec);
  Problems problems({}, path.string());
  if (ec)
    problems.whole_file(fmt::format("cannot be read: {}", ec.message()));
  else if (size > kLargestFile) {
    problems.whole_file(fmt::format("the file has {} MiB; at most {} MiB are read", size >> 20, kLargestFile >> 20),
                        "keep the table and its header, and drop the debug lines");
  }
  problems.throw_if_any();
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!in || !in.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    problems.whole_file("cannot be read");
    problems.throw_if_any();
  }
  return text;
}

std::vector<Series> read_as(Format format, std::string_view text, const std::string& where, const Hints& hints) {
  switch (format) {
    case Format::nccl_tests:
      return read_nccl_tests(text, where, hints);
    case Format::nccl_tests_json:
      return read_nccl_tests_json(text, where, hints);
    default:
      return read_corpus_yaml(text, where);
  }
}

/// A file that the user named: what it looks like decides, and if nothing does, its name.
std::vector<Series> read_file(const fs::path& path, const Hints& hints) {
  const auto text = read_text(path);
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

bool is_candidate(const fs::path& path) {
  static const std::set<std::string> kExtensions = {".yaml", ".yml", ".json", ".txt", ".log", ".out"};
  return kExtensions.count(path.extension().string()) != 0;
}

Reading read_folder(const fs::path& folder, const Hints& hints) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
    if (entry.is_regular_file() && is_candidate(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());

  Reading out;
  std::vector<sim::Diagnostic> diagnostics;
  std::string rendered;
  for (const auto& file : files) {
    try {
      const auto text = read_text(file);
      const auto format = format_of(file, text);
      if (format == Format::other_yaml || format == Format::none) {
        const auto kind = format == Format::other_yaml ? kind_of(text) : std::string{};
        out.notes.push_back(kind.empty() ? fmt::format("{}: not a collective measurement", file.string())
                                         : fmt::format("{}: of kind '{}', not read", file.string(), kind));
        continue;
      }
      for (auto& series : read_as(format, text, file.string(), hints)) out.series.push_back(std::move(series));
    } catch (const sim::InputError& e) {
      diagnostics.insert(diagnostics.end(), e.diagnostics().begin(), e.diagnostics().end());
      if (!rendered.empty() && rendered.back() != '\n') rendered += '\n';
      rendered += e.what();
    }
  }
  if (!diagnostics.empty()) throw ManyFiles(std::move(diagnostics), std::move(rendered));
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
  std::error_code ec;
  const auto status = fs::status(path, ec);
  if (fs::is_directory(status)) return read_folder(path, hints);
  if (!fs::exists(status) || !fs::is_regular_file(status)) {
    Problems problems({}, path.string());
    problems.whole_file(fs::exists(status) ? "neither a file nor a folder" : "no such file or folder");
    problems.throw_if_any();
  }
  return {read_file(path, hints), {}};
}

std::vector<Series> read_series(const fs::path& path, const Hints& hints) {
  return read_measurements(path, hints).series;
}

}  // namespace linkcast::calibration
