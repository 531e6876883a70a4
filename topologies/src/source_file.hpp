// Reads a text file that a user named, with everything that can be wrong about it. Knows no format.
#pragma once

#include <string>

#include "yaml_value.hpp"

namespace linkcast::topologies {

/// Throws sim::InputError: a folder, not readable, larger than max_file_bytes (refused before reading).
Source read_source(const std::string& path);

}  // namespace linkcast::topologies
