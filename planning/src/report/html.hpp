// Pieces of HTML in which every text is escaped. Knows no study.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linkcast::planning::report {

/// For text and for attributes in double quotes. Control characters are left out, broken UTF-8 becomes U+FFFD.
std::string escaped(std::string_view text);

/// A cell: its text, and how it looks.
struct Cell {
  std::string text;
  enum class Look : unsigned char { plain, number, row_name, met, missed } look = Look::plain;
  std::string soft = {};  // said in a quieter voice behind it
};
Cell number(std::string text, std::string soft = {});
Cell row_name(std::string text);

class Table {
 public:
  explicit Table(std::string caption) : caption_{std::move(caption)} {}
  Table& column(std::string name, bool number = false) {
    columns_.push_back({std::move(name), number});
    return *this;
  }
  Table& row(std::vector<Cell> cells, bool chosen = false) {
    rows_.push_back({std::move(cells), chosen});
    return *this;
  }
  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  /// Columns in which no row has a text are left out. Wide ones scroll, by the keyboard too.
  std::string html() const;

 private:
  struct Column {
    std::string name;
    bool number;
  };
  struct Line {
    std::vector<Cell> cells;
    bool chosen;
  };
  std::string caption_;
  std::vector<Column> columns_;
  std::vector<Line> rows_;
};

std::string paragraph(std::string_view text, std::string_view css = {});
/// Folded away on the screen, open on paper.
std::string folded(std::string_view summary, std::string_view html);
/// A list of texts; nothing for none.
std::string list(const std::vector<std::string>& texts);

}  // namespace linkcast::planning::report
