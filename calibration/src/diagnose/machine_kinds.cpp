// See machine_kinds.hpp. First match counts; form factors come before the bare name.
#include "machine_kinds.hpp"

#include <algorithm>
#include <vector>

#include "../text_scan.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

// Parts that no system of the catalog has. Memory rates are the datasheets'; what a channel copies is taken from the
// nearest part that was measured.
constexpr std::string_view ampere_card = R"yaml(
  gpu-card: {extends: l40s, architecture: Ampere, compute_capability: 86, memory: {value: 768 GB/s, source: "RTX A6000 datasheet; A40, A10, A30, RTX 3090 alike"}})yaml";
constexpr std::string_view ampere_geforce = R"yaml(
  gpu-card: {extends: l40s, architecture: Ampere, compute_capability: 86, pcie_p2p: false, gdr: false, memory: {value: 936 GB/s, source: "GeForce RTX 3090 specification"}})yaml";
constexpr std::string_view ada_card = R"yaml(
  gpu-card: {extends: l40s, memory: {value: 960 GB/s, source: "RTX 6000 Ada datasheet; L40 and L4 alike or less"}})yaml";
constexpr std::string_view blackwell_card = R"yaml(
  gpu-card: {extends: l40s, architecture: Blackwell, compute_capability: 120, copy_engine: {value: 56.5 GB/s, source: "PCIe gen 5 x16: 55.5 to 56.6 GB/s on RTX PRO 6000 (voipmonitor/rtx6kpro)"}, memory: {value: 1792 GB/s, source: "RTX PRO 6000 Blackwell datasheet"}})yaml";
constexpr std::string_view blackwell_geforce = R"yaml(
  gpu-card: {extends: l40s, architecture: Blackwell, compute_capability: 120, pcie_p2p: false, gdr: false, copy_engine: {value: 56.5 GB/s, source: "as RTX PRO 6000"}, memory: {value: 1792 GB/s, source: "GeForce RTX 5090 specification"}})yaml";
constexpr std::string_view hopper_card = R"yaml(
  gpu-card: {extends: h100-sxm, nvlinks: 12, nvls_efficiency: 0, copy_engine: {value: 55.3 GB/s, source: "PCIe gen 5 x16: H2D 55.2 to 55.4 GB/s on H100"}, memory: {value: 2039 GB/s, source: "H100 PCIe datasheet"}})yaml";
constexpr std::string_view turing_card = R"yaml(
  gpu-card: {extends: rtx2080ti, nvlinks: 0, pcie_p2p: true, gdr: true, memory: {value: 320 GB/s, source: "T4 datasheet"}})yaml";
constexpr std::string_view pascal_card = R"yaml(
  gpu-card: {extends: v100-pcie, architecture: Pascal, compute_capability: 60, memory: {value: 732 GB/s, source: "P100 datasheet"}})yaml";
constexpr std::string_view gb10 = R"yaml(
  gpu-card: {extends: l40s, architecture: Blackwell, compute_capability: 121, pcie_p2p: false, copy_engine: {value: 56.5 GB/s, source: "estimate: not what binds"}, memory: {value: 273 GB/s, source: "DGX Spark datasheet, LPDDR5X"}})yaml";
constexpr std::string_view a800 = R"yaml(
  gpu-card: {extends: a100-sxm-80, nvlinks: {value: 8, source: "A800: 400 GB/s both directions; datasheet"}, copy_engine: {value: 184 GB/s, source: "derived: 276 * 8/12 of the A100"}})yaml";

