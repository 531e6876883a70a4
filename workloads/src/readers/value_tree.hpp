// Plain data as a tree: nothing, numbers, texts, lists, dictionaries. What JSON and a pickle of built-in types can say.
// Knows no format's fields.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace linkcast::workloads::readers {

struct Datum {
  enum class Kind : std::uint8_t { none, boolean, integer, real, text, list, map };
  Kind kind = Kind::none;
  std::int64_t integer = 0;  // boolean too
  double real = 0;
  std::string text;
  std::vector<Datum*> items;                            // list
  std::vector<std::pair<std::string, Datum*>> entries;  // map, in the file's order

  bool is(Kind k) const { return kind == k; }
  const Datum* get(std::string_view key) const;
  /// Of a member; `otherwise` where it is missing or of another kind.
  std::int64_t whole(std::string_view key, std::int64_t otherwise) const;
  double number(std::string_view key, double otherwise) const;
  std::string_view word(std::string_view key) const;
};

/// Owns all of a tree, or of several that share parts (a pickle may even have circles).
struct Document {
  std::deque<Datum> all;
  Datum* root = nullptr;
  std::string problem;         // where reading ended early; empty: read to the end
  std::uint64_t position = 0;  // of that, in bytes

  Datum* add(Datum::Kind kind) {
    all.emplace_back();
    all.back().kind = kind;
    return &all.back();
  }
};

/// JSON. What comes before an error is kept. Members named `left_out` are not kept.
Document read_json(std::string_view text, std::string_view left_out);

/// A pickle, protocols 0 to 5, by a reader that has no way to import, call or build anything: an instruction to do so
/// throws sim::InputError with the name that was asked for and the byte where. What comes before the end of a file
/// that is cut is kept.
Document read_pickle(std::string_view bytes, std::string_view path);

/// Whether it begins as a pickle does.
bool looks_like_pickle(std::string_view head);

}  // namespace linkcast::workloads::readers
