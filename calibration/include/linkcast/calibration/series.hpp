// Measurements as people have them: one series of (size, time) points with what is known about the run.
// Readers for the corpus format (tests/data, docs/formats.md) and for nccl-tests' printed output.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/models/gpu.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::calibration {

struct Point {
  sim::Bytes size;
  sim::Time time;
};

struct Series {
  std::string id;  // file stem, or "log.txt#2" for the second run in a log
  std::string source, title, date;
  std::optional<std::string> system;  // catalog name
  int nodes = 1, gpus_per_node = 0, ranks = 0;
  std::string fabric;     // ib, roce, …; empty within a node
  int nics_per_node = 0;  // 0: not stated
  double nic_gbps = 0;    // of one, Gb/s; 0: not stated
  std::optional<models::nccl::Version> nccl;
  std::map<std::string, std::string> env;
  std::string algo, net;  // what the source says in its own words: "not forced", "NCCL ring test"; "Socket"
  std::optional<models::LaunchMode> launch;  // nothing: the source does not say
  bool cuda_graph = false;
  std::string machine_notes, notes, cause;
  models::nccl::Op op = models::nccl::Op::all_reduce;
  std::string dtype = "float", redop = "sum";
  bool in_place = false;
  bool healthy = true;
  bool time_derived_from_busbw = false;
  bool cpu_time = false;       // nccl-tests -C: the host's time to enqueue, not the collective's
  bool wrong_results = false;  // the tool's own check of what the ranks received failed
  std::string cuda;
  std::vector<std::string> devices;  // GPU names of an nccl-tests log
  int skipped_lines = 0;             // lines of the log that are neither table nor header
  std::vector<std::string> remarks;  // what the reader concluded or left out, in sentences
  std::vector<Point> points;         // by size
};

/// What the caller knows and a log may not say; used only where the log is silent.
struct Hints {
  std::optional<models::nccl::Op> op;
  std::optional<int> ranks;
  std::optional<std::string> system;  // this one also overrides what the GPU names suggest
};

struct Reading {
  std::vector<Series> series;
  std::vector<std::string> notes;  // files of a folder that hold no collective measurement, and why
};

/// A file or a folder (recursively: *.yaml of kind `collective`, *.json, *.txt, *.log, *.out). Throws
/// sim::InputError with every problem of every file.
Reading read_measurements(const std::filesystem::path& path, const Hints& hints = {});
/// The same without the notes.
std::vector<Series> read_series(const std::filesystem::path& path, const Hints& hints = {});

std::vector<Series> read_corpus_yaml(std::string_view text, const std::string& where);
/// Every run in an nccl-tests log; other lines (NCCL INFO, MPI noise) are skipped and counted. Out-of-place and
/// in-place columns become two series. A row that is cut in the middle is an error at its place.
std::vector<Series> read_nccl_tests(std::string_view text, const std::string& where, const Hints& hints = {});
/// The file that nccl-tests writes with -J. Of its `env` only NCCL_* is kept.
std::vector<Series> read_nccl_tests_json(std::string_view text, const std::string& where, const Hints& hints = {});

}  // namespace linkcast::calibration
