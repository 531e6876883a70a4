// See network_defaults.hpp. A table by kind of network and platform, with its sources.
#include "linkcast/models/nccl/network_defaults.hpp"

#include <algorithm>

namespace linkcast::models::nccl {

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

// aws-ofi-nccl 2daf7d3 (August 2026), src/platform-aws.cpp: the first row whose beginning fits.
struct Aws {
  std::string_view name;  // beginning of the instance type
  double latency_us;
  bool gpudirect;
  bool ordered;  // bytes arrive in order, so LL and LL128 may be used
  bool buffers;  // NCCL_BUFFSIZE 8 MiB and NCCL_P2P_NET_CHUNKSIZE 512 KiB
  bool nvls;     // NVLS chunks of 512 KiB, no forced flush
  bool one_nic;  // NCCL_NETDEVS_POLICY=max:1
  std::string_view tuner;
};
constexpr Aws aws[] = {
    {"p4d", 75, true, false, true, false, false, ""},     {"p3dn", 150, false, false, false, false, false, ""},
    {"p5.4x", 75, false, false, false, false, false, ""}, {"p5en", 35, true, true, true, true, true, "p5en"},
    {"p6-b200", 35, true, true, true, true, true, ""},    {"p6-b300", 35, true, true, true, true, false, ""},
    {"p5", 75, true, true, true, true, false, "p5"},      {"p", 35, true, true, true, true, false, ""},
    {"g7e.8x", 35, false, false, true, false, false, ""}, {"g7e", 35, true, true, true, false, false, ""},
    {"g", 75, false, false, false, false, false, ""},
};

NetworkDefaults efa(std::string_view platform, const Version& version) {
  if (platform.starts_with("aws-")) platform.remove_prefix(4);
  const auto* row =
      std::find_if(std::begin(aws), std::end(aws), [&](const Aws& a) { return platform.starts_with(a.name); });
  NetworkDefaults d;
  d.source = "aws-ofi-nccl 2daf7d3, src/platform-aws.cpp and src/nccl_ofi_net.cpp";
  if (row == std::end(aws)) return d;
  d.latency_us = row->latency_us;
  d.gpudirect = row->gpudirect;
  if (row->buffers) d.variables = {{"NCCL_BUFFSIZE", "8388608"}, {"NCCL_P2P_NET_CHUNKSIZE", "524288"}};
  if (row->nvls) {
    d.variables.emplace_back("NCCL_NVLSTREE_MAX_CHUNKSIZE", "524288");
    d.variables.emplace_back("NCCL_NVLS_CHUNKSIZE", "524288");
    d.variables.emplace_back("NCCL_NET_FORCE_FLUSH", "0");
  }
  if (row->one_nic && version >= Version{2, 28, 3}) d.variables.emplace_back("NCCL_NETDEVS_POLICY", "max:1");
  if (!row->ordered) d.variables.emplace_back("NCCL_PROTO", "Simple");
  if (version < Version{2, 18, 5}) d.variables.emplace_back("NCCL_NVLS_ENABLE", "0");
  // The plugin's tuner is an interface of 2.19.
  if (version >= Version{2, 19, 0}) d.tuner = row->tuner;
  return d;
}

NetworkDefaults google(bool offload) {
  NetworkDefaults d;
  d.variables = {{"NCCL_CROSS_NIC", "0"},
                 {"NCCL_NET_GDR_LEVEL", "PIX"},
                 {"NCCL_PROTO", "Simple"},
                 {"NCCL_P2P_NET_CHUNKSIZE", "524288"},
                 {"NCCL_P2P_PCI_CHUNKSIZE", "524288"},
                 {"NCCL_P2P_NVL_CHUNKSIZE", "1048576"}};
  const Variables tcpx{{"NCCL_ALGO", "Ring"},        {"NCCL_MIN_NCHANNELS", "12"},   {"NCCL_MAX_NCHANNELS", "12"},
                       {"NCCL_BUFFSIZE", "4194304"}, {"NCCL_NSOCKS_PERTHREAD", "4"}, {"NCCL_SOCKET_NTHREADS", "1"},
                       {"NCCL_P2P_PXN_LEVEL", "0"}};
  const Variables tcpxo{
      {"NCCL_ALGO", "Ring,Tree"}, {"NCCL_MIN_NCHANNELS", "4"}, {"NCCL_BUFFSIZE", "8388608"}, {"NCCL_NVLS_ENABLE", "0"}};
  const auto& own = offload ? tcpxo : tcpx;
  d.variables.insert(d.variables.end(), own.begin(), own.end());
  d.unpack = !offload;
  d.source = offload ? "Google's a3-megagpu-8g recipes (GPUDirect-TCPXO, nccl-env-profile.sh)"
                     : "Google's a3-highgpu-8g recipes (GPUDirect-TCPX, nccl-config.yaml)";
  return d;
}

NetworkDefaults roce(std::string_view platform) {
  NetworkDefaults d;
  d.fuses = true;
  d.source = "NCCL's InfiniBand layer";
  if (platform.find("a3-ultra") != std::string_view::npos || platform.find("a4") != std::string_view::npos) {
    d.variables = {
        {"NCCL_CROSS_NIC", "0"},           {"NCCL_NET_GDR_LEVEL", "PIX"},     {"NCCL_P2P_NET_CHUNKSIZE", "131072"},
        {"NCCL_NVLS_CHUNKSIZE", "524288"}, {"NCCL_IB_ADAPTIVE_ROUTING", "1"}, {"NCCL_IB_QPS_PER_CONNECTION", "4"}};
    d.source = "Google's gIB plugin (set_nccl_env.sh of a3-ultragpu-8g and a4-highgpu-8g)";
  }
  return d;
}

std::string set_by(const Environment& env, std::string_view name, const std::string& otherwise) {
  const auto value = env.get(name);
  return value ? std::string{name} + "=" + *value : otherwise;
}

}  // namespace

