// A YAML document or a line of JSON as a tree of values that know where they stand, and the list of what is wrong
// with an input. Knows no key of any schema.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/workloads/trace.hpp"

namespace linkcast::workloads::trace {

using Source = std::shared_ptr<const SourceText>;

inline constexpr std::size_t max_yaml_bytes = std::size_t{16} << 20;

struct Value {
  enum class Kind : unsigned char { null, scalar, sequence, map };
  Kind kind = Kind::null;
  bool quoted = false;
  Place place;
  std::string text;                              // scalar
  std::vector<Value> items;                      // sequence
  std::vector<std::pair<Value, Value>> entries;  // map, in the file's order

  bool is_map() const { return kind == Kind::map; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  const Value* get(std::string_view key) const;
};

/// Problems of one run, by file. The same words at the same place are said once: loops repeat operations.
class Problems {
 public:
  void add(const Place& at, std::string problem, std::string help = {});
  void add(const Value& at, std::string problem, std::string help = {}) {
    add(at.place, std::move(problem), std::move(help));
  }
  bool empty() const { return found_.empty(); }
  std::size_t count() const { return found_.size(); }
  bool full() const;
  /// Throws sim::InputError with all problems of the first file that has any.
  void throw_if_any() const;

 private:
  struct Found {
    Source source;
    sim::Diagnostic diagnostic;
  };
  std::vector<Found> found_;
};

/// Reads a text file whole. Throws sim::InputError: missing, a folder, larger than max_yaml_bytes. `larger` is the
/// help in that case.
Source read_source(const std::string& path, std::string_view larger);

/// Parses one document. What is wrong with its form goes to `problems`; the value is then null.
Value parse_yaml(const Source& file, Problems& problems);
/// A line of a larger file. `line_number` counts from 1.
Value parse_yaml_line(const Source& file, const std::string& text, int line_number, Problems& problems);
/// The same, an order of magnitude faster, but values know only their line.
Value parse_json_line(const Source& file, std::string_view text, int line_number, Problems& problems);

}  // namespace linkcast::workloads::trace
