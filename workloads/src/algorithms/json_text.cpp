// See json_text.hpp. RFC 8259, without checking the digits of a number beyond what makes one.
#include "json_text.hpp"

#include <charconv>
#include <limits>

namespace linkcast::workloads::algorithms {
namespace {

constexpr int deepest = 64;

class Parser {
 public:
  explicit Parser(Problems& problems) : problems_{problems}, text_{problems.text()} {}

  std::optional<Json> parse() {
    Json root;
    if (!value(root, 0)) return std::nullopt;
    blanks();
    if (at_ < text_.size() && !fail("something follows the end of the JSON")) return std::nullopt;
    return root;
  }

 private:
  bool fail(const char* problem) {
    problems_.add(problems_.place(at_), std::string{"this is not valid JSON: "} + problem,
                  "mscclpp's DSL writes such a file: JSON()");
    return false;
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool eat(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool value(Json& v, int depth) {
    if (depth > deepest) return fail("it is nested more than 64 levels deep");
    blanks();
    v.offset = at_;
    if (at_ >= text_.size()) return fail("it ends in the middle");
    const char c = text_[at_];
    if (c == '{') return object(v, depth);
    if (c == '[') return array(v, depth);
    if (c == '"') {
      v.kind = Json::Kind::string;
      return string(v.text);
    }
    const auto end = std::min(text_.find_first_of(" \n\t\r,]}", at_), text_.size());
    v.text = std::string{text_.substr(at_, end - at_)};
    if (v.text == "true" || v.text == "false") {
      v.kind = Json::Kind::boolean;
    } else if (v.text == "null") {
      v.kind = Json::Kind::null;
    } else if ((c >= '0' && c <= '9') || c == '-') {
      v.kind = Json::Kind::number;
      if (v.text.find_first_not_of("0123456789+-.eE") != std::string::npos) return fail("a number is expected");
    } else {
      return fail("a value is expected");
    }
    at_ = end;
    return true;
  }

  bool object(Json& v, int depth) {
    v.kind = Json::Kind::object;
    ++at_;
    if (eat('}')) return true;
    do {
      blanks();
      std::string key;
      if (at_ >= text_.size() || text_[at_] != '"') return fail("a key in quotes is expected");
      if (!string(key)) return false;
      if (!eat(':')) return fail("':' is expected after a key");
      Json child;
      if (!value(child, depth + 1)) return false;
      v.entries.emplace_back(std::move(key), std::move(child));
    } while (eat(','));
    return eat('}') || fail("',' or '}' is expected");
  }

  bool array(Json& v, int depth) {
    v.kind = Json::Kind::array;
    ++at_;
    if (eat(']')) return true;
    do {
      if (!value(v.items.emplace_back(), depth + 1)) return false;
    } while (eat(','));
    return eat(']') || fail("',' or ']' is expected");
  }

  /// Escapes stay as written but for quotes and backslashes: no word of the format has any.
  bool string(std::string& out) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\n') return fail("a string ends with its line");
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        if (text_[at_ + 1] != '"' && text_[at_ + 1] != '\\') out += '\\';
        ++at_;
      }
      out += text_[at_];
    }
    return fail("a string does not end");
  }

  Problems& problems_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> Json::whole() const {
  if (kind != Kind::number) return std::nullopt;
  std::int64_t value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  // 18446744073709551615 is the format's "no limit".
  if (r.ec == std::errc::result_out_of_range && r.ptr == text.data() + text.size() && text[0] != '-')
    return std::numeric_limits<std::int64_t>::max();
  if (r.ec != std::errc{} || r.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Json> parse_json(Problems& problems) { return Parser{problems}.parse(); }

}  // namespace linkcast::workloads::algorithms
