// See host_list.hpp.
#include "host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace linkcast::topologies {
namespace {

struct Range {
  std::uint64_t first = 0, last = 0, step = 1;
  int width = 0;
};
/// Text, then what a bracket stands for (nothing after the last text of a name).
struct Piece {
  std::string_view text;
  std::vector<Range> ranges;
  std::uint64_t count = 0;  // numbers in the ranges
};

class Reader {
 public:
  Reader(std::string_view text, std::vector<std::string>& out, std::size_t limit)
      : text_{text}, out_{out}, limit_{limit} {}

  std::optional<HostListProblem> read() {
    while (!problem_) {
      one_name();
      if (problem_ || at_ >= text_.size()) break;
      ++at_;  // ','
      if (at_ >= text_.size()) fail(at_ - 1, "a comma after the last name");
    }
    return std::move(problem_);
  }

 private:
  void fail(std::size_t at, std::string problem, std::string help = {}) {
    if (!problem_) problem_ = HostListProblem{at, std::move(problem), std::move(help)};
  }

  void one_name() {
    const auto begin = at_;
    std::vector<Piece> pieces(1);
    auto text_begin = at_;
    while (at_ < text_.size() && text_[at_] != ',') {
      const char c = text_[at_];
      if (c == '[') {
        pieces.back().text = text_.substr(text_begin, at_ - text_begin);
        ++at_;
        bracket(pieces.back());
        if (problem_) return;
        pieces.emplace_back();
        text_begin = at_;
        continue;
      }
      if (c == ']') return fail(at_, "']' without '['");
      if (!name_character(c)) {
        return fail(at_, "not a character of a name", "names are divided by commas, without blanks");
      }
      ++at_;
    }
    pieces.back().text = text_.substr(text_begin, at_ - text_begin);
    if (at_ == begin) return fail(begin, "expected a name");
    std::uint64_t names = 1;
    for (const auto& p : pieces) {
      if (!p.ranges.empty()) names = p.count > limit_ ? limit_ + 1 : names * p.count;
      if (names > limit_ || out_.size() + names > limit_) {
        return fail(begin, fmt::format("more than {} names", limit_));
      }
    }
    std::string name;
    write(pieces, 0, name);
  }

  /// After '[': up to and with ']'.
  void bracket(Piece& piece) {
    while (!problem_) {
      Range r;
      const auto at = at_;
      if (!number(r.first, &r.width)) return;
      r.last = r.first;
      if (peek('-')) {
        ++at_;
        if (!number(r.last)) return;
        if (r.last < r.first) return fail(at, fmt::format("the range runs backwards: {} to {}", r.first, r.last));
        if (peek(':') || peek('/')) {
          ++at_;
          if (!number(r.step)) return;
          if (r.step == 0) return fail(at, "a step of 0");
        }
      }
      const auto count = (r.last - r.first) / r.step + 1;
      piece.count = count > limit_ || piece.count > limit_ ? limit_ + 1 : piece.count + count;
      piece.ranges.push_back(r);
      if (peek(',')) {
        ++at_;
        continue;
      }
      if (peek(']')) {
        ++at_;
        return;
      }
      if (peek('x')) return fail(at_, "boxes of coordinates ([000x133]) are not read", "write the names as a list");
      return fail(at_, at_ >= text_.size() ? "'[' without ']'" : "expected ',', '-' or ']'");
    }
  }

  bool peek(char c) const { return at_ < text_.size() && text_[at_] == c; }

  bool number(std::uint64_t& out, int* width = nullptr) {
    const auto* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), out);
    const auto digits = static_cast<std::size_t>(end - begin);
    if (error != std::errc{} || digits == 0 || digits > 15) {
      fail(at_,
           digits > 15 || error == std::errc::result_out_of_range ? "the number is too large" : "expected a number",
           "such as [01-16,20]");
      return false;
    }
    if (width) *width = static_cast<int>(digits);
    at_ += digits;
    return true;
  }

  void write(const std::vector<Piece>& pieces, std::size_t i, std::string& name) {
    const auto& p = pieces[i];
    const auto before = name.size();
    name += p.text;
    const auto with_text = name.size();
    if (p.ranges.empty()) {
      if (i + 1 < pieces.size()) {
        write(pieces, i + 1, name);
      } else {
        out_.push_back(name);
      }
    }
    for (const auto& r : p.ranges) {
      for (auto n = r.first; n <= r.last; n += r.step) {
        name += fmt::format("{:0{}}", n, r.width);
        write(pieces, i + 1, name);
        name.resize(with_text);
      }
    }
    name.resize(before);
  }

  std::string_view text_;
  std::vector<std::string>& out_;
  std::size_t limit_;
  std::size_t at_ = 0;
  std::optional<HostListProblem> problem_;
};

/// "gpu007" -> "gpu", 7, 3 digits.
struct Numbered {
  std::string_view prefix;
  std::uint64_t number = 0;
  std::size_t digits = 0;
};
Numbered numbered(std::string_view name) {
  std::size_t n = 0;
  while (n < name.size() && n < 15 && name[name.size() - 1 - n] >= '0' && name[name.size() - 1 - n] <= '9') ++n;
  Numbered out{name.substr(0, name.size() - n), 0, n};
  std::from_chars(name.data() + name.size() - n, name.data() + name.size(), out.number);
  return out;
}

}  // namespace

bool name_character(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u > ' ' && u < 0x7f && std::string_view{"\"'\\{}[],#"}.find(c) == std::string_view::npos;
}

std::optional<HostListProblem> expand_host_list(std::string_view text, std::vector<std::string>& out,
                                                std::size_t limit) {
  return Reader{text, out, limit}.read();
}

std::string host_list(std::span<const std::string> names) {
  std::string out;
  for (std::size_t i = 0; i < names.size();) {
    if (i > 0) out += ',';
    const auto first = numbered(names[i]);
    // All that follows with the same text goes into one bracket.
    auto end = i + 1;
    while (end < names.size()) {
      const auto next = numbered(names[end]);
      if (first.digits == 0 || next.digits == 0 || next.prefix != first.prefix) break;
      ++end;
    }
    if (end == i + 1) {
      out += names[i++];
      continue;
    }
    out += fmt::format("{}[", first.prefix);
    for (auto k = i; k < end;) {
      // A range has the digits of its first number: "[08-11]", "[8-11]".
      const auto from = numbered(names[k]);
      auto to = from.number;
      auto next = k + 1;
      for (; next < end; ++next, ++to) {
        const auto n = numbered(names[next]);
        if (n.number != to + 1 || n.digits != std::max(from.digits, fmt::formatted_size("{}", n.number))) break;
      }
      if (k > i) out += ',';
      out += fmt::format("{:0{}}", from.number, from.digits);
      if (to > from.number) out += fmt::format("-{:0{}}", to, from.digits);
      k = next;
    }
    out += ']';
    i = end;
  }
  return out;
}

}  // namespace linkcast::topologies
