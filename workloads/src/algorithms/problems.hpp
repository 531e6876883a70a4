// Collects what is wrong with the text of an algorithm, by its place. Knows no format.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::algorithms {

struct Place {
  int line = 0, column = 0;
};

class Problems {
 public:
  static constexpr std::size_t most = 100;  // further ones of a hopeless file help nobody

  Problems(std::string_view text, std::string file) : text_{text}, file_{std::move(file)} {}

  Place place(std::size_t offset) const {
    if (starts_.empty()) {
      starts_.push_back(0);
      for (std::size_t i = 0; i < text_.size(); ++i)
        if (text_[i] == '\n') starts_.push_back(i + 1);
    }
    offset = std::min(offset, text_.size());
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
    const auto line = static_cast<std::size_t>(after - starts_.begin());
    return {static_cast<int>(line), static_cast<int>(offset - starts_[line - 1]) + 1};
  }
  void add(Place at, std::string problem, std::string help, int length = 1) {
    if (list_.size() < most)
      list_.push_back({{file_, at.line, at.column, length}, std::move(problem), std::move(help)});
  }
  void add(std::vector<sim::Diagnostic> more) {
    for (auto& d : more)
      if (list_.size() < most) list_.push_back(std::move(d));
  }
  bool any() const { return !list_.empty(); }
  void finish() {
    if (any()) throw sim::InputError{std::move(list_), text_};
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::string file_;
  mutable std::vector<std::size_t> starts_;
  std::vector<sim::Diagnostic> list_;
};

}  // namespace linkcast::workloads::algorithms
