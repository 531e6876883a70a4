// Large JSON files in pieces: the elements of one array of the document, one after the other as they lie in the file,
// and its other members whole. Goes by brackets and quotes only, so that what strict parsers refuse (NaN, missing
// values, control characters, an end in the middle) costs the piece that it is in and not the file. Knows no format.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::workloads::readers {

/// The end of the value that begins at `p`; null where it does not end before `end`. `*end` must be '\0'.
const char* end_of_value(const char* p, const char* end);

struct JsonPieces {
  std::string array;   // name of the array, at the top of the document; a document that is an array is that array
  std::string anchor;  // the first key of an element, to find the next one after a damaged one: "ph"
  std::function<void(std::string_view element, std::uint64_t at)> element;
  std::function<void(std::string_view key, std::string_view value)> member;
};
struct JsonPiecesRead {
  bool whole = false;         // the document ended where it should
  std::string damage;         // of the compressed stream, in its own words
  std::int64_t broken = 0;    // elements without an end
  std::uint64_t first = 0;    // where the first of them is
  std::uint64_t bytes = 0;    // read
  std::int64_t elements = 0;  // given
};
/// Throws sim::InputError where the file cannot be opened.
JsonPiecesRead read_pieces(const std::string& path, const JsonPieces& pieces);

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// Calls f(key, value) for the members of an object until it says false. Values are as they are written; empty where
/// there is none. Requires that a '\0' follows the object's last character or that the object is whole.
template <typename F>
void for_members(std::string_view object, F&& f) {
  const char* p = object.data();
  const char* const end = p + object.size();
  if (p == end || *p != '{') return;
  ++p;
  while (true) {
    while (p < end && (is_space(*p) || *p == ',')) ++p;
    if (p >= end || *p != '"') return;
    const char* key = p + 1;
    p = end_of_value(p, end);
    if (p == nullptr) return;
    const std::string_view name{key, static_cast<std::size_t>(p - 1 - key)};
    while (p < end && is_space(*p)) ++p;
    if (p >= end || *p != ':') return;
    ++p;
    while (p < end && is_space(*p)) ++p;
    const char* value = p;
    if (p < end && *p != ',' && *p != '}') p = end_of_value(p, end);
    if (p == nullptr) return;
    if (!f(name, std::string_view{value, static_cast<std::size_t>(p - value)})) return;
  }
}

/// The text of a string as written; of anything else, as it is. Escapes are undone.
std::string text_of(std::string_view value);
std::optional<std::int64_t> integer_of(std::string_view value);  // 12, 12.0, "12"
/// A decimal number of microseconds as nanoseconds, exactly.
std::optional<std::int64_t> nanoseconds_of(std::string_view value);
/// All integers that are written in a list; `cut` where it says "..." somewhere.
std::vector<std::int64_t> integers_of(std::string_view list, bool* cut = nullptr);

}  // namespace linkcast::workloads::readers
