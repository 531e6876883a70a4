// YAML text -> Fabric. What load() and the fuzzer share.
#pragma once

#include "linkcast/topologies/fabric.hpp"
#include "yaml_value.hpp"

namespace linkcast::topologies {

/// `name`: of the fabric where the file gives none. Files that it extends are looked up beside it.
Fabric load_yaml(const Source& file, const std::string& name, const LoadOptions& options);

}  // namespace linkcast::topologies
