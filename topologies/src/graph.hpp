// Graph questions about a fabric: routes, components, max-flow. Boost.Graph stays in the .cpp files behind this.
#pragma once

#include <optional>

#include "fabric_data.hpp"

namespace linkcast::topologies {

std::optional<Route> find_route(const Fabric::Data& data, DeviceId from, DeviceId to, Transport t);
std::optional<Route> find_route_through_gpu(const Fabric::Data& data, DeviceId from, DeviceId to);
int count_gpu_components(const Fabric::Data& data);
/// Bare rates. Only over NVLink, or only over everything else.
sim::Rate max_flow_between_halves(const Fabric::Data& data, bool nvlink);

}  // namespace linkcast::topologies
