// The options that name a machine, the part of it that takes part, and the library on it: the same in every command.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/models/nccl/tuner.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "words.hpp"

namespace linkcast::cli {

struct MachineOptions {
  std::string topology, nodes, gpus, ranks, nics, network, routing, placement, hosts, seed, profile;
  std::vector<std::string> set;

  void add_to(Form& form);
};

struct LibraryOptions {
  std::string nccl, tuner;
  std::vector<std::string> env;

  void add_to(Form& form);
};

struct Machine {
  topologies::Cluster cluster;  // the nodes that take part, each with the GPUs that do
  std::vector<int> ranks;       // which of each node's GPUs take part, in the order of the new ranks
  int of = 0;                   // GPUs of a whole node
  int of_nodes = 1;             // nodes of the whole cluster
  const topologies::Fabric& fabric() const { return cluster.machine(0); }
};

struct Library {
  models::nccl::Version version;
  models::nccl::Environment env;
  std::shared_ptr<const models::nccl::Tuner> tuner;  // null: NCCL chooses
};

/// Throws sim::InputError (topology) and UsageError (nodes, ranks, placement). Where `env` takes NCCL off InfiniBand
/// verbs (NCCL_IB_DISABLE, NCCL_NET=Socket) and no --network is asked for, the same NICs carry TCP.
Machine load_machine(const MachineOptions& options, const models::nccl::Environment& env);

Library read_library(const LibraryOptions& options, Problems& problems);
/// Says which variables change nothing here.
void warn_of_idle_variables(const Library& library, Log& log);

/// The catalog's name of the GPUs: "h100-sxm".
std::string gpu_name(const topologies::Fabric& fabric);

}  // namespace linkcast::cli
