// Where the parts of a cluster stand on the page. What tests look at instead of at the picture.
#pragma once

#include <vector>

#include "drawing.hpp"
#include "linkcast/topologies/svg.hpp"

namespace linkcast::topologies {

Drawing draw(const Cluster& cluster, const SvgOptions& options);

/// Colours of rails that stay apart for the colour-blind (after Paul Tol's muted scheme), none of them near the red of
/// what is broken.
std::string rail_colour(int rail);
inline constexpr const char* broken_colour = "#d00000";

/// One machine with its GPUs, NVSwitches, PCIe switches and NICs.
struct DrawnMachine {
  double width = 0, height = 0;
  std::vector<double> nics;  // by NIC: the middle of its upper edge, from the machine's left
};
DrawnMachine measure_machine(const Fabric& machine);
/// With its upper left corner there; `rails`: of its NICs.
void draw_machine(Drawing& page, const Fabric& machine, double x, double y, const std::string& name,
                  const std::vector<int>& rails);

}  // namespace linkcast::topologies
