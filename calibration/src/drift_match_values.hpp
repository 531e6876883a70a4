// The values of two sides that are the same thing, put together. Part of drift_match.
#pragma once

#include "drift_match.hpp"

namespace linkcast::calibration {

void add_series(const std::string& what, const std::vector<const Series*>& baseline,
                const std::vector<const Series*>& now, Matched& out);
void add_matrix(const std::string& what, const std::vector<const PairMatrix*>& baseline,
                const std::vector<const PairMatrix*>& now, Matched& out);
/// All pairs of hosts that were tested alike.
void add_tests(const std::string& what, const std::vector<const PairTest*>& baseline,
               const std::vector<const PairTest*>& now, Matched& out);
void add_figures(const std::string& what, const std::vector<const Figure*>& baseline,
                 const std::vector<const Figure*>& now, Matched& out);

/// Rows of `calibrate measure`'s probes, by what they are.
void add_probes(const std::vector<Probe>& baseline, const std::vector<Probe>& now, Matched& out);

}  // namespace linkcast::calibration
