// What a Profile holds: the tree of its `parts`, as the reader of parts merges it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "linkcast/topologies/profile.hpp"
#include "yaml_value.hpp"

namespace linkcast::topologies {

struct Profile::Data {
  std::string name, title, system, text;
  std::vector<Source> files;  // the values point into them
  Value parts;                // kind -> part -> keys
  bool instead_of_shipped = false;

  const Value* part(std::string_view kind, std::string_view part_name) const {
    const auto* of_kind = parts.get(kind);
    return of_kind ? of_kind->get(part_name) : nullptr;
  }
};

}  // namespace linkcast::topologies
