// Files of measurements. See files.hpp.
#include "files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

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

}  // namespace

void remove_terminal_codes(std::string& text) {
  if (text.compare(0, 3, "\xef\xbb\xbf") == 0) text.erase(0, 3);
  if (text.find('\x1b') == std::string::npos) return;
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      std::size_t end = i + 2;
      while (end < text.size() && (text[end] < '@' || text[end] > '~') && text[end] != '\n') ++end;
      if (end < text.size() && text[end] != '\n') {
        i = end;
        continue;
      }
    }
    plain.push_back(text[i]);
  }
  text = std::move(plain);
}

std::string text_of_file(const fs::path& path) {
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
  remove_terminal_codes(text);
  return text;
}

std::vector<fs::path> files_below(const fs::path& folder, const std::set<std::string>& extensions) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
    if (entry.is_regular_file() && extensions.count(entry.path().extension().string()) != 0)
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool require_folder_or_file(const fs::path& path) {
  std::error_code ec;
  const auto status = fs::status(path, ec);
  if (fs::is_directory(status)) return true;
  if (!fs::exists(status) || !fs::is_regular_file(status)) {
    Problems problems({}, path.string());
    problems.whole_file(fs::exists(status) ? "neither a file nor a folder" : "no such file or folder");
    problems.throw_if_any();
  }
  return false;
}

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

void ManyProblems::add(const sim::InputError& e) {
  diagnostics_.insert(diagnostics_.end(), e.diagnostics().begin(), e.diagnostics().end());
  if (!rendered_.empty() && rendered_.back() != '\n') rendered_ += '\n';
  rendered_ += e.what();
}

void ManyProblems::throw_if_any() {
  if (!diagnostics_.empty()) throw ManyFiles(std::move(diagnostics_), std::move(rendered_));
}

}  // namespace linkcast::calibration
