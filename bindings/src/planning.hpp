// linkcast._core's part of the room planning: studies and their files of results. Knows no executor and no pandas.
#pragma once

#include <pybind11/pybind11.h>

namespace linkcast::bindings {

void add_planning(pybind11::module_& module);

}  // namespace linkcast::bindings
