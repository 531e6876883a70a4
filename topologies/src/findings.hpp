// Findings that are alike become one: a cause that shows in five hundred places is a line, not five hundred.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "linkcast/topologies/describe.hpp"

namespace linkcast::topologies {

class Findings {
 public:
  /// `what` is said of `place`; equal ones are folded.
  void add(Severity severity, const std::string& what, std::string place);
  void add(Severity severity, std::string text);
  /// Errors first, else in the order of their first place.
  std::vector<Finding> take() &&;

 private:
  struct Entry {
    Severity severity;
    std::string what;
    std::vector<std::string> places;  // the first few
    std::size_t count = 0;
  };
  std::vector<Entry> entries_;
  std::map<std::pair<Severity, std::string>, std::size_t> known_;
};

/// "a", "a and b", "a, b and 30 more".
std::string places_text(const std::vector<std::string>& first, std::size_t count);

}  // namespace linkcast::topologies
