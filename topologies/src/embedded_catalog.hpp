// The catalog's files as they were at build time. Knows nothing about what they say.
#pragma once

#include <string_view>
#include <vector>

namespace linkcast::topologies {

struct EmbeddedFile {
  std::string_view path;  // "dgx-h100.yaml", "parts/gpus.yaml"
  std::string_view text;
};

/// Sorted by path. Defined in a source file that the build generates.
const std::vector<EmbeddedFile>& embedded_catalog();

}  // namespace linkcast::topologies
