// Series as observations; how far their predictions may be off; what the healthy machine runs. See observe.hpp.
#include "observe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "linkcast/calibration/expected_error.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

constexpr double ninety = 1.645;  // half of a 90 % interval in standard deviations
constexpr std::size_t most_points = 14;

std::string class_words(sim::Bytes size) {
  constexpr std::array words{"below 1 MiB", "1 to 64 MiB", "from 64 MiB"};
  return words[static_cast<std::size_t>(size_class(size))];
}

/// About as many points as a person would look at, spread over the sizes.
std::vector<std::size_t> chosen(const std::vector<Point>& points) {
  std::vector<std::size_t> out;
  const auto n = points.size();
  if (n <= most_points) {
    for (std::size_t i = 0; i < n; ++i) out.push_back(i);
    return out;
  }
  const double first = std::log(static_cast<double>(std::max<std::int64_t>(1, points.front().size.count())));
  const double last = std::log(static_cast<double>(points.back().size.count()));
  std::size_t at = 0;
  for (std::size_t k = 0; k < most_points; ++k) {
    const double wanted = first + (last - first) * static_cast<double>(k) / (most_points - 1);
    while (at + 1 < n && std::log(static_cast<double>(points[at].size.count())) < wanted - 1e-9) ++at;
    if (out.empty() || out.back() != at) out.push_back(at);
  }
  return out;
}

/// How much neighbouring points jump, of ln: median over the series, so that one step (a protocol, a fall) is none.
double noise_of(const std::vector<double>& measured, const std::vector<double>& base) {
  std::vector<double> jumps;
  for (std::size_t i = 2; i < measured.size(); ++i) {
    const auto r = [&](std::size_t k) { return std::log(measured[k] / (base.empty() ? 1.0 : base[k])); };
    jumps.push_back(std::abs(r(i) - 2 * r(i - 1) + r(i - 2)));
  }
  if (jumps.size() < 4) return 0;
  const auto middle = jumps.begin() + static_cast<std::ptrdiff_t>(jumps.size() / 2);
  std::nth_element(jumps.begin(), middle, jumps.end());
  return *middle / 0.6745 / std::sqrt(6.0);  // variance of a second difference: 1 + 4 + 1
}

/// A plateau below the peak: what loss, a wrong socket or a hot part leave behind, whatever the machine.
void observe_shape(const Series& s, const std::vector<double>& measured, const std::vector<double>& base, double noise,
                   Evidence& evidence) {
  double peak = 0, base_peak = 0;
  std::vector<double> large, base_large;
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    if (s.points[i].size < sim::mib(1) / 4) continue;
    peak = std::max(peak, measured[i]);
    if (!base.empty()) base_peak = std::max(base_peak, base[i]);
    large.push_back(measured[i]);
    if (!base.empty()) base_large.push_back(base[i]);
  }
  if (large.size() < 6) return;
  const auto best_of_last = [](const std::vector<double>& v) { return *std::max_element(v.end() - 3, v.end()); };
  Observation o;
  o.kind = Kind::shape;
  o.what = fmt::format("{}: the largest sizes over the best size",
                       s.op == models::nccl::Op::all_reduce ? "all_reduce" : std::string(models::nccl::name_of(s.op)));
  o.measured = best_of_last(large) / peak;
  o.base = base_large.empty() ? 1.0 : std::min(1.0, best_of_last(base_large) / base_peak);
  o.group = "shape " + s.id;
  // Of some 75 healthy series with sizes from 64 MiB none ends more than 7 % below its best, and half within 1 %.
  o.bias = std::hypot(0.025, noise);
  o.several_nodes = s.nodes > 1;
  evidence.seen.push_back(o);
}

}  // namespace

std::string size_words(sim::Bytes size) {
  const auto n = size.count();
  constexpr std::array<std::pair<std::int64_t, const char*>, 3> units{
      {{std::int64_t{1} << 30, "GiB"}, {std::int64_t{1} << 20, "MiB"}, {std::int64_t{1} << 10, "KiB"}}};
  for (const auto& [unit, word] : units)
    if (n >= unit && n % unit == 0) return fmt::format("{} {}", n / unit, word);
  for (const auto& [unit, word] : units)
    if (n >= unit) return fmt::format("{:.4g} {}", static_cast<double>(n) / static_cast<double>(unit), word);
  return fmt::format("{} B", n);
}

