// Files and folders of measurements: their text, and the problems of many files in one error. Knows no format beyond
// the two lines that tell YAML kinds apart.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::calibration {

/// The whole file without a byte order mark and without terminal colours. Throws sim::InputError where it cannot be
/// read or is larger than any reader takes.
std::string text_of_file(const std::filesystem::path& path);

/// Removes what terminals interpret (`ESC [ … m`) and a leading byte order mark.
void remove_terminal_codes(std::string& text);

/// Every file below `folder` whose extension is one of these, sorted.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               const std::set<std::string>& extensions);

/// Throws unless `path` is a file or a folder; true for a folder.
bool require_folder_or_file(const std::filesystem::path& path);

bool has_line_starting(std::string_view text, std::string_view start);
/// The value of a top-level `kind:`; empty where there is none.
std::string kind_of(std::string_view text);

/// The problems of several files, each rendered with its own lines.
class ManyProblems {
 public:
  void add(const sim::InputError& e);
  void throw_if_any();

 private:
  std::vector<sim::Diagnostic> diagnostics_;
  std::string rendered_;
};

}  // namespace linkcast::calibration
