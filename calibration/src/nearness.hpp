// How near a row of measured errors is to a question. Shared by looking up and by making the table.
#pragma once

#include "linkcast/calibration/expected_error.hpp"

namespace linkcast::calibration {

int distance(const ErrorRow& row, std::string_view system, std::string_view architecture, models::nccl::Op op,
             SizeClass sizes);
Nearness nearness(int distance);
const ErrorRow* nearest_row(std::span<const ErrorRow> table, std::string_view system, std::string_view architecture,
                            models::nccl::Op op, SizeClass sizes);

}  // namespace linkcast::calibration
