// Rectangles, lines and texts on a page, and how they are written as SVG. Knows nothing of what they stand for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linkcast::topologies {

struct Drawing {
  struct Rect {
    double x = 0, y = 0, w = 0, h = 0;
    std::string fill = "#ffffff", stroke = "#555555";
    bool dashed = false;
    bool container = false;  // below the lines; others must not overlap each other
    std::string tip;         // shown when the pointer rests on it
    double centre() const { return x + w / 2; }
  };
  struct Line {
    double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
    std::string stroke = "#5b6b7b";
    double width = 1;
    bool dashed = false;
    double bend = 0;  // an arc: how far above the ends its middle is (negative: below)
    std::string tip;
  };
  enum class Anchor : unsigned char { start, middle };
  struct Text {
    double x = 0, y = 0;  // of the base line
    std::string text;
    double size = 11;
    Anchor anchor = Anchor::middle;
    bool bold = false;
    std::string fill = "#222222";
    /// An estimate: characters times their usual width.
    double width() const;
    double left() const { return anchor == Anchor::middle ? x - width() / 2 : x; }
  };
  double width = 0, height = 0;
  std::string title;
  std::vector<Rect> rects;
  std::vector<Line> lines;
  std::vector<Text> texts;

  void text(double x, double y, std::string what, double size = 11, Anchor anchor = Anchor::middle, bool bold = false,
            std::string fill = "#222222");
  std::string svg() const;
};

/// As much of a text as fits, with an ellipsis where it does not.
std::string fitted(std::string_view text, double width, double size, bool bold = false);

}  // namespace linkcast::topologies
