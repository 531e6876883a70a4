// A hash of the sources that a prediction depends on, made while building: rows of a sweep that another build made are
// not taken for those of this one.
#pragma once

#include <string_view>

namespace linkcast::planning {

std::string_view source_hash();

}  // namespace linkcast::planning
