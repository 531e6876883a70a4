// Faults within a machine: NVLink, NVSwitch, NVLS, peer access, slots, sockets, launch, and how a test was set up.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "faults.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

using models::nccl::Op;

bool inside(const Observation& o) { return o.kind == Kind::collective && !o.several_nodes; }

class List {
 public:
  List(const Scene& scene, const Evidence& evidence, std::vector<Hypothesis>& out)
      : s_{scene}, e_{evidence}, out_{out} {}

  void add() {
    if (!s_.gpu_known) return host_binding();
    library();
    nvlink();
    peer_access();
    slots();
    host_binding();
    launch();
    test_setup();
  }

 private:
  bool set(const char* name) const { return e_.crippling.contains(name); }

  void library() {
    if (!s_.inside && !s_.several) return;
    if (s_.multicast) {
      auto h =
          fault("NVLS disabled or unavailable", set("NCCL_NVLS_ENABLE") ? 2.0 : 0.08,
                "all_reduce runs as a ring over NVLink instead of in the switches",
                "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NVLS all_reduce_perf -b 8G -e 8G -g 8 2>&1 | grep -i nvls");
      h.software.env["NCCL_NVLS_ENABLE"] = "0";
      out_.push_back(std::move(h));
    }
    for (const char* algo : {"Tree", "Ring", "NVLS"}) {
      if (algo[0] == 'N' && !s_.multicast) continue;
      auto h =
          fault("wrong algorithm: forced, or chosen by a wrong tuning", 0.007,
                fmt::format("the collective runs as {}", algo), "env | grep NCCL_; cat /etc/nccl.conf ~/.nccl.conf");
      h.software.env["NCCL_ALGO"] = algo;
      out_.push_back(std::move(h));
    }
    for (const char* protocol : {"LL", "LL128", "Simple"}) {
      auto h = fault("wrong protocol: forced, or chosen by a wrong tuning", 0.004,
                     fmt::format("protocol {} at every size", protocol),
                     "env | grep NCCL_; cat /etc/nccl.conf ~/.nccl.conf");
      h.software.env["NCCL_PROTO"] = protocol;
      out_.push_back(std::move(h));
    }
    for (const char* channels : {"1", "2", "4", "8"}) {
      auto h =
          fault("too few channels", 0.005, fmt::format("{} channel(s) instead of as many as the links take", channels),
                "env | grep CHANNELS; NCCL_MIN_NCHANNELS=16 all_reduce_perf -b 1G -e 1G -g 8");
      h.software.env["NCCL_MAX_NCHANNELS"] = channels;
      h.software.env["NCCL_MAX_P2P_NCHANNELS"] = channels;
      out_.push_back(std::move(h));
    }
  }

  void nvlink() {
    if (!s_.nvlink || s_.switch_link.empty()) return;
    const char* confirm = "nvidia-smi nvlink -s; nvidia-smi nvlink -e";
    const auto left = [&](int gone) { return 1 - gone / static_cast<double>(s_.nvlinks); };
    auto down =
        fault("an NVLink of one GPU is down or narrow", 0.015, "NVLinks of one GPU to one neighbour are down", confirm);
    down.edit.overrides = {fmt::format("link: \"{}\", state: down", s_.switch_link)};
    down.share = pair_of_gpu(left(s_.switch_width));
    out_.push_back(std::move(down));
    if (s_.switch_width > 1) {
      auto narrow = fault("an NVLink of one GPU is down or narrow", 0.015, "one NVLink of one GPU is down", confirm);
      narrow.edit.overrides = {fmt::format("link: \"{}\", width: {}", s_.switch_link, s_.switch_width - 1)};
      narrow.share = pair_of_gpu(left(1));
      out_.push_back(std::move(narrow));
    }
    if (s_.switch_link.find("nvswitch") != std::string::npos) {
      auto h = fault("an NVSwitch is down", 0.01, "one NVSwitch is down: every GPU loses its links to it",
                     "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A4 Fabric");
      h.edit.overrides = {"device: \"nvswitch[0]\", state: down"};
      h.share = [share = left(s_.switch_width)](const Observation& o) {
        return o.kind == Kind::pair && o.over_nvlink ? share : 1.0;
      };
      out_.push_back(std::move(h));
    }
  }

