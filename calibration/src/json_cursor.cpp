// See json_cursor.hpp.
#include "json_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace linkcast::calibration {
namespace {

using nlohmann::json;

/// Finds places in a text that is known to be valid JSON.
class Finder {
 public:
  explicit Finder(std::string_view text) : text_{text} {}

  std::size_t find(std::string_view pointer) {
    blanks();
    auto found = at_;
    while (!pointer.empty()) {
      const auto end = std::min(pointer.find('/', 1), pointer.size());
      const auto step = pointer.substr(1, end - 1);
      pointer.remove_prefix(end);
      if (text_[at_] == '{') {
        found = member(unescaped(step));
      } else if (text_[at_] == '[') {
        element(step);
        found = at_;
      } else {
        break;
      }
    }
    return found;
  }

 private:
  static std::string unescaped(std::string_view step) {
    std::string out;
    for (std::size_t i = 0; i < step.size(); ++i) {
      const bool escaped = step[i] == '~' && i + 1 < step.size();
      out += escaped ? (step[++i] == '1' ? '/' : '~') : step[i];
    }
    return out;
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  void string() {
    for (++at_; text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    ++at_;
  }
  /// Without recursion: only brackets and strings matter.
  void value() {
    int depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        string();
      } else {
        depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        ++at_;
        if (depth == 0 && c != '}' && c != ']') {
          while (at_ < text_.size() && std::string_view{",]} \n\r\t"}.find(text_[at_]) == std::string_view::npos) ++at_;
        }
      }
    } while (depth > 0);
    blanks();
  }
  /// Leaves at_ at the value of the last member of that name, which is the one that the parser kept.
  std::size_t member(const std::string& key) {
    std::size_t found = at_, value_at = at_;
    ++at_;
    for (blanks(); text_[at_] != '}'; blanks()) {
      const auto begin = at_;
      string();
      const auto name = json::parse(text_.substr(begin, at_ - begin)).get<std::string>();
      blanks();
      ++at_;  // the colon
      blanks();
      if (name == key) {
        found = begin;
        value_at = at_;
      }
      value();
      if (text_[at_] == ',') ++at_;
    }
    at_ = value_at;
    return found;
  }
  void element(std::string_view step) {
    std::size_t index = 0;
    std::from_chars(step.data(), step.data() + step.size(), index);
    ++at_;
    for (blanks(); index > 0; --index, blanks()) {
      value();
      ++at_;  // the comma
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::size_t offset_of(std::string_view json_text, std::string_view pointer) { return Finder(json_text).find(pointer); }

JsonDocument::JsonDocument(std::string_view text, const std::string& where, std::size_t limit)
    : text_{text}, problems_{text, where} {
  require_text(text, where, limit);
  try {
    root_ = json::parse(text.begin(), text.end());
  } catch (const json::parse_error& e) {
    const auto place = place_of(text, e.byte == 0 ? 0 : e.byte - 1);
    const bool cut = e.byte > trim(text).size();
    problems_.at(place.line, place.column, 1, cut ? "the file ends in the middle" : "not valid JSON",
                 cut ? "was it copied while it was written, or cut by a size limit?" : "");
    problems_.throw_if_any();
  } catch (const json::out_of_range&) {
    problems_.whole_file("not valid JSON: a number is too large", "times are microseconds, sizes are below 2^63");
    problems_.throw_if_any();
  }
}

void JsonDocument::problem(const std::string& pointer, std::string text, std::string help) {
  // Looking up a place reads the text: a file with thousands of mistakes names the first hundred (see Problems).
  const auto place = ++said_ > 101 ? Place{} : place_of(text_, offset_of(text_, pointer));
  problems_.at(place.line, place.column, 1, std::move(text), std::move(help));
}

void JsonCursor::expected(const std::string& what) const {
  if (missing_) {
    const auto slash = pointer_.rfind('/');
    document_->problem(pointer_.substr(0, slash), fmt::format("'{}' is missing", pointer_.substr(slash + 1)),
                       "expected " + what);
  } else {
    // Only what cannot be nested is shown: printing a value recurses as deep as the file does.
    auto shown = value_->is_array()    ? std::string{"a list"}
                 : value_->is_object() ? std::string{"an object"}
                                       : value_->dump(-1, ' ', false, json::error_handler_t::replace);
    if (shown.size() > 40) shown = shown.substr(0, 37) + "...";
    problem(fmt::format("{} is not {}", shown, what));
  }
}

bool JsonCursor::object_of(std::initializer_list<const char*> keys) const {
  if (!value_->is_object() || missing_) {
    expected("an object { }");
    return false;
  }
  const std::vector<std::string> known(keys.begin(), keys.end());
  for (const auto& [key, value] : value_->items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const auto near = sim::nearest(key, known);
    (*this)[key.c_str()].problem(
        fmt::format("unknown key '{}'", key),
        near.empty() ? fmt::format("known here: {}", fmt::join(known, ", ")) : fmt::format("did you mean '{}'?", near));
  }
  return true;
}

JsonCursor JsonCursor::operator[](const char* key) const {
  static const json none;
  std::string step;
  for (const char* c = key; *c != 0; ++c) step += *c == '~' ? "~0" : *c == '/' ? "~1" : std::string(1, *c);
  const auto found = value_->is_object() ? value_->find(key) : value_->end();
  JsonCursor out(*document_, found == value_->end() ? none : *found, pointer_ + "/" + step);
  out.missing_ = found == value_->end();
  return out;
}

std::vector<JsonCursor> JsonCursor::elements() const {
  std::vector<JsonCursor> out;
  if (!value_->is_array()) {
    expected("a list [ ]");
    return out;
  }
  for (std::size_t i = 0; i < value_->size(); ++i)
    out.emplace_back(*document_, (*value_)[i], pointer_ + "/" + std::to_string(i));
  return out;
}

std::string JsonCursor::text() const {
  if (const auto* s = value_->get_ptr<const std::string*>()) return *s;
  expected("a text");
  return {};
}

std::size_t JsonCursor::word(std::span<const std::string> known) const {
  const auto* s = value_->get_ptr<const std::string*>();
  const auto found = s == nullptr ? known.end() : std::ranges::find(known, *s);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  const auto near = s == nullptr ? std::string{} : sim::nearest(*s, known);
  expected(near.empty() ? fmt::format("one of {}", fmt::join(known, ", "))
                        : fmt::format("known here; did you mean '{}'?", near));
  return 0;
}

std::int64_t JsonCursor::whole(std::int64_t least, std::int64_t most) const {
  if (value_->is_number_integer() && !(value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX)) {
    const auto n = value_->get<std::int64_t>();
    if (n >= least && n <= most) return n;
  }
  expected(fmt::format("a whole number from {} to {}", least, most));
  return least;
}

double JsonCursor::number(double least, double most) const {
  if (value_->is_number()) {
    const double v = value_->get<double>();
    if (v >= least && v <= most) return v;
  }
  expected(fmt::format("a number from {:g} to {:g}", least, most));
  return least;
}

bool JsonCursor::flag() const {
  if (value_->is_boolean()) return value_->get<bool>();
  expected("true or false");
  return false;
}

}  // namespace linkcast::calibration
