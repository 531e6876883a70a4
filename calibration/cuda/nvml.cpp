// See nvml.hpp. The few declarations that are needed are written down here, as NVML's reference documents them (NVML
// API reference guide, docs.nvidia.com/deploy/nvml-api), so that neither its header nor its library is needed to build.
#include "nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <string_view>

namespace linkcast::calibration::cuda {
namespace {

using Device = void*;

struct PciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, subsystem_id;
  char bus_id[32];
};
struct FieldValue {  // nvmlFieldValue_t
  unsigned field, scope;
  long long timestamp, latency_us;
  unsigned type;
  int result;
  union {
    double d;
    unsigned u;
    unsigned long long ull;
  } value;
};
struct FabricInfo {  // nvmlGpuFabricInfo_t
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
};
constexpr unsigned c2c_link_count = 170;  // NVML_FI_DEV_C2C_LINK_COUNT
constexpr unsigned most_links = 18;       // NVML_NVLINK_MAX_LINKS

std::string lower_bus_id(std::string_view id) {
  std::string out;
  for (const char c : id.substr(0, id.find('\0')))
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // NVML writes eight digits of the domain, everybody else four.
  return out.size() > 12 && out.starts_with("0000") ? out.substr(4) : out;
}

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*device_by_bus_id)(const char*, Device*) = nullptr;
  int (*pcie_generation)(Device, unsigned*) = nullptr;
  int (*pcie_width)(Device, unsigned*) = nullptr;
  int (*pcie_most_generation)(Device, unsigned*) = nullptr;
  int (*pcie_most_width)(Device, unsigned*) = nullptr;
  int (*link_state)(Device, unsigned, int*) = nullptr;
  int (*link_version)(Device, unsigned, unsigned*) = nullptr;
  int (*link_remote_type)(Device, unsigned, int*) = nullptr;
  int (*link_remote_pci)(Device, unsigned, PciInfo*) = nullptr;
  int (*field_values)(Device, int, FieldValue*) = nullptr;
  int (*fabric_info)(Device, FabricInfo*) = nullptr;
  bool up = false;

  ~Library() {
    if (up) shutdown();
    if (handle != nullptr) dlclose(handle);
  }
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle, name));
  }
};

Nvml::Nvml() : library_{std::make_unique<Library>()} {
  auto& l = *library_;
  l.handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (l.handle == nullptr) {
    problem_ = "NVML (libnvidia-ml.so.1, part of the driver) is not there";
    return;
  }
  l.find(l.init, "nvmlInit_v2");
  l.find(l.shutdown, "nvmlShutdown");
  l.find(l.error_string, "nvmlErrorString");
  l.find(l.driver_version, "nvmlSystemGetDriverVersion");
  l.find(l.device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  l.find(l.pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  l.find(l.pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  l.find(l.pcie_most_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
  l.find(l.pcie_most_width, "nvmlDeviceGetMaxPcieLinkWidth");
  l.find(l.link_state, "nvmlDeviceGetNvLinkState");
  l.find(l.link_version, "nvmlDeviceGetNvLinkVersion");
  l.find(l.link_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
  l.find(l.link_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  l.find(l.field_values, "nvmlDeviceGetFieldValues");
  l.find(l.fabric_info, "nvmlDeviceGetGpuFabricInfo");
  if (l.init == nullptr || l.shutdown == nullptr || l.device_by_bus_id == nullptr) {
    problem_ = "NVML is too old: it has no nvmlInit_v2";
  } else if (const int result = l.init(); result != 0) {
    problem_ =
        fmt::format("nvmlInit_v2 failed: {}", l.error_string != nullptr ? l.error_string(result) : "no reason given");
  } else {
    l.up = true;
  }
}

Nvml::~Nvml() = default;

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  if (!library_->up || library_->driver_version == nullptr ||
      library_->driver_version(text.data(), static_cast<unsigned>(text.size() - 1)) != 0)
    return {};
  return text.data();
}

void Nvml::describe(GpuFacts& facts) const {
  const auto& l = *library_;
  Device device = nullptr;
  if (!l.up || l.device_by_bus_id(facts.bus_id.c_str(), &device) != 0) return;
  const auto number = [&](int (*get)(Device, unsigned*), int& into) {
    unsigned value = 0;
    if (get != nullptr && get(device, &value) == 0) into = static_cast<int>(value);
  };
  number(l.pcie_generation, facts.pcie.generation);
  number(l.pcie_width, facts.pcie.width);
  number(l.pcie_most_generation, facts.pcie.most_generation);
  number(l.pcie_most_width, facts.pcie.most_width);

  for (unsigned link = 0; link < most_links && l.link_state != nullptr; ++link) {
    int state = 0, type = 255;
    if (l.link_state(device, link, &state) != 0) continue;  // no such link on this GPU
    NvLinkFacts f;
    f.link = static_cast<int>(link);
    f.up = state != 0;
    unsigned version = 0;
    if (l.link_version != nullptr && l.link_version(device, link, &version) == 0) f.version = static_cast<int>(version);
    if (l.link_remote_type != nullptr) l.link_remote_type(device, link, &type);
    PciInfo pci{};
    const bool known = l.link_remote_pci != nullptr && l.link_remote_pci(device, link, &pci) == 0;
    const std::string_view kind = type == 0 ? "gpu" : type == 1 ? "npu" : type == 2 ? "nvswitch" : "unknown";
    f.peer = known ? fmt::format("{} {}", kind, lower_bus_id({pci.bus_id, sizeof pci.bus_id})) : std::string{kind};
    facts.nvlinks.push_back(std::move(f));
  }

  if (FieldValue field{}; l.field_values != nullptr) {
    field.field = c2c_link_count;
    if (l.field_values(device, 1, &field) == 0 && field.result == 0) facts.c2c_links = static_cast<int>(field.value.u);
  }
  if (FabricInfo info{}; l.fabric_info != nullptr && l.fabric_info(device, &info) == 0 && info.state != 0) {
    FabricFacts f;
    f.state = info.state == 3 ? "completed" : info.state == 2 ? "in progress" : "not started";
    for (std::size_t i = 0; i < sizeof info.cluster; ++i)
      f.cluster += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info.cluster[i]);
    f.clique = static_cast<int>(info.clique & 0x7FFFFFFF);
    facts.fabric = std::move(f);
  }
}

}  // namespace linkcast::calibration::cuda
