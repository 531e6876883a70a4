// NCCL's cost model by version. Source: ncclTopoTuneModel and ncclTopoGetAlgoTime (NCCL graph/tuning.cc). The
// arithmetic mixes float and double where NCCL does, so that ties and printed digits fall alike.
#include "nccl/tuning.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace linkcast::models::nccl {

namespace {
enum : int { tree, ring, direct, chain, nvls, nvls_tree, pat };
enum : int { ll, ll128, simple };
enum : int { broadcast, reduce, all_gather, reduce_scatter, all_reduce };

int floor_log2(std::uint64_t v) { return v == 0 ? -1 : 63 - std::countl_zero(v); }
int generation(int cc) { return cc >= 100 ? 3 : cc >= 90 ? 2 : cc >= 80 ? 1 : 0; }

int limited(std::optional<long long> wanted, int least, int most, int otherwise) {
  if (!wanted || *wanted <= 0) return otherwise;
  if (*wanted % 32 != 0) return most;
  return static_cast<int>(std::clamp<long long>(*wanted, least, most));
}
}  // namespace

TuneModel::TuneModel(const TuneInput& input, const Environment& env) : in_{input}, tables_{tune_tables(input.version)} {
  constexpr int pci = 1;
  if (in_.power) tables_.hw[pci][tree][simple] = tables_.hw[pci][ring][simple];
  thread_limits(env);
  if (in_.ranks <= 1) return;
  fill(env);
  forbid(env);
}

const Found& TuneModel::graph(int a) const {
  switch (a) {
    case ring:
      return *in_.ring;
    case direct:
      return *in_.collnet_direct;
    case chain:
      return *in_.collnet_chain;
    case nvls:
      return since(18) ? *in_.nvls_graph : *in_.ring;
    case nvls_tree:
      return *in_.nvls_graph;
    default:
      return *in_.tree;
  }
}

void TuneModel::thread_limits(const Environment& env) {
  const auto threads = env.integer("NCCL_NTHREADS"), threads128 = env.integer("NCCL_LL128_NTHREADS");
  // A slow ring (one Gen3 x16 slot or less) is kept busy by half a block.
  const bool slow = in_.ring->bw_intra * static_cast<float>(in_.ring->channels) <= 12.0F;
  for (int a = 0; a < algorithms; ++a) {
    threads_[a][ll] = limited(threads, 64, 512, 512);
    threads_[a][ll128] = limited(threads128, 160, 640, 640);
    threads_[a][simple] = since(18) ? 640 : 512;
    thresholds_[a][ll] = thresholds_[a][ll128] = 8;
    thresholds_[a][simple] = 64;
  }
  threads_[ring][simple] = limited(threads, 64, 512, slow ? 256 : 512);
  threads_[tree][simple] = limited(threads, 64, 512, 512);
  thresholds_[ring][ll] *= in_.ranks;
  thresholds_[direct][simple] = thresholds_[chain][simple] = 512;
  if (const auto text = env.get("NCCL_THREAD_THRESHOLDS")) {
    const char* at = text->c_str();
    for (int a : {tree, ring}) {
      for (int p = 0; p < protocols; ++p) {
        char* end = nullptr;
        const long long v = std::strtoll(at, &end, 10);
        if (end == at) return;
        if (v >= 0) thresholds_[a][p] = v;
        at = end;
      }
    }
  }
}

// Which triples the model computes at all.
bool TuneModel::considered(int c, int a, int p, const Environment& env) const {
  if ((a == nvls || a == nvls_tree) && p != simple) return false;
  if (a == nvls && !since(17)) return false;
  if (a == nvls_tree && !since(18)) return false;
  if (a == chain && !since(14)) return false;
  if (a == pat) {
    if (!since(23) || p != simple || (c != all_gather && c != reduce_scatter)) return false;
    const auto wish = env.integer("NCCL_PAT_ENABLE").value_or(2);
    if (in_.cc_min < 60) return false;
    return wish == 2 ? in_.nodes == in_.ranks && !in_.unpack : wish != 0;
  }
  if (c == broadcast || c == reduce) return a == ring;
  if (c == all_gather || c == reduce_scatter) {
    if (a == ring) return true;
    if (a == nvls) return since(17) && !(since(18) && !since(19));
    return a == direct && since(20);
  }
  return true;
}

