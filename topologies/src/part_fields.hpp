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
};

using models::GpuModel;
using models::HostModel;
using models::NetworkModel;
using models::ProtocolCost;

inline constexpr std::array protocol_fields{
    Field<ProtocolCost>{"send", &ProtocolCost::send},   Field<ProtocolCost>{"all", &ProtocolCost::all, false},
    Field<ProtocolCost>{"local", &ProtocolCost::local, false}, Field<ProtocolCost>{"overhead", &ProtocolCost::overhead},
    Field<ProtocolCost>{"hop", &ProtocolCost::hop},
};

inline constexpr std::array gpu_fields{
    Field<GpuModel>{"compute_capability", &GpuModel::compute_capability},
    Field<GpuModel>{"kernel_start", &GpuModel::kernel_start},
    Field<GpuModel>{"memory", &GpuModel::memory},
    Field<GpuModel>{"memory_capacity", &GpuModel::memory_capacity, false},
    Field<GpuModel>{"sms", &GpuModel::sms, false},
    Field<GpuModel>{"peak_bf16", &GpuModel::peak_bf16, false},
    Field<GpuModel>{"peak_fp8", &GpuModel::peak_fp8, false},
    Field<GpuModel>{"peak_fp4", &GpuModel::peak_fp4, false},
    Field<GpuModel>{"copy_engine", &GpuModel::copy_engine},
    Field<GpuModel>{"copy_engine_start", &GpuModel::copy_engine_start},
    Field<GpuModel>{"p2p_channel", &GpuModel::p2p_channel},
    Field<GpuModel>{"jitter", &GpuModel::jitter, false},
    Field<GpuModel>{"nvls_efficiency", &GpuModel::nvls_efficiency, false},
    Field<GpuModel>{"nvls_latency", &GpuModel::nvls_latency, false},
    Field<GpuModel>{"nvls_overhead", &GpuModel::nvls_overhead, false},
    Field<GpuModel>{"nvls_tree_overhead", &GpuModel::nvls_tree_overhead, false},
    Field<GpuModel>{"nvls_jitter", &GpuModel::nvls_jitter, false},
    Field<GpuModel>{"nvls_jitter_bound", &GpuModel::nvls_jitter_bound, false},
};

inline constexpr std::array host_fields{
    Field<HostModel>{"launch_single_process_per_gpu", &HostModel::launch_single_process_per_gpu},
    Field<HostModel>{"launch_multi_process", &HostModel::launch_multi_process},
    Field<HostModel>{"launch_graph", &HostModel::launch_graph},
    Field<HostModel>{"launch_p2p", &HostModel::launch_p2p, false},
};

inline constexpr std::array network_fields{
    Field<NetworkModel>{"latency", &NetworkModel::latency},
    Field<NetworkModel>{"simple", &NetworkModel::simple},
    Field<NetworkModel>{"message", &NetworkModel::message},
    Field<NetworkModel>{"p2p_efficiency", &NetworkModel::p2p_efficiency, false},
    Field<NetworkModel>{"reduction", &NetworkModel::reduction, false},
    Field<NetworkModel>{"flush", &NetworkModel::flush, false},
    Field<NetworkModel>{"flow_rate", &NetworkModel::flow_rate, false},
};

}  // namespace linkcast::topologies
