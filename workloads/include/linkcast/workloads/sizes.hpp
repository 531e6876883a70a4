// Message sizes as people write them for nccl-tests: "8:16G:x2", "1M:8M:+1M", "1M,4M,1G", "1024". What `--size` of the
// command and `sizes` of the Python package accept. Knows no collective and no topology.
#pragma once

#include <string_view>
#include <vector>

#include "linkcast/sim/units.hpp"

namespace linkcast::workloads {

/// One size: a whole number with an optional suffix K, M, G, T (1024-based, as in nccl-tests) or KiB, MiB, GiB, TiB,
/// or B. Decimal fractions are taken where they give whole bytes ("1.5M").
/// Throws sim::InputError for anything else, for zero, for negative sizes, and from 2^63.
sim::Bytes parse_size(std::string_view text);

/// A list of sizes and ranges, separated by commas, in the order written. A range FROM:TO takes FROM and then doubles;
/// FROM:TO:xF multiplies by F (a number above 1, also 1.5), FROM:TO:+S adds S. TO belongs to the range when a step hits
/// it. At most 100,000 sizes. Throws sim::InputError with every mistake in the text, as of parse_size, and for an empty
/// item, a descending range, a step that does not grow.
std::vector<sim::Bytes> parse_sizes(std::string_view text);

}  // namespace linkcast::workloads
