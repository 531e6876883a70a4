// The options that name a machine, the part of it that takes part, and the library on it: the same in every command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkcast/models/nccl/types.hpp"
#include "linkcast/topologies/fabric.hpp"
#include "words.hpp"

namespace linkcast::cli {

struct MachineOptions {
  std::string topology, nodes, gpus, ranks;
  std::vector<std::string> set;

  void add_to(Form& form);
};

struct LibraryOptions {
  std::string nccl;
  std::vector<std::string> env;

  void add_to(Form& form);
};

struct Machine {
  topologies::Fabric fabric;
  std::vector<int> ranks;  // which of the machine's GPUs take part, in the order of the new ranks
  int of = 0;              // GPUs of the whole machine
};

struct Library {
  models::nccl::Version version;
  models::nccl::Environment env;
};

/// How many nodes are asked for; notes a problem where that is no number.
int nodes_of(const MachineOptions& options, Problems& problems);
/// Throws sim::InputError (topology) and UsageError (ranks).
Machine load_machine(const MachineOptions& options);
/// The slice that --gpus or --ranks ask for, of `all` GPUs of `name`. Throws UsageError.
std::vector<int> chosen_ranks(const MachineOptions& options, int all, const std::string& name);

Library read_library(const LibraryOptions& options, Problems& problems);
/// Says which variables change nothing here.
void warn_of_idle_variables(const Library& library, Log& log);

/// The catalog's name of the GPUs: "h100-sxm".
std::string gpu_name(const topologies::Fabric& fabric);

}  // namespace linkcast::cli
