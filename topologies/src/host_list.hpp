// Names written as Slurm and topograph write many of them at once: "gpu[001-128,130],login1". Knows no file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::topologies {

inline constexpr std::size_t max_listed_names = std::size_t{1} << 18;

/// What names of hosts and switches are made of: printable ASCII without blanks, quotes, brackets, commas, backslashes
/// and '#'.
bool name_character(char c);

struct HostListProblem {
  std::size_t offset = 0;  // in the text
  std::string problem, help;
};

/// Appends the names to `out`, in the order of the text; where several brackets stand in one name the last runs
/// fastest. A range keeps the digits of its first number ("[08-11]" is 08, 09, 10, 11) and may have a step ("[0-8:2]").
/// At most `limit` names in `out`. What was read before a problem stays in `out`.
std::optional<HostListProblem> expand_host_list(std::string_view text, std::vector<std::string>& out,
                                                std::size_t limit = max_listed_names);

/// The other way: "gpu[001-003,007],login1". Names keep their order; only neighbours are joined.
std::string host_list(std::span<const std::string> names);

}  // namespace linkcast::topologies
