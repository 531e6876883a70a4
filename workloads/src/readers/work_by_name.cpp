// See work_by_name.hpp.
#include "work_by_name.hpp"

#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace linkcast::workloads::readers {

Work work_by_name(std::string_view name) {
  std::string low;
  for (const char c : name.substr(0, 256)) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::array<std::pair<std::string_view, Work>, 16> signs{{
      {"memcpy", Work::copy},
      {"memset", Work::copy},
      {"flash", Work::attention},
      {"fmha", Work::attention},
      {"attention", Work::attention},
      {"softmax", Work::elementwise},
      {"norm", Work::elementwise},
      {"elementwise", Work::elementwise},
      {"gemm", Work::gemm},
      {"cutlass", Work::gemm},
      {"matmul", Work::gemm},
      {"linear", Work::gemm},
      {"mlp", Work::gemm},
      {"conv", Work::gemm},
      {"wgrad", Work::gemm},
      {"dgrad", Work::gemm},
  }};
  for (const auto& [sign, work] : signs)
    if (low.find(sign) != std::string::npos) return work;
  return Work::other;
}

}  // namespace linkcast::workloads::readers
