// Points that are looked at together (one size class of a collective, one matrix), the groups of them that could have
// changed, and how far they scatter. Made from what was matched; searched by drift.cpp.
#pragma once

#include <string>
#include <vector>

#include "drift_match.hpp"
#include "drift_search.hpp"

namespace linkcast::calibration {

struct Block {
  std::string what, unit;
  bool rate = false;  // values are GB/s; else us
  bool collective = false;
  bool launch = false;  // a launch by itself
  double busbw = 0;     // as Line::busbw
  std::optional<SizeClass> sizes;
  std::size_t line = 0;  // which line it is a part of; only where `collective`
  struct Value {
    std::optional<sim::Bytes> size;
    double baseline = 0, now = 0;
  };
  std::vector<Value> values;
  std::vector<double> log_ratios;   // of the values
  std::vector<Suspect> suspects;    // the first is all of it
  std::vector<std::string> places;  // of the suspects
  Spread spread;
  Runs runs;
  double noise = 0;
  std::string noise_from;
};

/// In the order of lines (small sizes first), grids, singles.
std::vector<Block> blocks_of(const Matched& matched);

}  // namespace linkcast::calibration
