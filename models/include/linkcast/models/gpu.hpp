// What a GPU can do for a collective: how fast one channel (one thread block) copies and reduces, how long a
// hand-over between two GPUs takes per protocol, how long a kernel takes to start. One set per kind of GPU;
// the numbers and their sources stand in topologies/catalog/parts. Knows no topology.
#pragma once

#include <string>

#include "linkcast/sim/units.hpp"

namespace linkcast::models {

/// Costs of one protocol on one kind of GPU. Right for messages between GPUs of the same kind.
struct ProtocolCost {
  sim::Rate copy;       // one channel, payload bytes per second: copying into the peer's FIFO or buffer
  sim::Rate reduce;     // one channel: reading two operands and writing one
  sim::Time overhead;   // the GPU's own work per unit (slice, or chunk of LL/LL128) before bytes move
  sim::Time hop;        // from the end of the writer's work until the reader on the next GPU can use it
};

struct GpuModel {
  std::string name;               // "h100-sxm"
  int compute_capability = 0;     // 90
  std::string architecture;       // "Hopper"
  ProtocolCost ll, ll128, simple;
  sim::Time kernel_start;         // from launch on the device until the first instruction of all blocks, and the end
  sim::Rate memory;               // HBM/GDDR, one direction of a copy
  sim::Rate copy_engine;          // one copy engine to a peer
  sim::Time copy_engine_start;    // fixed cost of one copy
  sim::Rate nvls;                 // wire rate of in-switch reduction and multicast per GPU and direction
  sim::Time nvls_overhead;        // per chunk: flag round through the switch
  sim::Rate nvls_channel;         // what the warps of one NVLS channel can move
};

/// How the host launches (nccl-tests: -g n, one process per GPU, -G).
enum class LaunchMode { single_process, multi_process, graph };

/// Host-side costs; of a host and its launch mode, not of a GPU.
struct HostModel {
  sim::Time launch_single_process_per_gpu;  // one thread enqueues for every GPU in turn
  sim::Time launch_multi_process;           // one process per GPU
  sim::Time launch_graph;                   // replay of a captured graph
};

}  // namespace linkcast::models
