// Keys that a scenario gives a value. `~` says nothing, as in sweeps, whose options take keys away with it.
#pragma once

#include <string_view>

#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::planning {

/// Null where it is null or `~`.
inline const workloads::trace::Value* said(const workloads::trace::Value* v) {
  return v != nullptr && v->kind != workloads::trace::Value::Kind::null ? v : nullptr;
}
inline const workloads::trace::Value* said(const workloads::trace::Value& map, std::string_view key) {
  return said(map.get(key));
}

}  // namespace linkcast::planning
