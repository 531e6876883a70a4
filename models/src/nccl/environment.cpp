// The NCCL_* variables: which exist, which of them change what is modelled here, and what their values may be.
// Names: NCCL_PARAM and ncclGetEnv in NCCL's sources, tags v2.12.12 to v2.30.7. Knows no topology.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>

#include "linkcast/models/nccl/types.hpp"
#include "nccl/rules.hpp"

namespace linkcast::models::nccl {

namespace {

const std::vector<std::string>& known_names() {
  // clang-format off
  static const std::vector<std::string> names{
    "NCCL_AGG_ALLOC_MODE", "NCCL_AGG_CHANNEL_SIZE", "NCCL_ALGO", "NCCL_ALLGATHERV_ENABLE",
    "NCCL_ALLOC_P2P_NET_LL_BUFFERS", "NCCL_BUFFSIZE", "NCCL_CGA_CLUSTER_SIZE", "NCCL_CHECK_MODE",
    "NCCL_CHECK_POINTERS", "NCCL_CHUNK_SIZE", "NCCL_COLLNET_ENABLE", "NCCL_COLLNET_NODE_THRESHOLD",
    "NCCL_COMM_BLOCKING", "NCCL_COMM_ID", "NCCL_COMM_SHRINK_SHARE_RESOURCES", "NCCL_COMM_SPLIT_SHARE_RESOURCES",
    "NCCL_CONF_FILE", "NCCL_CONNECT_ROUND_MAX_PEERS", "NCCL_CREATE_THREAD_CONTEXT", "NCCL_CROSS_NIC",
    "NCCL_CTA_POLICY", "NCCL_CUDA_PATH", "NCCL_CUMEM_ENABLE", "NCCL_CUMEM_HOST_ENABLE", "NCCL_DEBUG",
    "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_TIMESTAMP_FORMAT", "NCCL_DEBUG_TIMESTAMP_LEVELS",
    "NCCL_DEV_API_JIT", "NCCL_DISABLE_MEM_MANAGER", "NCCL_DMABUF_ENABLE", "NCCL_ELASTIC_BUFFER_REGISTER",
    "NCCL_ENABLE_VERSION_CHECK", "NCCL_ENV_PLUGIN", "NCCL_GDAKI_USE_RELIABLE_DB", "NCCL_GDRCOPY_ENABLE",
    "NCCL_GDRCOPY_FIFO_ENABLE", "NCCL_GDRCOPY_FLUSH_ENABLE", "NCCL_GDRCOPY_SYNC_ENABLE", "NCCL_GDR_FLUSH_DISABLE",
    "NCCL_GIN_COUNTER_POOL_SIZE", "NCCL_GIN_ENABLE", "NCCL_GIN_ERROR_QUERY_SEC", "NCCL_GIN_GDAKI_MAX_DEST_RD_ATOMIC",
    "NCCL_GIN_GDAKI_MAX_QP_RD_ATOMIC", "NCCL_GIN_GDAKI_NIC_HANDLER", "NCCL_GIN_GDAKI_QP_DEPTH", "NCCL_GIN_IB_TC",
    "NCCL_GIN_NCONNECTIONS", "NCCL_GIN_NCONTEXTS", "NCCL_GIN_PLUGIN", "NCCL_GIN_PLUGIN_REF_COUNT",
    "NCCL_GIN_PROXY_QUEUE_SIZE", "NCCL_GIN_SIGNAL_POOL_SIZE", "NCCL_GIN_TYPE", "NCCL_GRAPH_DUMP_FILE",
    "NCCL_GRAPH_DUMP_FILE_RANK", "NCCL_GRAPH_FILE", "NCCL_GRAPH_HELPER_DISABLE", "NCCL_GRAPH_MIXING_SUPPORT",
    "NCCL_GRAPH_REGISTER", "NCCL_GRAPH_STREAM_ORDERING", "NCCL_GROUP_CUDA_STREAM", "NCCL_HOSTID", "NCCL_IBVERBS_LIB",
    "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_AR_THRESHOLD",
    "NCCL_IB_DATA_DIRECT", "NCCL_IB_DEVICE_PCI_ORDER", "NCCL_IB_DISABLE", "NCCL_IB_ECE_ENABLE", "NCCL_IB_FIFO_TC",
    "NCCL_IB_GID_INDEX", "NCCL_IB_HCA", "NCCL_IB_MERGE_NICS", "NCCL_IB_MERGE_VFS", "NCCL_IB_MQP_RETRY_ALL",
    "NCCL_IB_MQP_RETRY_CNT", "NCCL_IB_MQP_RETRY_SLEEP_MSEC", "NCCL_IB_OOO_RQ", "NCCL_IB_PCI_RELAXED_ORDERING",
    "NCCL_IB_PKEY", "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_QUERY_PORT_SPEED",
    "NCCL_IB_RECEIVER_SIDE_MATCHING_SCHEME", "NCCL_IB_RESILIENCY_PORT_FAILOVER",
    "NCCL_IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS", "NCCL_IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY",
    "NCCL_IB_RESILIENCY_PORT_RECOVERY", "NCCL_IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT",
    "NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL",
    "NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE",
    "NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE", "NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT",
    "NCCL_IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX", "NCCL_IB_RESILIENCY_PORT_RECOVERY_START_DELAY",
    "NCCL_IB_RETRY_CNT", "NCCL_IB_RETURN_ASYNC_EVENTS", "NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_ROUTABLE_FLID_GID_INDEX",
    "NCCL_IB_SL", "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_SUBNET_AWARE_ROUTING", "NCCL_IB_SUBNET_PREFIX_LEN",
    "NCCL_IB_TC", "NCCL_IB_TIMEOUT", "NCCL_IB_USE_INLINE", "NCCL_IB_WARN_RAIL_LOCAL", "NCCL_IGNORE_COLLNET_MISMATCH",
    "NCCL_IGNORE_CPU_AFFINITY", "NCCL_IGNORE_DISABLED_P2P", "NCCL_IGNORE_NET_MISMATCH",
    "NCCL_INSPECTOR_COLL_POOL_SIZE", "NCCL_INSPECTOR_COMM_POOL_SIZE", "NCCL_INSPECTOR_DUMP_COLL_RING_SIZE",
    "NCCL_INSPECTOR_DUMP_DIR", "NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES", "NCCL_INSPECTOR_DUMP_P2P_RING_SIZE",
    "NCCL_INSPECTOR_DUMP_THREAD_ENABLE", "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS",
    "NCCL_INSPECTOR_DUMP_VERBOSE", "NCCL_INSPECTOR_ENABLE", "NCCL_INSPECTOR_ENABLE_P2P",
    "NCCL_INSPECTOR_P2P_POOL_SIZE", "NCCL_INSPECTOR_POOL_GROW", "NCCL_INSPECTOR_PROM_DUMP",
    "NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING", "NCCL_IPC_USE_ABSTRACT_SOCKET", "NCCL_L1_SHARED_MEMORY_CARVEOUT",
    "NCCL_LAUNCH_MODE", "NCCL_LAUNCH_ORDER_IMPLICIT", "NCCL_LAUNCH_RACE_FATAL", "NCCL_LEGACY_CUDA_REGISTER",
    "NCCL_LL128_BUFFSIZE", "NCCL_LL128_C2C", "NCCL_LL128_NTHREADS", "NCCL_LL_BUFFSIZE", "NCCL_LOCAL_REGISTER",
    "NCCL_LSA_TEAM_SIZE", "NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS", "NCCL_MAX_P2P_NCHANNELS",
    "NCCL_MEM_SYNC_DOMAIN", "NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS", "NCCL_MIN_P2P_NCHANNELS",
    "NCCL_MLOPART_RDMA_ENABLE", "NCCL_MNNVL_CLIQUE_ID", "NCCL_MNNVL_CROSS_CLIQUE", "NCCL_MNNVL_ENABLE",
    "NCCL_MNNVL_RAIL_PER_HOST", "NCCL_MNNVL_SCATTER_NETS_ENABLE", "NCCL_MNNVL_UUID", "NCCL_MULTI_RANK_GPU_ENABLE",
    "NCCL_MULTI_SEGMENT_REGISTER", "NCCL_NCHANNELS_PER_NET_PEER", "NCCL_NET", "NCCL_NETDEVS_POLICY",
    "NCCL_NET_DISABLE_INTRA", "NCCL_NET_FORCE_FLUSH", "NCCL_NET_FORCE_MERGE", "NCCL_NET_GDR_C2C",
    "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_MLOPART", "NCCL_NET_GDR_READ", "NCCL_NET_MERGE_LEVEL",
    "NCCL_NET_MERGE_POLICY", "NCCL_NET_OPTIONAL_RECV_COMPLETION", "NCCL_NET_OVERHEAD", "NCCL_NET_PLUGIN",
    "NCCL_NET_PLUGIN_REF_COUNT", "NCCL_NET_SHARED_BUFFERS", "NCCL_NET_SHARED_COMMS", "NCCL_NO_CACHE",
    "NCCL_NSOCKS_PERTHREAD", "NCCL_NTHREADS", "NCCL_NUM_RMA_CTX", "NCCL_NVB_DISABLE", "NCCL_NVB_PRECONNECT",
    "NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE", "NCCL_NVLSTREE_MAX_CHUNKSIZE", "NCCL_NVLS_CHUNKSIZE", "NCCL_NVLS_ENABLE",
    "NCCL_NVLS_NCHANNELS", "NCCL_NVTX_DISABLE", "NCCL_OOB_NET_ENABLE", "NCCL_OOB_NET_IFNAME",
    "NCCL_P2P_DIRECT_DISABLE", "NCCL_P2P_DISABLE", "NCCL_P2P_EPOCH_ENABLE", "NCCL_P2P_LEVEL", "NCCL_P2P_LL_THRESHOLD",
    "NCCL_P2P_MAX_PEERS", "NCCL_P2P_NET_CHUNKSIZE", "NCCL_P2P_NVL_CHUNKSIZE", "NCCL_P2P_PCI_CHUNKSIZE",
    "NCCL_P2P_PER_CHANNEL_NET_BW", "NCCL_P2P_PXN_LEVEL", "NCCL_P2P_READ_ENABLE", "NCCL_P2P_SCHEDULE_GROUP_SIZE",
    "NCCL_P2P_USE_CUDA_MEMCPY", "NCCL_PAT_ENABLE", "NCCL_PROFILER_CE_POLLER_INTERVAL_MICROSECONDS",
    "NCCL_PROFILER_CE_TIMING", "NCCL_PROFILER_PLUGIN", "NCCL_PROFILE_CE_BATCH_POOL_SIZE",
    "NCCL_PROFILE_CE_COLL_POOL_SIZE", "NCCL_PROFILE_CE_SYNC_POOL_SIZE", "NCCL_PROFILE_COLL_API_POOL_SIZE",
    "NCCL_PROFILE_COLL_POOL_SIZE", "NCCL_PROFILE_DUMP_FILE", "NCCL_PROFILE_EVENT_MASK",
    "NCCL_PROFILE_GROUP_API_POOL_SIZE", "NCCL_PROFILE_GROUP_POOL_SIZE", "NCCL_PROFILE_KERNEL_LAUNCH_POOL_SIZE",
    "NCCL_PROFILE_P2P_API_POOL_SIZE", "NCCL_PROFILE_P2P_POOL_SIZE", "NCCL_PROFILE_PROXY_CTRL_POOL_SIZE",
    "NCCL_PROFILE_PROXY_DETACH_POOL_SIZE", "NCCL_PROGRESS_APPENDOP_FREQ", "NCCL_PROTO",
    "NCCL_PROXY_APPEND_BATCH_SIZE", "NCCL_PROXY_CPUSET", "NCCL_PROXY_DUMP_SIGNAL", "NCCL_PROXY_PROFILE",
    "NCCL_PXN_C2C", "NCCL_PXN_DISABLE", "NCCL_RAS_ADDR", "NCCL_RAS_ENABLE", "NCCL_RAS_TIMEOUT_FACTOR",
    "NCCL_REPORT_CONNECT_PROGRESS", "NCCL_RMA_DISABLE", "NCCL_RMA_PLUGIN", "NCCL_RMA_PLUGIN_REF_COUNT",
    "NCCL_RMA_PROXY_DUMP_SIGNAL", "NCCL_RMA_PROXY_QUEUE_SIZE", "NCCL_RUNTIME_CONNECT", "NCCL_SET_CPU_STACK_SIZE",
    "NCCL_SET_STACK_SIZE", "NCCL_SET_THREAD_NAME", "NCCL_SHADOW_MEMPOOL_MAX_SIZE", "NCCL_SHM_DISABLE",
    "NCCL_SHM_LOCALITY", "NCCL_SHM_MEMCPY_MODE", "NCCL_SHM_USE_CUDA_MEMCPY", "NCCL_SINGLE_PROC_MEM_REG_ENABLE",
    "NCCL_SOCKET_FAMILY", "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_INLINE", "NCCL_SOCKET_MAGIC", "NCCL_SOCKET_MIN_TASKSIZE",
    "NCCL_SOCKET_NTHREADS", "NCCL_SOCKET_POLL_TIMEOUT_MSEC", "NCCL_SOCKET_RCVBUF", "NCCL_SOCKET_RETRY_CNT",
    "NCCL_SOCKET_RETRY_SLEEP_MSEC", "NCCL_SOCKET_SNDBUF", "NCCL_SYM_CE_THRESHOLD", "NCCL_SYM_CTAS",
    "NCCL_SYM_GIN_KERNELS_ENABLE", "NCCL_SYM_KERNEL", "NCCL_SYM_NOWIN_ENABLE", "NCCL_SYM_REUSE_SYSMEM_HANDLES",
    "NCCL_SYM_RS_GIN_CHUNK_SIZE", "NCCL_SYM_TMA_ENABLE", "NCCL_THREAD_THRESHOLDS", "NCCL_TOPO_DUMP_FILE",
    "NCCL_TOPO_DUMP_FILE_RANK", "NCCL_TOPO_FILE", "NCCL_TOPO_SPLIT_MLOPART", "NCCL_TUNER_CONFIG_FILE",
    "NCCL_TUNER_PLUGIN", "NCCL_UID_STAGGER_RATE", "NCCL_UID_STAGGER_THRESHOLD", "NCCL_UNPACK_DOUBLE_NCHANNELS",
    "NCCL_WARN_ENABLE_DEBUG_INFO", "NCCL_WIN_ENABLE", "NCCL_WIN_STRIDE", "NCCL_WORK_ARGS_BYTES",
    "NCCL_WORK_FIFO_BYTES", "NCCL_WORK_FIFO_DEPTH",
  };
  // clang-format on
  return names;
}

// Variables whose value enters a decision of this model.
constexpr std::string_view effective[] = {"NCCL_ALGO",
                                          "NCCL_PROTO",
                                          "NCCL_MIN_NCHANNELS",
                                          "NCCL_MAX_NCHANNELS",
                                          "NCCL_MIN_NRINGS",
                                          "NCCL_MAX_NRINGS",
                                          "NCCL_MIN_CTAS",
                                          "NCCL_MAX_CTAS",
                                          "NCCL_NVLS_ENABLE",
                                          "NCCL_NVLS_NCHANNELS",
                                          "NCCL_NVLS_CHUNKSIZE",
                                          "NCCL_NVLSTREE_MAX_CHUNKSIZE",
                                          "NCCL_BUFFSIZE",
                                          "NCCL_LL_BUFFSIZE",
                                          "NCCL_LL128_BUFFSIZE",
                                          "NCCL_P2P_DISABLE",
                                          "NCCL_P2P_LEVEL",
                                          "NCCL_SHM_DISABLE",
                                          "NCCL_NTHREADS",
                                          "NCCL_LL128_NTHREADS",
                                          "NCCL_THREAD_THRESHOLDS",
                                          "NCCL_NVB_DISABLE",
                                          "NCCL_CROSS_NIC",
                                          "NCCL_MIN_P2P_NCHANNELS",
                                          "NCCL_MAX_P2P_NCHANNELS",
                                          "NCCL_NCHANNELS_PER_NET_PEER",
                                          "NCCL_P2P_NVL_CHUNKSIZE",
                                          "NCCL_P2P_PCI_CHUNKSIZE",
                                          "NCCL_P2P_NET_CHUNKSIZE",
                                          "NCCL_P2P_LL_THRESHOLD",
                                          "NCCL_P2P_MAX_PEERS",
                                          "NCCL_P2P_PER_CHANNEL_NET_BW",
                                          "NCCL_P2P_SCHEDULE_GROUP_SIZE",
                                          "NCCL_CTA_POLICY",
                                          "NCCL_SYM_KERNEL",
                                          "NCCL_SYM_CTAS",
                                          "NCCL_SYM_CE_THRESHOLD",
                                          "NCCL_SYM_TMA_ENABLE",
                                          "NCCL_SYM_NOWIN_ENABLE",
                                          "NCCL_WIN_ENABLE",
                                          "NCCL_PXN_DISABLE",
                                          "NCCL_PXN_C2C",
                                          "NCCL_P2P_PXN_LEVEL",
                                          "NCCL_NET_GDR_LEVEL",
                                          "NCCL_NET_GDR_READ",
                                          "NCCL_NET_GDR_C2C",
                                          "NCCL_NETDEVS_POLICY",
                                          "NCCL_COLLNET_ENABLE",
                                          "NCCL_COLLNET_NODE_THRESHOLD",
                                          "NCCL_PAT_ENABLE",
                                          "NCCL_NET_OVERHEAD",
                                          "NCCL_LL128_C2C",
                                          "NCCL_MNNVL_SCATTER_NETS_ENABLE"};

constexpr std::string_view textual[] = {
    "NCCL_ALGO",       "NCCL_PROTO",          "NCCL_P2P_LEVEL",  "NCCL_NET_GDR_LEVEL",
    "NCCL_SYM_KERNEL", "NCCL_NETDEVS_POLICY", "NCCL_CTA_POLICY", "NCCL_THREAD_THRESHOLDS"};

template <class Range>
bool has(const Range& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string quoted(std::string_view s) { return "'" + std::string{s} + "'"; }

std::optional<long long> to_integer(std::string_view s) {
  int base = 10;
  const bool negative = !s.empty() && s.front() == '-';
  if (negative) s.remove_prefix(1);
  if (s.starts_with("0x") || s.starts_with("0X")) {
    base = 16;
    s.remove_prefix(2);
  }
  long long v = 0;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v, base);
  if (s.empty() || r.ec != std::errc{} || r.ptr != s.data() + s.size()) return std::nullopt;
  return negative ? -v : v;
}

void check_level(std::string_view name, std::string_view value) {
  if (path_level(value)) return;
  static const std::vector<std::string> levels{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};
  const auto near = sim::nearest(value, levels);
  throw sim::InputError{std::string{name} + "=" + std::string{value} + " is not a path level",
                        near.empty() ? "one of LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS, or a number from 0 to 5"
                                     : "did you mean " + quoted(near) + "?"};
}

void check_policy(std::string_view name, std::string_view value) {
  if (to_integer(value)) return;
  static const std::vector<std::string> words{"DEFAULT", "EFFICIENCY", "ZERO"};
  for (std::size_t from = 0; from <= value.size();) {
    const auto bar = value.find('|', from);
    const auto word = value.substr(from, bar == std::string_view::npos ? bar : bar - from);
    if (!has(words, word)) {
      const auto near = sim::nearest(word, words);
      throw sim::InputError{std::string{name} + "=" + std::string{value} + " is not a CTA policy",
                            near.empty() ? "one of DEFAULT, EFFICIENCY, ZERO" : "did you mean " + quoted(near) + "?"};
    }
    if (bar == std::string_view::npos) break;
    from = bar + 1;
  }
}

}  // namespace

void Environment::set(std::string_view name, std::string_view value) {
  const auto& known = known_names();
  if (!has(known, name)) {
    const auto near = sim::nearest(name, known);
    throw sim::InputError{"NCCL has no variable " + quoted(name),
                          near.empty() ? "the variables begin with NCCL_" : "did you mean " + quoted(near) + "?"};
  }
  if (has(effective, name)) {
    if (value.empty())
      throw sim::InputError{std::string{name} + " has no value", "write " + std::string{name} + "=VALUE"};
    if (name == "NCCL_ALGO" || name == "NCCL_PROTO") {
      check_list(name, value);
    } else if (name == "NCCL_P2P_LEVEL" || name == "NCCL_NET_GDR_LEVEL") {
      check_level(name, value);
    } else if (name == "NCCL_CTA_POLICY") {
      check_policy(name, value);
    } else if (!has(textual, name) && !to_integer(value)) {
      throw sim::InputError{std::string{name} + "=" + std::string{value} + " is not a whole number",
                            "NCCL reads this variable as an integer"};
    }
    if (name.ends_with("BUFFSIZE") && *to_integer(value) < 8 * 512) {
      throw sim::InputError{std::string{name} + "=" + std::string{value} + " is too small",
                            "eight steps of at least 512 bytes: 4096 or more"};
    }
    if ((name.ends_with("CHUNKSIZE")) && *to_integer(value) < 512) {
      throw sim::InputError{std::string{name} + "=" + std::string{value} + " is too small", "512 or more"};
    }
  }
  values_.insert_or_assign(std::string{name}, std::string{value});
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto it = values_.find(std::string{name});
  return it == values_.end() ? std::nullopt : std::optional{it->second};
}

std::optional<long long> Environment::integer(std::string_view name) const {
  const auto v = get(name);
  return v ? to_integer(*v) : std::nullopt;
}

std::vector<std::string> Environment::without_effect() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) {
    if (!has(effective, name)) names.push_back(name);
  }
  return names;
}

}  // namespace linkcast::models::nccl
