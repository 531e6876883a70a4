// See json_scan.hpp.
#include "json_scan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "byte_source.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {
namespace {

constexpr std::size_t first_window = std::size_t{4} << 20, most_member = std::size_t{64} << 20;
constexpr std::size_t most_element = std::size_t{2} << 20;  // longer ones have lost their end
constexpr std::int64_t most_broken = 1000;                  // then nothing more is expected of the file

constexpr auto table_of(std::string_view stops) {
  std::array<bool, 256> t{};
  for (const char c : stops) t[static_cast<unsigned char>(c)] = true;
  t[0] = true;
  return t;
}
constexpr auto in_value = table_of("\"{}[]");
constexpr auto in_text = table_of("\"\\");

const char* end_of_text(const char* p, const char* end) {  // p: behind the opening quote
  while (true) {
    while (!in_text[static_cast<unsigned char>(*p)]) ++p;
    if (p >= end) return nullptr;
    if (*p == '"') return p + 1;
    p += *p == '\\' ? 2 : 1;
    if (p >= end) return nullptr;
  }
}

class Window {
 public:
  explicit Window(const std::string& path) : source_{path}, buffer_(first_window + 1) {}
  const char* p = nullptr;  // the next character; valid while nothing is filled
  const char* end() const { return buffer_.data() + have_; }
  std::uint64_t at(const char* q) const { return base_ + static_cast<std::uint64_t>(q - buffer_.data()); }
  std::string damage;
  std::uint64_t bytes = 0;

  /// More characters behind those from `p` on; false where there are none or `most` are held already.
  bool fill(std::size_t most) {
    const auto kept = p == nullptr ? 0 : static_cast<std::size_t>(end() - p);
    if (over_ || kept >= most) return false;
    if (p != nullptr) {
      base_ += static_cast<std::uint64_t>(p - buffer_.data());
      std::memmove(buffer_.data(), p, kept);
    }
    if (kept + 1 >= buffer_.size() / 2) buffer_.resize(buffer_.size() * 2);
    have_ = kept;
    const auto before = have_;
    while (have_ + 1 < buffer_.size() && !over_) {
      std::size_t n = 0;
      try {
        n = source_.read(buffer_.data() + have_, buffer_.size() - 1 - have_);
      } catch (const sim::InputError& e) {
        damage = e.what();
      }
      if (n == 0) over_ = true;
      have_ += n;
    }
    bytes += have_ - before;
    buffer_[have_] = '\0';
    p = buffer_.data();
    return have_ > before;
  }
  /// The next character that is no space nor one of `also`; 0 at the end.
  char next(char also = ' ') {
    while (true) {
      while (p < end() && (is_space(*p) || *p == also)) ++p;
      if (p < end()) return *p;
      if (!fill(1)) return '\0';
    }
  }
  /// The value that begins at p, whole; empty where it has no end.
  std::string_view value(std::size_t most) {
    while (true) {
      const char* q = end_of_value(p, end());
      // A bare word or number that touches the end of what is held may go on behind it.
      if (q != nullptr && (q < end() || over_ || *p == '"' || *p == '{' || *p == '['))
        return {p, static_cast<std::size_t>(q - p)};
      if (!fill(most)) return {};
    }
  }

 private:
  ByteSource source_;
  std::vector<char> buffer_;
  std::size_t have_ = 0;
  std::uint64_t base_ = 0;
  bool over_ = false;
};

/// Behind a damaged element: the next '{' that is followed by the anchor as its first key.
bool resume(Window& w, const std::string& anchor) {
  const std::string key = "\"" + anchor + "\"";
  ++w.p;
  while (true) {
    const std::string_view rest{w.p, static_cast<std::size_t>(w.end() - w.p)};
    for (auto at = rest.find(key); at != rest.npos; at = rest.find(key, at + 1)) {
      auto open = at;
      while (open > 0 && is_space(rest[open - 1])) --open;
      if (open == 0 || rest[open - 1] != '{') continue;
      w.p += open - 1;
      return true;
    }
    // What is left may hold the beginning of it.
    w.p = w.end() - std::min<std::size_t>(rest.size(), 256);
    if (!w.fill(most_element)) return false;
  }
}

bool read_array(Window& w, const JsonPieces& pieces, JsonPiecesRead& out) {
  while (true) {
    const char c = w.next(',');
    if (c == '\0') return false;
    if (c == ']') {
      ++w.p;
      return true;
    }
    if (c == '}' || c == ':') {
      ++w.p;
      continue;
    }
    const auto at = w.at(w.p);
    const auto element = w.value(most_element);
    if (!element.empty()) {
      w.p = element.data() + element.size();
      ++out.elements;
      pieces.element(element, at);
      continue;
    }
    if (out.broken++ == 0) out.first = at;
    if (out.broken > most_broken || !resume(w, pieces.anchor)) return false;
  }
}

std::string_view inside(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' && value.back() == '"' ? value.substr(1, value.size() - 2) : value;
}

void append_utf8(std::string& out, unsigned code) {
  const auto push = [&](unsigned c) { out += static_cast<char>(c); };
  if (code < 0x80)
    push(code);
  else if (code < 0x800)
    push(0xc0 | code >> 6), push(0x80 | (code & 0x3f));
  else
    push(0xe0 | code >> 12), push(0x80 | (code >> 6 & 0x3f)), push(0x80 | (code & 0x3f));
}

}  // namespace

