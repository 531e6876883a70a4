// Where the parts of a cluster stand on the page. What tests look at instead of at the picture.
#pragma once

#include <functional>
#include <vector>

#include "drawing.hpp"
#include "linkcast/topologies/svg.hpp"

namespace linkcast::topologies {

Drawing draw(const Cluster& cluster, const SvgOptions& options);

/// Colours of rails that stay apart for the colour-blind (after Paul Tol's muted scheme), none of them near the red of
/// what is broken.
std::string rail_colour(int rail);
inline constexpr const char* broken_colour = "#d00000";
/// From light to dark as in viridis (Smith, van der Walt, 2015), which the colour-blind read too, and grey printers.
std::string heat_colour(double share);
double heat_width(double share);

/// One machine with its GPUs, NVSwitches, PCIe switches and NICs.
struct DrawnMachine {
  double width = 0, height = 0;
  std::vector<double> nics;  // by NIC: the middle of its upper edge, from the machine's left
};
DrawnMachine measure_machine(const Fabric& machine);
/// With its upper left corner there; `rails`: of its NICs.
/// `busy`: how much of a link's rate was used, 0 to 1; empty: links are drawn by their kind.
void draw_machine(Drawing& page, const Fabric& machine, double x, double y, const std::string& name,
                  const std::vector<int>& rails, const std::function<double(LinkId)>& busy = {});

}  // namespace linkcast::topologies
