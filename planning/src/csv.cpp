// Comma-separated values as RFC 4180 has them: what spreadsheets and pandas read.
#include "linkcast/planning/sweep.hpp"

namespace linkcast::planning {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string{text};
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_line(const Row& row) {
  std::string out;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += ',';
    out += csv_field(row[i]);
  }
  return out + "\n";
}

std::vector<Row> read_csv(std::string_view text, std::size_t* complete) {
  std::vector<Row> out;
  Row row;
  std::string field;
  bool quoted = false;
  std::size_t whole = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"')
        field += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        field += '"', ++i;
      else
        quoted = false;
      continue;
    }
    if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      row.push_back(std::move(field));
      field.clear();
    } else if (c == '\n') {
      row.push_back(std::move(field));
      field.clear();
      out.push_back(std::move(row));
      row.clear();
      whole = i + 1;
    } else if (c != '\r') {
      field += c;
    }
  }
  if (complete != nullptr) *complete = whole;
  return out;
}

}  // namespace linkcast::planning
