// See drawing.hpp.
#include "drawing.hpp"

#include <fmt/format.h>

namespace linkcast::topologies {
namespace {

// Of DejaVu Sans, which is wider than most.
constexpr double of_size = 0.58, of_bold = 0.68;

std::size_t characters(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return n;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // Control characters are not allowed in XML.
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
  }
  return out;
}

std::string tip_of(const std::string& tip) { return tip.empty() ? "/>" : "><title>" + escaped(tip) + "</title>"; }

void write(std::string& out, const Drawing::Rect& r) {
  out += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" fill=\"{}\" stroke=\"{}\"{}{}{}\n",
      r.x, r.y, r.w, r.h, r.fill, r.stroke, r.dashed ? " stroke-dasharray=\"5 3\" stroke-width=\"2\"" : "",
      tip_of(r.tip), r.tip.empty() ? "" : "</rect>");
}

void write(std::string& out, const Drawing::Line& l) {
  const auto style = fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{:.1f}\"{}", l.stroke, l.width,
                                 l.dashed ? " stroke-dasharray=\"6 4\"" : "");
  // The middle of a quadratic curve is half as far away as its control point.
  const auto path = l.bend != 0 ? fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", l.x1, l.y1,
                                              (l.x1 + l.x2) / 2, (l.y1 + l.y2) / 2 - 2 * l.bend, l.x2, l.y2)
                                : fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", l.x1, l.y1, l.x2, l.y2);
  out += fmt::format("<path d=\"{}\" {}{}{}\n", path, style, tip_of(l.tip), l.tip.empty() ? "" : "</path>");
}

void write(std::string& out, const Drawing::Text& t) {
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" fill=\"{}\"{}{}>{}</text>\n", t.x, t.y, t.size,
                     t.fill, t.anchor == Drawing::Anchor::middle ? " text-anchor=\"middle\"" : "",
                     t.bold ? " font-weight=\"bold\"" : "", escaped(t.text));
}

}  // namespace

double Drawing::Text::width() const {
  return (bold ? of_bold : of_size) * size * static_cast<double>(characters(text));
}

void Drawing::text(double x, double y, std::string what, double size, Anchor anchor, bool bold, std::string fill) {
  texts.push_back({x, y, std::move(what), size, anchor, bold, std::move(fill)});
}

std::string Drawing::svg() const {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"system-ui, 'DejaVu Sans', sans-serif\">\n<title>{2}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height, escaped(title));
  for (const auto& r : rects) {
    if (r.container) write(out, r);
  }
  for (const auto& l : lines) write(out, l);
  for (const auto& r : rects) {
    if (!r.container) write(out, r);
  }
  for (const auto& t : texts) write(out, t);
  return out + "</svg>\n";
}

std::string fitted(std::string_view text, double width, double size, bool bold) {
  const auto room = static_cast<std::size_t>(width / ((bold ? of_bold : of_size) * size));
  if (characters(text) <= room) return std::string{text};
  std::string out;
  std::size_t n = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80 && ++n >= room) break;
    out += c;
  }
  return out + "…";
}

}  // namespace linkcast::topologies
