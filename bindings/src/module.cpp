// The module linkcast._core: what the package's Python layer calls. It returns plain lists, which the layer turns into
// NumPy columns, so that the module depends on no version of NumPy. The interpreter lock is released while anything is
// simulated and taken back between two sizes, where Ctrl-C is seen.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration.hpp"
#include "convert.hpp"
#include "linkcast/calibration/validate.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/account.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/topologies/fabric.hpp"
#include "linkcast/workloads/collective.hpp"
#include "linkcast/workloads/sizes.hpp"
#include "planning.hpp"
#include "replay.hpp"
#include "studies.hpp"

namespace py = pybind11;

namespace linkcast::bindings {
namespace {

using topologies::Cluster;
using topologies::Fabric;
using Words = std::map<std::string, std::string>;

std::shared_ptr<const topologies::Profile> profile_of(const std::optional<std::string>& path) {
  return path ? topologies::Profile::read(*path) : nullptr;
}

Fabric load(const std::string& name_or_path, int nodes, const Words& params,
            const std::optional<std::string>& profile) {
  py::gil_scoped_release unlocked;
  return topologies::load(name_or_path, {nodes, params, profile_of(profile)});
}

Cluster load_cluster(const std::string& name_or_path, int nodes, const Words& params,
                     const std::optional<std::string>& network, const std::optional<std::string>& routing,
                     const std::optional<std::string>& profile) {
  py::gil_scoped_release unlocked;
  topologies::ClusterOptions options;
  options.nodes = nodes;
  options.params = params;
  options.profile = profile_of(profile);
  options.fabric = network;
  if (routing) options.routing = routing_of(*routing);
  return topologies::load_cluster(name_or_path, options);
}

std::vector<std::string> gpu_names(const Fabric& fabric) {
  std::vector<std::string> names;
  for (const auto id : fabric.gpus()) names.push_back(fabric.devices()[static_cast<std::size_t>(id)].name);
  return names;
}

std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> out;
  for (const auto size : workloads::parse_sizes(text)) out.push_back(size.count());
  return out;
}

/// Microseconds as people type them; what Time cannot hold is refused.
std::optional<sim::Time> floor_time(std::optional<double> us) {
  if (!us) return std::nullopt;
  if (!(*us >= 0 && *us <= 1e9)) {
    throw sim::InputError{"launch_floor_us is " + std::to_string(*us), "write microseconds, from 0 to 10^9"};
  }
  return sim::Time::from_us(*us);
}

struct CollectiveArguments {
  std::string op, nccl, launch, fidelity, dtype;
  Words env;
  std::optional<double> launch_floor_us;
  bool in_place = false, registered = false, symmetric_windows = false;
  int root = 0;
};

py::dict collective(const Cluster& cluster, const std::vector<std::int64_t>& sizes, const CollectiveArguments& a) {
  workloads::CommunicatorOptions options;
  options.nccl = models::nccl::Version::parse(a.nccl);
  for (const auto& [name, value] : a.env) options.env.set(name, value);
  options.launch = launch_of(a.launch);
  options.launch_floor = floor_time(a.launch_floor_us);
  options.fidelity = fidelity_of(a.fidelity);

  models::nccl::Call call;
  call.op = op_of(a.op);
  call.dtype = a.dtype;
  call.in_place = a.in_place;
  call.root = a.root;
  call.registered = a.registered;
  call.symmetric_windows = a.symmetric_windows;

  std::vector<workloads::CollectiveRow> rows;
  {
    py::gil_scoped_release unlocked;
    const workloads::CollectiveModel model{cluster, options};
    for (const auto size : sizes) {
      call.bytes = sim::Bytes{size};
      rows.push_back(model.run(call));
      py::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set{};
    }
  }

  std::vector<std::int64_t> size_bytes, channels;
  std::vector<double> time_us, algbw, busbw;
  std::vector<std::string> algorithm, protocol, bound_by;
  for (const auto& row : rows) {
    size_bytes.push_back(row.size.count());
    time_us.push_back(row.time.us());
    algbw.push_back(row.algbw_GBps);
    busbw.push_back(row.busbw_GBps);
    algorithm.push_back(row.algorithm);
    protocol.push_back(row.protocol);
    channels.push_back(row.channels);
    bound_by.push_back(row.bound_by);
  }
  py::dict account;
  for (std::size_t i = 0; i < sim::cause_count; ++i) {
    const auto cause = static_cast<sim::Cause>(i);
    if (std::ranges::none_of(rows, [cause](const auto& row) { return row.account.tells(cause); })) continue;
    std::vector<double> us;
    for (const auto& row : rows) us.push_back(row.account[cause].us());
    account[py::str(std::string{sim::name_of(cause)})] = us;
  }
  py::dict out;
  out["op"] = std::string{models::nccl::name_of(call.op)};
  out["size_bytes"] = size_bytes;
  out["time_us"] = time_us;
  out["algbw_GBps"] = algbw;
  out["busbw_GBps"] = busbw;
  out["algorithm"] = algorithm;
  out["protocol"] = protocol;
  out["channels"] = channels;
  out["bound_by"] = bound_by;
  out["account"] = account;
  return out;
}

py::dict summary_of(const calibration::ErrorSummary& s) {
  py::dict out;
  out["points"] = s.points;
  out["median_abs_rel_error"] = s.median_abs_rel_error;
  out["p90_abs_rel_error"] = s.p90_abs_rel_error;
  out["bias"] = s.bias;
  return out;
}

py::dict validate(const std::vector<std::string>& paths, const std::string& fidelity, const std::string& floor,
                  int threads, const std::optional<std::string>& op, const std::optional<std::string>& system,
                  std::optional<int> ranks, const std::optional<std::string>& profile) {
  calibration::ValidateOptions options;
  options.profile = profile_of(profile);
  options.fidelity = fidelity_of(fidelity);
  options.floor = floor_of(floor);
  options.threads = threads;
  calibration::Hints hints;
  if (op) hints.op = op_of(*op);
  hints.system = system;
  hints.ranks = ranks;
  calibration::Validation result;
  {
    py::gil_scoped_release unlocked;
    std::vector<calibration::Series> series;
    for (const auto& path : paths) {
      auto more = calibration::read_series(path, hints);
      for (auto& s : more) series.push_back(std::move(s));
    }
    result = calibration::validate(std::move(series), options);
  }
  py::list series;
  for (const auto& s : result.series) {
    py::dict entry = summary_of(s.all);
    entry["id"] = s.series.id;
    entry["system"] = s.series.system.value_or("");
    entry["op"] = std::string{models::nccl::name_of(s.series.op)};
    entry["ranks"] = s.series.ranks;
    entry["healthy"] = s.series.healthy;
    entry["skipped"] = s.skipped;
    std::vector<std::int64_t> size_bytes;
    std::vector<double> measured, predicted;
    std::vector<std::string> algorithm, protocol;
    for (const auto& row : s.rows) {
      size_bytes.push_back(row.measured.size.count());
      measured.push_back(row.measured.time.us());
      predicted.push_back(row.predicted.us());
      algorithm.push_back(row.algorithm);
      protocol.push_back(row.protocol);
    }
    entry["rows"] =
        py::dict(py::arg("size_bytes") = size_bytes, py::arg("measured_us") = measured,
                 py::arg("predicted_us") = predicted, py::arg("algorithm") = algorithm, py::arg("protocol") = protocol);
    series.append(std::move(entry));
  }
  py::dict families;
  for (const auto& [name, summary] : result.families) families[py::str(name)] = summary_of(summary);
  py::dict out;
  out["series"] = std::move(series);
  out["families"] = std::move(families);
  out["overall"] = summary_of(result.all);
  out["below_1M"] = summary_of(result.below_1M);
  out["from_1M_to_64M"] = summary_of(result.from_1M_to_64M);
  out["from_64M"] = summary_of(result.from_64M);
  return out;
}

}  // namespace
}  // namespace linkcast::bindings