  static std::function<double(const Observation&)> pair_of_gpu(double share) {
    return [share](const Observation& o) {
      return o.kind == Kind::pair && o.over_nvlink && (o.from == 0 || o.to == 0) ? share : 1.0;
    };
  }

  void peer_access() {
    const bool told = set("NCCL_P2P_DISABLE") || set("NCCL_P2P_LEVEL");
    const double prior = told ? 2.0 : s_.patched ? 1.5 : s_.nvlink ? 0.05 : 0.14;
    // Staging in host memory varies from box to box by what its memory and root complex carry: the slowest published
    // GeForce boxes reach a fifth of the fastest.
    auto stagings = severities(s_.nvlink ? 0.5 : 0.1, 0.85);
    const double each = 0.6 / static_cast<double>(stagings.size());
    stagings.insert(stagings.begin(), 1.0);  // as the simulation has it, in four of ten cases
    for (const double share : stagings) {
      if (!s_.inside && !s_.pairs) break;
      auto h = fault("P2P disabled or unavailable: copies are staged through host memory",
                     prior * (share == 1.0 ? 0.4 : each),
                     "GPUs do not reach each other directly; every byte goes through host memory (SHM)",
                     "nvidia-smi topo -p2p r; NCCL_DEBUG=INFO all_reduce_perf -g 2 2>&1 | grep -E 'via (SHM|P2P)'");
      h.software.env["NCCL_P2P_DISABLE"] = "1";
      h.software.env["NCCL_NVLS_ENABLE"] = "0";
      h.share = [share, staged = s_.staged_share](const Observation& o) {
        if (inside(o)) return share;
        if (o.kind == Kind::pair && !o.to_host) return share * staged;
        return 1.0;
      };
      out_.push_back(std::move(h));
    }
    if (s_.nvlink) return;
    // P2P through CPU root ports: CPUs make poor switches, and writes of many pairs at once collapse, the more the more
    // pairs there are: alltoall to a ninth (18 to 2 GB/s, NVIDIA/nccl issue 1603), taken here as any share around it.
    const auto collapses = severities(0.04, 0.6, 2);
    for (const double all : collapses) {
      auto h =
          fault("P2P forced through CPU root ports (NCCL_P2P_LEVEL=SYS)", 0.024 / static_cast<double>(collapses.size()),
                "peers write to each other through the CPU: rings bear it, alltoall does not",
                "nvidia-smi topo -m; rerun without NCCL_P2P_LEVEL");
      h.share = [all](const Observation& o) {
        return inside(o) && o.probe >= 0 && o.what.find("alltoall") != std::string::npos ? all : 1.0;
      };
      out_.push_back(std::move(h));
    }
    const auto detours = severities(0.2, 0.62);
    for (const double share : detours) {
      auto h = fault("PCIe ACS or IOMMU: peer-to-peer goes through the root complex",
                     0.036 / static_cast<double>(detours.size()),
                     "peer writes are redirected to the root complex and share its way with themselves",
                     "sudo lspci -vvv | grep -i ACSCtl   # SrcValid+ means on; dmesg | grep -i -e iommu -e DMAR");
      h.share = [share](const Observation& o) {
        return o.kind == Kind::staged_over_p2p || inside(o) || (o.kind == Kind::pair && !o.to_host) ? share : 1.0;
      };
      out_.push_back(std::move(h));
    }
  }

