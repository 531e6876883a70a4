// linkcast._core.replay: traces, and scenarios that name one or a training step, as plain lists. Knows no NumPy.
#include "replay.hpp"

#include <pybind11/stl.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "convert.hpp"
#include "linkcast/workloads/recorded_scenario.hpp"

namespace linkcast::bindings {
namespace {

namespace py = pybind11;
using topologies::Cluster;
using workloads::RecordingResult;

py::dict dict_of(const workloads::RecordedScenario& s, const RecordingResult& r) {
  py::dict out;
  out["title"] = s.title;
  out["topology"] = s.cluster.name();
  out["nodes"] = s.cluster.nodes();
  out["world"] = s.recording.world;
  out["steps"] = s.recording.steps;
  out["end_us"] = r.end.us();
  out["mfu"] = r.mfu;
  out["tokens_per_s"] = r.tokens_per_second;
  std::map<std::string, double> path;
  for (const auto& [name, t] : r.critical_path) path[name] = t.us();
  out["critical_path_us"] = path;
  py::list ranks;
  for (const auto& k : r.by_rank) {
    std::map<std::string, double> exposed;
    for (const auto& [name, t] : k.exposed) exposed[name] = t.us();
    ranks.append(py::dict(py::arg("rank") = k.rank, py::arg("compute_us") = k.compute.us(),
                          py::arg("communication_us") = k.communication.us(), py::arg("exposed_us") = exposed,
                          py::arg("bubble_us") = k.bubble.us(), py::arg("wait_us") = k.wait.us(),
                          py::arg("idle_us") = k.idle.us()));
  }
  out["by_rank"] = std::move(ranks);
  py::list totals;
  for (const auto& t : r.totals)
    totals.append(py::dict(
        py::arg("op") = t.operation, py::arg("communicator") = t.communicator, py::arg("ranks") = t.ranks,
        py::arg("size_bytes") = t.bytes.count(), py::arg("count") = t.count, py::arg("time_us") = t.time.us(),
        py::arg("shortest_us") = t.shortest.us(), py::arg("longest_us") = t.longest.us(),
        py::arg("recorded_us") = t.measured.us(), py::arg("recorded_count") = t.measured_count,
        py::arg("algorithm") = t.algorithm, py::arg("protocol") = t.protocol, py::arg("bound_by") = t.bound_by));
  out["totals"] = std::move(totals);
  py::list skipped;
  for (const auto& k : s.recording.report->skipped)
    skipped.append(py::dict(py::arg("why") = k.why, py::arg("count") = k.count, py::arg("first") = k.first));
  out["format"] = s.recording.report->format;
  out["records"] = s.recording.report->records;
  out["used"] = s.recording.report->used;
  out["skipped"] = std::move(skipped);
  auto notes = s.recording.report->notes;
  notes.insert(notes.end(), r.notes.begin(), r.notes.end());
  out["notes"] = notes;
  return out;
}

py::dict replay(const std::vector<std::string>& files, const std::optional<Cluster>& cluster,
                const std::vector<std::string>& set, const std::string& format, const std::vector<std::string>& beside,
                int world, const std::string& nccl, const std::map<std::string, std::string>& env, double compute_scale,
                const std::map<int, double>& slow_ranks, double jitter, std::uint64_t seed, bool share,
                bool keep_communication) {
  std::optional<workloads::RecordedScenario> scenario;
  RecordingResult result;
  {
    py::gil_scoped_release unlocked;
    if (cluster) {
      workloads::RecordingReplayOptions options;
      if (!nccl.empty()) options.library.nccl = models::nccl::Version::parse(nccl);
      for (const auto& [key, value] : env) options.library.env.set(key, value);
      options.compute_scale = compute_scale;
      options.slow_ranks = slow_ranks;
      options.jitter = jitter;
      options.seed = seed;
      options.share = share;
      options.keep_communication = keep_communication;
      workloads::RecordingOptions reading;
      reading.format = format;
      reading.beside = beside;
      reading.world = world;
      scenario.emplace(workloads::RecordedScenario{files.empty() ? std::string{} : files.front(), *cluster,
                                                   workloads::open_recording(files, reading), std::move(options)});
    } else {
      scenario = workloads::read_recorded_scenario(files.at(0), set);
    }
    result = workloads::replay_recording(scenario->recording, scenario->cluster, scenario->options);
  }
  return dict_of(*scenario, result);
}

}  // namespace

void add_replay(py::module_& m) {
  m.def("replay", &replay, py::arg("files"), py::arg("cluster"), py::kw_only(), py::arg("set"), py::arg("format"),
        py::arg("beside"), py::arg("world"), py::arg("nccl"), py::arg("env"), py::arg("compute_scale"),
        py::arg("slow_ranks"), py::arg("jitter"), py::arg("seed"), py::arg("share"), py::arg("keep_communication"));
}

}  // namespace linkcast::bindings
