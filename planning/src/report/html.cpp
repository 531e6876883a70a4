// See html.hpp.
#include "html.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::planning::report {
namespace {

/// Length of the UTF-8 sequence that begins there; 0: none does.
std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto lead = byte(0);
  const std::size_t n = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : (lead & 0xf0) == 0xe0       ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (n == 0 || n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0) || (lead == 0xf0 && byte(1) < 0x90) ||
      (lead == 0xf4 && byte(1) >= 0x90))
    return 0;
  return n;
}

std::string cell(const Cell& c, bool number_column) {
  const auto soft = c.soft.empty() ? "" : fmt::format(" <span class=\"soft\">{}</span>", escaped(c.soft));
  const auto text = escaped(c.text) + soft;
  switch (c.look) {
    case Cell::Look::row_name:
      return "<th scope=\"row\">" + text + "</th>";
    case Cell::Look::met:
      return "<td class=\"goal\"><span class=\"met\">\u2713 met</span> " + text + "</td>";
    case Cell::Look::missed:
      return "<td class=\"goal\"><span class=\"missed\">\u2717 missed</span> " + text + "</td>";
    default:
      return fmt::format("<td{}>{}</td>", number_column || c.look == Cell::Look::number ? " class=\"number\"" : "",
                         text);
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto n = sequence(text);
    if (n == 0) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
      continue;
    }
    const char c = text[0];
    if (n > 1)
      out += text.substr(0, n);
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
      out += c;
    text.remove_prefix(n);
  }
  return out;
}

Cell number(std::string text, std::string soft) { return {std::move(text), Cell::Look::number, std::move(soft)}; }
Cell row_name(std::string text) { return {std::move(text), Cell::Look::row_name, {}}; }

std::string Table::html() const {
  std::vector<std::size_t> used;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto says = [&](const Line& l) {
      return c < l.cells.size() &&
             (!l.cells[c].text.empty() || l.cells[c].look == Cell::Look::met || l.cells[c].look == Cell::Look::missed);
    };
    if (std::ranges::any_of(rows_, says)) used.push_back(c);
  }
  auto out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table>\n<caption>{0}</caption>\n"
      "<thead><tr>",
      escaped(caption_));
  for (const auto c : used)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", columns_[c].number ? " class=\"number\"" : "",
                       escaped(columns_[c].name));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& r : rows_) {
    out += r.chosen ? "<tr class=\"chosen\">" : "<tr>";
    for (const auto c : used) out += cell(c < r.cells.size() ? r.cells[c] : Cell{}, columns_[c].number);
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

std::string paragraph(std::string_view text, std::string_view css) {
  if (text.empty()) return {};
  return css.empty() ? fmt::format("<p>{}</p>\n", escaped(text))
                     : fmt::format("<p class=\"{}\">{}</p>\n", css, escaped(text));
}

std::string folded(std::string_view summary, std::string_view html) {
  if (html.empty()) return {};
  return fmt::format("<details class=\"print\">\n<summary>{}</summary>\n{}</details>\n", escaped(summary), html);
}

std::string list(const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  std::string out = "<ul>\n";
  for (const auto& t : texts) out += "<li>" + escaped(t) + "</li>\n";
  return out + "</ul>\n";
}

}  // namespace linkcast::planning::report
