// See other_machine.hpp.
#include "other_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "linkcast/topologies/fabric.hpp"
#include "system_of_gpus.hpp"

namespace linkcast::calibration {
namespace {

/// Generation and model of GPU: boards of one kind ("v100-sxm2", "v100-pcie") are told apart by the topology.
std::string kind_of_gpus(const std::string& system) {
  const auto fabric = topologies::load(system);
  if (fabric.gpus().empty()) return {};
  const auto& name = fabric.gpu_model(fabric.gpus()[0]).name;
  return name.substr(0, name.find('-'));
}

class Checker {
 public:
  explicit Checker(const std::string& system) : system_{system}, kind_{kind(system)} {}

  void look(const std::string& id, const std::string& gpu, int gpus, const std::optional<std::string>& stated) {
    const auto guess = gpu.empty() ? stated : system_of_gpus(gpu, gpus).system;
    if (!guess || *guess == system_ || kind(*guess) == kind_ || !said_.insert(id).second) return;
    wrong_.push_back({{},
                      gpu.empty() ? fmt::format("{} was measured on {}, not on {}", id, *guess, system_)
                                  : fmt::format("{} was measured on '{}', but {} has {}", id, gpu, system_, kind_),
                      fmt::format("leave --system away, or say '--system {}'", *guess)});
  }
  void throw_if_any() {
    if (!wrong_.empty()) throw sim::InputError(std::move(wrong_), {});
  }

 private:
  const std::string& kind(const std::string& system) {
    const auto known = kinds_.find(system);
    if (known != kinds_.end()) return known->second;
    try {
      return kinds_[system] = kind_of_gpus(system);
    } catch (const sim::InputError&) {
      return kinds_[system] = {};  // a system that the catalog does not know is said elsewhere
    }
  }

  std::map<std::string, std::string> kinds_;
  std::string system_, kind_;
  std::set<std::string> said_;
  std::vector<sim::Diagnostic> wrong_;
};

}  // namespace

void refuse_other_machine(const std::string& system, const std::vector<Series>& series,
                          const std::vector<PairMatrix>& matrices) {
  Checker checker(system);
  for (const auto& s : series) {
    const bool alike =
        std::all_of(s.devices.begin(), s.devices.end(), [&](const auto& d) { return d == s.devices[0]; });
    checker.look(s.id, s.devices.empty() || !alike ? std::string{} : s.devices[0], s.gpus_per_node, s.system);
  }
  for (const auto& m : matrices)
    checker.look(m.id, m.gpu, static_cast<int>(m.cells.empty() ? 0 : m.cells.front().size()), m.system);
  checker.throw_if_any();
}

}  // namespace linkcast::calibration
