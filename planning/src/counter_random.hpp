// Random numbers as a function of a counter: the n-th of a stream is the same on any thread and in any order.
// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). Knows no distribution.
#pragma once

#include <cstdint>

namespace linkcast::planning {

/// What SplitMix64's counter goes on by: 2^64 over the golden ratio, odd.
inline constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;

/// Its finaliser spreads a counter over all 64 bits; a bijection.
constexpr std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// The top 53 bits as a number in [0, 1).
constexpr double unit_interval(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace linkcast::planning
