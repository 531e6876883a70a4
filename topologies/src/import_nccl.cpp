// NCCL's topology XML as an import: nccl_import.cpp makes the fabric, `topo export` its text. Knows no other format.
#include <filesystem>

#include "import_parts.hpp"
#include "import_text.hpp"
#include "linkcast/topologies/describe.hpp"
#include "linkcast/topologies/nccl_import.hpp"

namespace linkcast::topologies {

ImportedMachine import_nccl_xml(const ImportInput& in) {
  const auto stem = std::filesystem::path{in.file->name}.stem().string();
  NcclImportOptions options;
  options.machine = in.options.machine;
  const auto fabric = fabric_from_nccl_xml(in.text(), in.file->name, stem, options);
  const auto description = describe(fabric);
  ImportedMachine m;
  m.title = "from an NCCL topology";
  const auto text = to_yaml(fabric);
  for (const auto& line : lines_of(text)) {
    const auto starts = [&](std::string_view key) { return line.text.substr(0, key.size()) == key; };
    if (starts("schema:") || starts("name:") || starts("title:") || starts("#")) continue;
    m.node += std::string{line.text} + "\n";
  }
  for (const auto& d : fabric.devices()) {
    m.gpus += d.kind == DeviceKind::gpu ? 1 : 0;
    m.nics += d.kind == DeviceKind::nic ? 1 : 0;
  }
  in.notes.know(
      "the PCIe trees with their rates, the GPUs' compute capability, the CPUs' kind, NVLinks and NICs where "
      "the file has them");
  for (const auto& a : description.assumptions) in.notes.assume(a);
  in.notes.lack("latencies: they are those of the parts in the catalog");
  return m;
}

}  // namespace linkcast::topologies
