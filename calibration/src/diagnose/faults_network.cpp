// Faults between machines: what GPUs reach their NICs by, which NICs are used, what cables and switches carry.
#include <fmt/format.h>

#include "faults.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

using models::nccl::Op;

bool outside(const Observation& o) { return o.several_nodes && (o.kind == Kind::collective || o.kind == Kind::expert); }

class List {
 public:
  List(const Scene& scene, const Evidence& evidence, std::vector<Hypothesis>& out)
      : s_{scene}, e_{evidence}, out_{out} {}

  void add() {
    gpu_to_nic();
    nics();
    kind();
    cables();
    software();
    loss();
  }

 private:
  /// What NICs carry falls to a share; `gpu`, `host`: what of it a test with such memory sees.
  void slow_cables(Hypothesis h, double share, double gpu, double host) {
    h.edit.cables = share;
    h.share = [share, gpu, host](const Observation& o) {
      if (o.kind == Kind::expert && o.several_nodes) return share;
      if (o.kind == Kind::test) return o.memory == MemoryKind::gpu ? gpu : host;
      return 1.0;
    };
    out_.push_back(std::move(h));
  }

  void gpu_to_nic() {
    // Plateaus of 40 to 56 % of the NIC: 27 of 48, 9.84 of 24, 186 of 380.
    for (const double f : {0.40, 0.45, 0.50, 0.56})
      slow_cables(fault("PCIe ACS enabled (or IOMMU/ATS): GPU and NIC meet at the root complex", 0.10 / 4,
                        fmt::format("GPUs and NICs exchange through the root complex, {:.0f} % of the rate; small "
                                    "messages, host memory and NVLink are untouched",
                                    100 * f),
                        "sudo lspci -vvv | grep -i ACSCtl   # SrcValid+ on switch ports means on"),
                  f, f, 1);
    // 6 of 12, 33 of 93, 10 of 180: staged in host memory, and often through one thread of the proxy.
    constexpr std::pair<double, double> shares[] = {{1.0, 0.2},  {0.85, 0.1},  {0.7, 0.15},  {0.5, 0.2},   {0.36, 0.12},
                                                    {0.25, 0.1}, {0.16, 0.06}, {0.09, 0.04}, {0.055, 0.03}};
    for (const auto& [f, weight] : shares)
      for (const auto& [small, plateau] : {std::pair{1.0, 1.0}, {0.6, 1.0}, {0.35, 1.0}, {0.35, 0.5}}) {
        auto h = fault("GPUDirect RDMA off: every byte is staged through host memory",
                       (e_.crippling.contains("NCCL_NET_GDR_LEVEL") ? 2.0 : 0.11) * weight / 4,
                       "NICs do not reach GPU memory: staged through the host, flat from 8 to 16 MiB on",
                       "NCCL_DEBUG=INFO all_reduce_perf … 2>&1 | grep GDRDMA; lsmod | grep -e nvidia_peermem");
        h.software.env["NCCL_NET_GDR_LEVEL"] = "LOC";
        // Small messages wait for the proxy's copies through the host as well.
        slow_cables(std::move(h), f, f, 1);
        out_.back().share = [small = small, plateau = plateau, f = f](const Observation& o) {
          if (o.kind == Kind::expert && o.several_nodes) return f;
          if (o.kind == Kind::shape) return o.several_nodes ? plateau : 1.0;
          if (o.kind == Kind::test) return o.memory == MemoryKind::gpu ? std::min(f, 0.7) : 1.0;
          return outside(o) && o.size && *o.size < sim::mib(1) ? small : 1.0;
        };
      }
    for (const double f : {0.6, 0.67, 0.74})
      slow_cables(fault("GPUDirect RDMA off for reads: the sending side is staged through host memory", 0.02 / 3,
                        "the sending GPU is read through host memory, which costs about a third",
                        "NCCL_NET_GDR_READ=1 all_reduce_perf …"),
                  f, f, 1);
    for (const double f : {0.7, 0.76, 0.82})
      slow_cables(fault("PCIe relaxed ordering off", (s_.amd ? 0.12 : 0.015) / 3,
                        fmt::format("the NIC waits for each write in order: {:.0f} % of its rate", 100 * f),
                        "NCCL_IB_PCI_RELAXED_ORDERING=1 all_reduce_perf …; lspci -vvv | grep RlxdOrd"),
                  f, f, f);
  }

