// What sources say about the software of a run, turned into what a prediction needs: NCCL's version in its many
// spellings, how the ranks were launched. Knows no file format.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "linkcast/calibration/series.hpp"

namespace linkcast::calibration {

/// NCCL_VERSION_CODE: 22902 is 2.29.2; up to 2.8 the code had four digits, 2708 is 2.7.8.
std::optional<models::nccl::Version> nccl_version_of_code(long code);
/// The version at the beginning of a text: "2.18.5", "2.19.3+cuda12.3", "v2.20".
std::optional<models::nccl::Version> nccl_version_in(std::string_view text);

/// Sets series.nccl, or leaves a remark.
void note_nccl_version(std::string_view text, Series& series);
/// "single_process", "multi_process", "graph", "unknown"; anything else leaves a remark.
void note_launch(std::string_view text, Series& series);

}  // namespace linkcast::calibration
