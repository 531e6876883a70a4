// What `linkcast topo list|show|check|export` say about fabrics: plain structs, and their text. Prints nothing itself;
// knows no command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "linkcast/topologies/fabric.hpp"

namespace linkcast::topologies {

struct CatalogLine {
  std::string name;
  std::string title;
  std::vector<std::string> aliases;
  /// Name, default, choices, help of each parameter.
  struct Parameter {
    std::string name, value, help;
    std::vector<std::string> choices;
  };
  std::vector<Parameter> parameters;
};
/// Every catalog entry, sorted by name.
std::vector<CatalogLine> list_catalog();
std::string to_text(const std::vector<CatalogLine>& lines);

/// How pairs of GPUs reach each other: pairs that look alike are one row.
struct RouteRow {
  Transport transport;
  int pairs = 0;        // unordered
  std::string example;  // "gpu[0] - gpu[1]"
  int hops = 0;         // links one after the other
  sim::Time latency;
  sim::Rate bare, payload;  // one direction, nothing else on the way
};

struct Description {
  std::string name, title;
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<std::pair<std::string, int>> devices;  // "gpu h100-sxm" -> 8
  std::vector<std::pair<std::string, int>> links;    // "nvlink nvlink4 x4" -> 16
  std::string host;
  sim::Rate nvlink_bare, nvlink_payload;  // of the first GPU, all its NVLinks, one direction
  sim::Rate pcie_bare, pcie_payload;
  std::string wiring;      // "4-5-5-4 links to 4 nvswitch3"
  bool multicast = false;  // NVLS over all GPUs
  bool pcie_p2p = false;
  sim::Rate bisection;
  std::vector<RouteRow> routes;
  std::vector<std::string> assumptions;
};
Description describe(const Fabric& fabric);
std::string to_text(const Description& d);

struct NumberSource {
  std::string what, value, source;
};
/// Every number that was read, in the order of reading, with where it is from.
std::vector<NumberSource> sources(const Fabric& fabric);
std::string to_text(const std::vector<NumberSource>& numbers);

enum class Severity : unsigned char { note, warning, error };
std::string_view name_of(Severity s);
struct Finding {
  Severity severity;
  std::string text;
};
/// What a person should look at: links that are down or slowed, GPUs that differ from the others, pairs without a path.
std::vector<Finding> check(const Fabric& fabric);
std::string to_text(const std::vector<Finding>& findings);

/// Graphviz.
std::string to_dot(const Fabric& fabric);
/// One self-contained Linkcast YAML file (parts of the catalog by name).
std::string to_yaml(const Fabric& fabric);

}  // namespace linkcast::topologies
