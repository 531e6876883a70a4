// The numbers of a GPU, a protocol, a host and a kind of network as one table each: key in parts/*.yaml -> member. A
// new number is one line here and one in parts/. Knows nothing else.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "linkcast/models/gpu.hpp"
#include "linkcast/models/network.hpp"

namespace linkcast::topologies {

template <typename T>
using Member = std::variant<sim::Rate T::*, sim::Time T::*, sim::Bytes T::*, double T::*, int T::*>;

template <typename T>
struct Field {
  std::string_view key;
  Member<T> member;
  bool required = true;  // false: the default of the struct stands where a part does not say it
  /// What is possible at all, in base units (seconds, bytes per second, bare): beyond it a number is a slip of the pen.
  double low = 0, high = 1e30;
};

inline constexpr double us = 1e-6, GBps = 1e9;

using models::GpuModel;
using models::HostModel;
using models::NetworkModel;
using models::ProtocolCost;

inline constexpr std::array protocol_fields{
    Field<ProtocolCost>{"send", &ProtocolCost::send, true, 0.01 * GBps, 2000 * GBps},
    Field<ProtocolCost>{"all", &ProtocolCost::all, false, 0.1 * GBps, 20000 * GBps},
    Field<ProtocolCost>{"local", &ProtocolCost::local, false, 0.01 * GBps, 5000 * GBps},
    Field<ProtocolCost>{"overhead", &ProtocolCost::overhead, true, 0, 1000 * us},
    Field<ProtocolCost>{"hop", &ProtocolCost::hop, true, 0, 1000 * us},
};

inline constexpr std::array gpu_fields{
    Field<GpuModel>{"compute_capability", &GpuModel::compute_capability},
    Field<GpuModel>{"kernel_start", &GpuModel::kernel_start, true, 0, 1000 * us},
    Field<GpuModel>{"memory", &GpuModel::memory, true, 1 * GBps, 100000 * GBps},
    Field<GpuModel>{"memory_capacity", &GpuModel::memory_capacity, false},
    Field<GpuModel>{"sms", &GpuModel::sms, false},
    Field<GpuModel>{"peak_bf16", &GpuModel::peak_bf16, false},
    Field<GpuModel>{"peak_fp8", &GpuModel::peak_fp8, false},
    Field<GpuModel>{"peak_fp4", &GpuModel::peak_fp4, false},
    Field<GpuModel>{"copy_engine", &GpuModel::copy_engine, true, 0.1 * GBps, 20000 * GBps},
    Field<GpuModel>{"copy_engine_start", &GpuModel::copy_engine_start, true, 0, 10000 * us},
    Field<GpuModel>{"p2p_channel", &GpuModel::p2p_channel, true, 0.01 * GBps, 2000 * GBps},
    Field<GpuModel>{"jitter", &GpuModel::jitter, false, 0, 10000 * us},
    Field<GpuModel>{"nvls_efficiency", &GpuModel::nvls_efficiency, false, 0, 1},
    Field<GpuModel>{"nvls_latency", &GpuModel::nvls_latency, false, 0, 1000 * us},
    Field<GpuModel>{"nvls_overhead", &GpuModel::nvls_overhead, false, 0, 1000 * us},
    Field<GpuModel>{"nvls_tree_overhead", &GpuModel::nvls_tree_overhead, false, 0, 1000 * us},
    Field<GpuModel>{"nvls_jitter", &GpuModel::nvls_jitter, false, 0, 10000 * us},
    Field<GpuModel>{"nvls_jitter_bound", &GpuModel::nvls_jitter_bound, false, 0, 100000 * us},
};

inline constexpr std::array host_fields{
    Field<HostModel>{"launch_single_process_per_gpu", &HostModel::launch_single_process_per_gpu, true, 0, 10000 * us},
    Field<HostModel>{"launch_multi_process", &HostModel::launch_multi_process, true, 0, 10000 * us},
    Field<HostModel>{"launch_graph", &HostModel::launch_graph, true, 0, 10000 * us},
    Field<HostModel>{"launch_p2p", &HostModel::launch_p2p, false, 0, 10000 * us},
};

inline constexpr std::array network_fields{
    Field<NetworkModel>{"latency", &NetworkModel::latency, true, 0, 100000 * us},
    Field<NetworkModel>{"simple", &NetworkModel::simple, true, 0, 10000 * us},
    Field<NetworkModel>{"message", &NetworkModel::message, true, 0, 10000 * us},
    Field<NetworkModel>{"p2p_efficiency", &NetworkModel::p2p_efficiency, false, 0.01, 1},
    Field<NetworkModel>{"reduction", &NetworkModel::reduction, false, 0, 10000 * us},
    Field<NetworkModel>{"flush", &NetworkModel::flush, false, 0, 10000 * us},
    Field<NetworkModel>{"flow_rate", &NetworkModel::flow_rate, false, 0.001 * GBps, 2000 * GBps},
};

}  // namespace linkcast::topologies
