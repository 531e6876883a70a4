// What the targets of the readers of networks share. The machine is small, so that the file is what costs time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/import.hpp"

namespace import_fuzz {

inline int one(const std::uint8_t* data, std::size_t size, linkcast::topologies::ImportFormat format) {
  using namespace linkcast::topologies;
  const std::vector<InputFile> files{{"fuzz", std::string{reinterpret_cast<const char*>(data), size}}};
  ImportOptions options;
  options.machine = "gh200-x4";  // 4 NICs
  options.format = format;
  try {
    if (import_topology(files, options).yaml.empty()) std::abort();
  } catch (const linkcast::sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
    if (e.diagnostics().front().at.file.empty()) std::abort();
  }
  return 0;
}

}  // namespace import_fuzz
