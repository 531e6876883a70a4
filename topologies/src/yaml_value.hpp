// A YAML document as a tree of values that know where they stand, with every mistake of form found on the way:
// broken syntax, duplicate keys, nesting and aliases beyond any honest file. Knows no key of any schema.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::topologies {

/// A file as it is quoted in messages. Shared by all values read from it.
struct SourceText {
  std::string name;
  std::string text;
  bool catalog = false;  // ours, embedded
};
using Source = std::shared_ptr<const SourceText>;

struct Value {
  enum class Kind : unsigned char { null, scalar, sequence, map };
  struct Entry;

  Kind kind = Kind::null;
  bool quoted = false;  // "8" in quotes is a word, not a number
  const SourceText* source = nullptr;
  int line = 1, column = 1;    // from 1
  std::string text;            // scalar
  std::vector<Value> items;    // sequence
  std::vector<Entry> entries;  // map, in the file's order

  bool is_map() const { return kind == Kind::map; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  const Entry* entry(std::string_view key) const;
  const Value* get(std::string_view key) const;
  Value* get(std::string_view key);
};

struct Value::Entry {
  Value key;
  Value value;
};

/// Collects problems over all the files of one load; at the end, those of one file are thrown together.
class Problems {
 public:
  void add(const Value& at, std::string problem, std::string help = {});
  void add(const Source& file, int line, int column, std::string problem, std::string help = {});
  void keep(const Source& file) { files_.push_back(file); }
  bool empty() const { return found_.empty(); }
  std::size_t count() const { return found_.size(); }
  /// No more are taken: what it costs to word them can be saved.
  bool full() const;
  /// Throws sim::InputError with all problems of the first file (in the order of keep, users' files before the
  /// catalog's) that has any.
  void throw_if_any() const;

 private:
  struct Found {
    const SourceText* file;
    sim::Diagnostic diagnostic;
  };
  std::vector<Source> files_;
  std::vector<Found> found_;
};

inline constexpr std::size_t max_file_bytes = std::size_t{16} << 20;
inline constexpr int max_nesting = 48;              // the deepest honest file has about 8
inline constexpr std::size_t max_values = 200'000;  // after aliases are expanded
inline constexpr std::size_t max_keys = 5'000;      // of one map

/// Parses one document. Adds what is wrong to `problems`; the value is what could be read (null after broken syntax).
/// `line_offset`: lines of the file before `text` (for a part cut out of a larger file).
Value parse_yaml(const Source& file, std::string_view text, Problems& problems, int line_offset = 0);
inline Value parse_yaml(const Source& file, Problems& problems) { return parse_yaml(file, file->text, problems); }

/// YAML text that reads back as the same value: maps in block style, maps and lists of plain values on one line.
std::string emit_yaml(const Value& value);

}  // namespace linkcast::topologies
