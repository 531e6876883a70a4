// What a measured run leaves open, and what is taken for granted about it. The only place where a run's words become
// parameters of a topology or options of a communicator. Reads what the source says about machine and software, never
// an id and never a number that is to be predicted.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "linkcast/calibration/validate.hpp"
#include "linkcast/topologies/describe.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

/// The parameters that the catalog offers for a system, by name.
std::map<std::string, topologies::CatalogLine::Parameter> parameters_of(const std::string& system) {
  static const auto catalog = topologies::list_catalog();
  std::map<std::string, topologies::CatalogLine::Parameter> out;
  for (const auto& line : catalog) {
    const bool is_it =
        line.name == system || std::find(line.aliases.begin(), line.aliases.end(), system) != line.aliases.end();
    if (!is_it) continue;
    for (const auto& parameter : line.parameters) out[parameter.name] = parameter;
  }
  return out;
}

/// Sets a parameter where the system has it and offers the value; says whether it did.
bool set_if_offered(const std::string& name, const std::string& value, const Series& series, Assumptions& out) {
  const auto parameters = parameters_of(*series.system);
  const auto found = parameters.find(name);
  if (found == parameters.end()) return false;
  const auto& choices = found->second.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end()) return false;
  out.load.params[name] = value;
  return true;
}

/// PCIe machines differ from box to box: how many GPUs, whether they reach each other directly (driver and chipset
/// decide), and what two of them share on the way. Only the run can say; where it does not, the catalog's default
/// holds.
void assume_pcie(const Series& series, Assumptions& out) {
  if (series.system->rfind("pcie-", 0) != 0) return;
  const auto words = lower(series.machine_notes + "\n" + series.cause + "\n" + series.notes);

  set_if_offered("gpus", std::to_string(series.ranks), series, out);

  const auto disabled = series.env.find("NCCL_P2P_DISABLE");
  const bool off = (disabled != series.env.end() && disabled->second != "0") ||
                   says_any(words, {"no p2p", "p2p ns", "no peer-to-peer", "no gpu peer-to-peer", "p2p disabled",
                                    "p2p switched off", "peer-to-peer not available", "p2p is not available"});
  const bool on = !off && says_any(words, {"p2p over", "p2p/ipc", "uses p2p", "peer-to-peer over"});
  if (off && set_if_offered("p2p", "false", series, out)) {
    out.sentences.push_back("no peer-to-peer between its GPUs: copies go through host memory");
  } else if (on && set_if_offered("p2p", "true", series, out)) {
    out.sentences.push_back("peer-to-peer between its GPUs works over PCIe");
    // From 2.23 on NCCL would not take it across a host bridge by itself; the run says that it did.
    if (!series.env.contains("NCCL_P2P_LEVEL")) out.communicator.env.set("NCCL_P2P_LEVEL", "SYS");
  } else {
    out.sentences.push_back("peer-to-peer over PCIe as the catalog has it for this machine");
  }

  // nvidia-smi's and NCCL's names of the path between two GPUs, then what people write instead. A source that
  // compares itself with another path names its own first, as "path type".
  std::string placement;
  if (says_any(words, {"path type phb"}))
    placement = "host-bridge";
  else if (says_any(words, {"path type sys"}))
    placement = "socket";
  else if (says_any(words, {"path type pix", "(pix)", "same switch", "one pcie switch"}))
    placement = "switch";
  else if (says_any(words, {"own root port", "one socket", "(phb)"}))
    placement = "host-bridge";
  else if (says_any(words, {"different sockets", "across sockets", "different root complexes"}))
    placement = "socket";
  else if (says_any(words, {"behind pcie switches"}))
    placement = "switch";
  if (!placement.empty() && set_if_offered("placement", placement, series, out)) {
    out.sentences.push_back(fmt::format("placement of its GPUs: {}", placement));
  }

  if (says_any(words, {"nvlink bridge", "nvlink2 bridge", "nvlink3 bridge"}) &&
      !says_any(words, {"no nvlink bridge", "without nvlink bridge"}) &&
      set_if_offered("bridge", "true", series, out)) {
    out.sentences.push_back("an NVLink bridge joins its GPUs");
  }
}

/// nccl-tests as it is built without MPI drives all GPUs of a machine from one process, and 19 of the 24 committed
/// series within a node that say how they were launched did so. The choice also fits the committed series better (18.7
/// against 39.4 % below 1 MiB), so their error there is no independent check of it. Across nodes there is a process for
/// each GPU.
void assume_launch(const Series& series, Assumptions& out) {
  const auto usual = series.nodes == 1 ? models::LaunchMode::single_process : models::LaunchMode::multi_process;
  out.communicator.launch = series.launch.value_or(usual);
  if (series.cuda_graph) {
    out.communicator.launch = models::LaunchMode::graph;
  } else if (!series.launch) {
    out.sentences.push_back(series.nodes == 1 ? "launch mode not stated: one process for all GPUs"
                                              : "launch mode not stated: one process for each GPU");
  }
}