std::string_view cause_of_variable(std::string_view name) {
  if (name == "NCCL_P2P_LEVEL" || name == "NCCL_P2P_DISABLE")
    return "P2P disabled or unavailable: copies are staged through host memory";
  if (name == "NCCL_NVLS_ENABLE") return "NVLS disabled or unavailable";
  if (name == "NCCL_IB_DISABLE" || name == "NCCL_NET") return "TCP sockets instead of RDMA (no plugin or verbs, IPoIB)";
  if (name == "NCCL_NET_GDR_LEVEL") return "GPUDirect RDMA off: every byte is staged through host memory";
  if (name == "NCCL_NET_GDR_READ")
    return "GPUDirect RDMA off for reads: the sending side is staged through host memory";
  return {};
}

Interval interval_of(const Machine& machine, models::nccl::Op op, bool several_nodes, sim::Bytes size) {
  // Bounds: sites with the same machine differ by 4 to 8 % from 64 MiB (more across nodes) and by a third where the
  // launch decides; a table of a few series must not claim less, nor more than any fault changes.
  constexpr std::array<std::array<double, 2>, 3> least{{{0.30, 0.35}, {0.08, 0.12}, {0.045, 0.07}}};
  constexpr std::array<double, 3> most{0.6, 0.3, 0.13}, scatter{0.10, 0.05, 0.02};
  const auto c = static_cast<std::size_t>(size_class(size));
  const double floor = least[c][several_nodes ? 1 : 0];
  const auto family = family_of(machine.system, several_nodes);
  const auto rows = calibrated_errors();
  const auto own = std::find_if(rows.begin(), rows.end(), [&](const ErrorRow& r) { return r.system == family; });
  const auto error = expected_error(family, own == rows.end() ? std::string_view{} : own->architecture, op, size);
  double bias = error ? error->percent / 100 / 0.6745 : floor;
  if (error && error->extrapolated) bias *= 1.3;
  // Which cards share a switch or a socket decides much of a PCIe box, and nobody says it.
  if (!machine.in_catalog || machine.cards) bias = std::max(1.5 * bias, 2 * floor);
  if (!machine.gpu_known) bias = std::max(bias, 0.3);
  bias = std::clamp(bias, floor, machine.gpu_known ? most[c] : 0.6);
  // Where the model is far off, it is not by the same factor at every size of a class.
  return {bias, std::max(scatter[c], (c == 2 ? 0.15 : 0.45) * bias)};
}

Probe healthy_probe(const Machine& machine, const DiagnoseOptions& options,
                    const std::map<std::string, std::string>& env, Evidence& evidence) {
  Probe probe;
  probe.nodes = machine.nodes;
  probe.gpus = machine.gpus;
  probe.nccl = options.nccl;
  auto all = options.env.all();  // what the caller says comes first
  for (const auto& [name, value] : env) all.try_emplace(name, value);
  for (const auto& [name, value] : all) {
    const bool p2p_level =
        name == "NCCL_P2P_LEVEL" && (value == "LOC" || value == "0" || value == "NVL" || value == "PIX");
    const bool costs = (name == "NCCL_P2P_DISABLE" && value != "0") || p2p_level ||
                       (name == "NCCL_NVLS_ENABLE" && value == "0") || (name == "NCCL_IB_DISABLE" && value != "0") ||
                       (name == "NCCL_NET" && value == "Socket") || (name == "NCCL_SHM_DISABLE" && value != "0") ||
                       (name == "NCCL_NET_GDR_READ" && value == "0") ||
                       (name == "NCCL_NET_GDR_LEVEL" && (value == "LOC" || value == "0"));
    if (costs && !(p2p_level && (value == "NVL" || value == "PIX")))
      evidence.crippling[name] = value;
    else if (name.rfind("NCCL_IB_HCA", 0) != 0 && name != "NCCL_TOPO_FILE" && name != "NCCL_COLLNET_ENABLE" &&
             !p2p_level)
      probe.env[name] = value;
  }
  // As good as the hardware allows: NCCL's own caution about distances is one of the causes.
  if (machine.topology.empty() || machine.cards) {
    probe.env.try_emplace("NCCL_P2P_LEVEL", "SYS");
    probe.env.try_emplace("NCCL_NET_GDR_LEVEL", "SYS");
    probe.env.try_emplace("NCCL_NET_GDR_READ", "1");
  }
  return probe;
}

