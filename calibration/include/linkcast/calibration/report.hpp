// What `linkcast validate` prints: the same facts as text for people and as JSON for programs. Returns strings, so
// that the command line and the Python package print alike. Knows no option parsing.
#pragma once

#include <string>

#include "linkcast/calibration/validate.hpp"

namespace linkcast::calibration {

struct ReportOptions {
  bool rows = false;    // text: every point under its series
  bool remarks = true;  // text: what was assumed about each series, and what was left out
};

/// Series, families (system x collective) and the whole, each with points, median, 90th percentile and bias by size.
std::string text_report(const Validation& validation, const ReportOptions& options = {});

/// JSON of schema `linkcast.validate/1` (docs/formats.md). Numbers are written so that they read back the same.
std::string json_report(const Validation& validation);

}  // namespace linkcast::calibration