  void nics() {
    const int n = s_.nics;
    for (int used = 1; used < n; used = used * 2) {
      for (const double share : {1.0, 0.55}) {
        auto h = fault("wrong, shared or too few NICs are used", (used == 1 ? 0.09 : 0.04) * (share < 1 ? 0.3 : 1),
                       fmt::format("{} of {} NICs carry the traffic", used, n),
                       "NCCL_DEBUG=INFO all_reduce_perf … 2>&1 | grep 'NET/IB : Using'; echo $NCCL_IB_HCA");
        h.edit.nics = used;
        h.edit.cables = share;
        h.share = [used, n, share](const Observation& o) {
          return o.kind == Kind::expert && o.several_nodes ? share * used / n : 1.0;
        };
        out_.push_back(std::move(h));
      }
    }
    for (const double f : {0.5, 0.25})
      slow_cables(fault("NICs or cables at a lower rate", f == 0.5 ? 0.05 : 0.015,
                        fmt::format("links run at {:.0f} Gb/s instead of {:.0f}", f * s_.nic_gbps, s_.nic_gbps),
                        "ibstat | grep -E 'CA|Rate'; ethtool <nic> | grep Speed; mlxlink -d <device>"),
                  f, f, f);
    if (n == 1)
      for (const double share : {0.75, 0.6, 0.35, 0.25}) {
        slow_cables(
            fault("wrong, shared or too few NICs are used", 0.012, "all GPUs share one NIC or one of its functions",
                  "NCCL_DEBUG=INFO all_reduce_perf … 2>&1 | grep 'NET/IB : Using'"),
            share, share, share);
      }
    for (const double f : {0.5, 0.25, 0.1}) {
      auto h =
          fault("one slow NIC, cable or direction of it", 0.012, fmt::format("one NIC carries {:.0f} %", 100 * f),
                "for d in $(ibv_devices | awk 'NR>2{print $1}'); do ib_write_bw -d $d --report_gbits <peer>; done");
      h.edit.one_nic = f;
      out_.push_back(std::move(h));
      auto node = fault("one slow node", 0.014, fmt::format("the NICs of one node carry {:.0f} %", 100 * f),
                        "all_reduce_perf on every pair of nodes: the slow pairs share one");
      node.edit.one_node = f;
      out_.push_back(std::move(node));
    }
  }

  void kind() {
    if (!s_.several) return;
    const double prior =
        e_.said_tcp || e_.crippling.contains("NCCL_IB_DISABLE") || e_.crippling.contains("NCCL_NET") ? 2.0 : 0.06;
    slow_sockets(prior);
    for (const double small : {1.0, 0.45})
      for (const double f : {0.25, 0.4, 0.65, 1.0, 1.5, 2.2}) {
        auto h = fault("TCP sockets instead of RDMA (no plugin or verbs, IPoIB)", prior / 12,
                       "NCCL fell back to sockets: no RDMA, bytes go through the kernel",
                       "NCCL_DEBUG=INFO all_reduce_perf … 2>&1 | grep -E 'NET/(IB|Socket|OFI)|Using network'");
        h.edit.network = "tcp";
        // Small calls wait for the kernel's network stack, which differs more than its rate.
        h.share = [f, small](const Observation& o) {
          if (!outside(o)) return 1.0;
          if (o.kind == Kind::expert) return 0.1 * f;
          return f * (o.size && *o.size < sim::mib(16) ? small : 1.0);
        };
        out_.push_back(std::move(h));
      }
  }

  /// The same where sockets are slower than the model has them, up to IPoIB without offloads.
  void slow_sockets(double prior) {
    for (const double f : {0.015, 0.03, 0.06, 0.1, 0.16})
      for (const double small : {1.0, 0.45, 0.2}) {
        auto h = fault("TCP sockets instead of RDMA (no plugin or verbs, IPoIB)", prior / 30,
                       fmt::format("NCCL fell back to sockets: {:.1f} % of what the NICs carry", 100 * f),
                       "NCCL_DEBUG=INFO all_reduce_perf … 2>&1 | grep -E 'NET/(IB|Socket|OFI)|Using network'");
        h.edit.cables = f;
        h.software.env["NCCL_NET_GDR_LEVEL"] = "LOC";
        h.share = [f, small](const Observation& o) {
          if (!outside(o)) return 1.0;
          return o.kind == Kind::expert ? f : o.size && *o.size < sim::mib(16) ? small : 1.0;
        };
        out_.push_back(std::move(h));
      }
  }