void observe_series(const std::vector<Series>& series, const Predictor& predictor, const DiagnoseOptions& options,
                    Evidence& evidence) {
  const auto& machine = predictor.machine();
  for (const auto& s : series) {
    if (s.points.empty()) continue;
    if (s.cpu_time) {
      evidence.notes.push_back(fmt::format("{}: the times are the host's (nccl-tests -C), not used", s.id));
      continue;
    }
    auto probe = healthy_probe(machine, options, s.env, evidence);
    probe.op = s.op;
    if (machine.nvlink_domain || s.nodes <= 1) {
      probe.nodes = 1, probe.gpus = std::max(1, s.ranks);
    } else {
      probe.nodes = s.nodes, probe.gpus = std::max(1, s.ranks / s.nodes);
    }
    if (s.nccl) probe.nccl = s.nccl;
    probe.launch = s.cuda_graph ? models::LaunchMode::graph
                                : s.launch.value_or(probe.nodes == 1 ? models::LaunchMode::single_process
                                                                     : models::LaunchMode::multi_process);
    probe.dtype = s.dtype.empty() ? "float" : s.dtype;
    probe.in_place = s.in_place;
    for (const auto& p : s.points) probe.sizes.push_back(p.size);
    const bool net = probe.nodes > 1;
    const bool predictable = machine.gpu_known || (net && machine.nic_gbps > 0);
    auto base = predictable ? predictor.collective(probe, {}, {}) : std::vector<Prediction>{};
    if (predictable && base.empty())
      evidence.notes.push_back(fmt::format("{}: no expectation: {}", s.id, predictor.problem(probe)));
    const double factor = workloads::busbw_factor(s.op, probe.ranks());
    std::vector<double> measured, expected;
    for (std::size_t i = 0; i < s.points.size(); ++i) {
      const auto& p = s.points[i];
      const double us = static_cast<double>(p.time.ps()) / 1e6;
      measured.push_back(static_cast<double>(p.size.count()) / us * 1e-3);
      DiagnosisRow row;
      row.what = fmt::format("{} busbw, {} GPUs", models::nccl::name_of(s.op), probe.ranks());
      row.size = p.size;
      row.measured_us = us;
      row.measured_GBps = measured.back() * factor;
      if (!base.empty()) {
        const auto w = interval_of(machine, s.op, net, p.size);
        const double spread = std::exp(ninety * std::hypot(w.bias, w.scatter));
        expected.push_back(base[i].GBps);
        row.expected = true;
        row.expected_us = static_cast<double>(p.size.count()) / base[i].GBps * 1e-3;
        row.low_us = row.expected_us / spread, row.high_us = row.expected_us * spread;
        row.expected_GBps = base[i].GBps * factor;
        row.low_GBps = row.expected_GBps / spread, row.high_GBps = row.expected_GBps * spread;
      }
      evidence.rows.push_back(std::move(row));
    }
    const double noise = noise_of(measured, expected);
    observe_shape(s, measured, expected, noise, evidence);
    if (base.empty()) continue;
    const auto picked = chosen(s.points);
    Probe few = probe;
    few.sizes.clear();
    std::map<std::string, int> count;
    const auto group_of = [&](sim::Bytes size) {
      return fmt::format("{} {} x {}, {}", models::nccl::name_of(s.op), probe.nodes, probe.gpus, class_words(size));
    };
    for (const auto i : picked) few.sizes.push_back(s.points[i].size), ++count[group_of(s.points[i].size)];
    for (std::size_t k = 0; k < picked.size(); ++k) {
      const auto& p = s.points[picked[k]];
      Observation o;
      o.what = fmt::format("{} {}, {} GPUs", size_words(p.size), models::nccl::name_of(s.op), probe.ranks());
      o.size = p.size;
      o.measured = measured[picked[k]];
      o.base = base[picked[k]].GBps;
      o.algorithm = base[picked[k]].algorithm;
      o.bound_by = base[picked[k]].bound_by;
      o.shown = factor;
      o.group = group_of(p.size);
      const auto w = interval_of(machine, s.op, net, p.size);
      o.bias = w.bias, o.scatter = std::max({w.scatter, noise, s.time_derived_from_busbw ? 0.05 : 0.0});
      o.weight = std::min(1.0, 3.0 / count[o.group]);
      o.probe = static_cast<int>(evidence.probes.size());
      o.point = k;
      o.several_nodes = net;
      evidence.seen.push_back(std::move(o));
    }
    evidence.probes.push_back(std::move(few));
  }
}

}  // namespace linkcast::calibration::diagnosis
