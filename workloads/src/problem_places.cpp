// See problem_places.hpp.
#include "linkcast/workloads/problem_places.hpp"

#include <fmt/format.h>

namespace linkcast::workloads::trace {

void add_foreign(Problems& problems, const Value& at, const sim::InputError& error) {
  for (const auto& d : error.diagnostics())
    problems.add(at,
                 d.at.file.empty() || d.at.line == 0
                     ? d.problem
                     : fmt::format("{}:{}:{}: {}", d.at.file, d.at.line, d.at.column, d.problem),
                 d.help);
}

void add_own(Problems& problems, const Value& near, const sim::InputError& error) {
  for (const auto& d : error.diagnostics()) {
    auto place = near.place;
    if (d.at.line > 0) place.line = d.at.line, place.column = d.at.column, place.length = 1;
    problems.add(place, d.problem, d.help);
  }
}

}  // namespace linkcast::workloads::trace
