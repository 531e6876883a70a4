// Collecting located problems. See problems.hpp.
#include "problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "secrets.hpp"

namespace linkcast::calibration {
namespace {
// A file with thousands of the same mistake says so once; the list must fit on a screen or two.
constexpr std::size_t kListed = 100;

/// The text with the lines that problems stand in, as they may be quoted; the others empty.
std::string quotable(std::string_view text, const std::vector<sim::Diagnostic>& found) {
  if (text.empty()) return {};
  std::set<int> quoted;
  for (const auto& d : found) quoted.insert(d.at.line);
  std::string out;
  int number = 0;
  for (const int wanted : quoted) {
    for (; number < wanted; ++number) {
      const auto newline = text.find('\n');
      if (number + 1 == wanted) out += without_values(text.substr(0, newline));
      if (newline == std::string_view::npos) return out;
      out += '\n';
      text.remove_prefix(newline + 1);
    }
  }
  return out;
}
}  // namespace

void Problems::at(int line, int column, std::size_t length, std::string problem, std::string help) {
  sim::SourceSpan span{file_, line, column, static_cast<int>(std::clamp<std::size_t>(length, 1, 200))};
  if (found_.size() >= kListed) {
    if (unlisted_++ == 0) first_unlisted_ = span;
    return;
  }
  found_.push_back({std::move(span), std::move(problem), std::move(help)});
}

void Problems::throw_if_any() {
  if (found_.empty()) return;
  if (unlisted_ > 0) {
    found_.push_back({first_unlisted_, fmt::format("{} more problems from here on are not listed", unlisted_), {}});
  }
  const auto text = quotable(text_, found_);
  throw sim::InputError(std::move(found_), text);
}

Place place_of(std::string_view text, std::size_t offset) {
  const auto before = text.substr(0, std::min(offset, text.size()));
  const auto last_newline = before.rfind('\n');
  const auto column = last_newline == std::string_view::npos ? before.size() : before.size() - last_newline - 1;
  return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')), 1 + static_cast<int>(column)};
}

void require_text(std::string_view text, const std::string& where, std::size_t limit) {
  Problems problems({}, where);  // without the text: it may be of any size, or not printable
  if (text.size() > limit) {
    problems.whole_file(fmt::format("the file has {} MiB; at most {} MiB are read", text.size() >> 20, limit >> 20),
                        "keep the table and its header, and drop the debug lines");
  } else if (trim(text).empty()) {
    problems.whole_file("the file is empty", "expected a measurement");
  } else {
    const auto bad = std::find_if(text.begin(), text.end(), [](char c) {
      const auto u = static_cast<unsigned char>(c);
      return u < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\x1b' && c != '\b';
    });
    if (bad == text.end()) return;
    const auto place = place_of(text, static_cast<std::size_t>(bad - text.begin()));
    problems.at(place.line, place.column, 1,
                fmt::format("not a text file: byte 0x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(*bad))),
                "expected a measurement: YAML, JSON, or what a tool printed (docs/formats.md)");
  }
  problems.throw_if_any();
}

std::string name_of_file(std::string_view where) {
  const auto slash = where.find_last_of('/');
  return std::string(slash == std::string_view::npos ? where : where.substr(slash + 1));
}

std::string stem_of(std::string_view where) {
  auto name = name_of_file(where);
  const auto dot = name.find_last_of('.');
  if (dot != std::string::npos && dot > 0) name.resize(dot);
  return name;
}

std::string_view trim(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n\f";
  const auto first = s.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kBlank) - first + 1);
}

std::string words_of(const sim::InputError& e) {
  const auto& d = e.diagnostics().front();
  return d.help.empty() ? d.problem : fmt::format("{} ({})", d.problem, d.help);
}

}  // namespace linkcast::calibration
