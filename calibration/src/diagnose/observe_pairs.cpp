// Matrices between GPUs and tests between hosts as observations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "observe.hpp"
#include "pair_rates.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

constexpr double ninety = 1.645;

double middle(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

std::vector<double> off_diagonal(const PairMatrix& m) {
  std::vector<double> out;
  for (std::size_t i = 0; i < m.cells.size(); ++i)
    for (std::size_t j = 0; j < m.cells[i].size(); ++j)
      if (m.cells[i][j] && *m.cells[i][j] > 0 && (i != j || m.to_host || m.from_host)) out.push_back(*m.cells[i][j]);
  return out;
}

DiagnosisRow row_of(const Observation& o, double spread) {
  DiagnosisRow r;
  r.what = o.what;
  r.measured_GBps = o.measured;
  if (o.base > 0) {
    r.expected = true;
    r.expected_GBps = o.base, r.low_GBps = o.base / spread, r.high_GBps = o.base * spread;
  }
  return r;
}

void observe_matrix(const PairMatrix& m, int index, const PairRates* rates, Evidence& evidence) {
  const auto values = off_diagonal(m);
  if (values.empty()) return;
  const double all = middle(values);
  // Of an unknown machine only that its cells are alike can be expected.
  const auto spread = std::minmax_element(values.begin(), values.end());
  const bool alike = *spread.second < 1.35 * all;
  const bool host = m.to_host || m.from_host;
  std::vector<Observation> cells;
  for (std::size_t i = 0; i < m.cells.size(); ++i) {
    for (std::size_t j = 0; j < m.cells[i].size(); ++j) {
      if (!m.cells[i][j] || *m.cells[i][j] <= 0 || (i == j && !host)) continue;
      Observation o;
      const bool staged = m.peer_access.has_value() && !*m.peer_access;
      o.kind = staged ? Kind::staged_pair : Kind::pair;
      o.matrix = index, o.from = static_cast<int>(i), o.to = static_cast<int>(j);
      o.bidirectional = m.bidirectional;
      o.to_host = host;
      o.measured = *m.cells[i][j];
      o.what = host ? fmt::format("host and GPU {}", j) : fmt::format("GPU {} to GPU {}", i, j);
      o.bias = staged || host ? 0.25 : 0.07;
      if (rates && std::max(i, j) < static_cast<std::size_t>(rates->gpus())) {
        o.over_nvlink = !host && !staged && rates->nvlink(o.from, o.to);
        o.base = host     ? rates->host()
                 : staged ? rates->staged(m.bidirectional)
                          : rates->pair(o.from, o.to, m.bidirectional);
        // Which cards share a switch or a socket is not known: what lies between is normal.
        if (!o.over_nvlink && !staged && !host) {
          o.base = 0.95 * rates->best_pair(m.bidirectional);
          o.bias = 0.14;
        }
        if (m.bidirectional && host) o.bias = 0.5;
      } else if (alike) {
        o.base = all;
      }
      if (o.base <= 0) continue;
      o.group = fmt::format("matrix {}", index);
      o.scatter = o.over_nvlink ? 0.03 : 0.10;
      cells.push_back(std::move(o));
    }
  }
  const double weight = std::min(1.0, 30.0 / static_cast<double>(std::max<std::size_t>(1, cells.size())));
  double low = 1e9, high = 0;
  for (auto& o : cells) o.weight = weight, low = std::min(low, o.base), high = std::max(high, o.base);
  DiagnosisRow r;
  r.what = fmt::format("{}{}", m.title.empty() ? "pairs" : m.title, values.size() > 1 ? ", median" : "");
  r.measured_GBps = all;
  if (!cells.empty()) {
    std::vector<double> bases;
    for (const auto& o : cells) bases.push_back(o.base);
    const double wide = std::exp(ninety * std::hypot(cells[0].bias, cells[0].scatter));
    r.expected = rates != nullptr;
    r.expected_GBps = middle(bases), r.low_GBps = low / wide, r.high_GBps = high * wide;
  }
  evidence.rows.push_back(std::move(r));
  for (auto& o : cells) evidence.seen.push_back(std::move(o));
}

/// Peer access on must not be slower than off.
void compare_access(const std::vector<PairMatrix>& matrices, Evidence& evidence) {
  for (const bool both : {false, true}) {
    double on = 0, off = 0;
    for (const auto& m : matrices) {
      if (m.latency || m.to_host || m.from_host || m.bidirectional != both || !m.peer_access) continue;
      auto& value = *m.peer_access ? on : off;
      if (value == 0) value = middle(off_diagonal(m));
    }
    if (on == 0 || off == 0) continue;
    Observation o;
    o.kind = Kind::staged_over_p2p;
    o.what = "pairs with peer access over pairs without";
    o.measured = on / off;
    o.base = std::max(1.25, on / off);
    o.bias = 0.10;
    o.group = fmt::format("peer access {}", both);
    evidence.seen.push_back(std::move(o));
  }
}

}  // namespace

