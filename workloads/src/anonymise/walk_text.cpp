// See walk_text.hpp. The JSON need not be valid: some profilers leave out a value or a bracket. A line's end ends a
// string, too, so that one missing quote spoils one line.
#include "walk_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace linkcast::workloads::anonymising {
namespace {

constexpr std::size_t most_waiting = 1u << 16, longest = std::size_t{64} << 20;
constexpr std::array host_keys{"hostname", "host", "host_name", "nodename", "node_name", "fqdn"};
constexpr std::array user_keys{"user", "username", "user_name", "logname", "owner", "email"};
constexpr std::array process_keys{"pid",       "ppid",       "tid",        "process_id",
                                  "thread_id", "system_tid", "native_tid", "os_pid"};
constexpr std::array communicator_keys{"commhash", "comm_hash", "commid", "comm_id", "comms id", "parent_commhash"};
constexpr std::array guid_keys{"guid", "uuid", "mac", "serial", "node_guid", "port_guid", "sys_image_guid"};
constexpr std::array path_keys{"filename", "file", "file_name", "path", "cwd", "tracename", "trace_name", "script"};
constexpr std::array environments{"env", "environment", "environ"};
constexpr std::array stacks{"call stack", "stack", "python_stack", "stack_trace", "traceback"};

std::string lower(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

template <std::size_t n>
bool is_one_of(const std::array<const char*, n>& list, std::string_view text) {
  return std::ranges::any_of(list, [&](std::string_view w) { return w == text; });
}

}  // namespace

bool TextWalk::looks_like_json(std::string_view head) {
  const auto first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == head.npos) return false;
  if (head[first] == '{') return true;
  if (head[first] != '[') return false;
  const auto second = head.find_first_not_of(" \t\r\n", first + 1);
  return second != head.npos && (head[second] == '{' || head[second] == ']');
}

void TextWalk::give(std::string_view piece) {
  if (json_) {
    for (const char c : piece) give_json(c);
  } else {
    for (const char c : piece) {
      if (c != '\n' && text_.size() < longest) {
        text_ += c;
        continue;
      }
      waiting_ += scrubber_.scrub(text_);
      text_.clear();
      waiting_ += c;
      if (waiting_.size() > most_waiting) out_(waiting_), waiting_.clear();
    }
  }
  if (waiting_.size() > most_waiting) out_(waiting_), waiting_.clear();
}

void TextWalk::end() {
  if (json_ && state_ == State::number) {
    number_done();
  } else if (json_ && state_ != State::between) {
    string_done();
  } else if (!text_.empty()) {
    waiting_ += scrubber_.scrub(text_);
  }
  text_.clear();
  out_(waiting_);
  waiting_.clear();
}

