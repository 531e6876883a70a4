// The files of planning/report and the parts of the plotting library, as they were when this was built. Made by
// embed_report.cmake.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linkcast::planning::report {

struct Asset {
  std::string_view name;  // "style.css", "vega-view.min.js"
  std::string_view text;
};
const std::vector<Asset>& assets();

/// Throws sim::InternalError where there is none of that name.
std::string_view asset(std::string_view name);

/// The plotting library as one script that makes the constant `vega`; empty where it was not there.
std::string plotting_library(const std::vector<Asset>& from);
/// Its licence; empty where it was not there.
std::string_view plotting_licence(const std::vector<Asset>& from);

}  // namespace linkcast::planning::report
