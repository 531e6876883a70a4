// All that was measured as one list of numbers to be explained, each with what a healthy machine gives and how far that
// may be off. Knows no fault.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkcast/calibration/diagnose.hpp"
#include "predict.hpp"

namespace linkcast::calibration::diagnosis {

enum class Kind : unsigned char {
  collective,      // GB/s of a call (size / time), from the simulation
  pair,            // GPU to GPU, peer access on
  staged_pair,     // GPU to GPU with peer access off
  test,            // between two hosts (perftest)
  expert,          // dispatch and combine of experts
  shape,           // plateau over peak of a series: no machine needs to be known
  staged_over_p2p  // a pair's copy with peer access over the one without
};

/// How a figure may have been meant.
enum class Reading : unsigned char { as_said, open };

struct Observation {
  Kind kind = Kind::collective;
  std::string what;
  std::optional<sim::Bytes> size;
  double measured = 0;    // GB/s; of a collective size / time, when read as said
  double base = 0;        // the same of a healthy machine
  double shown = 1;       // measured x shown is what people read (busbw factor)
  std::string group;      // shares one unknown bias: "two nodes, from 64 MiB"
  double bias = 0.08;     // scale of that bias, of ln
  double scatter = 0.03;  // scale of what is left, of ln
  double weight = 1;
  // collectives
  int probe = -1;         // index into Evidence::probes
  std::size_t point = 0;  // which of the probe's sizes
  Reading reading = Reading::as_said;
  bool size_open = false;  // no size was said: one large enough is assumed
  bool average = false;
  std::string algorithm, bound_by;  // of the healthy prediction
  // pairs
  int matrix = -1, from = -1, to = -1;
  bool over_nvlink = false, bidirectional = false, to_host = false;
  // tests
  MemoryKind memory = MemoryKind::unknown;
  int nics = 1, qps = 0;
  std::string host_from, host_to;
  // where in a cluster
  bool several_nodes = false;
};

struct Evidence {
  std::vector<Probe> probes;
  std::vector<Observation> seen;
  std::vector<DiagnosisRow> rows;  // all points, also those that are not scored
  std::vector<std::string> notes;
  std::map<std::string, std::string> crippling;  // variables that were set and cost bandwidth
  bool said_tcp = false;
};

/// Adds what the series say. Expectations by simulation.
void observe_series(const std::vector<Series>& series, const Predictor& predictor, const DiagnoseOptions& options,
                    Evidence& evidence);
void observe_figures(const std::vector<Figure>& figures, const Predictor& predictor, const DiagnoseOptions& options,
                     Evidence& evidence);
void observe_matrices(const std::vector<PairMatrix>& matrices, const Predictor& predictor, Evidence& evidence);
void observe_tests(const std::vector<PairTest>& tests, const Predictor& predictor, Evidence& evidence);

/// Scale of the unknown bias of a prediction and of the scatter around it (of ln time).
struct Interval {
  double bias = 0.08, scatter = 0.03;
};
Interval interval_of(const Machine& machine, models::nccl::Op op, bool several_nodes, sim::Bytes size);

/// The healthy probe of this machine: variables that cost bandwidth are taken out and kept in `crippling`.
Probe healthy_probe(const Machine& machine, const DiagnoseOptions& options,
                    const std::map<std::string, std::string>& env, Evidence& evidence);
/// The fault that a variable of `crippling` is; empty: none that is known.
std::string_view cause_of_variable(std::string_view name);
std::string size_words(sim::Bytes size);

}  // namespace linkcast::calibration::diagnosis
