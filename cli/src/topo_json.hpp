// What `linkcast topo` says as JSON of the schemas in docs/cli.md.
#pragma once

#include <string>
#include <vector>

#include "linkcast/topologies/describe_cluster.hpp"

namespace linkcast::cli {

std::string json_of(const std::vector<topologies::CatalogLine>& catalog);
/// `numbers` may be null.
std::string json_of(const topologies::Description& description, const std::vector<topologies::NumberSource>* numbers);
std::string json_of(const topologies::ClusterDescription& description,
                    const std::vector<topologies::NumberSource>* numbers);
std::string json_of(const std::string& topology, const std::vector<topologies::Finding>& findings);

}  // namespace linkcast::cli
