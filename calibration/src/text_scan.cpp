// Reading printed output and words. See text_scan.hpp.
#include "text_scan.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace linkcast::calibration {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

std::string_view first_word(std::string_view text) {
  const auto from = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(from, text.find_first_of(" \t\r(,;", from) - from);
}

template <class T>
std::optional<T> whole_text(std::string_view text) {
  T value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    auto line = text.substr(0, newline);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
  }
  return lines;
}

std::optional<double> number_in(std::string_view text) { return whole_text<double>(text); }
std::optional<long> whole_in(std::string_view text) { return whole_text<long>(text); }

std::string lower(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : lower(text)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool says_any(std::string_view text, std::initializer_list<std::string_view> phrases) {
  return std::any_of(phrases.begin(), phrases.end(),
                     [&](std::string_view p) { return text.find(p) != std::string_view::npos; });
}

bool has_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

std::optional<double> GBps_of_unit(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kPrefixes = {
      {{"", 1e-9}, {"K", 1e-6}, {"M", 1e-3}, {"G", 1.0}, {"T", 1e3}}};
  constexpr std::array<std::pair<std::string_view, double>, 4> kBinary = {
      {{"Ki", 1.024e-6}, {"Mi", 1.048576e-3}, {"Gi", 1.073741824}, {"Ti", 1099.511627776}}};
  constexpr std::array<std::pair<std::string_view, double>, 8> kNames = {{{"B/s", 1},
                                                                          {"B/sec", 1},
                                                                          {"Bps", 1},
                                                                          {"b/s", 0.125},
                                                                          {"b/sec", 0.125},
                                                                          {"bit/s", 0.125},
                                                                          {"bit/sec", 0.125},
                                                                          {"bps", 0.125}}};
  const auto word = first_word(unit);
  const auto with = [&](std::string_view prefix, double scale) -> std::optional<double> {
    if (word.substr(0, prefix.size()) != prefix) return std::nullopt;
    for (const auto& [name, bytes] : kNames) {
      if (word.substr(prefix.size()) == name) return scale * bytes;
    }
    return std::nullopt;
  };
  for (const auto& [prefix, scale] : kBinary) {
    if (const auto found = with(prefix, scale)) return found;
  }
  for (const auto& [prefix, scale] : kPrefixes) {
    if (const auto found = with(prefix, scale)) return found;
  }
  return std::nullopt;
}

std::optional<double> us_of_unit(std::string_view unit) {
  const auto word = first_word(unit);
  for (const std::string_view us : {"us", "usec", "µs", "microseconds"}) {
    if (word == us) return 1;
  }
  if (word == "ns" || word == "nsec") return 1e-3;
  if (word == "ms" || word == "msec") return 1e3;
  if (word == "s" || word == "sec") return 1e6;
  return std::nullopt;
}

std::optional<sim::Bytes> size_in_words(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i]) || (i > 0 && (is_word(text[i - 1]) || text[i - 1] == '.'))) continue;
    std::size_t end = i;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    const auto value = number_in(text.substr(i, end - i));
    std::size_t unit = end;
    // "2-byte writes" is a size too.
    if (unit < text.size() && (text[unit] == ' ' || (text[unit] == '-' && text.substr(unit, 5) == "-byte"))) ++unit;
    std::size_t unit_end = unit;
    while (unit_end < text.size() && is_letter(text[unit_end])) ++unit_end;
    const auto name = lower(text.substr(unit, unit_end - unit));
    const bool range_behind = i >= 2 && text[i - 1] == '-' && is_word(text[i - 2]);
    const bool range_ahead = unit_end + 1 < text.size() && text[unit_end] == '-' && is_digit(text[unit_end + 1]);
    const bool rate = unit_end < text.size() && text[unit_end] == '/';
    i = end - 1;
    if (!value || *value <= 0 || range_behind || range_ahead || rate) continue;
    // Letters as nccl-tests' -b takes them stand at the number; with a blank in between it takes a B.
    const bool joined = unit == end;
    double scale = 0;
    if (name == "b" || name == "byte" || name == "bytes") scale = 1;
    for (const auto& [letter, power] : {std::pair{'k', 10}, {'m', 20}, {'g', 30}, {'t', 40}}) {
      const std::string short_name(1, letter);
      if ((joined && name == short_name) || name == short_name + "b" || name == short_name + "ib")
        scale = static_cast<double>(std::int64_t{1} << power);
    }
    // Above 32 GiB it is a NIC ("200G") or a GPU's memory ("80GB"), not a message.
    if (scale == 0 || *value * scale > 0x1p35 || *value * scale < 1) continue;
    return sim::Bytes{static_cast<std::int64_t>(*value * scale)};
  }
  return std::nullopt;
}

}  // namespace linkcast::calibration
