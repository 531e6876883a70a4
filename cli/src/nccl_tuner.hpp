// `linkcast nccl --write-tuner`: a file for NCCL's example tuner plugin, found by simulation.
#pragma once

#include <string>

#include "machine.hpp"

namespace linkcast::cli {

int write_tuner(const std::string& path, const Machine& machine, const Library& library, bool as_json, Io& io);

}  // namespace linkcast::cli