const char* end_of_value(const char* p, const char* end) {
  if (p >= end) return nullptr;
  if (*p == '"') return end_of_text(p + 1, end);
  if (*p != '{' && *p != '[') {
    const char* const begin = p;
    while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != '"' && !is_space(*p)) ++p;
    return p == begin ? p + 1 : p;
  }
  int depth = 0;
  while (true) {
    while (!in_value[static_cast<unsigned char>(*p)]) ++p;
    if (p >= end) return nullptr;
    switch (*p++) {
      case '"':
        p = end_of_text(p, end);
        if (p == nullptr) return nullptr;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (--depth == 0) return p;
        break;
      default:
        break;
    }
  }
}

JsonPiecesRead read_pieces(const std::string& path, const JsonPieces& pieces) {
  Window w{path};
  JsonPiecesRead out;
  w.fill(most_member);
  if (w.p != nullptr && w.end() - w.p >= 3 && std::string_view{w.p, 3} == "\xef\xbb\xbf") w.p += 3;
  const char open = w.next();
  if (open == '[') {
    ++w.p;
    out.whole = read_array(w, pieces, out);
  } else if (open == '{') {
    ++w.p;
    while (true) {
      const char c = w.next(',');
      if (c == '}') out.whole = true;
      if (c != '"') break;
      const auto key_text = w.value(most_member);
      if (key_text.empty()) break;
      const std::string key{inside(key_text)};
      w.p = key_text.data() + key_text.size();
      if (w.next() != ':') break;
      ++w.p;
      const char first = w.next();
      if (first == '\0') break;
      if (first == ',' || first == '}') continue;
      if (first == '[' && key == pieces.array) {
        ++w.p;
        if (!read_array(w, pieces, out)) break;
        continue;
      }
      const auto value = w.value(most_member);
      if (value.empty()) break;
      w.p = value.data() + value.size();
      pieces.member(key, value);
    }
  }
  out.damage = w.damage;
  out.bytes = w.bytes;
  return out;
}

std::string text_of(std::string_view value) {
  const auto raw = inside(value);
  if (raw.find('\\') == raw.npos) return std::string{raw};
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    switch (raw[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        unsigned code = 0;
        const auto end = raw.data() + std::min(raw.size(), i + 5);
        const auto read = std::from_chars(raw.data() + i + 1, end, code, 16);
        append_utf8(out, code);
        i = static_cast<std::size_t>(read.ptr - raw.data()) - 1;
        break;
      }
      default:
        out += raw[i];
    }
  }
  return out;
}

std::optional<std::int64_t> integer_of(std::string_view value) {
  value = inside(value);
  std::int64_t n = 0;
  const auto end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, n);
  if (read.ec != std::errc{}) {
    // Pointers and hashes of 64 bits without a sign: the same bits.
    std::uint64_t u = 0;
    const auto wide = std::from_chars(value.data(), end, u);
    if (wide.ec != std::errc{} || wide.ptr != end) return std::nullopt;
    return static_cast<std::int64_t>(u);
  }
  for (const char* p = read.ptr; p < end; ++p)
    if (*p != '.' && *p != '0') return std::nullopt;
  return n;
}

std::optional<std::int64_t> nanoseconds_of(std::string_view value) {
  value = inside(value);
  std::int64_t whole = 0;
  const char* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, whole);
  if (read.ec != std::errc{} || whole > 4'000'000'000'000'000 || whole < -4'000'000'000'000'000) return std::nullopt;
  std::int64_t part = 0, scale = 100;
  const char* p = read.ptr;
  if (p < end && *p == '.') {
    for (++p; p < end && *p >= '0' && *p <= '9'; ++p, scale /= 10)
      if (scale > 0) part += (*p - '0') * scale;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    double d = 0;
    const auto wide = std::from_chars(value.data(), end, d);
    if (wide.ec != std::errc{} || wide.ptr != end || !(std::abs(d) < 4e15)) return std::nullopt;
    return static_cast<std::int64_t>(std::llround(d * 1e3));
  }
  if (p != end) return std::nullopt;
  return whole * 1000 + (value.front() == '-' ? -part : part);
}

std::vector<std::int64_t> integers_of(std::string_view list, bool* cut) {
  std::vector<std::int64_t> out;
  if (cut != nullptr) *cut = list.find("...") != list.npos;
  for (const char *p = list.data(), *end = p + list.size(); p < end;) {
    std::int64_t n = 0;
    const auto read = std::from_chars(p, end, n);
    if (read.ec == std::errc{}) out.push_back(n);
    p = read.ptr == p ? p + 1 : read.ptr;
  }
  return out;
}

}  // namespace linkcast::workloads::readers
