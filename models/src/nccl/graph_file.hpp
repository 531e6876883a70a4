// Channel graphs that the user prescribes (NCCL_GRAPH_FILE), in the XML that NCCL dumps with NCCL_GRAPH_DUMP_FILE.
// Opens the file that the variable names. Source: ncclTopoGetGraphFromXml of NCCL's graph/search.cc. Knows no search.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "nccl/search.hpp"

namespace linkcast::models::nccl {

struct Machine;

/// By NCCL's number: 0 ring, 1 tree, 2 CollNet chain, 3 NVLS, 4 CollNet direct. Throws sim::InputError.
std::map<int, Found> read_graphs(std::string_view text, const std::string& where, const Machine& machine, int cross_nic,
                                 bool inter);
/// The text of a file. Throws sim::InputError where it cannot be read.
std::string read_graph_file(const std::string& path);

}  // namespace linkcast::models::nccl
