// A measurement file as everything that compares and fits takes it: series, matrices, probes; and whether two files are
// of one machine. See measurement_file.hpp. Knows no JSON.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "linkcast/calibration/measurement_file.hpp"
#include "problems.hpp"

namespace linkcast::calibration {
namespace {

double GBps(sim::Bytes size, sim::Time time) {
  return static_cast<double>(size.count()) / static_cast<double>(time.ps()) * 1e3;  // bytes / ps = 1e3 GB/s
}

class Converter {
 public:
  Converter(const MeasurementFile& file, const std::string& source)
      : machine_{file.machine}, stem_{stem_of(source)}, source_{name_of_file(source)}, created_{file.created} {}

  Measurements convert(const std::vector<Item>& items) {
    for (const auto& item : items) {
      if (!item.problem.empty()) out_.notes.push_back(fmt::format("{}: {}: {}", source_, item.id, item.problem));
      const bool any = std::ranges::any_of(item.cells, &Cell::measured);
      if (!any) continue;
      switch (item.kind) {
        case ItemKind::collective:
          series(item);
          break;
        case ItemKind::pairs:
        case ItemKind::host:
          matrix(item);
          break;
        default:
          probe(item);
      }
    }
    return std::move(out_);
  }

 private:
  std::string gpu_name() const { return machine_.gpus.empty() ? std::string{} : machine_.gpus.front().name; }

  template <class T>
  void head(T& to, const Item& item) const {
    to.id = fmt::format("{}:{}", stem_, item.id);
    to.source = source_;
    to.title = item.tells;
    to.system = machine_.system;
  }

