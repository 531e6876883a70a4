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
  static double many(const std::vector<double>& list) { return static_cast<double>(list.size()); }

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
    const auto detours = severities(0.36, 0.62);
    for (const double f : detours)
      slow_cables(fault("PCIe ACS enabled (or IOMMU/ATS): GPU and NIC meet at the root complex", 0.10 / many(detours),
                        fmt::format("GPUs and NICs exchange through the root complex{}, {:.0f} % of the rate; small "
                                    "messages, host memory and NVLink are untouched",
                                    s_.pcie.empty() ? "" : " (" + s_.pcie + ")", 100 * f),
                        "sudo lspci -vvv | grep -i ACSCtl   # SrcValid+ on switch ports means on"),
                  f, f, 1);
    // 6 of 12, 33 of 93, 10 of 180: staged in host memory, and often through one thread of the proxy.
    // As the simulation has it in four of ten cases, else slower by any factor.
    auto shares = severities(0.05, 0.85, 2);
    const double each = 0.6 / many(shares);
    shares.insert(shares.begin(), 1.0);
    // Small messages may wait for the proxy's copies as well, and the largest sizes fall behind: by how much is not
    // published, so by anything to a quarter and to a half.
    auto waits = severities(0.25, 0.7, 3), plateaus = severities(0.5, 0.9, 3);
    waits.insert(waits.begin(), 1.0), plateaus.insert(plateaus.begin(), 1.0);
    const double prior = (e_.crippling.contains("NCCL_NET_GDR_LEVEL") ? 2.0 : 0.11) / many(waits) / many(plateaus);
    for (const double f : shares)
      for (const double small : waits)
        for (const double plateau : plateaus) {
          auto h =
              fault("GPUDirect RDMA off: every byte is staged through host memory", prior * (f == 1.0 ? 0.4 : each),
                    "NICs do not reach GPU memory: staged through the host, flat from 8 to 16 MiB on",
                    "NCCL_DEBUG=INFO all_reduce_perf … 2>&1 | grep GDRDMA; lsmod | grep -e nvidia_peermem");
          h.software.env["NCCL_NET_GDR_LEVEL"] = "LOC";
          slow_cables(std::move(h), f, f, 1);
          out_.back().share = [small, plateau, f](const Observation& o) {
            if (o.kind == Kind::expert && o.several_nodes) return f;
            if (o.kind == Kind::shape) return o.several_nodes ? plateau : 1.0;
            if (o.kind == Kind::test) return o.memory == MemoryKind::gpu ? f : 1.0;
            return outside(o) && o.size && *o.size < sim::mib(1) ? small : 1.0;
          };
        }
    reads();
    // The NIC waits for each write in order (found on AMD hosts; others have the same setting).
    const auto ordered = severities(0.58, 0.87);
    for (const double f : ordered)
      slow_cables(fault("PCIe relaxed ordering off", 0.03 / many(ordered),
                        fmt::format("the NIC waits for each write in order: {:.0f} % of its rate", 100 * f),
                        "NCCL_IB_PCI_RELAXED_ORDERING=1 all_reduce_perf …; lspci -vvv | grep RlxdOrd"),
                  f, f, f);
  }

  /// Reads off: NCCL's own choice before Ampere where there is no NVLink, and an old habit elsewhere. It costs about a
  /// third; where the host is what binds, nothing else.
  void reads() {
    const auto thirds = severities(0.55, 0.82);
    const bool habit = !s_.nvlink && s_.compute_capability > 0 && s_.compute_capability < 80;
    auto plain =
        fault("GPUDirect RDMA off for reads: the sending side is staged through host memory", habit ? 0.06 : 0.01,
              "the sending GPU is read through host memory", "NCCL_NET_GDR_READ=1 all_reduce_perf …");
    plain.software.env["NCCL_NET_GDR_READ"] = "0";
    out_.push_back(std::move(plain));
    for (const double f : thirds)
      slow_cables(fault("GPUDirect RDMA off for reads: the sending side is staged through host memory",
                        (habit ? 0.06 : 0.01) / many(thirds),
                        "the sending GPU is read through host memory, which costs about a third",
                        "NCCL_NET_GDR_READ=1 all_reduce_perf …"),
                  f, f, 1);
  }

  void nics() {
    const int n = s_.nics;
    // Exact steps of whole NICs, or less where they are shared.
    for (int used = 1; used < n; used += used < 8 ? 1 : used) {
      for (const double share : {1.0, 0.73, 0.53}) {
        auto h =
            fault("wrong, shared or too few NICs are used", (used == 1 ? 0.09 : 0.12 / n) * (share < 1 ? 0.15 : 0.7),
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
    for (const double f : {0.5, 0.25, 0.125})
      slow_cables(fault("NICs or cables at a lower rate", f == 0.5 ? 0.05 : 0.01,
                        fmt::format("links run at {:.0f} Gb/s instead of {:.0f}", f * s_.nic_gbps, s_.nic_gbps),
                        "ibstat | grep -E 'CA|Rate'; ethtool <nic> | grep Speed; mlxlink -d <device>"),
                  f, f, f);
    // One NIC may be several devices (ports, PCIe functions, virtual functions), of which some are used or lent.
    const auto parts = severities(0.12, 0.8);
    for (const double share : parts)
      slow_cables(
          fault("wrong, shared or too few NICs are used", (n == 1 ? 0.08 : 0.02) / many(parts),
                fmt::format("one port or function of each NIC carries the traffic, or others share it: {:.0f} %",
                            100 * share),
                "NCCL_DEBUG=INFO all_reduce_perf … 2>&1 | grep 'NET/IB : Using'; show_gids"),
          share, share, share);
    const auto left = severities(0.08, 0.8, 3);
    for (const double f : left) {
      auto h =
          fault("one slow NIC, cable or direction of it", 0.036 / many(left),
                fmt::format("one NIC carries {:.0f} %", 100 * f),
                "for d in $(ibv_devices | awk 'NR>2{print $1}'); do ib_write_bw -d $d --report_gbits <peer>; done");
      h.edit.one_nic = f;
      out_.push_back(std::move(h));
      auto node =
          fault("one slow node", 0.042 / many(left), fmt::format("the NICs of one node carry {:.0f} %", 100 * f),
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
    // How fast the kernel's stack is differs more between hosts than anything that the model has of it.
    // No range is published: from four times slower to two and a half times faster than the catalog's.
    std::vector<double> rates;
    for (double f = 2.5; f > 0.25; f *= 0.729) rates.push_back(f);
    const auto waits = socket_waits();
    for (const double small : waits)
      for (const double f : rates) {
        auto h = fault("TCP sockets instead of RDMA (no plugin or verbs, IPoIB)", prior / many(waits) / many(rates),
                       "NCCL fell back to sockets: no RDMA, bytes go through the kernel",
                       "NCCL_DEBUG=INFO all_reduce_perf … 2>&1 | grep -E 'NET/(IB|Socket|OFI)|Using network'");
        h.edit.network = "tcp";
        h.share = [f, small](const Observation& o) {
          if (!outside(o)) return 1.0;
          if (o.kind == Kind::expert) return 0.1 * f;
          return f * (o.size && *o.size < sim::mib(16) ? small : 1.0);
        };
        out_.push_back(std::move(h));
      }
  }

  /// Small calls wait for the kernel's network stack: by anything to a fifth of the rate (no range is published).
  static std::vector<double> socket_waits() {
    auto out = severities(0.2, 0.9, 4);
    out.insert(out.begin(), 1.0);
    return out;
  }

  /// The same where sockets are slower than the model has them, up to IPoIB without offloads.
  void slow_sockets(double prior) {
    const auto shares = severities(0.012, 0.2, 2);
    const auto waits = socket_waits();
    for (const double f : shares)
      for (const double small : waits) {
        auto h =
            fault("TCP sockets instead of RDMA (no plugin or verbs, IPoIB)", prior / 2 / many(waits) / many(shares),
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
    // One uplink for two to five leaf ports.
    const auto tapers = severities(0.18, 0.66);
    for (const double f : tapers)
      slow_cables(fault("oversubscribed tier: uplinks carry less than the leaves take in", 0.03 / many(tapers),
                        fmt::format("traffic between leaves has {:.0f} % of the rate", 100 * f),
                        "all_reduce_perf on nodes of one leaf, then across leaves; ibnetdiscover"),
                  f, 1, 1);
    // Two or three flows of some uplink's; the slowest holds back the others.
    const auto collisions = severities(0.35, 0.82);
    for (const double f : collisions)
      slow_cables(
          fault(
              "ECMP collisions: flows share few paths (no adaptive routing)",
              0.05 / many(collisions) * (s_.network == "roce" ? 1.5 : 0.7),
              fmt::format("flows that hash to the same uplink leave {:.0f} % of the rate", 100 * f),
              "NCCL_IB_QPS_PER_CONNECTION=4 NCCL_IB_SPLIT_DATA_ON_QPS=1 NCCL_IB_ADAPTIVE_ROUTING=1 all_reduce_perf …"),
          f, 1, 1);
    // "A spread of two to seven times".
    const auto spreads = severities(1.0 / 7, 0.53);
    for (const double f : spreads)
      slow_cables(fault("virtual machine without its topology file (NCCL_TOPO_FILE)", 0.06 / many(spreads),
                        "NCCL does not see which NIC is near which GPU: single node fine, several slow and noisy",
                        "NCCL_TOPO_DUMP_FILE=topo.xml all_reduce_perf …; compare it with the provider's file"),
                  f, 1, 1);
  }

  void software() {
    // A quarter to a half is lost.
    const auto lost = severities(0.45, 0.82);
    for (const double f : lost) {
      auto h = fault("too few channels or queue pairs for each network peer", (s_.gpu_known ? 0.06 : 0.02) / many(lost),
                     fmt::format("send/recv keeps too little in flight: {:.0f} % of the rate", 100 * f),
                     "NCCL_NCHANNELS_PER_NET_PEER=4 sendrecv_perf …; NCCL_IB_QPS_PER_CONNECTION=4");
      h.share = [f](const Observation& o) {
        if (o.kind == Kind::test) return o.qps == 1 ? f : 1.0;
        const bool p2p = o.what.find("sendrecv") != std::string::npos || o.what.find("alltoall") != std::string::npos;
        return outside(o) && (p2p || o.kind == Kind::expert) ? f : 1.0;
      };
      out_.push_back(std::move(h));
    }
    const auto crossed = severities(0.4, 0.82, 2);
    for (const double f : crossed)
      slow_cables(fault("wrong rail: NIC order or NCCL_CROSS_NIC sends traffic across rails", 0.01 / many(crossed),
                        "flows leave their rail and meet on the spines",
                        "NCCL_CROSS_NIC=0 all_reduce_perf …; compare NIC order on all nodes"),
                  f, 1, 1);
  }

  void loss() {
    // RoCE and TCP under loss: a normal rise, then a fall of four to six times at one size.
    const auto falls = severities(0.13, 0.32);
    for (const std::int64_t at : {4, 8, 16, 32, 64, 128, 256, 512})
      for (const double f : falls) {
        auto h = fault(
            "packet loss or pause storms (RoCE/TCP): a fall at one size",
            0.05 / 8 / many(falls) * (s_.network == "ib" ? 0.3 : 1),
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
