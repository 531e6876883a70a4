// linkcast._core's part of the room calibration: diagnosis and fits. Knows no NumPy.
#pragma once

#include <pybind11/pybind11.h>

namespace linkcast::bindings {

void add_calibration(pybind11::module_& module);

}  // namespace linkcast::bindings