  void series(const Item& item) {
    const auto& first = std::get<CollectiveRequest>(item.cells.front().request);
    Series s;
    head(s, item);
    s.date = created_.substr(0, 10);
    s.nodes = machine_.nodes;
    s.ranks = first.ranks == 0 ? machine_.ranks : first.ranks;
    s.gpus_per_node = machine_.nodes > 0 ? std::max(machine_.ranks / machine_.nodes, 1) : 0;
    // The first ranks live on the first nodes.
    s.nodes = std::max((s.ranks + s.gpus_per_node - 1) / s.gpus_per_node, 1);
    if (s.nodes == 1) s.gpus_per_node = s.ranks;
    s.nccl = machine_.nccl;
    s.env = machine_.env;
    if (!first.choice.algorithm.empty()) s.env["NCCL_ALGO"] = first.choice.algorithm;
    if (!first.choice.protocol.empty()) s.env["NCCL_PROTO"] = first.choice.protocol;
    if (first.choice.channels > 0)
      for (const auto* name : {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"})
        s.env[name] = std::to_string(first.choice.channels);
    s.launch = machine_.launch;
    s.cuda_graph = first.graph;
    s.op = first.op;
    s.in_place = first.in_place;
    s.cuda = machine_.cuda_runtime;
    for (const auto& gpu : machine_.gpus) s.devices.push_back(gpu.name);
    if (s.nodes > 1) nics_of(s);
    for (const auto& cell : item.cells)
      if (cell.measured())
        s.points.push_back({std::get<CollectiveRequest>(cell.request).size, cell.times.front().median});
    std::ranges::sort(s.points, {}, [](const Point& p) { return p.size.count(); });
    out_.series.push_back(std::move(s));
  }

  void nics_of(Series& s) const {
    for (const auto& nic : machine_.nics) {
      if (nic.state != "ACTIVE" || nic.gbps <= 0) continue;
      ++s.nics_per_node;
      s.nic_gbps = std::max(s.nic_gbps, nic.gbps);
      s.fabric = nic.link_layer == "Ethernet" ? "roce" : "ib";
    }
  }

  void matrix(const Item& item) {
    const auto& first = std::get<CopyRequest>(item.cells.front().request);
    PairMatrix m;
    head(m, item);
    m.gpu = gpu_name();
    m.engine = first.engine;
    m.size = first.size;
    m.read = first.pull;
    m.bidirectional = first.transfers.size() == 2;
    m.to_host = first.transfers.front().to == host_memory;
    m.from_host = !m.to_host && first.transfers.front().from == host_memory;
    const bool host = m.to_host || m.from_host;
    if (!host) m.peer_access = first.peer_access;
    // Too small to say a rate: what a copy costs at least.
    m.latency = first.size < sim::kib(64);
    const auto n = machine_.gpus.size();
    m.cells.assign(host ? 1 : n, std::vector<std::optional<double>>(n));
    for (const auto& cell : item.cells) {
      const auto& r = std::get<CopyRequest>(cell.request);
      if (!cell.measured()) continue;
      double value = 0;
      for (const auto& t : cell.times) value += m.latency ? t.median.us() : GBps(r.size, t.median);
      if (m.latency) value /= static_cast<double>(cell.times.size());
      const auto [from, to] = r.transfers.front();
      const auto at = [](int g) { return static_cast<std::size_t>(g); };
      if (host) {
        m.cells[0][at(from == host_memory ? to : from)] = value;
      } else {
        m.cells[at(from)][at(to)] = value;
        if (m.bidirectional) m.cells[at(to)][at(from)] = value;
      }
    }
    out_.matrices.push_back(std::move(m));
  }

  void probe(const Item& item) {
    Probe p;
    head(p, item);
    p.gpu = gpu_name();
    for (const auto& cell : item.cells) {
      if (!cell.measured()) continue;
      Probe::Row row;
      const auto slowest = std::ranges::max_element(cell.times, {}, [](const Timing& t) { return t.median; });
      row.time = slowest->median;
      row.spread = slowest->spread;
      if (const auto* launch = std::get_if<LaunchRequest>(&cell.request)) {
        p.kind = launch->kind == LaunchKind::graph ? Probe::Kind::launch_graph : Probe::Kind::launch_kernel;
        row.gpus = static_cast<int>(launch->gpus.size());
      } else if (const auto* chase = std::get_if<ChaseRequest>(&cell.request)) {
        p.kind = Probe::Kind::chase;
        row.size = chase->working_set;
        row.copies.push_back({chase->gpu, chase->memory});
      } else if (const auto* copy = std::get_if<CopyRequest>(&cell.request)) {
        p.kind = item.kind == ItemKind::pattern ? Probe::Kind::pattern
                 : copy->reduce                 ? Probe::Kind::sm_reduce
                                                : Probe::Kind::sm_copy;
        p.engine = copy->engine;
        row.size = copy->size;
        row.blocks = copy->blocks;
        for (const auto& t : copy->transfers) row.copies.push_back({t.from, t.to});
      }
      p.rows.push_back(std::move(row));
    }
    out_.probes.push_back(std::move(p));
  }

  const Discovery& machine_;
  std::string stem_, source_, created_;
  Measurements out_;
};

}  // namespace

Measurements measurements_of(const MeasurementFile& file, const std::string& source) {
  return Converter(file, source).convert(file.items);
}

Measurements read_measurement_file(std::string_view text, const std::string& where) {
  return measurements_of(parse_measurement_file(text, where), where);
}

std::string difference(const Discovery& a, const Discovery& b) {
  const auto differs = [](std::string_view what, const auto& before, const auto& now) {
    return fmt::format("{}: '{}' in the file, '{}' here", what, before, now);
  };
  if (a.kind != b.kind) return differs("kind of machine", a.kind, b.kind);
  if (a.host != b.host) return differs("host", a.host, b.host);
  if (a.system != b.system) return differs("system", a.system.value_or("none"), b.system.value_or("none"));
  if (a.gpus.size() != b.gpus.size()) return differs("number of GPUs", a.gpus.size(), b.gpus.size());
  for (std::size_t g = 0; g < a.gpus.size(); ++g) {
    const auto &x = a.gpus[g], &y = b.gpus[g];
    const auto gpu = fmt::format("GPU {}", g);
    if (x.name != y.name) return differs(gpu, x.name, y.name);
    if (x.bus_id != y.bus_id) return differs(gpu + ", PCI bus", x.bus_id, y.bus_id);
    if (x.pcie.width != y.pcie.width) return differs(gpu + ", PCIe width", x.pcie.width, y.pcie.width);
    const auto up = [](const GpuFacts& f) { return std::ranges::count_if(f.nvlinks, &NvLinkFacts::up); };
    if (up(x) != up(y)) return differs(gpu + ", NVLinks that are up", up(x), up(y));
  }
  if (a.peer_access != b.peer_access) return "peer access between the GPUs differs";
  if (a.ranks != b.ranks) return differs("number of ranks", a.ranks, b.ranks);
  if (a.nodes != b.nodes) return differs("number of nodes", a.nodes, b.nodes);
  if (a.launch != b.launch) return "one process for all GPUs there, one for each here, or the other way round";
  if (a.driver != b.driver) return differs("driver", a.driver, b.driver);
  if (a.cuda_runtime != b.cuda_runtime) return differs("CUDA runtime", a.cuda_runtime, b.cuda_runtime);
  const auto version = [](const Discovery& d) { return d.nccl ? d.nccl->str() : std::string{"none"}; };
  if (version(a) != version(b)) return differs("NCCL", version(a), version(b));
  std::set<std::string> names;
  for (const auto* env : {&a.env, &b.env})
    for (const auto& [name, value] : *env) names.insert(name);
  for (const auto& name : names) {
    const auto value = [&](const Discovery& d) {
      const auto found = d.env.find(name);
      return found == d.env.end() ? std::string{"not set"} : found->second;
    };
    if (value(a) != value(b)) return differs(name, value(a), value(b));
  }
  return {};
}

}  // namespace linkcast::calibration
