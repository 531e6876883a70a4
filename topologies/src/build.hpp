// From a node template (a YAML value after merging) to the devices and links of a Fabric. One step per file:
// build_node.cpp (what there is), build_nvlink.cpp and build_pcie.cpp (how it is wired), build_overrides.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric_data.hpp"
#include "map_reader.hpp"
#include "parts.hpp"

namespace linkcast::topologies {

inline constexpr int max_gpus = 576;  // in one machine: what NVLink 5 can address; the largest domain sold has 72

/// The node under construction.
struct NodeBuild {
  ReadContext context;
  Parts& parts;
  Fabric::Data& data;
  std::vector<DeviceId> gpus{}, cpus{}, memories{}, nics{}, nvswitches{}, pcie_switches{};
  const GpuPart* gpu_part = nullptr;
  const NicPart* nic_part = nullptr;
  int trays = 1;  // hosts that one NVLink domain spans; all but `nvlink` describes one of them and is repeated
  std::vector<int> gpu_trees{}, nic_trees{};   // how many PCIe trees name it
  bool gpus_known = false, nics_known = true;  // false: their count could not be read, so indices are not checked

  DeviceId add(DeviceKind kind, int index, const std::string& model, int numa);
  /// `width` links of that part in parallel.
  LinkId connect(DeviceId a, DeviceId b, const LinkPart& part, int width);
  const std::string& name(DeviceId id) const { return data.device(id).name; }
};

/// Reads `node`; adds everything to `build.data`.
void build_node(NodeBuild& build, const Value& node);
void build_nvlink(NodeBuild& build, const Value& nvlink);
void build_c2c(NodeBuild& build, const Value& c2c);
void build_pcie(NodeBuild& build, const Value& pcie);
void apply_overrides(NodeBuild& build, const Value& overrides);

/// The name of a link part under `key`.
const LinkPart* read_link_part(NodeBuild& build, MapReader& r, std::string_view key, models::LinkKind kind,
                               bool required = true);

}  // namespace linkcast::topologies
