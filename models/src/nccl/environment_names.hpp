// Which variables NCCL has, which of them change what is modelled, and which of those hold text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linkcast::models::nccl {

const std::vector<std::string>& known_variables();
bool is_known_variable(std::string_view name);
bool is_effective_variable(std::string_view name);
bool is_textual_variable(std::string_view name);

}  // namespace linkcast::models::nccl