PYBIND11_MODULE(_core, m) {
  using namespace linkcast::bindings;
  m.doc() = "Linkcast's compiled part; use the package linkcast.";
  m.attr("__version__") = LINKCAST_VERSION;
  register_errors(m);

  py::class_<Fabric>(m, "Fabric")
      .def_static("load", &load, py::arg("name_or_path"), py::arg("nodes"), py::arg("params"), py::arg("profile"))
      .def_property_readonly("name", [](const Fabric& f) { return f.name(); })
      .def_property_readonly("gpus", &gpu_names)
      .def_property_readonly("bisection_GBps",
                             [](const Fabric& f) {
                               py::gil_scoped_release unlocked;
                               return f.bisection().GBps();
                             })
      .def(
          "slice", [](const Fabric& f, const std::vector<int>& ranks) { return f.slice(ranks); }, py::arg("ranks"));

  py::class_<Cluster>(m, "Cluster")
      .def(py::init<Fabric>(), py::arg("machine"))
      .def_static("load", &load_cluster, py::arg("name_or_path"), py::arg("nodes"), py::arg("params"),
                  py::arg("network"), py::arg("routing"), py::arg("profile"))
      .def_property_readonly("name", [](const Cluster& c) { return c.name(); })
      .def_property_readonly("nodes", &Cluster::nodes)
      .def_property_readonly("ranks", &Cluster::ranks)
      .def_property_readonly("gpus_per_node", &Cluster::gpus_per_node)
      .def_property_readonly("assumptions",
                             [](const Cluster& c) {
                               return std::vector<std::string>{c.assumptions().begin(), c.assumptions().end()};
                             })
      .def(
          "job",
          [](const Cluster& c, const std::vector<int>& nodes, const std::vector<int>& gpus) {
            return c.job(nodes, gpus);
          },
          py::arg("nodes"), py::arg("gpus"));
  py::implicitly_convertible<Fabric, Cluster>();

  add_replay(m);
  add_calibration(m);
  add_planning(m);
  add_studies(m);
  m.def("catalog_names", &linkcast::topologies::catalog_names);
  m.def("op_names", &linkcast::models::nccl::op_names);
  m.def("parse_sizes", &parse_sizes, py::arg("text"));
  m.def(
      "collective",
      [](const Cluster& cluster, const std::string& op, const std::vector<std::int64_t>& sizes, const std::string& nccl,
         const Words& env, const std::string& launch, std::optional<double> launch_floor_us,
         const std::string& fidelity, const std::string& dtype, bool in_place, int root, bool registered,
         bool symmetric_windows) {
        return collective(
            cluster, sizes,
            {op, nccl, launch, fidelity, dtype, env, launch_floor_us, in_place, registered, symmetric_windows, root});
      },
      py::arg("cluster"), py::arg("op"), py::arg("sizes"), py::kw_only(), py::arg("nccl"), py::arg("env"),
      py::arg("launch"), py::arg("launch_floor_us"), py::arg("fidelity"), py::arg("dtype"), py::arg("in_place"),
      py::arg("root"), py::arg("registered"), py::arg("symmetric_windows"));
  m.def("validate", &validate, py::arg("paths"), py::kw_only(), py::arg("fidelity"), py::arg("floor"),
        py::arg("threads"), py::arg("op"), py::arg("system"), py::arg("ranks"), py::arg("profile"));
}
