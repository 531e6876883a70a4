// What the targets of the readers of machines share: parts that the texts do not name are given, so that mutations get
// past the questions for them. import_topology() loads what it made before it hands it over.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/import.hpp"

namespace import_fuzz {

inline int machine(const std::uint8_t* data, std::size_t size,
                   std::optional<linkcast::topologies::ImportFormat> format = {}) {
  using namespace linkcast::topologies;
  const std::vector<InputFile> files{{"fuzz", std::string{reinterpret_cast<const char*>(data), size}}};
  ImportOptions options;
  options.gpu = "h100-sxm";
  options.nic = "connectx-7";
  options.format = format;
  try {
    const auto imported = import_topology(files, options);
    if (imported.yaml.empty() || imported.known.empty()) std::abort();
  } catch (const linkcast::sim::InputError& e) {
    if (e.diagnostics().empty() || e.diagnostics().front().at.file.empty()) std::abort();
  }
  return 0;
}

}  // namespace import_fuzz