void TextWalk::give_json(char c) {
  switch (state_) {
    case State::escape:
      text_ += c;
      state_ = State::string;
      return;
    case State::string:
      if (c == '"') {
        string_done();
        waiting_ += '"';
        state_ = State::between;
      } else if (c == '\n' || text_.size() >= longest) {
        string_done();
        waiting_ += c;
        state_ = State::between;
      } else {
        text_ += c;
        if (c == '\\') state_ = State::escape;
      }
      return;
    case State::number:
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '+' || c == '-') {
        text_ += c;
        return;
      }
      number_done();
      state_ = State::between;
      [[fallthrough]];
    case State::between:
      break;
  }
  if (c == '"') {
    waiting_ += c;
    text_.clear();
    state_ = State::string;
    return;
  }
  if (c >= '0' && c <= '9') {
    text_.assign(1, c);
    state_ = State::number;
    return;
  }
  if (c == '{' || c == '[') {
    if (levels_.size() < 10'000) levels_.push_back({c == '{', c == '{', {}});
  } else if ((c == '}' || c == ']') && !levels_.empty()) {
    levels_.pop_back();
  } else if (!levels_.empty() && levels_.back().object) {
    if (c == ',') levels_.back().expects_key = true;
    if (c == ':') levels_.back().expects_key = false;
  }
  waiting_ += c;
}

void TextWalk::string_done() {
  if (!levels_.empty() && levels_.back().object && levels_.back().expects_key) {
    levels_.back().key = text_;
    waiting_ += segments(text_);
  } else {
    auto out = value(text_);
    // Lines that a damaged string goes over stay, so that what follows keeps its line.
    const auto lines = std::ranges::count(text_, '\n') - std::ranges::count(out, '\n');
    if (lines > 0) out.append(static_cast<std::size_t>(lines), '\n');
    waiting_ += out;
  }
  text_.clear();
}

void TextWalk::number_done() {
  const auto key = levels_.empty() ? std::string{} : lower(levels_.back().key);
  if (is_one_of(process_keys, key))
    waiting_ += scrubber_.process(text_);
  else if (is_one_of(communicator_keys, key))
    waiting_ += scrubber_.communicator(text_);
  else if (text_.starts_with("0x"))  // no JSON, but some write pointers so
    waiting_ += scrubber_.scrub(text_);
  else
    waiting_ += text_;
  text_.clear();
}

bool TextWalk::within(std::string_view key) const {
  return std::ranges::any_of(levels_, [&](const Level& l) { return l.object && lower(l.key) == key; });
}

std::string TextWalk::value(std::string_view raw) {
  if (raw.empty()) return {};
  // Of an array: the key that it stands under.
  std::string key;
  for (auto l = levels_.rbegin(); l != levels_.rend(); ++l)
    if (l->object) {
      key = lower(l->key);
      break;
    }
  if (is_one_of(host_keys, key)) return scrubber_.host(raw);
  if (is_one_of(user_keys, key)) return scrubber_.user(raw);
  if (is_one_of(process_keys, key) && digits_only(raw)) return scrubber_.process(raw);
  if (is_one_of(communicator_keys, key) && digits_only(raw)) return scrubber_.communicator(raw);
  if (is_one_of(guid_keys, key)) return scrubber_.guid(raw);
  if (is_one_of(path_keys, key) && raw.find("\\\\") == raw.npos) {
    std::string plain;  // a slash may be written \/
    for (std::size_t i = 0; i < raw.size(); ++i)
      if (!(raw[i] == '\\' && i + 1 < raw.size() && raw[i + 1] == '/')) plain += raw[i];
    if (plain.find('\\') == plain.npos) return scrubber_.path(plain);
  }
  if (within("frames") && key == "name") return scrubber_.function(raw);
  if (levels_.size() >= 2 && levels_.back().object && is_one_of(environments, lower(levels_[levels_.size() - 2].key)))
    return scrubber_.variable(levels_.back().key, raw);
  if (is_one_of(stacks, key)) {  // frames, one after the other
    std::string out;
    for (std::size_t at = 0; at <= raw.size();) {
      const auto end = std::min(raw.find(';', at), raw.size());
      out += segments(raw.substr(at, end - at));
      if (end < raw.size()) out += ';';
      at = end + 1;
    }
    return out;
  }
  if (raw.find(":\\\\") != raw.npos) return scrubber_.path(raw.substr(0, raw.find(":\\\\"))) + "-windows";
  return segments(raw);
}

/// The text between escapes; a slash that is written \/ is a slash.
std::string TextWalk::segments(std::string_view raw) {
  if (raw.find('\\') == raw.npos) return scrubber_.scrub(raw);
  std::string out, plain;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 >= raw.size()) {
      plain += raw[i];
    } else if (raw[++i] == '/') {
      plain += '/';
    } else {
      out += scrubber_.scrub(plain);
      plain.clear();
      const auto length = raw[i] == 'u' ? std::min<std::size_t>(5, raw.size() - i) : 1;
      out += '\\';
      out += raw.substr(i, length);
      i += length - 1;
    }
  }
  return out + scrubber_.scrub(plain);
}

}  // namespace linkcast::workloads::anonymising