  void cables() {
    for (const double f : {0.5, 0.33, 0.25})
      slow_cables(fault("oversubscribed tier: uplinks carry less than the leaves take in", 0.01,
                        fmt::format("traffic between leaves has {:.0f} % of the rate", 100 * f),
                        "all_reduce_perf on nodes of one leaf, then across leaves; ibnetdiscover"),
                  f, 1, 1);
    for (const double f : {0.45, 0.55, 0.65, 0.75})
      slow_cables(
          fault(
              "ECMP collisions: flows share few paths (no adaptive routing)",
              0.05 / 4 * (s_.network == "roce" ? 1.5 : 0.7),
              fmt::format("flows that hash to the same uplink leave {:.0f} % of the rate", 100 * f),
              "NCCL_IB_QPS_PER_CONNECTION=4 NCCL_IB_SPLIT_DATA_ON_QPS=1 NCCL_IB_ADAPTIVE_ROUTING=1 all_reduce_perf …"),
          f, 1, 1);
    for (const double f : {0.14, 0.25, 0.4, 0.55}) {
      slow_cables(fault("virtual machine without its topology file (NCCL_TOPO_FILE)", 0.06 / 4,
                        "NCCL does not see which NIC is near which GPU: single node fine, several slow and noisy",
                        "NCCL_TOPO_DUMP_FILE=topo.xml all_reduce_perf …; compare it with the provider's file"),
                  f, 1, 1);
    }
  }

  void software() {
    for (const double f : {0.5, 0.62, 0.75}) {
      auto h = fault("too few channels or queue pairs for each network peer", (s_.gpu_known ? 0.06 : 0.02) / 3,
                     fmt::format("send/recv keeps too little in flight: {:.0f} % of the rate", 100 * f),
                     "NCCL_NCHANNELS_PER_NET_PEER=4 sendrecv_perf …; NCCL_IB_QPS_PER_CONNECTION=4");
      h.share = [f](const Observation& o) {
        if (o.kind == Kind::test) return o.qps == 1 ? f : 1.0;
        const bool p2p = o.what.find("sendrecv") != std::string::npos || o.what.find("alltoall") != std::string::npos;
        return outside(o) && (p2p || o.kind == Kind::expert) ? f : 1.0;
      };
      out_.push_back(std::move(h));
    }
    auto rail = fault("wrong rail: NIC order or NCCL_CROSS_NIC sends traffic across rails", 0.01,
                      "flows leave their rail and meet on the spines",
                      "NCCL_CROSS_NIC=0 all_reduce_perf …; compare NIC order on all nodes");
    slow_cables(rail, 0.6, 1, 1);
  }

  void loss() {
    // RoCE and TCP under loss: a normal rise, then a fall of four to six times at one size.
    for (const std::int64_t at : {8, 16, 32, 64, 128, 256})
      for (const double f : {0.16, 0.25, 0.4}) {
        auto h = fault(
            "packet loss or pause storms (RoCE/TCP): a fall at one size", 0.05 / 18 * (s_.network == "ib" ? 0.3 : 1),
            fmt::format("from {} MiB on the rate falls to {:.0f} %: retransmissions", at, 100 * f),
            "ethtool -S <nic> | grep -E 'discard|out_of_sequence|timeout|pause'; show PFC and ECN of the switch ports");
        h.share = [size = sim::mib(at), f](const Observation& o) {
          if (!o.several_nodes) return 1.0;
          if (o.kind == Kind::shape) return f * 1.1;
          return (o.kind == Kind::collective || o.kind == Kind::test) && o.size && *o.size >= size ? f : 1.0;
        };
        out_.push_back(std::move(h));
      }
  }

  const Scene& s_;
  const Evidence& e_;
  std::vector<Hypothesis>& out_;
};

}  // namespace

void add_faults_of_network(const Scene& scene, const Evidence& evidence, std::vector<Hypothesis>& out) {
  if (scene.several || scene.tests) List{scene, evidence, out}.add();
}

}  // namespace linkcast::calibration::diagnosis
