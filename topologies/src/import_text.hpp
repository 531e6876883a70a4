// Texts as they come out of other programs and out of chats: packed by gzip, with colours, with Windows line ends.
// Knows no format of a topology.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkcast/topologies/import.hpp"
#include "yaml_value.hpp"

namespace linkcast::topologies {

/// The text, unpacked where it is gzip's. Throws sim::InputError: empty, larger than max_import_bytes (it is not
/// unpacked further than that), broken or cut gzip, binary.
Source unpacked(const InputFile& file);

struct TextLine {
  std::string_view text;  // without its end
  int number = 0;         // from 1
};
std::vector<TextLine> lines_of(std::string_view text);

/// Without ANSI escape sequences; `columns[i]` is the column (from 1) in `line` of character i of the result.
std::string without_escapes(std::string_view line, std::vector<int>* columns = nullptr);

std::string_view trimmed(std::string_view text);

/// For one's own quotation: control characters replaced, at most `longest` characters.
std::string quoted(std::string_view text, std::size_t longest = 40);

}  // namespace linkcast::topologies
