// One line of JSON as a value tree. Knows no schema.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::workloads::trace {
namespace {

constexpr std::size_t max_nesting = 64;

class Handler {
 public:
  Handler(const Source& file, int line, Problems& problems) : file_{file}, line_{line}, problems_{problems} {}

  bool null() { return put(make(Value::Kind::null, {}, false)); }
  bool boolean(bool b) { return put(make(Value::Kind::scalar, b ? "true" : "false", false)); }
  bool number_integer(std::int64_t n) { return put(make(Value::Kind::scalar, fmt::format("{}", n), false)); }
  bool number_unsigned(std::uint64_t n) { return put(make(Value::Kind::scalar, fmt::format("{}", n), false)); }
  bool number_float(double, const std::string& text) { return put(make(Value::Kind::scalar, text, false)); }
  bool string(std::string& text) { return put(make(Value::Kind::scalar, std::move(text), true)); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Value::Kind::map); }
  bool start_array(std::size_t) { return open(Value::Kind::sequence); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    keys_.back() = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    problems_.add(Place{file_, line_, static_cast<int>(std::max<std::size_t>(position, 1)), 1}, "not valid JSON",
                  "one object to a line: {\"rank\": 0, \"compute\": \"120 us\"}");
    return false;
  }

  Value take() { return std::move(root_); }

 private:
  Value make(Value::Kind kind, std::string text, bool quoted) const {
    Value v;
    v.kind = kind;
    v.quoted = quoted;
    v.text = std::move(text);
    v.place = {file_, line_, 1, 1};
    return v;
  }

  bool open(Value::Kind kind) {
    if (stack_.size() >= max_nesting) {
      problems_.add(Place{file_, line_, 1, 1}, fmt::format("nested more than {} levels deep", max_nesting));
      return false;
    }
    stack_.push_back(make(kind, {}, false));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    Value v = std::move(stack_.back());
    stack_.pop_back();
    keys_.pop_back();
    return put(std::move(v));
  }

  bool put(Value v) {
    if (stack_.empty()) {
      root_ = std::move(v);
      return true;
    }
    Value& top = stack_.back();
    if (top.is_sequence()) {
      top.items.push_back(std::move(v));
    } else if (top.get(keys_.back()) != nullptr) {
      problems_.add(v, fmt::format("duplicate key '{}'", keys_.back()));
    } else {
      top.entries.emplace_back(make(Value::Kind::scalar, std::move(keys_.back()), true), std::move(v));
    }
    return true;
  }

  const Source& file_;
  int line_;
  Problems& problems_;
  Value root_;
  std::vector<Value> stack_;
  std::vector<std::string> keys_;
};

}  // namespace

Value parse_json_line(const Source& file, std::string_view text, int line_number, Problems& problems) {
  Handler handler{file, line_number, problems};
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &handler)) return {};
  return handler.take();
}

}  // namespace linkcast::workloads::trace
