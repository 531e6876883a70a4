// A node of an execution trace, whatever its schema: 1.0.1 has its fields flat, later ones have `inputs` and `attrs`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "torch_calls.hpp"

namespace linkcast::workloads::readers {

struct EtNode {
  std::int64_t id = 0, parent = 0, record = 0, thread = 0;
  std::string name;
  nlohmann::json inputs, shapes, types, outputs;  // lists
  nlohmann::json attributes;                      // an object: name -> value
};
std::optional<EtNode> node_of(std::string_view text);

/// The tensors in a list of values: elements and bytes of each, at any depth, on any device.
struct EtTensors {
  std::int64_t count = 0, elements = 0, bytes = 0, element = 0;
  bool on_gpu = false;
};
EtTensors tensors_in(const nlohmann::json& values);

/// What a record_param_comms says; by its attributes (1.1.0 and later) or by its inputs.
TorchCall call_of(const EtNode& node, Names& names);
/// The JSON list of a "## process_group:init ##" node; empty of another.
std::string groups_of(const EtNode& node);

/// What a computing operation without children does: floating-point operations by its shapes.
struct EtWork {
  Work work = Work::other;
  double flops = 0, touched = 0;
};
/// Nothing where it does nothing on a GPU: views, allocations, the host's own.
std::optional<EtWork> work_of(const EtNode& node);

}  // namespace linkcast::workloads::readers
