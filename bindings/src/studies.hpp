// linkcast._core's plan, resilience and cost: each answers with the command's JSON and text. Knows no
// NumPy.
#pragma once

#include <pybind11/pybind11.h>

namespace linkcast::bindings {

void add_studies(pybind11::module_& module);

}  // namespace linkcast::bindings
