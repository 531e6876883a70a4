// What a measured run leaves open, and what is taken for granted about it. The only place where a run's words become
// parameters of a topology or options of a communicator. Reads what the source says about machine and software, never
// an id and never a number that is to be predicted.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "linkcast/calibration/validate.hpp"

namespace linkcast::calibration {
namespace {

std::string lower(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

bool says_any(const std::string& text, std::initializer_list<std::string_view> phrases) {
  return std::any_of(phrases.begin(), phrases.end(),
                     [&](std::string_view p) { return text.find(p) != std::string::npos; });
}

/// Whether GPUs of a PCIe machine reach each other directly: drivers and chipsets decide, so only the run can say.
void assume_p2p(const Series& series, Assumptions& out) {
  if (series.system->rfind("pcie-", 0) != 0) return;
  const auto words = lower(series.machine_notes + "\n" + series.cause + "\n" + series.notes);
  const auto disabled = series.env.find("NCCL_P2P_DISABLE");
  const bool off = (disabled != series.env.end() && disabled->second != "0") ||
                   says_any(words, {"no p2p", "p2p ns", "no peer-to-peer", "no gpu peer-to-peer", "p2p disabled",
                                    "p2p switched off", "peer-to-peer not available", "p2p is not available"});
  const bool on = !off && says_any(words, {"p2p over", "p2p/ipc", "uses p2p", "peer-to-peer over"});
  if (off) {
    out.load.params["p2p"] = "false";
    out.sentences.push_back("no peer-to-peer between its GPUs: copies go through host memory");
  } else if (on) {
    out.load.params["p2p"] = "true";
    out.sentences.push_back("peer-to-peer between its GPUs works over PCIe");
  } else {
    out.sentences.push_back("peer-to-peer over PCIe as the catalog has it for this machine");
  }
}

void assume_launch(const Series& series, Assumptions& out) {
  out.communicator.launch = series.launch.value_or(models::LaunchMode::multi_process);
  if (series.cuda_graph) {
    out.communicator.launch = models::LaunchMode::graph;
  } else if (!series.launch) {
    out.sentences.push_back("launch mode not stated: one process for each GPU");
  }
}

void take_environment(const Series& series, Assumptions& out) {
  for (const auto& [name, value] : series.env) {
    if (name.rfind("NCCL_", 0) != 0) continue;  // libfabric's, MPI's: nothing inside a node reads them
    try {
      out.communicator.env.set(name, value);
    } catch (const sim::InputError& e) {
      // NCCL itself ignores what it does not know; so does a comparison with what it did.
      out.sentences.push_back(fmt::format("{}={} is left out: {}", name, value, e.diagnostics().front().problem));
    }
  }
}

}  // namespace

Assumptions assumptions(const Series& series) {
  Assumptions out;
  if (series.nccl) {
    out.communicator.nccl = *series.nccl;
  } else {
    out.sentences.push_back(fmt::format("NCCL version not stated: {}", out.communicator.nccl.str()));
  }
  assume_launch(series, out);
  take_environment(series, out);
  if (series.system) assume_p2p(series, out);
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
