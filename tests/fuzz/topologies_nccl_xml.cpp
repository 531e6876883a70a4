// NCCL's topology XML, whole or as clouds ship it: completed from the catalog or not, the answer is a fabric that
// NCCL's view can be made of and that is written again, or an InputError.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/describe.hpp"
#include "linkcast/topologies/nccl_export.hpp"
#include "linkcast/topologies/nccl_import.hpp"
#include "linkcast/topologies/nccl_view.hpp"

namespace topologies = linkcast::topologies;

static void import(std::string_view text, const topologies::NcclImportOptions& options) {
  try {
    const auto fabric = topologies::fabric_from_nccl_xml(text, "topo.xml", "topo", options);
    if (fabric.gpus().empty() || topologies::nccl_system(fabric).nodes().empty()) std::abort();
    if (topologies::to_yaml(fabric).empty() || topologies::to_nccl_xml(fabric).empty()) std::abort();
  } catch (const linkcast::sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  import(text, {});
  topologies::NcclImportOptions told;
  told.machine = "aws-p4d";
  import(text, told);
  return 0;
}
