// Reads the keys of one YAML map and says what is wrong with each: missing, unknown, of the wrong kind, out of range.
// The keys that were asked for are the keys that exist: done() reports all others. Knows no schema.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/units.hpp"
#include "linkcast/topologies/profile.hpp"
#include "quantity.hpp"
#include "yaml_value.hpp"

namespace linkcast::topologies {

/// A number of the catalog or of a file, with where it is from (`topo show --sources`).
struct SourcedNumber {
  std::string what;    // "gpu h100-sxm: ll.copy"
  std::string value;   // as written: "6.2 GB/s"
  std::string source;  // the number's own, or that of the part around it, or file and line
};

/// What every reader of one load shares.
struct ReadContext {
  Problems* problems;
  std::vector<SourcedNumber>* numbers = nullptr;
  const Profile* profile = nullptr;  // laid over the parts
};

/// The scalar of a plain value or of `{value: …, source: …}`; reports anything else.
struct Written {
  const Value* value = nullptr;  // the scalar
  std::string source;            // empty: none of its own
};

class MapReader {
 public:
  /// `what` is how messages call the map ("gpu part 'h100-sxm'"). A value that is not a map is reported at once.
  MapReader(ReadContext context, const Value& map, std::string what, std::string inherited_source = {});

  /// Marks the key as known. Null when it is absent (or the map is none).
  const Value* find(std::string_view key);
  /// Reports its absence.
  const Value* need(std::string_view key);

  std::optional<std::string> word(std::string_view key, bool required = false);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high, bool required = false);
  std::optional<bool> boolean(std::string_view key, bool required = false);
  /// A bare number: an efficiency, a factor. Within [low, high].
  std::optional<double> ratio(std::string_view key, double low, double high, bool required = false);
  std::optional<sim::Rate> rate(std::string_view key, bool required = false);
  std::optional<sim::Time> time(std::string_view key, bool required = false);
  std::optional<sim::Bytes> size(std::string_view key, bool required = false, bool zero_allowed = false);
  /// One of `choices`.
  std::optional<std::string> choice(std::string_view key, std::span<const std::string> choices, bool required = false);
  /// A list of whole numbers; a single number is a list of one; "0-3" is 0, 1, 2, 3.
  std::optional<std::vector<int>> integers(std::string_view key, int low, int high, bool required = false);

  /// Reports the keys that nobody asked for.
  void done();

  bool sound() const { return map_.is_map(); }
  const Value& value() const { return map_; }
  const std::string& what() const { return what_; }
  const std::string& source() const { return source_; }
  ReadContext context() const { return context_; }
  void problem(const Value& at, std::string text, std::string help = {}) const {
    context_.problems->add(at, std::move(text), std::move(help));
  }

 private:
  Written written(const Value& v, std::string_view key) const;
  std::optional<std::int64_t> quantity(std::string_view key, Dimension d, bool required, bool zero_allowed);
  void note(std::string_view key, const Written& w);

  ReadContext context_;
  const Value& map_;
  std::string what_;
  std::string source_;
  std::vector<std::string> known_;
};

/// A whole number in `text`, or nothing.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// "did you mean 'x'?", or the list of what there is when it is short, or nothing.
std::string suggest(std::string_view name, std::span<const std::string> known);

}  // namespace linkcast::topologies
