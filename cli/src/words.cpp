// See words.hpp. Locale plays no part: numbers are read and written the same everywhere.
#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace linkcast::cli {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

struct Unit {
  std::string_view name;
  double us;
};
constexpr std::array time_units{Unit{"ns", 1e-3},   Unit{"us", 1},   Unit{"\u00b5s", 1},
                                Unit{"\u03bcs", 1}, Unit{"ms", 1e3}, Unit{"s", 1e6}};

constexpr int largest_rank = 1'000'000;

}  // namespace

void Problems::note(std::string_view rendered) {
  if (!text_.empty()) text_ += '\n';
  text_ += rendered;
}

void Problems::add(std::string problem, std::string help) {
  note(sim::InputError{std::move(problem), std::move(help)}.what());
}

void Problems::finish() const {
  if (!text_.empty()) throw UsageError{text_};
}

int whole_number(std::string_view option, std::string_view text, int least, int most) {
  const auto word = trimmed(text);
  long long value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || end != word.data() + word.size() || error == std::errc::invalid_argument)
    throw sim::InputError{fmt::format("{}: '{}' is not a whole number", option, text),
                          fmt::format("write a number from {} to {}", least, most)};
  if (error == std::errc::result_out_of_range || value < least || value > most)
    throw sim::InputError{fmt::format("{}: {} is out of range", option, word),
                          fmt::format("write a number from {} to {}", least, most)};
  return static_cast<int>(value);
}

sim::Time time_span(std::string_view option, std::string_view text) {
  const auto word = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || !std::isfinite(value))
    throw sim::InputError{fmt::format("{}: '{}' is not a time", option, text), "write a number with a unit, e.g. 20us"};
  const auto unit = trimmed(word.substr(static_cast<std::size_t>(end - word.data())));
  if (unit.empty())
    throw sim::InputError{fmt::format("{}: '{}' has no unit", option, text),
                          fmt::format("write {}us (or ns, ms, s)", word)};
  const auto found = std::find_if(time_units.begin(), time_units.end(), [&](const Unit& u) { return u.name == unit; });
  if (found == time_units.end())
    throw sim::InputError{fmt::format("{}: '{}' is not a unit of time", option, unit), "use ns, us, ms or s"};
  const double in_us = value * found->us;
  if (in_us < 0 || in_us > 1e9)
    throw sim::InputError{fmt::format("{}: {} is out of range", option, text), "from 0 to 1000 s"};
  return sim::Time::from_us(in_us);
}

std::vector<int> rank_list(std::string_view option, std::string_view text) {
  std::vector<int> ranks;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto comma = std::min(text.find(',', begin), text.size());
    const auto item = trimmed(text.substr(begin, comma - begin));
    begin = comma + 1;
    const auto dash = item.find('-', 1);
    const int first = whole_number(option, item.substr(0, dash), 0, largest_rank);
    const int last =
        dash == std::string_view::npos ? first : whole_number(option, item.substr(dash + 1), 0, largest_rank);
    if (last < first)
      throw sim::InputError{fmt::format("{}: '{}' descends", option, item), "write the smaller rank first"};
    for (int r = first; r <= last; ++r) ranks.push_back(r);
  }
  return ranks;
}

std::pair<std::string, std::string> assignment(std::string_view option, std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw sim::InputError{fmt::format("{}: '{}' is no assignment", option, text), "write NAME=VALUE"};
  return {std::string{trimmed(text.substr(0, equals))}, std::string{text.substr(equals + 1)}};
}

std::map<std::string, std::string> assignments(std::string_view option, const std::vector<std::string>& texts) {
  std::map<std::string, std::string> out;
  for (const auto& text : texts) {
    auto [name, value] = assignment(option, text);
    if (!out.emplace(name, value).second)
      throw sim::InputError{fmt::format("{}: '{}' is given twice", option, name), "keep one of them"};
  }
  return out;
}

std::string suggestion(std::string_view name, std::span<const std::string> known) {
  const auto near = sim::nearest(name, known);
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  return fmt::format("one of: {}", fmt::join(known, ", "));
}

std::size_t one_of(std::string_view option, std::string_view text, std::span<const std::string> known) {
  const auto found = std::find(known.begin(), known.end(), text);
  if (found == known.end())
    throw sim::InputError{fmt::format("{}: unknown '{}'", option, text), suggestion(text, known)};
  return static_cast<std::size_t>(found - known.begin());
}

std::string size_text(sim::Bytes size) {
  const auto n = size.count();
  constexpr std::array units{"TiB", "GiB", "MiB", "KiB"};
  for (std::size_t i = 0; i < units.size(); ++i) {
    const int shift = 40 - 10 * static_cast<int>(i);
    if (n >> shift > 0 && n % (std::int64_t{1} << shift) == 0) return fmt::format("{} {}", n >> shift, units[i]);
  }
  return fmt::format("{} B", n);
}

std::string size_word(sim::Bytes size) {
  const auto n = size.count();
  constexpr std::string_view letters = "TGMK";
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const int shift = 40 - 10 * static_cast<int>(i);
    if (n >> shift > 0 && n % (std::int64_t{1} << shift) == 0) return fmt::format("{}{}", n >> shift, letters[i]);
  }
  return fmt::format("{}", n);
}

std::string ranks_text(std::span<const int> ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i + 1;
    while (j < ranks.size() && ranks[j] == ranks[j - 1] + 1) ++j;
    if (!out.empty()) out += ',';
    if (j - i > 2) {
      out += fmt::format("{}-{}", ranks[i], ranks[j - 1]);
    } else {
      out += fmt::format("{}", ranks[i]);
      j = i + 1;
    }
    i = j;
  }
  return out;
}

}  // namespace linkcast::cli
