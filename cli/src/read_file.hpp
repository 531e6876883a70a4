// Reads a whole file that was named on the command line.
#pragma once

#include <string>

namespace linkcast::cli {

/// Throws sim::InputError: no such file, a directory, not readable.
std::string read_file(const std::string& path);
/// Whether the file's first visible character opens XML. False where it cannot be read.
bool looks_like_xml(const std::string& path);

}  // namespace linkcast::cli
