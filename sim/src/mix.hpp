// Mixing of 64-bit words for signatures that are compared by hash. Two independent lanes: 128 bits in all, so that
// a collision among millions of signatures has a probability below 10^-24. Knows not what it mixes.
#pragma once

#include <compare>
#include <cstdint>

namespace linkcast::sim {

/// The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ (b * 0xD6E8FEB86659FD93U + 1)); }

struct Signature {
  std::uint64_t a = 0, b = 0;
  /// Adds an element to a multiset: the order in which elements come makes no difference.
  constexpr void add(std::uint64_t word) {
    a += mix(word);
    b += mix(word ^ 0xA5A5A5A5DEADBEEFU);
  }
  constexpr auto operator<=>(const Signature&) const = default;
};

}  // namespace linkcast::sim
