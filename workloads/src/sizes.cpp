// Reads lists of message sizes. Whole numbers throughout: 16G is 17,179,869,184 and not the nearest double.
// Diagnostics point into the text as line 1 of an input called "size".
#include "linkcast/workloads/sizes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t most_sizes = 100'000;

struct Suffix {
  std::string_view name;
  int shift;
};
constexpr std::array suffixes{Suffix{"", 0},   Suffix{"B", 0},    Suffix{"K", 10}, Suffix{"KIB", 10},
                              Suffix{"M", 20}, Suffix{"MIB", 20}, Suffix{"G", 30}, Suffix{"GIB", 30},
                              Suffix{"T", 40}, Suffix{"TIB", 40}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string upper(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return out;
}

/// A part of the whole text, with the place where it begins.
struct Part {
  std::string_view text;
  std::size_t at;

  Part trimmed() const {
    auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {text.substr(0, 0), at};
    const auto end = text.find_last_not_of(" \t");
    return {text.substr(begin, end - begin + 1), at + begin};
  }
  Part from(std::size_t n) const { return {text.substr(n), at + n}; }
};

std::vector<Part> split(Part whole, char separator) {
  std::vector<Part> parts;
  std::size_t begin = 0;
  while (true) {
    const auto end = whole.text.find(separator, begin);
    parts.push_back(Part{whole.text.substr(begin, end - begin), whole.at + begin}.trimmed());
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

/// A decimal number, exactly: digits / 10^decimals.
struct Decimal {
  Wide digits = 0;
  int decimals = 0;
  std::size_t length = 0;  // characters read
  bool overflow = false;
};

Decimal read_decimal(std::string_view text) {
  Decimal d;
  bool point = false;
  for (; d.length < text.size(); ++d.length) {
    const char c = text[d.length];
    if (c == '.' && !point) {
      point = true;
    } else if (is_digit(c)) {
      // 27 digits: far past 2^63, and still room in 128 bits for a shift by 40.
      if (d.digits > Wide{largest} * 1'000'000) {
        d.overflow = true;
      } else {
        d.digits = d.digits * 10 + (c - '0');
        if (point) ++d.decimals;
      }
    } else {
      break;
    }
  }
  while (d.decimals > 0 && d.digits % 10 == 0) d.digits /= 10, --d.decimals;
  return d;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_{text} {}

  std::optional<std::int64_t> size(Part part) {
    if (part.text.empty()) return wrong(part, "a size is missing here", "write a number of bytes, e.g. 8, 4M or 1G");
    if (part.text[0] == '-')
      return wrong(part, "'" + std::string{part.text} + "' is negative", "sizes are at least 1 byte");
    const auto number = read_decimal(part.text);
    if (number.length == 0 || !is_digit(part.text[number.length - 1]) || !is_digit(part.text[0])) {
      return wrong(part, "'" + std::string{part.text} + "' is not a size", "write a number of bytes, e.g. 8, 4M or 1G");
    }
    const auto suffix_part = part.from(number.length).trimmed();
    const auto suffix = suffix_of(suffix_part);
    if (!suffix) return std::nullopt;
    auto value = number.digits << *suffix;
    for (int i = 0; i < number.decimals; ++i) {
      if (value % 10 != 0) {
        return wrong(part, "'" + std::string{part.text} + "' is not a whole number of bytes",
                     "write it in a smaller unit");
      }
      value /= 10;
    }
    if (number.overflow || value > largest) {
      return wrong(part, "'" + std::string{part.text} + "' is too large", "sizes end below 2^63 bytes (8388608T)");
    }
    if (value == 0) return wrong(part, "a size of zero", "sizes are at least 1 byte");
    return static_cast<std::int64_t>(value);
  }

  void range(const std::vector<Part>& parts, std::vector<sim::Bytes>& out) {
    if (parts.size() > 3) {
      wrong(parts[3], "a range has at most three parts", "FROM:TO, FROM:TO:x2 or FROM:TO:+1M");
      return;
    }
    const auto from = size(parts[0]);
    const auto to = size(parts[1]);
    Decimal factor{2, 0, 0, false};
    std::int64_t step = 0;
    if (parts.size() == 3 && !read_step(parts[2], factor, step)) return;
    if (!from || !to) return;
    if (*to < *from) {
      wrong(Part{text_.substr(parts[0].at, parts[1].at + parts[1].text.size() - parts[0].at), parts[0].at},
            "the range ends below its beginning", "the smaller size comes first");
      return;
    }
    Wide scale = 1;
    for (int i = 0; i < factor.decimals; ++i) scale *= 10;
    for (Wide n = *from; n <= *to;) {
      if (out.size() >= most_sizes) {
        wrong(parts[0], "more than 100000 sizes", "take a larger step");
        return;
      }
      out.emplace_back(static_cast<std::int64_t>(n));
      // A factor near 1 would stand still at small sizes.
      n = step > 0 ? n + step : std::max(n + 1, n * factor.digits / scale);
    }
  }

  std::vector<sim::Bytes> sizes() {
    std::vector<sim::Bytes> out;
    for (const auto& item : split({text_, 0}, ',')) {
      const auto parts = split(item, ':');
      if (parts.size() > 1) {
        range(parts, out);
      } else if (const auto n = size(item)) {
        out.emplace_back(*n);
      }
    }
    return out;
  }

  void finish() {
    if (!problems_.empty()) throw sim::InputError{std::move(problems_), text_};
  }

 private:
  std::nullopt_t wrong(Part part, std::string problem, std::string help) {
    problems_.push_back({{"size", 1, static_cast<int>(part.at) + 1, std::max(1, static_cast<int>(part.text.size()))},
                         std::move(problem),
                         std::move(help)});
    return std::nullopt;
  }

  std::optional<int> suffix_of(Part part) {
    const auto name = upper(part.text);
    for (const auto& s : suffixes) {
      if (s.name == name) return s.shift;
    }
    static const std::vector<std::string> decimal{"KB", "MB", "GB", "TB"};
    if (std::ranges::find(decimal, name) != decimal.end()) {
      return wrong(part, "'" + std::string{part.text} + "' is not a suffix of sizes",
                   "write " + name.substr(0, 1) + " or " + name.substr(0, 1) + "iB: sizes count in powers of 1024");
    }
    return wrong(part, "unknown suffix '" + std::string{part.text} + "'", "K, M, G and T are known (powers of 1024)");
  }

  bool read_step(Part part, Decimal& factor, std::int64_t& step) {
    if (part.text.starts_with('+')) {
      const auto n = size(part.from(1).trimmed());
      if (n) step = *n;
      return n.has_value();
    }
    const bool times = part.text.starts_with('x') || part.text.starts_with('X') || part.text.starts_with('*');
    if (!times) {
      wrong(part, "'" + std::string{part.text} + "' is not a step", "write x2 to multiply or +1M to add");
      return false;
    }
    const auto number = part.from(1).trimmed();
    factor = read_decimal(number.text);
    Wide one = 1;
    for (int i = 0; i < std::min(factor.decimals, 9); ++i) one *= 10;
    const bool whole_text = factor.length == number.text.size() && factor.length > 0 && is_digit(number.text[0]);
    if (!whole_text || factor.overflow || factor.decimals > 9 || factor.digits <= one ||
        factor.digits / one > 1'000'000'000) {
      wrong(part, "'" + std::string{part.text} + "' is not a factor that grows",
            "write a number above 1 (and up to 10^9), e.g. x2");
      return false;
    }
    return true;
  }

  std::string_view text_;
  std::vector<sim::Diagnostic> problems_;
};

}  // namespace

sim::Bytes parse_size(std::string_view text) {
  Reader reader{text};
  const auto n = reader.size(Part{text, 0}.trimmed());
  reader.finish();
  return sim::Bytes{n.value_or(0)};
}

std::vector<sim::Bytes> parse_sizes(std::string_view text) {
  Reader reader{text};
  auto out = reader.sizes();
  reader.finish();
  return out;
}

}  // namespace linkcast::workloads
