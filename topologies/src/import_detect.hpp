// See import_detect.cpp.
#pragma once

#include "linkcast/topologies/import.hpp"
#include "yaml_value.hpp"

namespace linkcast::topologies {

/// Of a text that is unpacked. Throws sim::InputError where nothing is recognised.
ImportFormat detected(const Source& file);

}  // namespace linkcast::topologies
