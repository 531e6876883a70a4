// What the simulator gives for a call on a machine, whole or with a fault. Answers are kept: many faults ask alike.
// Knows no measurement.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/workloads/collective.hpp"
#include "machine.hpp"

namespace linkcast::calibration::diagnosis {

/// A communicator and the calls on it.
struct Probe {
  models::nccl::Op op = models::nccl::Op::all_reduce;
  int nodes = 1, gpus = 8;  // of each node
  std::optional<models::nccl::Version> nccl;
  std::map<std::string, std::string> env;
  models::LaunchMode launch = models::LaunchMode::multi_process;
  std::string dtype = "float";
  bool in_place = false;
  std::vector<sim::Bytes> sizes;

  int ranks() const { return nodes * gpus; }
  std::string key() const;
};

struct Prediction {
  double GBps = 0;  // size / time
  std::string algorithm, protocol, bound_by;
};

/// What a fault changes of the library, beside the machine.
struct Software {
  std::map<std::string, std::string> env;
  std::optional<models::nccl::Version> nccl;
  std::optional<sim::Time> floor;
  bool none() const { return env.empty() && !nccl && !floor; }
  std::string key() const;
};

class Predictor {
 public:
  explicit Predictor(Machine machine) : machine_{std::move(machine)} {}
  const Machine& machine() const { return machine_; }
  /// Of each size; empty where there is no such machine or communicator. Safe to call from several threads.
  std::vector<Prediction> collective(const Probe& probe, const Edit& edit, const Software& software) const;
  /// Why the whole machine cannot be simulated for this probe; empty where it can.
  std::string problem(const Probe& probe) const;

 private:
  std::vector<Prediction> simulate(const Probe& probe, const Edit& edit, const Software& software) const;
  Machine machine_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::vector<Prediction>> known_;
  mutable std::map<std::string, std::shared_ptr<const models::nccl::Communicator>> chosen_;
};

}  // namespace linkcast::calibration::diagnosis
