// See calibration.hpp.
#include "calibration.hpp"

#include <pybind11/stl.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "linkcast/calibration/diagnose.hpp"
#include "linkcast/calibration/fit.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/sizes.hpp"

namespace linkcast::bindings {
namespace {

namespace py = pybind11;
using Words = std::map<std::string, std::string>;

std::shared_ptr<const topologies::Profile> profile_of(const std::optional<std::string>& path) {
  return path ? topologies::Profile::read(*path) : nullptr;
}

calibration::Measurements measurements_of(const std::vector<std::string>& files, const calibration::Hints& hints = {}) {
  const std::vector<std::filesystem::path> paths(files.begin(), files.end());
  return paths.empty() ? calibration::Measurements{} : calibration::read_everything(paths, hints);
}

calibration::Figure::Metric metric_of(const std::string& word) {
  using Metric = calibration::Figure::Metric;
  if (word == "busbw") return Metric::busbw;
  if (word == "algbw") return Metric::algbw;
  if (word == "p2p") return Metric::p2p;
  if (word == "p2p_both") return Metric::p2p_bidirectional;
  return Metric::unknown;  // what an expert-parallel library says of itself
}

/// metric, "all_reduce@8G" (only busbw, algbw), 10^9 bytes a second.
calibration::Figure figure_of(const std::tuple<std::string, std::string, double>& said) {
  const auto& [metric, what, value] = said;
  if (!(value > 0 && value <= 1e7))
    throw sim::InputError{metric + " is " + std::to_string(value), "write 10^9 bytes a second, above 0"};
  calibration::Figure f;
  f.metric = metric_of(metric);
  f.what = what;
  f.GBps = value;
  if (metric == "p2p") f.what = "GPU to GPU, one direction";
  if (metric == "p2p_both") f.what = "GPU to GPU, both directions";
  if (metric == "expert") f.what = "expert dispatch, RDMA";
  if (metric != "busbw" && metric != "algbw") return f;
  const auto at = what.find('@');
  f.op = op_of(what.substr(0, at));
  if (at != std::string::npos) f.size = workloads::parse_size(what.substr(at + 1));
  return f;
}

/// JSON, text, whether something is broken.
py::tuple diagnose(const std::vector<std::string>& files,
                   const std::vector<std::tuple<std::string, std::string, double>>& figures,
                   const std::string& topology, const Words& params, const std::optional<std::string>& profile,
                   const std::string& gpu, int nodes, int gpus, int nics, double nic_gbps, const std::string& network,
                   const std::string& nccl, const Words& env, int threads) {
  std::optional<calibration::Diagnosis> found;
  {
    py::gil_scoped_release unlocked;
    calibration::DiagnoseOptions options;
    options.topology = topology;
    options.params = params;
    options.profile = profile_of(profile);
    options.hardware.gpu = gpu;
    options.hardware.nodes = nodes;
    if (nodes > 1 && gpus % nodes != 0)
      throw sim::InputError{
          std::to_string(gpus) + " GPUs do not spread evenly over " + std::to_string(nodes) + " nodes",
          "gpus counts the GPUs of all nodes together"};
    options.hardware.gpus_per_node = nodes > 1 ? gpus / nodes : gpus;
    options.hardware.nics_per_node = nics;
    options.hardware.nic_gbps = nic_gbps;
    options.hardware.fabric = network;
    if (!nccl.empty()) options.nccl = models::nccl::Version::parse(nccl);
    for (const auto& [name, value] : env) options.env.set(name, value);
    options.threads = threads;
    auto measured = measurements_of(files);
    for (const auto& figure : figures) measured.figures.push_back(figure_of(figure));
    if (measured.empty() && (env.empty() || (topology.empty() && gpu.empty())))
      throw sim::InputError{"nothing was measured",
                            "name files (nccl-tests, perftest, nvbandwidth), or say a figure: "
                            "busbw={'all_reduce@8G': 186}"};
    found = calibration::diagnose(measured, options);
    auto& notes = found->notes;
    notes.insert(notes.begin(), measured.notes.begin(), measured.notes.end());
  }
  return py::make_tuple(calibration::json_report(*found), calibration::text_report(*found));
}

/// JSON, text, the profile's text.
py::tuple fit(const std::vector<std::string>& files, const std::optional<std::string>& op,
              const std::optional<std::string>& system, std::optional<int> ranks,
              const std::optional<std::string>& start, const std::vector<std::string>& only, bool shared,
              double hold_back, std::uint64_t seed, const std::string& name) {
  if (!(hold_back >= 0 && hold_back <= 0.9))
    throw sim::InputError{"hold_back is " + std::to_string(hold_back), "write a share of the points, from 0 to 0.9"};
  std::stop_source stop;
  bool interrupted = false;
  std::string json, text, profile;
  {
    py::gil_scoped_release unlocked;
    calibration::FitOptions options;
    options.seed = seed;
    options.hold_back = hold_back;
    options.shared = shared;
    options.only = only;
    options.start = profile_of(start);
    options.name = name;
    options.stop = stop.get_token();
    options.progress = [&](const std::string&) {
      py::gil_scoped_acquire locked;
      if (interrupted || PyErr_CheckSignals() == 0) return;
      PyErr_Clear();
      interrupted = true;
      stop.request_stop();
    };
    calibration::Hints hints;
    if (op) hints.op = op_of(*op);
    hints.system = system;
    hints.ranks = ranks;
    const auto measured = measurements_of(files, hints);
    auto result = calibration::fit(measured, options);
    result.notes.insert(result.notes.begin(), measured.notes.begin(), measured.notes.end());
    json = calibration::json_report(result);
    text = calibration::text_report(result);
    profile = calibration::profile_text(result, options);
  }
  if (interrupted) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw py::error_already_set{};
  }
  return py::make_tuple(json, text, profile);
}

}  // namespace

void add_calibration(py::module_& m) {
  m.def("diagnose", &diagnose, py::arg("files"), py::kw_only(), py::arg("figures"), py::arg("topology"),
        py::arg("params"), py::arg("profile"), py::arg("gpu"), py::arg("nodes"), py::arg("gpus"), py::arg("nics"),
        py::arg("nic_gbps"), py::arg("network"), py::arg("nccl"), py::arg("env"), py::arg("threads"));
  m.def("fit", &fit, py::arg("files"), py::kw_only(), py::arg("op"), py::arg("system"), py::arg("ranks"),
        py::arg("start"), py::arg("only"), py::arg("shared"), py::arg("hold_back"), py::arg("seed"), py::arg("name"));
}

}  // namespace linkcast::bindings
