// See secrets.hpp.
#include "secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace linkcast::calibration {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Names as environments have them: without small letters, or anything behind a quote.
bool may_be_variable(std::string_view line, std::size_t begin, std::size_t end) {
  const auto name = line.substr(begin, end - begin);
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
  if (begin > 0 && line[begin - 1] == '-') return is_secret_name(name);
  const bool quoted = begin > 0 && (line[begin - 1] == '"' || line[begin - 1] == '\'');
  const bool capitals = name.size() > 1 && std::none_of(name.begin(), name.end(), [](char c) {
                          return std::islower(static_cast<unsigned char>(c)) != 0;
                        });
  return quoted || capitals || is_secret_name(name);
}

/// Behind the value that begins at `at`: the quote that closes it, or a blank.
std::size_t end_of_value(std::string_view line, std::size_t at, char quote) {
  for (std::size_t i = at; i < line.size(); ++i) {
    if (quote != 0 ? line[i] == quote : line[i] == ' ' || line[i] == '\t') return i;
    if (quote != 0 && line[i] == '\\') ++i;
  }
  return line.size();
}

}  // namespace

bool is_secret_name(std::string_view name) {
  std::string capitals(name);
  for (auto& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  constexpr std::array<std::string_view, 6> kWords{"TOKEN", "SECRET", "KEY", "PASSWORD", "PASSWD", "CREDENTIAL"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return capitals.find(word) != std::string::npos; });
}

std::string shown_value_of(std::string_view name, std::string_view value) {
  return is_secret_name(name) ? std::string{"(hidden)"} : std::string{value};
}

std::string without_values(std::string_view line) {
  std::string out(line);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '=' && line[i] != ':') continue;
    auto end = i;
    // "NAME": "value"
    if (line[i] == ':') {
      if (end == 0 || line[end - 1] != '"') continue;
      --end;
    }
    auto begin = end;
    while (begin > 0 && is_word(line[begin - 1])) --begin;
    const auto name = line.substr(begin, end - begin);
    if (line[i] == ':' ? !is_secret_name(name) : !may_be_variable(line, begin, end)) continue;
    if (name.starts_with("NCCL_") && !is_secret_name(name)) continue;
    auto at = i + 1;
    char quote =
        begin > 0 && line[i] == '=' && (line[begin - 1] == '"' || line[begin - 1] == '\'') ? line[begin - 1] : '\0';
    if (quote == 0) {
      while (line[i] == ':' && at < line.size() && line[at] == ' ') ++at;
      if (at < line.size() && (line[at] == '"' || line[at] == '\'')) quote = line[at++];
    }
    const auto stop = end_of_value(line, at, quote);
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(stop), '*');
    i = std::max(i, stop == 0 ? 0 : stop - 1);
  }
  return out;
}

}  // namespace linkcast::calibration