float TuneModel::bus_bandwidth(int c, int a, int p) const {
  const Found& g = graph(a);
  const int scale = std::min(in_.nodes, 3) - 1;
  // 2.12 to 2.16 knew a generation only where all GPUs are of it.
  int gen = generation(in_.cc_min);
  if (!since(17) && in_.cc_min != in_.cc_max) gen = 0;
  if (!since(25)) gen = std::min(gen, 2);
  if (!since(16)) gen = in_.cc_min == 80 && in_.cc_max == 80 ? 1 : 0;
  // LL: inside a node the GPU decides, across nodes the CPU.
  const int ll_row = in_.nodes == 1 ? gen : in_.amd || in_.mixed_vendor ? 1 : 0;
  const double ll_max = tables_.ll_max[ll_row][scale];
  const auto ppn = static_cast<float>(in_.ranks) / static_cast<float>(in_.nodes);
  const auto channels = static_cast<float>(g.channels);

  const bool via_collnet = a == direct || a == chain;
  float bw = in_.nodes <= 2 || via_collnet ? g.bw_intra : g.bw_inter;
  if (a == nvls || a == nvls_tree) {
    if (since(28)) {
      if (g.channels < 2) return 0;
      const float efficiency = gen == 2 ? 0.85F : gen == 3 ? 0.74F : 0.0F;
      float intra = g.bw_intra * efficiency * (channels - 1) / channels;
      if (c == all_reduce)
        intra *= 2.0F;
      else
        intra *= (ppn - 1) / ppn;
      const float inter = g.bw_inter * (in_.nodes <= 2 && a == nvls_tree ? 2.0F : 1.0F);
      bw = std::min(intra, inter);
      if (a == nvls_tree) bw = std::min(bw, static_cast<float>(tables_.nvls_tree[gen][scale]));
    } else if (since(19)) {
      if (a == nvls) {
        bw = since(27) && c != all_reduce ? std::min(g.bw_intra * (ppn - 1.0F) / ppn, g.bw_inter * 0.9F)
                                          : std::min(g.bw_intra, g.bw_inter);
      } else {
        bw = std::min(g.bw_intra, in_.nodes <= 2 ? g.bw_inter : g.bw_inter / 2);
      }
    }
  }
  float bus = channels * bw;
  if (!since(18)) {
    if (gen == 1) bus = std::min(bus, 235.0F);
    if (gen == 2 && since(17)) bus = std::min(bus, 370.0F);
  }
  const auto narrow = [&](double v) { bus = static_cast<float>(v); };
  const double n = g.channels;
  if (a == ring && p == ll) {
    const double share = since(21) ? .5 : in_.nodes > 1 || c == all_reduce || c == reduce ? 1.0 / 4 : 1.0 / 3;
    narrow(std::min(ll_max, bus * share));
  }
  if (a == ring && p == ll128) {
    const double share = !since(23) && ppn < 2 ? 0.7 : 0.92;
    narrow(std::min(bus * share, n * tables_.ring_ll128[gen][scale]));
  }
  if (a == tree) {
    if (c == all_reduce) narrow(std::min(bus * .92, n * tables_.tree[gen][scale]));
    if (p == ll) narrow(std::min(bus * 1.0 / 3.8, ll_max));
    if (p == ll128) {
      narrow(std::min(bus * (in_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0), n * tables_.tree_ll128[gen][scale]));
    }
    if (since(18) && g.pattern == Pattern::tree) narrow(bus * .85);
  }
  if (a == pat) narrow(bus * (since(24) ? .75 : .85));
  if (via_collnet && p != simple) return 0;
  if (a == direct) {
    if (c == all_gather || c == reduce_scatter) {
      bus = ppn * (since(27) ? std::min(g.bw_intra, g.bw_inter * 0.9F) : g.bw_intra);
      // Measured at 1 and 8 GPUs per node, interpolated between.
      const float w = (ppn - 1) / (8 - 1);
      if (!since(27)) narrow(bus * (static_cast<double>(w) * 0.85 + static_cast<double>(1 - w) * 0.95));
    } else {
      // Every GPU needs a NIC of its own to reach full speed.
      auto factor = static_cast<float>(ppn / (1.0 * n));
      factor -= (factor - 1) / 2;
      bus /= factor;
      if (since(18) && in_.cc_min >= 90) narrow(bus * .85);
    }
  }
  if (a == chain && !since(18)) narrow(bus * .75);
  if ((a == nvls || a == direct) && (c == all_gather || c == reduce_scatter) && in_.nodes > 1) {
    const bool heads_enough = in_.ranks / in_.nodes <= in_.collnet_heads;
    if (!in_.collnet || !heads_enough || (a == nvls && !since(27))) return 0;
  }
  return bus;
}