void observe_matrices(const std::vector<PairMatrix>& matrices, const Predictor& predictor, Evidence& evidence) {
  const auto& machine = predictor.machine();
  std::optional<PairRates> rates;
  if (!matrices.empty() && machine.gpu_known) {
    int gpus = machine.gpus;
    for (const auto& m : matrices)
      gpus = std::max(gpus, static_cast<int>(m.cells.empty() ? 0 : m.cells.front().size()));
    try {
      rates.emplace(cluster_of(machine, 1, gpus, {}).machine(0));
    } catch (const sim::InputError& e) {
      evidence.notes.push_back(e.diagnostics().front().problem);
    }
  }
  int index = 0, latencies = 0;
  for (const auto& m : matrices) {
    if (m.latency) {
      ++latencies;
      continue;
    }
    observe_matrix(m, index++, rates ? &*rates : nullptr, evidence);
  }
  if (latencies > 0) evidence.notes.push_back("latencies between GPUs are not judged");
  compare_access(matrices, evidence);
}

void observe_tests(const std::vector<PairTest>& tests, const Predictor& predictor, Evidence& evidence) {
  const auto& machine = predictor.machine();
  for (const auto& t : tests) {
    if (t.latency) {
      evidence.notes.push_back(fmt::format("{}: latencies between hosts are not judged", t.id));
      continue;
    }
    const double gbps = t.nic_gbps > 0 ? t.nic_gbps : machine.nic_gbps;
    // The largest size speaks for the rate; a size below 64 KiB speaks for the latency.
    const PairTest::Row* best = nullptr;
    const PairTest::Row* last = nullptr;
    for (const auto& row : t.rows) {
      if (row.size.count() != 0 && row.size < sim::Bytes{65536}) continue;
      if (!best || row.value > best->value) best = &row;
      last = &row;
    }
    if (!best) continue;
    Observation o;
    o.kind = Kind::test;
    o.memory = t.memory;
    o.nics = std::max(1, t.nics);
    o.qps = t.qps;
    o.host_from = t.from, o.host_to = t.to;
    o.several_nodes = true;
    o.bidirectional = t.bidirectional;
    o.measured = last->value;
    o.what = fmt::format("{}{}{}", t.tool.empty() ? "host to host" : t.tool,
                         t.memory == MemoryKind::gpu    ? ", GPU memory"
                         : t.memory == MemoryKind::host ? ", host memory"
                                                        : "",
                         t.from.empty() ? "" : fmt::format(", {} to {}", t.from, t.to));
    o.group = fmt::format("tests {}", static_cast<int>(t.memory));
    o.bias = 0.06;
    if (gbps > 0) o.base = 0.965 * gbps / 8 * o.nics * (t.bidirectional ? 1.95 : 1);
    // A figure without a number of NICs may speak of all of them.
    if (o.base > 0 && t.nics <= 1 && machine.nics > 1 && o.measured > 1.3 * o.base)
      o.nics = machine.nics, o.base *= machine.nics;
    evidence.rows.push_back(row_of(o, std::exp(ninety * std::hypot(o.bias, o.scatter))));
    if (o.base > 0) evidence.seen.push_back(o);
    if (best->value > 0 && last != best && t.rows.size() > 4) {
      Observation shape;
      shape.kind = Kind::shape;
      shape.what = "host to host: the largest sizes over the best size";
      shape.measured = last->value / best->value;
      shape.base = 1;
      shape.bias = 0.08;
      shape.group = "shape " + t.id;
      shape.several_nodes = true;
      evidence.seen.push_back(std::move(shape));
    }
  }
}

}  // namespace linkcast::calibration::diagnosis
