// What a GPU can do for a collective: how fast one channel (one thread block) copies and reduces, how long a
// hand-over between two GPUs takes per protocol, how long a kernel takes to start. One set per kind of GPU;
// the numbers and their sources stand in topologies/catalog/parts. Knows no topology.
#pragma once

#include <string>

#include "linkcast/sim/units.hpp"

namespace linkcast::models {

/// Costs of one protocol on one kind of GPU. Right for messages between GPUs of the same kind.
struct ProtocolCost {
  sim::Rate send;  // one channel, payload bytes per second: copying or reducing into the peer's FIFO or buffer
  sim::Rate all = sim::Rate::unlimited();  // all channels of a GPU together: they share its caches and its NVLink port
  sim::Rate local;                         // one channel: the last step, out of the own FIFO into the result; as `send`
                                           // where nothing else is known
  sim::Time overhead;  // the GPU's own work per unit (slice, or chunk of LL/LL128) before bytes move
  sim::Time hop;       // from the end (LL, LL128: the start) of the writer's work until the next GPU can use it
};

struct GpuModel {
  std::string name;            // "h100-sxm"
  int compute_capability = 0;  // 90
  std::string architecture;    // "Hopper"
  ProtocolCost ll, ll128, simple;
  sim::Time kernel_start;      // a kernel's first instruction in all blocks, and its end: what no message size avoids
  sim::Time jitter;            // variance of a channel's progress per unit of time (see workloads/jitter.hpp)
  sim::Rate p2p_channel;       // one channel of send/recv in Simple: a copy, no reduction, its own split of threads
  sim::Rate memory;            // HBM/GDDR, one direction of a copy
  sim::Bytes memory_capacity;  // 0: not known
  int sms = 0;                 // streaming multiprocessors; a channel keeps one of them; 0: not known
  double peak_bf16 = 0;        // TFLOP/s of the tensor cores, dense; of Volta and Turing: FP16; 0: not known
  double peak_fp8 = 0, peak_fp4 = 0;  // the same; 0: the cores do not know it
  sim::Rate copy_engine;              // one copy engine to a peer
  sim::Time copy_engine_start;        // fixed cost of one copy
  double nvls_efficiency = 0;  // in-switch reduction and multicast: share of the bare NVLink rate on the wire; 0: none
  sim::Time nvls_latency;      // flag rounds through the switch before the first and after the last chunk
  sim::Time nvls_overhead;     // per chunk
  sim::Time nvls_tree_overhead;  // per chunk of all heads, where machines form a tree (NVLSTree)
  sim::Time nvls_jitter;         // as `jitter`, for NVLS
  sim::Time nvls_jitter_bound = sim::Time::microseconds(345);  // after which the heads' flags pull a late channel back
};

/// How the host launches (nccl-tests: -g n, one process per GPU, -G).
enum class LaunchMode { single_process, multi_process, graph };

/// Host-side costs; of a host and its launch mode, not of a GPU.
struct HostModel {
  sim::Time launch_single_process_per_gpu;  // one thread enqueues for every GPU in turn
  sim::Time launch_multi_process;           // one process per GPU
  sim::Time launch_graph;                   // replay of a captured graph
  sim::Time launch_p2p;                     // more for a group of sends and receives than for a collective, per GPU
};

}  // namespace linkcast::models