float TuneModel::to_algorithm_bandwidth(int c, int a, float bus) const {
  const bool spread = c == all_gather || c == reduce_scatter;
  if (since(23) ? a != ring && spread : since(20) && a == direct && spread) return bus;
  const int steps = c == all_reduce ? 2 * (in_.ranks - 1) : spread ? in_.ranks - 1 : in_.ranks;
  const double by_steps = (1.0 * in_.ranks) / steps;
  double ratio = .5;
  if (a == ring) ratio = by_steps;
  if (a == nvls || a == nvls_tree) {
    ratio = since(28) ? by_steps : 5.0 / 6.0;
    if (!since(18)) ratio = .75;
    if (!since(19) && a == nvls_tree) ratio = .70 * in_.nodes / (2.0 * (in_.nodes - 1));
  }
  return static_cast<float>(bus * static_cast<double>(static_cast<float>(ratio)));
}

float TuneModel::path_latency(int c, int a, int p, double net_overhead) const {
  constexpr int pci = 1, net = 2;
  const Found& g = graph(a);
  const int intra_hw = g.type_intra == PathType::nvl ? 0 : pci;
  const int hw = in_.nodes == 1 ? intra_hw : net;
  const int n = in_.ranks, nodes = in_.nodes;
  const bool spread = c == all_gather || c == reduce_scatter;
  const int steps = c == all_reduce ? 2 * (n - 1) : spread ? n - 1 : n;

  auto lat = static_cast<float>(tables_.base[a][p]);
  const auto add = [&](double v) { lat = static_cast<float>(lat + v); };
  auto intra = static_cast<float>(tables_.hw[intra_hw][a][p]);
  auto inter = static_cast<float>(tables_.hw[net][since(23) && n == nodes ? tree : a][p]);
  if (since(18)) {
    inter += g.latency_inter;
    if (p == simple) inter += g.latency_inter;  // the flush
  } else {
    if (g.latency_inter != 0) inter = g.latency_inter;
    if (nodes > 1 && p == ll) intra = static_cast<float>(intra * 1.8);
  }

  if (a == ring) {
    auto step = static_cast<float>(tables_.hw[hw][a][p]);
    if (c == reduce || c == broadcast) {
      if (g.same_channels) {
        add(step);
      } else {
        if (p == simple) step = static_cast<float>(tables_.hw[hw][tree][p]);
        add(static_cast<float>(steps) * step);
      }
    } else {
      float overhead = 0;
      if (nodes > 1 && since(18)) overhead = static_cast<float>(net_overhead * (p == simple ? 3 : 1));
      intra = std::max(intra, overhead);
      int crossings = nodes == 1 ? 0 : c == all_reduce ? 2 * (nodes - 1) : nodes - 1;
      if (!since(23) && c == all_reduce) crossings = nodes > 1 ? 2 * nodes : 0;
      add(static_cast<float>(steps - crossings) * intra + static_cast<float>(crossings) * inter);
    }
  } else if (a == tree) {
    if (c == all_reduce) {
      add(2 * (static_cast<float>(n / nodes - 1) * intra + static_cast<float>(floor_log2(nodes)) * inter));
    }
  } else if (a == direct) {
    add(2 * (static_cast<float>(std::min(1, n / nodes - 1)) * intra + (n / nodes - 1) * (since(19) ? 0.4 : 0.5)) +
        inter);
  } else if (a == chain) {
    add(2 * static_cast<float>(n / nodes - 1) * intra + (since(18) ? inter : 0));
  } else if (a == nvls) {
    if (since(19)) lat = intra;
    if (nodes > 1) add(since(19) ? static_cast<double>(inter) : tables_.hw[net][a][p]);
  } else if (a == nvls_tree) {
    if (since(19))
      add(intra + 2 * static_cast<float>(floor_log2(nodes)) * inter);
    else
      add(2 * (nodes - 1) * tables_.hw[net][a][p]);
  } else if (a == pat) {
    add(floor_log2(nodes) * (inter / 3.5) + n * 2.8);
  }
  return lat;
}

