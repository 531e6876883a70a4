// Small tools for reading printed output and people's words: lines, numbers, words, units of rate and time.
// Knows no format.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/units.hpp"

namespace linkcast::calibration {

/// The lines without their ends ("\n", "\r\n").
std::vector<std::string_view> lines_of(std::string_view text);

/// The number that is the whole text; "nan" and "inf" too, as tools print them. Nothing: not a number.
std::optional<double> number_in(std::string_view text);
std::optional<long> whole_in(std::string_view text);

std::string lower(std::string_view text);
/// The runs of letters and digits, in lower case: "RTX 4090 (PCIe)" -> "rtx", "4090", "pcie".
std::vector<std::string> words_in(std::string_view text);
/// Whether one of the phrases stands anywhere in the text.
bool says_any(std::string_view text, std::initializer_list<std::string_view> phrases);
/// Whether `word` stands in the text and is no part of a longer word. Both in lower case.
bool has_word(std::string_view text, std::string_view word);

/// How many GB/s (1e9 bytes) one of this unit is: "GB/s", "Gb/s", "Gbit/s", "MB/s", "MiB/s", …; what follows the unit
/// ("MB/s (bidirectional)") is not looked at. Nothing: not a unit of rate.
std::optional<double> GBps_of_unit(std::string_view unit);
/// How many microseconds one of this unit is: "us", "usec", "ns", "ms", "s".
std::optional<double> us_of_unit(std::string_view unit);

/// The first size that a sentence names, as nccl-tests counts (1 GB = 2^30 B): "8 GB message", "at 256M", "8 B".
/// A range ("4M-1024M", "1K-8G") names none.
std::optional<sim::Bytes> size_in_words(std::string_view text);

}  // namespace linkcast::calibration
