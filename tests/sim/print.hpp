// How Catch prints the engine's quantities when a check fails.
#pragma once

#include <string>

#include "catch.hpp"
#include "linkcast/sim/units.hpp"

namespace Catch {

template <>
struct StringMaker<linkcast::sim::Time> {
  static std::string convert(linkcast::sim::Time t) { return std::to_string(t.ps()) + " ps"; }
};
template <>
struct StringMaker<linkcast::sim::Rate> {
  static std::string convert(linkcast::sim::Rate r) { return std::to_string(r.bytes_per_second()) + " B/s"; }
};
template <>
struct StringMaker<linkcast::sim::Bytes> {
  static std::string convert(linkcast::sim::Bytes b) { return std::to_string(b.count()) + " B"; }
};

}  // namespace Catch