/// NCCL's releases and the day of their first tag.
struct Release {
  std::string_view day;
  models::nccl::Version version;
};
constexpr std::array<Release, 19> releases{{{"2022-05-13", {2, 12, 12}},
                                            {"2022-07-11", {2, 13, 4}},
                                            {"2022-08-18", {2, 14, 3}},
                                            {"2022-10-25", {2, 15, 5}},
                                            {"2022-11-30", {2, 16, 2}},
                                            {"2023-03-01", {2, 17, 1}},
                                            {"2023-04-18", {2, 18, 1}},
                                            {"2023-09-26", {2, 19, 3}},
                                            {"2024-02-13", {2, 20, 3}},
                                            {"2024-04-02", {2, 21, 5}},
                                            {"2024-06-19", {2, 22, 3}},
                                            {"2024-09-16", {2, 23, 4}},
                                            {"2025-01-07", {2, 24, 3}},
                                            {"2025-01-27", {2, 25, 1}},
                                            {"2025-03-12", {2, 26, 2}},
                                            {"2025-05-29", {2, 27, 3}},
                                            {"2025-09-02", {2, 28, 3}},
                                            {"2025-12-24", {2, 29, 2}},
                                            {"2026-04-14", {2, 30, 3}}}};

/// The day that a date begins with: "2025-02-07", "2021-12 (first published)", "2025"; of a month or a year its middle.
std::string day_of(const std::string& date) {
  const auto digits = [&](std::size_t at, std::size_t n) {
    return date.size() >= at + n && std::all_of(date.begin() + static_cast<std::ptrdiff_t>(at),
                                                date.begin() + static_cast<std::ptrdiff_t>(at + n),
                                                [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  if (!digits(0, 4)) return {};
  if (date.size() < 7 || date[4] != '-' || !digits(5, 2)) return date.substr(0, 4) + "-07-01";
  if (date.size() < 10 || date[7] != '-' || !digits(8, 2)) return date.substr(0, 7) + "-15";
  return date.substr(0, 10);
}

/// Machines run what their image was built with: of a dated run that does not say its NCCL, the newest that was a
/// year old is taken (the dated series that do say it lag by 0 to 41 months). The oldest modelled
/// stands for all before it.
void assume_version(const Series& series, Assumptions& out) {
  if (series.nccl) {
    out.communicator.nccl = *series.nccl;
    return;
  }
  const auto day = day_of(series.date);
  if (day.empty()) {
    out.sentences.push_back(fmt::format("NCCL version not stated: {}", out.communicator.nccl.str()));
    return;
  }
  const auto year = std::to_string(std::atoi(day.substr(0, 4).c_str()) - 1) + day.substr(4);
  out.communicator.nccl = releases.front().version;
  for (const auto& r : releases)
    if (r.day <= year) out.communicator.nccl = r.version;
  out.sentences.push_back(fmt::format("NCCL version not stated: {}, a year old then", out.communicator.nccl.str()));
}

void take_environment(const Series& series, Assumptions& out) {
  for (const auto& [name, value] : series.env) {
    if (name.rfind("NCCL_", 0) != 0) continue;  // libfabric's, MPI's: nothing in the model reads them
    if (name == "NCCL_IB_HCA" && series.nics_per_node > 0) {
      out.sentences.push_back("NCCL_IB_HCA is left out: its names are the host's, the number of NICs is stated");
      continue;
    }
    if (name == "NCCL_COLLNET_ENABLE" &&
        !says_any(lower(series.machine_notes + "\n" + series.notes + "\n" + series.title), {"sharp"})) {
      out.sentences.push_back("NCCL_COLLNET_ENABLE is left out: nothing is said of switches that reduce");
      continue;
    }
    try {
      out.communicator.env.set(name, value);
    } catch (const sim::InputError& e) {
      // NCCL itself ignores what it does not know; so does a comparison with what it did.
      out.sentences.push_back(fmt::format("{}={} is left out: {}", name, value, e.diagnostics().front().problem));
    }
  }
}

/// What a source says about the network in words that change a prediction.
void assume_network(const Series& series, Assumptions& out) {
  if (series.nodes == 1) return;
  const auto algo = lower(series.algo);
  if (says_any(algo, {"ring"}) && !says_any(algo, {"not forced"}) && !series.env.contains("NCCL_ALGO")) {
    out.communicator.env.set("NCCL_ALGO", "RING");
    out.sentences.push_back("the source speaks of a ring: NCCL_ALGO=RING");
  }
  const auto words = lower(series.machine_notes + "\n" + series.notes);
  if (says_any(words, {"no gdrdma", "without gpudirect", "gpudirect rdma off", "gdr off", "no gpudirect"}) &&
      !says_any(words, {fmt::format("{}-gpu log shows gdrdma", series.gpus_per_node)}) &&
      !series.env.contains("NCCL_NET_GDR_LEVEL")) {
    out.communicator.env.set("NCCL_NET_GDR_LEVEL", "LOC");
    out.sentences.push_back("no GPUDirect RDMA: every byte goes through host memory");
  }
}

}  // namespace

Assumptions assumptions(const Series& series) {
  Assumptions out;
  assume_version(series, out);
  assume_launch(series, out);
  take_environment(series, out);
  if (series.system) assume_pcie(series, out);
  assume_network(series, out);
  if (series.time_derived_from_busbw) {
    out.sentences.push_back("times are derived from a rounded bus bandwidth: up to 10 % off below 1 MiB");
  }
  if (!series.healthy) {
    out.sentences.push_back(series.cause.empty() ? "marked degraded: not counted"
                                                 : fmt::format("marked degraded: not counted ({})", series.cause));
  }
  return out;
}

}  // namespace linkcast::calibration
