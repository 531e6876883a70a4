// What may be the case: a healthy machine, or one with a fault of some size. Each is a change of what is simulated,
// with factors for what no topology expresses (docs/diagnose.md has their sources). Knows no measured value, except
// where a fault has to be placed (which GPU, which host).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "observe.hpp"

namespace linkcast::calibration::diagnosis {

struct Hypothesis {
  std::string cause;
  bool normal = false;
  double prior = 0;  // relative; hypotheses of one cause share the cause's
  Edit edit;
  Software software;
  std::function<double(const Observation&)> share;  // of what the simulation, or the healthy base, gives; empty: 1
  bool swap_reading = false;                        // figures whose reading is open are algbw where busbw was taken
  bool swap_labels = false;                         // even those that name it
  std::string says;                                 // what is the case, in words
  std::string confirm;
};

/// What of all the faults can be asked here.
struct Scene {
  bool nvlink = false, multicast = false;
  bool peers = true;                     // over PCIe, with the stock driver
  bool patched = false;                  // what is taken for healthy has peers that the stock driver denies
  bool inside = false, several = false;  // collectives in a machine, over machines
  bool pairs = false, tests = false, figures = false;
  int gpus = 8, nics = 0;
  double nic_gbps = 0;
  std::string network, switch_link;  // an NVLink that can be taken down, as an override names it
  int switch_width = 0;              // how many NVLinks it is
  int nvlinks = 0;                   // of one GPU
  std::string pcie;                  // "PCIe gen 4 x16": slot of a GPU; empty: none
  int lanes = 16;                    // of that slot
  double staged_share = 0;           // what a copy through host memory is to a copy between peers; 0: not known
  int compute_capability = 0;        // 0: not known
  bool gpu_known = true;
};
Scene scene_of(const Predictor& predictor, const Evidence& evidence);

/// Shares of the whole that a fault may leave, from `most` down to `least`, each a tenth below the one before. All
/// faults draw from the same steps, so that what was simulated for one is known for all. Every so many of them, where
/// one is as good as the next.
std::vector<double> severities(double least, double most, int every = 1);

/// A fault by its cause, its weight among the others, what it does in words, and the command that would confirm it.
inline Hypothesis fault(const char* cause, double prior, std::string says, const char* confirm) {
  Hypothesis h;
  h.cause = cause;
  h.prior = prior;
  h.says = std::move(says);
  h.confirm = confirm;
  return h;
}

std::vector<Hypothesis> hypotheses(const Scene& scene, const Evidence& evidence);

// Parts of the list, one file each.
void add_normal(const Scene& scene, const Evidence& evidence, std::vector<Hypothesis>& out);
void add_faults_inside(const Scene& scene, const Evidence& evidence, std::vector<Hypothesis>& out);
void add_faults_of_network(const Scene& scene, const Evidence& evidence, std::vector<Hypothesis>& out);
void add_faults_of_pairs(const Scene& scene, const Evidence& evidence, std::vector<Hypothesis>& out);

}  // namespace linkcast::calibration::diagnosis