  void slots() {
    if (s_.nvlink && !s_.several) return;
    const char* confirm =
        "nvidia-smi --query-gpu=index,pcie.link.gen.current,pcie.link.width.current --format=csv  # under load";
    for (const int generations : {1, 2, 3}) {
      // Each generation halves the rate of the one above: half the lanes or one generation below are the same number.
      const int lanes = s_.lanes >> generations;
      if (lanes < 1) break;
      auto h = fault(
          "PCIe at a lower width or speed", s_.peers ? 0.01 : 0.003,
          fmt::format("slots run at x{} instead of x{} ({}), or {} generation{} lower", lanes, s_.lanes,
                      s_.pcie.empty() ? "as such machines have" : s_.pcie, generations, generations == 1 ? "" : "s"),
          confirm);
      h.edit.lanes = lanes;
      h.share = [share = static_cast<double>(lanes) / s_.lanes](const Observation& o) {
        const bool slot = (o.kind == Kind::pair && !o.over_nvlink) || o.kind == Kind::staged_pair;
        return slot ? share : 1.0;
      };
      out_.push_back(std::move(h));
    }
  }

  /// "25 to 35 % of the normal host copy rate (3.8 of 12.2), or a hump, then a lower plateau": caches hold the buffers
  /// first. Of a machine that nobody knows the hump alone tells.
  void host_binding() {
    const auto shares = s_.gpu_known ? severities(0.2, 0.8) : std::vector<double>{1.0};
    const auto humps = severities(0.6, 0.9);
    for (const double share : shares)
      for (const double hump : humps) {
        auto h = fault("CPU/NUMA binding: process or buffers on the wrong socket",
                       0.045 / static_cast<double>(shares.size() * humps.size()),
                       "copies through the host cross sockets; large sizes fall behind middle ones",
                       "nvidia-smi topo -m; numactl --cpunodebind=<node> --membind=<node> …, or mpirun --bind-to none");
        const bool whole = s_.gpu_known && !s_.nvlink;
        h.share = [share, hump, whole](const Observation& o) {
          if (o.kind == Kind::shape && !o.several_nodes) return hump;
          if (o.to_host || o.kind == Kind::staged_pair) return share;
          return inside(o) && whole ? share : 1.0;
        };
        out_.push_back(std::move(h));
      }
  }

  void launch() {
    // A floor shows in every size that a healthy machine is through with in less time.
    double shortest = 1e9;
    for (const auto& o : e_.seen)
      if (o.kind == Kind::collective && o.size && !o.size_open)
        shortest = std::min(shortest, static_cast<double>(o.size->count()) / o.base * 1e-3);
    constexpr std::array floors{100.0, 140.0, 200.0, 280.0, 400.0, 560.0, 800.0, 1100.0};
    for (const double us : floors) {
      if (shortest > 0.8 * us) continue;
      auto h = fault("in-process launch overhead: the host cannot enqueue fast enough", 0.012 / floors.size(),
                     fmt::format("no call takes less than {:.0f} us, whatever its size", us),
                     "mpirun -np 8 all_reduce_perf -g 1 …   # one process for each GPU, or -G 1 for CUDA graphs");
      h.software.floor = sim::Time::from_us(us);
      out_.push_back(std::move(h));
    }
  }

  void test_setup() {
    if (!s_.inside || !s_.nvlink) return;
    // "A few percent of the peak", at any size.
    const auto shares = severities(0.01, 0.12);
    for (const double share : shares) {
      auto h = fault("container or test set-up: ranks do not reach each other as the machine allows",
                     0.032 / static_cast<double>(shares.size()),
                     fmt::format("everything within the machine at {:.0f} %", 100 * share),
                     "all_reduce_perf -b 8G -e 8G -g 8   # one process, in the same container");
      h.share = [share](const Observation& o) { return inside(o) ? share : 1.0; };
      out_.push_back(std::move(h));
    }
  }

  const Scene& s_;
  const Evidence& e_;
  std::vector<Hypothesis>& out_;
};

}  // namespace

void add_faults_inside(const Scene& scene, const Evidence& evidence, std::vector<Hypothesis>& out) {
  List{scene, evidence, out}.add();
}

}  // namespace linkcast::calibration::diagnosis
