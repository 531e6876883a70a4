// Reads the words of a command line (numbers, times, lists, choices) and writes quantities for people.
// Every refusal names the option. Knows no command.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "form.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::cli {

/// Collects what is wrong with a command line, so that all of it is said in one run.
class Problems {
 public:
  void add(std::string problem, std::string help = {});
  /// What `read` returns, or nothing after its sim::InputError was noted.
  template <class Read>
  auto collect(Read read) -> std::optional<decltype(read())> {
    try {
      return read();
    } catch (const sim::InputError& e) {
      note(e.what());
      return std::nullopt;
    }
  }
  /// Throws UsageError where anything was noted.
  void finish() const;

 private:
  void note(std::string_view rendered);
  std::string text_;
};

/// A whole number in [least, most].
int whole_number(std::string_view option, std::string_view text, int least, int most);
/// "20us", "13.5 us", "0.02 ms"; a unit is required, from 0 to 1000 s.
sim::Time time_span(std::string_view option, std::string_view text);
/// "0,1,4" and "0-3,7".
std::vector<int> rank_list(std::string_view option, std::string_view text);
/// "name=value".
std::pair<std::string, std::string> assignment(std::string_view option, std::string_view text);
std::map<std::string, std::string> assignments(std::string_view option, const std::vector<std::string>& texts);
/// Index of `text` among `known`.
std::size_t one_of(std::string_view option, std::string_view text, std::span<const std::string> known);
/// "did you mean 'x'?", or the whole list where nothing is near.
std::string suggestion(std::string_view name, std::span<const std::string> known);

/// In microseconds, as near as a double is: 13.02 us prints as 13.02.
inline double us(sim::Time t) { return static_cast<double>(t.ps()) / 1e6; }
/// "4 MiB" where it is whole in that unit, else "4194305 B".
std::string size_text(sim::Bytes size);
/// Compact for a command line: "4M", "1G", "12345".
std::string size_word(sim::Bytes size);
/// "0-3,7".
std::string ranks_text(std::span<const int> ranks);

}  // namespace linkcast::cli
