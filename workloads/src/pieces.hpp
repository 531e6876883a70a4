// How bytes are cut into equal pieces and a last one: the arithmetic that every builder of a schedule needs. Knows no
// algorithm.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linkcast/sim/units.hpp"

namespace linkcast::workloads {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

struct Pieces {
  std::int64_t count = 1;
  sim::Bytes size, last;  // of all but the last; of the last
  constexpr sim::Bytes at(std::int64_t i) const { return i + 1 < count ? size : last; }
};

/// At least one piece, also of nothing.
constexpr Pieces pieces_of(sim::Bytes bytes, sim::Bytes size) {
  const auto n = std::max<std::int64_t>(1, ceil_div(bytes.count(), size.count()));
  return {n, size, bytes - size * (n - 1)};
}

}  // namespace linkcast::workloads