std::vector<std::string> network_kinds() { return {"ib", "roce", "efa", "slingshot", "tcp", "tcpx", "tcpxo"}; }

NetworkDefaults network_defaults(std::string_view kind, std::string_view platform, const Version& version) {
  NetworkDefaults d;
  if (kind.empty() || kind == "ib") {
    d.fuses = true;
    d.source = "NCCL's InfiniBand layer";
    return d;
  }
  if (kind == "roce") return roce(platform);
  if (kind == "efa") return efa(platform, version);
  if (kind == "slingshot") {
    d.variables = {{"NCCL_CROSS_NIC", "1"}, {"NCCL_NET_GDR_LEVEL", "PHB"}};
    d.source = "HPE's recommended environment for aws-ofi-nccl on Slingshot (shs-ccl-docs, ccl_env.sh)";
    return d;
  }
  if (kind == "tcp") {
    d.gpudirect = false;
    d.source = "NCCL's socket layer (net_socket.cc)";
    return d;
  }
  if (kind == "tcpx") return google(false);
  if (kind == "tcpxo") return google(true);
  const auto near = sim::nearest(kind, network_kinds());
  std::string all;
  for (const auto& k : network_kinds()) all += (all.empty() ? "" : ", ") + k;
  throw sim::InputError{"unknown kind of network '" + std::string{kind} + "'",
                        near.empty() ? "one of " + all : "did you mean '" + near + "'?"};
}

void apply_network_defaults(Environment& env, std::string_view kind, std::string_view platform,
                            const Version& version) {
  for (const auto& [name, value] : network_defaults(kind, platform, version).variables) {
    if (!env.get(name)) env.set(name, value);
  }
}

bool uses_sockets(const Environment& env) {
  if (env.integer("NCCL_IB_DISABLE").value_or(0) == 1) return true;
  auto net = env.get("NCCL_NET").value_or("");
  std::transform(net.begin(), net.end(), net.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return net == "socket";
}

NetSettings net_settings(const Environment& env, const Version& version, std::string_view kind,
                         std::string_view platform) {
  NetSettings s;
  const auto otherwise = "NCCL " + version.str() + " default";
  const auto number = [&](std::string_view name, long long fallback, const std::string& why) {
    s.sources.emplace_back(std::string{name}, set_by(env, name, why));
    return env.integer(name).value_or(fallback);
  };
  s.qps_per_connection =
      static_cast<int>(std::clamp<long long>(number("NCCL_IB_QPS_PER_CONNECTION", 1, otherwise), 1, 128));
  // Until 2.19 every message went over all QPs.
  s.split_data_on_qps = number("NCCL_IB_SPLIT_DATA_ON_QPS", version >= Version{2, 20, 0} ? 0 : 1, otherwise) != 0;
  s.adaptive_routing = number("NCCL_IB_ADAPTIVE_ROUTING", kind == "ib" ? 1 : 0,
                              kind == "ib" ? "on for InfiniBand" : "off but for InfiniBand") == 1;
  s.ar_threshold = std::max<long long>(0, number("NCCL_IB_AR_THRESHOLD", 8192, otherwise));
  s.out_of_order_receive = number("NCCL_IB_OOO_RQ", 0, otherwise) == 1;
  int threads = 0, each = 1;
  if (platform.find("aws") != std::string_view::npos || kind == "efa") {
    threads = 2;
    each = 8;
  } else if (platform.find("gcp") != std::string_view::npos) {
    threads = 4;
  }
  const auto by_vendor = threads > 0 ? std::string{"NCCL's default for this cloud's cards"} : otherwise;
  s.socket_threads = static_cast<int>(std::clamp<long long>(number("NCCL_SOCKET_NTHREADS", threads, by_vendor), 0, 16));
  s.socks_per_thread = static_cast<int>(std::clamp<long long>(number("NCCL_NSOCKS_PERTHREAD", each, by_vendor), 1, 64));
  if (s.socket_threads > 0) s.socks_per_thread = std::min(s.socks_per_thread, 64 / s.socket_threads);
  s.socket_task = std::max<long long>(1, number("NCCL_SOCKET_MIN_TASKSIZE", 64 << 10, otherwise));
  s.shared_buffers = number("NCCL_NET_SHARED_BUFFERS", 1, otherwise) != 0;
  s.gdr_flush = number("NCCL_NET_FORCE_FLUSH", 0, otherwise) == 1;
  s.sockets = uses_sockets(env) || kind == "tcp";
  return s;
}

}  // namespace linkcast::models::nccl
