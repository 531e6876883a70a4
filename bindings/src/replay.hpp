// Adds linkcast._core.replay to the module.
#pragma once

#include <pybind11/pybind11.h>

namespace linkcast::bindings {

void add_replay(pybind11::module_& m);

}  // namespace linkcast::bindings
