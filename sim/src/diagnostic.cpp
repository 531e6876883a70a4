// Renders diagnostics the way compilers do, and finds the name that was probably meant. Knows no file format.
#include "linkcast/sim/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace linkcast::sim {
namespace {

std::string_view line_of(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

constexpr bool continues_utf8(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Blanks of the same printed width as `text`: tabs stay tabs, a character of several bytes is one blank.
std::string blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!continues_utf8(c)) out += c == '\t' ? '\t' : ' ';
  }
  return out;
}

std::string head(const Diagnostic& d) {
  if (d.at.file.empty() && d.at.line <= 0) return "error: " + d.problem;
  if (d.at.line <= 0) return fmt::format("{}: error: {}", d.at.file, d.problem);
  return fmt::format("{}:{}:{}: error: {}", d.at.file, d.at.line, d.at.column, d.problem);
}

std::string render_all(std::vector<Diagnostic>& diagnostics, std::string_view text) {
  std::stable_sort(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.at.file, a.at.line, a.at.column) < std::tie(b.at.file, b.at.line, b.at.column);
  });
  std::string out;
  for (const auto& d : diagnostics) {
    if (!out.empty()) out += '\n';
    out += render(d, text);
  }
  return out;
}

// Damerau's distance in its restricted form (optimal string alignment): insertions, deletions, substitutions and
// swaps of neighbours cost 1 each. Swaps matter because they are the commonest slip of the finger.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string lower(std::string_view s) {
  std::string out{s};
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

std::string render(const Diagnostic& d, std::string_view text) {
  constexpr std::size_t widest = 240;  // a minified file is one endless line: quoting it would bury the message
  std::string out = head(d);
  const auto line = d.at.line > 0 ? line_of(text, d.at.line) : std::string_view{};
  const auto column = static_cast<std::size_t>(std::max(d.at.column, 1)) - 1;
  if (line.empty() || line.size() > widest || column > line.size()) {
    if (!d.help.empty()) out += "\n  help: " + d.help;
    return out;
  }
  const auto number = fmt::format("{:>3}", d.at.line);
  const auto length =
      std::min(static_cast<std::size_t>(std::max(d.at.length, 1)), std::max(line.size() - column, std::size_t{1}));
  const auto marked = blanks(line.substr(column, length));
  out += fmt::format("\n{} | {}\n{} | {}{}", number, line, std::string(number.size(), ' '),
                     blanks(line.substr(0, column)), std::string(std::max(marked.size(), std::size_t{1}), '^'));
  if (!d.help.empty()) out += "  " + d.help;
  return out;
}

InputError::InputError(std::vector<Diagnostic> diagnostics, std::string_view text)
    : std::runtime_error{render_all(diagnostics, text)}, diagnostics_{std::move(diagnostics)} {}

InputError::InputError(std::string problem, std::string help)
    : InputError{std::vector{Diagnostic{SourceSpan{}, std::move(problem), std::move(help)}}, {}} {}

std::string nearest(std::string_view name, std::span<const std::string> known) {
  const std::string wanted = lower(name);
  const std::string* best = nullptr;
  std::size_t fewest = 0;
  for (const auto& candidate : known) {
    const auto n = edits(wanted, lower(candidate));
    if (best == nullptr || n < fewest) best = &candidate, fewest = n;
  }
  if (best == nullptr || fewest * 3 > std::max(wanted.size(), best->size())) return {};
  return *best;
}

}  // namespace linkcast::sim
