// `topo check`: see describe.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fabric_data.hpp"
#include "linkcast/topologies/describe.hpp"

namespace linkcast::topologies {
namespace {

/// What most of the values are.
template <typename T>
T usual(const std::vector<T>& values) {
  std::map<T, int> times;
  for (const auto& v : values) ++times[v];
  return std::ranges::max_element(times, {}, [](const auto& e) { return e.second; })->first;
}

class Checker {
 public:
  explicit Checker(const Fabric& fabric) : fabric_{fabric}, data_{fabric.data()} {}

  std::vector<Finding> run() {
    states();
    compare("NVLink", models::LinkKind::nvlink);
    compare("PCIe", models::LinkKind::pcie);
    paths();
    return std::move(findings_);
  }

 private:
  void add(Severity s, std::string text) { findings_.push_back({s, std::move(text)}); }

  void states() {
    for (std::size_t d = 0; d < data_.devices.size(); ++d) {
      if (!data_.device_extra[d].up) add(Severity::warning, data_.devices[d].name + " is down");
    }
    for (const auto& l : data_.links) {
      if (l.state == "up") continue;
      add(Severity::warning, fmt::format("{}-{} ({} {}): {}", data_.device(l.a).name, data_.device(l.b).name,
                                         models::name_of(l.kind), l.model, l.state));
    }
  }

  void compare(std::string_view what, models::LinkKind kind) {
    std::vector<std::int64_t> rates;
    for (auto gpu : data_.gpus) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < data_.links.size(); ++i) {
        const auto& l = data_.links[i];
        if (l.kind != kind || (l.a != gpu && l.b != gpu) || !data_.usable(LinkId{static_cast<std::uint32_t>(i)}))
          continue;
        sum += l.bare.bytes_per_second();
      }
      rates.push_back(sum);
    }
    const auto normal = usual(rates);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (rates[i] == normal) continue;
      add(Severity::warning,
          fmt::format("{} has {:.1f} GB/s of {}, most others {:.1f} GB/s", data_.device(data_.gpus[i]).name,
                      static_cast<double>(rates[i]) * 1e-9, what, static_cast<double>(normal) * 1e-9));
    }
  }

  void paths() {
    int nvlink = 0, other = 0;
    std::string example;
    const auto gpus = fabric_.gpus();
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t j = i + 1; j < gpus.size(); ++j) {
        const auto pair = data_.device(gpus[i]).name + " and " + data_.device(gpus[j]).name;
        if (fabric_.route(gpus[i], gpus[j], Transport::nvlink)) {
          ++nvlink;
        } else if (fabric_.route(gpus[i], gpus[j], Transport::pcie_p2p) ||
                   fabric_.route(gpus[i], gpus[j], Transport::host_memory)) {
          if (other++ == 0) example = pair;
        } else {
          add(Severity::error, "no path between " + pair);
        }
      }
    }
    if (nvlink > 0 && other > 0) {
      add(Severity::note,
          fmt::format("{} of {} pairs have no NVLink way, for example {}", other, nvlink + other, example));
    }
    if (nvlink == 0 && !fabric_.pcie_p2p() && gpus.size() > 1) {
      add(Severity::note, "no peer-to-peer at all: everything goes through host memory");
    }
  }

  const Fabric& fabric_;
  const Fabric::Data& data_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view name_of(Severity s) {
  switch (s) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "unknown";
}

std::vector<Finding> check(const Fabric& fabric) { return Checker{fabric}.run(); }

std::string to_text(const std::vector<Finding>& findings) {
  if (findings.empty()) return "sound: all links up, all GPUs alike, every pair has a path\n";
  std::string out;
  for (const auto& f : findings) out += fmt::format("{}: {}\n", name_of(f.severity), f.text);
  return out;
}

}  // namespace linkcast::topologies
