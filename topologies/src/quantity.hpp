// Numbers with units as people write them: `450 GB/s`, `400 Gb/s`, `1.2 us`, `4 MiB`. Knows no file and no schema.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace linkcast::topologies {

enum class Dimension : unsigned char { rate, time, size };

struct QuantityError {
  std::string problem;
  std::string help;
};

/// The number in base units: bytes per second, picoseconds, bytes. Never negative; zero only where `zero_allowed`.
/// `name` is how messages call it.
std::variant<std::int64_t, QuantityError> parse_quantity(std::string_view text, Dimension dimension,
                                                         std::string_view name, bool zero_allowed);

/// Shortest text that reads back as the same number: "25 GB/s", "105 ns", "128 B".
std::string format_quantity(std::int64_t value, Dimension dimension);

}  // namespace linkcast::topologies
