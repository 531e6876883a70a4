// Graph questions about a fabric: routes, components, max-flow. Boost.Graph stays in the .cpp files behind this.
#pragma once

#include <optional>

#include "fabric_data.hpp"

namespace linkcast::topologies {

std::optional<Route> find_route(const Fabric::Data& data, DeviceId from, DeviceId to, Transport t);
std::optional<Route> find_route_through_gpu(const Fabric::Data& data, DeviceId from, DeviceId to);
/// Between a GPU and a NIC, either way; `staged`: through the memory of the GPU's CPU.
std::optional<Route> find_nic_route(const Fabric::Data& data, DeviceId from, DeviceId to, bool staged);
int count_gpu_components(const Fabric::Data& data);
/// Bare rates. Only over NVLink, or only over everything else.
sim::Rate max_flow_between_halves(const Fabric::Data& data, bool nvlink);

}  // namespace linkcast::topologies
