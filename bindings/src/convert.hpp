// Words of the Python interface to the rooms' enums, and errors of the rooms to Python's. Knows no simulation.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "linkcast/calibration/validate.hpp"
#include "linkcast/models/gpu.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "linkcast/models/network.hpp"
#include "linkcast/workloads/collective.hpp"

namespace linkcast::bindings {

/// Each throws sim::InputError with the words that are known.
models::nccl::Op op_of(const std::string& word);
models::LaunchMode launch_of(const std::string& word);
workloads::Fidelity fidelity_of(const std::string& word);
calibration::Floor floor_of(const std::string& word);
models::Routing routing_of(const std::string& word);

/// Defines InputError (a ValueError with `.diagnostics`) and InternalError (a RuntimeError) in the module.
void register_errors(pybind11::module_& module);

}  // namespace linkcast::bindings
