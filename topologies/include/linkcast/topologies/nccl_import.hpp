// A Fabric from NCCL's view of a machine (its topology XML). What that view does not say is taken from the kind of
// machine and listed in the fabric's assumptions (describe.hpp prints them).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/models/nccl/system.hpp"
#include "linkcast/topologies/fabric.hpp"

namespace linkcast::topologies {

struct NcclImportOptions {
  /// A machine of the catalog: what the file does not say is as there. Without it the machine is recognised by its PCI
  /// addresses, or by being laid out like only one kind of machine; where that stays open, the import asks.
  std::optional<std::string> machine;
  std::shared_ptr<const Profile> profile = nullptr;  // fitted numbers, over those of the parts
};

/// Such a file as NCCL would have completed it on the machine (the files of clouds have no GPUs, NVLinks and NICs,
/// which NCCL asks the driver for). Lines keep their numbers. A complete or a hopeless file comes back as it is.
struct CompletedXml {
  std::string text;
  std::string machine;             // that it was taken for; empty: none was needed
  std::vector<std::string> notes;  // what was filled in or looks damaged, each once
};
CompletedXml complete_nccl_xml(std::string_view text, const std::string& where, const NcclImportOptions& options = {});

/// Throws sim::InputError. `where` names the file in messages, `name` becomes the fabric's.
Fabric fabric_from_nccl_xml(std::string_view text, const std::string& where, const std::string& name,
                            const NcclImportOptions& options = {});

/// Throws sim::InputError where the system is no machine that Linkcast can model.
Fabric fabric_from_nccl(const models::nccl::System& system, const std::string& name);

}  // namespace linkcast::topologies
