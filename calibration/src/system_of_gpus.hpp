// Which catalog system a machine most likely is, from the GPU names that a log prints. Knows names, not machines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace linkcast::calibration {

struct SystemGuess {
  std::optional<std::string> system;
  std::string remark;  // why not, or what was assumed; may be empty
};

SystemGuess system_of_gpus(std::string_view gpu_name, int gpus_per_node);

}  // namespace linkcast::calibration
