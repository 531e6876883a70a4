// The files of planning/data, as they are in the source tree. Made by cmake/embed_files.cmake.
#pragma once

#include <string_view>
#include <vector>

namespace linkcast::planning {

struct EmbeddedFile {
  std::string_view path;  // "prices.yaml"
  std::string_view text;
};
const std::vector<EmbeddedFile>& embedded_data();

}  // namespace linkcast::planning
