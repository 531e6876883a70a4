// GPU names to systems. See system_of_gpus.hpp.
#include "system_of_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

/// A GPU name that holds all of `words` (as whole words) stands for `system`, whose machines have `gpus` GPUs.
struct Rule {
  std::array<std::string_view, 3> words;
  std::string_view system;  // empty: this form factor is in no catalog system
  int gpus;
  bool any_slice;  // whether fewer GPUs are surely a slice of that machine, wired alike
};

// First match counts. cudaDeviceProp.name spells the form factor: "NVIDIA H100 80GB HBM3" is the SXM5 board,
// "NVIDIA H100 PCIe" and "NVIDIA H100 NVL" are cards.
constexpr std::array kRules = {
    Rule{{"gb300"}, "gb300-nvl72", 4, true},
    Rule{{"gb200"}, "gb200-nvl72", 4, true},
    Rule{{"gh200"}, "gh200-x4", 4, false},
    Rule{{"b300"}, "hgx-b300", 8, true},
    Rule{{"b200"}, "hgx-b200", 8, true},
    Rule{{"h200", "nvl"}, "", 0, false},
    Rule{{"h200"}, "dgx-h200", 8, true},
    Rule{{"h800", "pcie"}, "", 0, false},
    Rule{{"h800"}, "hgx-h800", 8, true},
    Rule{{"h100", "pcie"}, "", 0, false},
    Rule{{"h100", "nvl"}, "", 0, false},
    Rule{{"h100", "hbm3"}, "dgx-h100", 8, true},
    Rule{{"h100", "sxm5"}, "dgx-h100", 8, true},
    Rule{{"h20"}, "hgx-h20", 8, true},
    Rule{{"a100", "pcie"}, "pcie-a100", 8, true},
    Rule{{"a100", "sxm4"}, "dgx-a100", 8, true},
    Rule{{"a100", "sxm"}, "dgx-a100", 8, true},
    Rule{{"v100", "sxm3"}, "dgx2-v100", 16, true},
    Rule{{"v100", "sxm2"}, "dgx1-v100", 8, false},
    Rule{{"v100", "pcie"}, "pcie-v100", 8, true},
    Rule{{"rtx", "4090"}, "pcie-rtx4090", 8, true},
    Rule{{"rtx", "2080", "ti"}, "pcie-rtx2080ti", 8, true},
    Rule{{"l40s"}, "pcie-l40s", 8, true},
};

bool matches(const Rule& rule, const std::vector<std::string>& words) {
  return std::all_of(rule.words.begin(), rule.words.end(), [&](std::string_view w) {
    return w.empty() || std::find(words.begin(), words.end(), w) != words.end();
  });
}

}  // namespace

SystemGuess system_of_gpus(std::string_view gpu_name, int gpus_per_node) {
  const auto words = words_in(gpu_name);
  const auto rule = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& r) { return matches(r, words); });
  if (rule == kRules.end() || rule->system.empty()) {
    return {std::nullopt, fmt::format("no system of the catalog has the GPU '{}'; name one to compare with", gpu_name)};
  }
  if (gpus_per_node > rule->gpus) {
    return {std::nullopt, fmt::format("{} has {} GPUs, the log shows {}; name a system to compare with", rule->system,
                                      rule->gpus, gpus_per_node)};
  }
  const std::string system(rule->system);
  if (gpus_per_node == rule->gpus) return {system, {}};
  if (!rule->any_slice) {
    return {std::nullopt, fmt::format("{} of '{}' may be wired in several ways; name a system to compare with",
                                      gpus_per_node, gpu_name)};
  }
  // Boards with four such GPUs exist too, wired without NVSwitch.
  return {system,
          fmt::format("taken as {} GPUs of a {}; name another system if it is a smaller board", gpus_per_node, system)};
}

}  // namespace linkcast::calibration
