// Collects the problems of one input so that a reader can report all of them at once, each at its place.
// Knows no format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::calibration {

class Problems {
 public:
  Problems(std::string_view text, std::string file) : text_{text}, file_{std::move(file)} {}

  void at(int line, int column, std::size_t length, std::string problem, std::string help = {});
  /// No line of the text is quoted: it may hold what nobody else may read.
  void quote_nothing() { text_ = {}; }
  void whole_file(std::string problem, std::string help = {}) { at(0, 0, 1, std::move(problem), std::move(help)); }
  bool any() const { return !found_.empty(); }
  /// Throws sim::InputError when there is anything to say.
  void throw_if_any();

 private:
  std::string_view text_;
  std::string file_;
  std::vector<sim::Diagnostic> found_;
  int unlisted_ = 0;
  sim::SourceSpan first_unlisted_;
};

/// Line and column (from 1) of a byte offset.
struct Place {
  int line = 1;
  int column = 1;
};
Place place_of(std::string_view text, std::size_t offset);

/// Says why `text` cannot be a text file (empty, binary, larger than `limit` bytes) and throws; returns otherwise.
void require_text(std::string_view text, const std::string& where, std::size_t limit);

/// The name after the last '/' without a trailing extension ("a/b.yaml" -> "b"), and with it.
std::string stem_of(std::string_view where);
std::string name_of_file(std::string_view where);

std::string_view trim(std::string_view s);

/// The first thing that is wrong with an input, and what helps, in one line.
std::string words_of(const sim::InputError& e);

}  // namespace linkcast::calibration
