// Kinds of GPUs by the words of their names: a system of the catalog, or a part for a generic PCIe box. Numbers that
// the catalog lacks stand here with their sources. Knows no machine.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace linkcast::calibration::diagnosis {

struct GpuKind {
  std::array<std::string_view, 3> words;  // all of them as whole words
  std::string_view system;                // catalog; empty: generic box
  int gpus = 8;                           // of that system
  std::string_view four = {};             // the system with four of them; empty: a slice
  std::string_view part = {};             // of a generic box
  std::string_view parts_yaml = {};       // what the catalog does not have
  std::string_view pcie = "pcie-gen4";
  int lanes = 16;
};

/// Null: no such kind.
const GpuKind* kind_of_gpu(std::string_view name);
/// Whether the stock driver lets such GPUs reach each other over PCIe: GeForce drivers do not.
bool has_peer_access(const GpuKind& kind);

}  // namespace linkcast::calibration::diagnosis
