// Walks a JSON document and collects what is wrong with it, each problem at its line and column: nlohmann's values do
// not know their place, so the place is looked up in the text when there is something to say. Knows no schema.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "problems.hpp"

namespace linkcast::calibration {

/// Byte offset of what an RFC 6901 pointer leads to; of an object's member: of its key. Requires valid JSON that has
/// it.
std::size_t offset_of(std::string_view json_text, std::string_view pointer);

class JsonDocument {
 public:
  /// Throws sim::InputError where the text is no JSON. Members that stand twice in an object count once.
  JsonDocument(std::string_view text, const std::string& where, std::size_t limit);
  const nlohmann::json& root() const { return root_; }
  void problem(const std::string& pointer, std::string text, std::string help = {});
  bool any_problem() const { return problems_.any(); }
  void throw_if_any() { problems_.throw_if_any(); }

 private:
  std::string_view text_;
  Problems problems_;
  int said_ = 0;
  nlohmann::json root_;
};

/// A value and the way to it. Every read that fails is noted and gives the fallback.
class JsonCursor {
 public:
  JsonCursor(JsonDocument& document, const nlohmann::json& value, std::string pointer)
      : document_{&document}, value_{&value}, pointer_{std::move(pointer)} {}
  explicit JsonCursor(JsonDocument& document) : JsonCursor(document, document.root(), "") {}

  /// Whether it is an object with no other members than these; says so where not.
  bool object_of(std::initializer_list<const char*> keys) const;
  bool has(const char* key) const { return value_->is_object() && value_->contains(key); }
  /// A member; a missing one is noted by the read that needs it.
  JsonCursor operator[](const char* key) const;
  /// Elements of a list; none, noted, where it is none.
  std::vector<JsonCursor> elements() const;
  bool is_null() const { return value_->is_null(); }
  bool is_string() const { return value_->is_string(); }

  std::string text() const;
  /// One of `known`: its index.
  std::size_t word(std::span<const std::string> known) const;
  std::int64_t whole(std::int64_t least, std::int64_t most) const;
  double number(double least, double most) const;
  bool flag() const;
  void problem(std::string text, std::string help = {}) const { document_->problem(pointer_, text, std::move(help)); }
  const nlohmann::json& value() const { return *value_; }

 private:
  void expected(const std::string& what) const;
  JsonDocument* document_;
  const nlohmann::json* value_;
  std::string pointer_;
  bool missing_ = false;
};

}  // namespace linkcast::calibration