void TuneModel::fill(const Environment& env) {
  double overhead = in_.amd ? 2.0 : 1.0;
  if (const auto ns = env.integer("NCCL_NET_OVERHEAD"); ns && *ns != -2) overhead = static_cast<double>(*ns) * .001;
  for (int c = 0; c < collectives; ++c) {
    for (int a = 0; a < algorithms; ++a) {
      for (int p = 0; p < protocols; ++p) {
        if (!considered(c, a, p, env)) continue;
        bandwidth_[c][a][p] = to_algorithm_bandwidth(c, a, bus_bandwidth(c, a, p));
        latency_[c][a][p] = path_latency(c, a, p, overhead);
        if (a == ring) ring_backup_[c][p] = bandwidth_[c][a][p];
      }
    }
  }
}

void TuneModel::forbid(const Environment& env) {
  const auto algos = allowed_algorithms(env);
  const auto protos = allowed_protocols(env);
  const bool c2c_ok = env.integer("NCCL_LL128_C2C").value_or(1) != 0;
  for (int c = 0; c < collectives; ++c) {
    for (int a = 0; a < algorithms; ++a) {
      bool on = algos[c][a] != Allowed::no;
      if (!since(19) && c != all_reduce && a == ring) on = true;  // so that NCCL_ALGO=Tree can run whole applications
      if (in_.nodes == 1 && a == nvls_tree) on = false;
      if (!in_.collnet && (a == direct || a == chain || (a == nvls && in_.nodes > 1))) on = false;
      if (!in_.collnet_chain_usable && a == chain) on = false;
      if (!in_.has_switch && a == direct) on = false;
      if (!in_.nvls && (a == nvls || a == nvls_tree)) on = false;
      for (int p = 0; p < protocols; ++p) {
        bool enabled = protos[c][p] != Allowed::no;
        if (protos[c][p] == Allowed::if_safe) {
          // LL128 needs 128-byte stores that stay whole all the way.
          const Found& g = graph(a);
          const bool far = in_.cc_min >= 90 && since(17) && c2c_ok;
          enabled = g.type_inter <= (far ? PathType::pxn : PathType::pxb) &&
                    g.type_intra <= (since(18) ? PathType::nvb : PathType::nvl) &&
                    (in_.cc_min == in_.cc_max || (since(24) && in_.cc_min >= 90));
          if (since(27))
            enabled = enabled && in_.cc_min >= 70;
          else if (in_.cc_min == 90)
            enabled = enabled && since(16);
          else if (in_.cc_min >= 100)
            enabled = enabled && since(25) && (in_.cc_min == 100 || in_.cc_min == 120);
          else
            enabled = enabled && (in_.cc_min == 70 || in_.cc_min == 80);
        }
        if (!on || !enabled) bandwidth_[c][a][p] = 0;
        if (a == ring && !enabled) ring_backup_[c][p] = 0;
      }
    }
    // From 2.19 to 2.23 a list that leaves nothing falls back to the ring; later it is an error.
    if (since(19) && !since(24)) {
      bool any = false;
      for (int a = 0; a < algorithms; ++a) {
        for (int p = 0; p < protocols; ++p) any = any || bandwidth_[c][a][p] != 0;
      }
      for (int p = 0; p < protocols && !any; ++p) bandwidth_[c][ring][p] = ring_backup_[c][p];
    }
  }
}

float TuneModel::time(int c, int a, int p, std::int64_t bytes) const {
  float bw = bandwidth_[c][a][p];
  float lat = latency_[c][a][p];
  if (bw == 0) return -1;
  const int size = floor_log2(static_cast<std::uint64_t>(bytes) >> 6);
  if (a == tree && (c == all_reduce || !since(23)) && size >= 0 && size < 23) {
    bw *= static_cast<float>(tree_correction[p][size]);
  }
  if (a == nvls_tree && c == all_reduce && since(29) && in_.cc_min >= 100 && in_.x86 && size >= 0 && size < 24) {
    bw *= static_cast<float>(tree_correction[p][size]);
  }
  if (a == ring && p == simple && in_.nodes > 1 && c == all_reduce) {
    const bool plateau = since(18) ? bytes / (in_.comm_channels * in_.ranks) >= 64
                                   : static_cast<double>(bytes) >= in_.ranks / 16.0 * 65536;
    const double late = since(18) ? (in_.cc_min < 80 ? 1.9 : 1.4) : since(17) && in_.cc_min >= 90 ? 1.5 : 1.9;
    if (plateau) lat = static_cast<float>(lat * late);
  }
  return lat + static_cast<float>(bytes) / (1000 * bw);
}

}  // namespace linkcast::models::nccl
