// Published times of training steps (docs/formats.md, `rows:` of `model, gpu, n_gpus, tp, pp, …`) against what the
// step generator and the replay predict. Numbers that a source does not state come from documented defaults of the
// source's framework, or the row is listed as not predictable; nothing is set for a row or a file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/workloads/step.hpp"

namespace linkcast::calibration {

struct StepRow {
  std::string file, id;  // "dgxc-02", "dgxc-02-r001"
  std::string model, phase, gpu, framework, precision, zero, recompute, schedule, network, notes, tflops_kind, check;
  int gpus = 0, gpus_per_node = 0, sequence = 0;
  int tp = 0, pp = 0, cp = 0, ep = 0, etp = 0, dp = 0, vpp = 0, micro_batch = 0, global_batch = 0, accumulation = 0;
  int shard_group = 0;
  double nic_gbps = 0;  // of one GPU
  std::optional<bool> sequence_parallel;
  double layers_override = 0;
  double step_s = 0, tokens_per_s_per_gpu = 0, tokens_per_s = 0, model_tflops = 0, hw_tflops = 0;
};

/// The rows of a file of steps; throws sim::InputError with all that is wrong.
std::vector<StepRow> read_step_rows(std::string_view text, const std::string& where);
bool is_step_file(std::string_view text);

struct PredictedStep {
  StepRow row;
  std::string skipped;  // why it is not predicted; empty: it is
  bool odd = false;     // the row's own arithmetic does not hold: predicted, not counted
  bool fitted = false;  // of the half of the files on which efficiencies were fitted
  std::vector<std::string> assumed;
  std::string kind;  // of GPU, "h100-sxm bf16"
  double measured_s = 0, predicted_s = 0, compute_s = 0, bubble_s = 0;
  std::map<std::string, double> exposed_s;
  double memory_gb = 0;
  double error() const { return predicted_s / measured_s - 1; }
};

struct StepSummary {
  int rows = 0;
  double median_abs = 0, p90_abs = 0, median = 0;
};
struct ScalingRatio {
  std::string series;  // "dgxc-02 llama3.1-70b BF16"
  int from = 0, to = 0;
  double measured = 0, predicted = 0;  // step time per token and GPU against that of the smallest
  bool fitted = false;
};

struct StepValidation {
  std::vector<PredictedStep> rows;
  std::vector<ScalingRatio> ratios;
  std::map<std::string, StepSummary> by_file, by_kind;
  StepSummary all, fitted_half, other_half, ratio_all, ratio_fitted, ratio_other;
};

struct StepOptions {
  int threads = 0;
  std::map<std::string, double> efficiency;  // by kind: instead of the shipped (for the fit)
};

/// `cards`: by model name.
StepValidation validate_steps(std::vector<StepRow> rows, const std::map<std::string, workloads::ModelCard>& cards,
                              const StepOptions& options = {});
/// Model cards below a folder, by name; those that cannot be read are left out (their rows say so).
std::map<std::string, workloads::ModelCard> model_cards(const std::string& folder);
/// True: this file is of the half on which efficiencies are fitted (bit 4 of the FNV-1a of its id: of the
/// 64 bits one that puts files of every generation of GPUs into both halves).
bool in_fitted_half(std::string_view file);

std::string text_report(const StepValidation& v, bool every_row);
std::string json_report(const StepValidation& v);

}  // namespace linkcast::calibration
