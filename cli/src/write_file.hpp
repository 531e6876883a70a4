// Writes a file that an option names.
#pragma once

#include <string>
#include <string_view>

namespace linkcast::cli {

/// Opens it, changes and leaves nothing, so that a long run does not end at a folder that is not there. Throws
/// UsageError.
void check_writable(std::string_view option, const std::string& path);
/// The same, and a file that is there already must be of this kind: a page or a table may be written again, but not
/// over the scenario, or over anything else.
enum class Kind : unsigned char { page, table };
void check_writable(std::string_view option, const std::string& path, Kind kind);
/// Throws UsageError, with the system's reason, where the file cannot be written.
void write_file(std::string_view option, const std::string& path, std::string_view text);
/// The same for a file that others read while it is written: they see the old one or the new one, whole.
void replace_file(std::string_view option, const std::string& path, std::string_view text);

}  // namespace linkcast::cli
