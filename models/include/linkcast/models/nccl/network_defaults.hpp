// What NCCL's network layer and its plugins bring along by kind of network: variables that they set, whether they reach
// GPU memory, their latency and their own choice of algorithms; and the user's settings that change the network's time.
// Knows no topology.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/models/nccl/types.hpp"

namespace linkcast::models::nccl {

struct NetworkDefaults {
  /// Variables that the plugin or the platform's installation sets where the user has not.
  std::vector<std::pair<std::string, std::string>> variables;
  double latency_us = 0;  // what the plugin tells NCCL of one message; enters its cost model
  bool gpudirect = true;  // the NIC can reach GPU memory at all
  bool fuses = false;     // ports can be fused into one (NCCL_NET_MERGE_LEVEL)
  bool unpack = false;    // the GPU itself unpacks what arrives (NCCL_NET_DEVICE_UNPACK): more channels, no PAT
  std::string tuner;      // the plugin's own choice of algorithms: "p5", "p5en", or none
  std::string source;     // where this stands
};

/// kind: "ib", "roce", "efa", "slingshot", "tcp", "tcpx", "tcpxo"; "" is what NCCL does without a plugin. platform: a
/// machine's name, such as "p5.48xlarge" or the catalog's "aws-p5". Throws sim::InputError for another kind.
NetworkDefaults network_defaults(std::string_view kind, std::string_view platform, const Version& version = {});
std::vector<std::string> network_kinds();

/// Sets the variables of network_defaults that the user has not set.
void apply_network_defaults(Environment& env, std::string_view kind, std::string_view platform,
                            const Version& version = {});

/// The user's settings of NCCL's built-in InfiniBand and socket layers, with NCCL's defaults.
struct NetSettings {
  // InfiniBand and RoCE
  int qps_per_connection = 1;         // NCCL_IB_QPS_PER_CONNECTION
  bool split_data_on_qps = false;     // NCCL_IB_SPLIT_DATA_ON_QPS: every message over all of them, in 128-byte pieces
  bool adaptive_routing = false;      // NCCL_IB_ADAPTIVE_ROUTING: data and notice apart above the threshold
  long long ar_threshold = 8192;      // NCCL_IB_AR_THRESHOLD, bytes
  bool out_of_order_receive = false;  // NCCL_IB_OOO_RQ: no such split
  // sockets
  int socket_threads = 0;            // NCCL_SOCKET_NTHREADS: helper threads per connection; 0: the proxy itself
  int socks_per_thread = 1;          // NCCL_NSOCKS_PERTHREAD
  long long socket_task = 64 << 10;  // NCCL_SOCKET_MIN_TASKSIZE: the least that is worth a socket of its own
  // both
  bool shared_buffers = true;  // NCCL_NET_SHARED_BUFFERS: send/recv peers of a channel share one pool
  bool sockets = false;        // the built-in InfiniBand layer is off: NCCL_IB_DISABLE=1, NCCL_NET=Socket, or TCP
  bool gdr_flush = false;      // NCCL_NET_FORCE_FLUSH
  /// Per value above: its variable and what set it: "NCCL_IB_QPS_PER_CONNECTION=4", "NCCL 2.30.7 default".
  std::vector<std::pair<std::string, std::string>> sources;

  /// QPs that one message of a connection uses, and those that a connection has, where a NIC is `ports` fused ports.
  int qps_of_message(int ports = 1) const { return split_data_on_qps ? qps_of_connection(ports) : ports; }
  int qps_of_connection(int ports = 1) const { return qps_per_connection * ports; }
  /// A message whose notice travels apart from its data.
  bool two_writes(long long bytes) const { return adaptive_routing && !out_of_order_receive && bytes > ar_threshold; }
  int sockets_per_connection() const { return socket_threads > 0 ? socket_threads * socks_per_thread : 1; }
};

/// `kind` as for network_defaults; platform decides the sockets' threads (AWS 2 x 8, Google Cloud 4 x 1).
NetSettings net_settings(const Environment& env, const Version& version = {}, std::string_view kind = "ib",
                         std::string_view platform = "");

/// The built-in InfiniBand layer is switched off by the user.
bool uses_sockets(const Environment& env);

}  // namespace linkcast::models::nccl