constexpr std::array kinds = {
    GpuKind{{"gb300"}, "gb300-nvl72", 4},
    GpuKind{{"gb200"}, "gb200-nvl72", 4},
    GpuKind{{"gb10"}, "", 1, "", "gpu-card", gb10, "pcie-gen5", 8},
    GpuKind{{"dgx", "spark"}, "", 1, "", "gpu-card", gb10, "pcie-gen5", 8},
    GpuKind{{"gh200"}, "gh200-x4", 4},
    GpuKind{{"b300"}, "hgx-b300", 8},
    GpuKind{{"b200"}, "hgx-b200", 8},
    GpuKind{{"h200", "nvl"}, "", 8, "", "gpu-card", hopper_card, "pcie-gen5"},
    GpuKind{{"h200"}, "dgx-h200", 8},
    GpuKind{{"h800", "pcie"}, "", 8, "", "gpu-card", hopper_card, "pcie-gen5"},
    GpuKind{{"h800"}, "hgx-h800", 8},
    GpuKind{{"h100", "pcie"}, "", 8, "", "gpu-card", hopper_card, "pcie-gen5"},
    GpuKind{{"h100", "nvl"}, "", 8, "", "gpu-card", hopper_card, "pcie-gen5"},
    GpuKind{{"h100"}, "dgx-h100", 8, "hgx-h100-4"},
    GpuKind{{"h20"}, "hgx-h20", 8},
    GpuKind{{"a800"}, "a800", 8},
    GpuKind{{"a100", "pcie"}, "", 8, "", "a100-pcie"},
    GpuKind{{"a100"}, "dgx-a100", 8, "hgx-a100-4"},
    GpuKind{{"v100", "sxm3"}, "dgx2-v100", 16},
    GpuKind{{"v100", "sxm2"}, "dgx1-v100", 8, "v100-x4"},
    GpuKind{{"v100", "sxm"}, "dgx1-v100", 8, "v100-x4"},
    GpuKind{{"v100", "pcie"}, "", 8, "", "v100-pcie", "", "pcie-gen3"},
    GpuKind{{"v100s"}, "", 8, "", "v100-pcie", "", "pcie-gen3"},
    GpuKind{{"v100"}, "dgx1-v100", 8, "v100-x4"},
    GpuKind{{"p100"}, "", 8, "", "gpu-card", pascal_card, "pcie-gen3"},
    GpuKind{{"rtx", "pro", "6000"}, "", 8, "", "gpu-card", blackwell_card, "pcie-gen5"},
    GpuKind{{"rtx", "pro", "5000"}, "", 8, "", "gpu-card", blackwell_card, "pcie-gen5"},
    GpuKind{{"6000d"}, "", 8, "", "gpu-card", blackwell_card, "pcie-gen5"},
    GpuKind{{"rtx", "5090"}, "", 8, "", "gpu-card", blackwell_geforce, "pcie-gen5"},
    GpuKind{{"rtx", "5080"}, "", 8, "", "gpu-card", blackwell_geforce, "pcie-gen5"},
    GpuKind{{"rtx", "4090"}, "", 8, "", "rtx4090"},
    GpuKind{{"4090"}, "", 8, "", "rtx4090"},
    GpuKind{{"5090"}, "", 8, "", "gpu-card", blackwell_geforce, "pcie-gen5"},
    GpuKind{{"3090"}, "", 8, "", "gpu-card", ampere_geforce},
    GpuKind{{"2080"}, "", 8, "", "rtx2080ti", "", "pcie-gen3"},
    GpuKind{{"titan", "rtx"}, "", 8, "", "rtx2080ti", "", "pcie-gen3"},
    GpuKind{{"a6000"}, "", 8, "", "gpu-card", ampere_card},
    GpuKind{{"a40"}, "", 8, "", "gpu-card", ampere_card},
    GpuKind{{"a30"}, "", 8, "", "gpu-card", ampere_card},
    GpuKind{{"a10g"}, "", 8, "", "a10g"},
    GpuKind{{"a10"}, "", 8, "", "gpu-card", ampere_card},
    GpuKind{{"a16"}, "", 8, "", "gpu-card", ampere_card},
    GpuKind{{"6000", "ada"}, "", 8, "", "gpu-card", ada_card},
    GpuKind{{"l40s"}, "", 8, "", "l40s"},
    GpuKind{{"l40"}, "", 8, "", "gpu-card", ada_card},
    GpuKind{{"l20"}, "", 8, "", "gpu-card", ada_card},
    GpuKind{{"l4"}, "", 8, "", "gpu-card", ada_card},
    GpuKind{{"t4"}, "", 8, "", "gpu-card", turing_card, "pcie-gen3"},
};
const GpuKind a800_kind{{"a800"}, "dgx-a100", 8, "", "gpu-card", a800};

}  // namespace

const GpuKind* kind_of_gpu(std::string_view name) {
  const auto words = words_in(name);
  const auto has = [&](std::string_view w) {
    return w.empty() || std::any_of(words.begin(), words.end(), [&](const std::string& have) {
             // "SXM4", "SXM5" are the boards of a generation: "sxm" stands for all of them.
             return have == w || (w == "sxm" && have.rfind("sxm", 0) == 0);
           });
  };
  for (const auto& kind : kinds)
    if (has(kind.words[0]) && has(kind.words[1]) && has(kind.words[2]))
      return kind.system == "a800" ? &a800_kind : &kind;
  return nullptr;
}

bool has_peer_access(const GpuKind& kind) {
  return kind.part != "rtx4090" && kind.part != "rtx2080ti" &&
         kind.parts_yaml.find("pcie_p2p: false") == std::string_view::npos;
}

}  // namespace linkcast::calibration::diagnosis
