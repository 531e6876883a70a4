// The simulated machine. See twin.hpp. Copies are flows under max-min sharing over the topology's routes; collectives
// are the simulator's own. What a copy or a load costs beside its bytes:
//   copy engine: copy_engine_start + latency of the route; no faster than copy_engine
//   thread blocks: kernel_start + simple.overhead + latency; blocks * p2p_channel (copying to a peer), blocks *
//     simple.send (reducing), blocks * simple.local (in the own memory); together no faster than simple.all
//   in one GPU: half of the memory's rate, as each byte is read and written
//   a load: memory_latency + the way there and back
//   an empty launch: the host's floor for calls back to back
#include "linkcast/calibration/twin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/fluid.hpp"
#include "linkcast/workloads/collective.hpp"
#include "request_json.hpp"

namespace linkcast::calibration {
namespace {

using topologies::Transport;

/// Uniform 64-bit words by counter: the finaliser of splitmix64 (Steele, Lea, Flood, 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// FNV-1a.
std::uint64_t key_of(const Request& request) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : question_of(request)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

/// Standard normal numbers by place: Box and Muller's transform of two uniform ones.
class Normal {
 public:
  Normal(std::uint64_t seed, std::uint64_t key) : state_{mixed(mixed(seed) ^ key)} {}
  double at(std::uint64_t i) const {
    const double u = unit(2 * i), v = unit(2 * i + 1);
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

 private:
  /// In (0, 1].
  double unit(std::uint64_t i) const { return (static_cast<double>(mixed(state_ + i) >> 11) + 1) * 0x1p-53; }
  std::uint64_t state_;
};

/// A way for a copy or a load, with all that it costs beside its bytes.
struct Way {
  std::vector<topologies::Hop> hops;  // none: inside one GPU
  sim::Time latency;
};

class Twin final : public Machine {
 public:
  explicit Twin(const TwinOptions& options)
      : options_{options}, cluster_{topologies::load_cluster(options.system, options.cluster)} {
    resources_ = fabric().resources();
  }

  Discovery discover() override {
    Discovery d;
    d.kind = "twin";
    // Times of another noise are another machine's: a file of them is not gone on with.
    d.host = options_.noise > 0 ? fmt::format("twin, noise {:g} %, seed {}", 100 * options_.noise, options_.seed)
                                : std::string{"twin"};
    const auto names = topologies::catalog_names();
    if (std::ranges::find(names, options_.system) != names.end()) d.system = options_.system;
    const int n = static_cast<int>(fabric().gpus().size());
    for (int g = 0; g < n; ++g) d.gpus.push_back(gpu_facts(g));
    for (int a = 0; a < n; ++a) {
      d.peer_access.emplace_back();
      for (int b = 0; b < n; ++b) d.peer_access.back().push_back(a == b || peer_way(a, b).has_value());
    }
    for (const auto& device : fabric().devices()) {
      if (device.kind != topologies::DeviceKind::nic) continue;
      const auto rate = device.attributes.find("gbps");
      d.nics.push_back({device.name, "ACTIVE", "InfiniBand",
                        rate == device.attributes.end() ? 0 : std::strtod(rate->second.c_str(), nullptr)});
    }
    d.ranks = cluster_.ranks();
    d.nodes = cluster_.nodes();
    d.launch = options_.launch;
    d.driver = d.cuda_driver = d.cuda_runtime = "simulated";
    d.nccl = options_.nccl;
    return d;
  }

  CopyResult copy(const CopyRequest& request) override {
    if (request.transfers.empty()) throw sim::InputError("a copy without a transfer");
    const auto times = copy_times(request);
    CopyResult out;
    sim::Time longest;
    for (std::size_t i = 0; i < times.size(); ++i) {
      out.each.push_back(noisy(request, i, times[i], request.repeat));
      longest = std::max(longest, times[i]);
    }
    pass(longest, request.repeat);
    return out;
  }

  Timing chase(const ChaseRequest& request) override {
    check_gpu(request.gpu);
    auto time = options_.memory_latency;
    if (request.memory == host_memory) {
      time += 2 * host_way(request.gpu, true).latency;
    } else if (request.memory != request.gpu) {
      check_gpu(request.memory);
      const auto way = peer_way(request.gpu, request.memory);
      if (!way) refuse_peer(request.gpu, request.memory);
      time += 2 * way->latency;
    }
    pass(time * (1 << 14), request.repeat);
    return noisy(request, 0, time, request.repeat);
  }

  Timing launch(const LaunchRequest& request) override {
    for (const int g : request.gpus) check_gpu(g);
    const auto& host = fabric().host();
    auto time = host.launch_graph;
    if (request.kind == LaunchKind::kernel) {
      const auto per_gpu = host.launch_single_process_per_gpu * static_cast<std::int64_t>(request.gpus.size());
      time = std::max(host.launch_multi_process, per_gpu);
    }
    pass(time, request.repeat);
    return noisy(request, 0, time, request.repeat);
  }

  CollectiveResult collective(const CollectiveRequest& request) override {
    models::nccl::Call call;
    call.op = request.op;
    call.bytes = request.size;
    call.in_place = request.in_place;
    const auto row = [&] {
      try {
        return model(request).run(call);
      } catch (const Lacking&) {
        throw;
      } catch (const sim::InputError& e) {  // an algorithm that this machine does not have
        throw Lacking(std::vector(e.diagnostics().begin(), e.diagnostics().end()), {});
      }
    }();
    pass(row.time, request.repeat);
    CollectiveResult out;
    out.wall = noisy(request, 0, row.time, request.repeat);
    out.events = noisy(request, 1, row.time, request.repeat);
    out.algorithm = row.algorithm;
    out.protocol = row.protocol;
    return out;
  }

  double elapsed_s() const override { return elapsed_s_; }

 private:
  const topologies::Fabric& fabric() const { return cluster_.machine(0); }
  topologies::DeviceId gpu(int g) const { return fabric().gpus()[static_cast<std::size_t>(g)]; }
  const models::GpuModel& part(int g) const { return fabric().gpu_model(gpu(g)); }

  void check_gpu(int g) const {
    if (g < 0 || g >= static_cast<int>(fabric().gpus().size()))
      throw sim::InputError(fmt::format("no GPU {} on the twin", g),
                            fmt::format("it has {} GPUs, from 0", fabric().gpus().size()));
  }
  [[noreturn]] static void refuse_peer(int from, int to) {
    throw Lacking(fmt::format("GPU {} has no peer access to GPU {}", from, to));
  }

  GpuFacts gpu_facts(int g) const {
    const auto& device = fabric().devices()[static_cast<std::size_t>(gpu(g))];
    GpuFacts facts;
    facts.name = part(g).name;
    facts.compute_capability = part(g).compute_capability;
    if (const auto bus = device.attributes.find("busid"); bus != device.attributes.end()) facts.bus_id = bus->second;
    // Room for any call that the simulator takes.
    facts.memory = sim::gib(64);
    int number = 0;
    for (const auto& link : fabric().links()) {
      if (link.kind != models::LinkKind::nvlink || (link.a != gpu(g) && link.b != gpu(g))) continue;
      const auto& peer = fabric().devices()[static_cast<std::size_t>(link.a == gpu(g) ? link.b : link.a)];
      for (int w = 0; w < link.width; ++w) facts.nvlinks.push_back({number++, link.state != "down", 0, peer.name});
    }
    return facts;
  }

  std::optional<Way> peer_way(int from, int to) const {
    for (const auto transport : {Transport::nvlink, Transport::pcie_p2p})
      if (auto route = fabric().route(gpu(from), gpu(to), transport))
        return Way{std::move(route->hops), route->latency};
    return std::nullopt;
  }

  /// Between a GPU and the memory of its CPU: the way through host memory to another GPU, up to there. From the host:
  /// turned round.
  Way host_way(int g, bool to_host) const {
    const auto is_memory = [&](const topologies::Hop& hop) {
      const auto& link = fabric().links()[static_cast<std::size_t>(hop.link)];
      return fabric().devices()[static_cast<std::size_t>(hop.forward ? link.b : link.a)].kind ==
             topologies::DeviceKind::memory;
    };
    for (int other = 0; other < static_cast<int>(fabric().gpus().size()); ++other) {
      if (other == g) continue;
      const auto route = fabric().route(gpu(g), gpu(other), Transport::host_memory);
      if (!route) continue;
      const auto at = std::ranges::find_if(route->hops, is_memory);
      if (at == route->hops.end()) continue;
      Way way;
      way.hops.assign(route->hops.begin(), at + 1);
      for (auto& hop : way.hops) {
        way.latency += fabric().links()[static_cast<std::size_t>(hop.link)].latency;
        hop.forward = hop.forward == to_host;
      }
      return way;
    }
    throw Lacking("the twin's topology has no way between a GPU and host memory");
  }

  Way way_of(const Transfer& t, bool peer_access) const {
    if (t.from == host_memory || t.to == host_memory) {
      const bool to_host = t.to == host_memory;
      check_gpu(to_host ? t.from : t.to);
      return host_way(to_host ? t.from : t.to, to_host);
    }
    check_gpu(t.from);
    check_gpu(t.to);
    if (t.from == t.to) return {};
    if (peer_access) {
      auto way = peer_way(t.from, t.to);
      if (!way) refuse_peer(t.from, t.to);
      return *way;
    }
    const auto route = fabric().route(gpu(t.from), gpu(t.to), Transport::host_memory);
    if (!route) throw Lacking(fmt::format("no way through host memory from GPU {} to GPU {}", t.from, t.to));
    return {route->hops, route->latency};
  }

  sim::Rate cap_of(const CopyRequest& r, const Transfer& t) const {
    const auto& model = part(t.from == host_memory ? t.to : t.from);
    const bool own = t.from == t.to;
    auto cap = own ? model.memory * 0.5 : sim::Rate::unlimited();
    if (r.engine == Engine::copy_engine) return own ? cap : std::min(cap, model.copy_engine);
    if (!own) cap = std::min(cap, model.simple.all);
    const auto block = own ? model.simple.local : r.reduce ? model.simple.send : model.p2p_channel;
    if (r.blocks > 0 && !block.is_unlimited()) cap = std::min(cap, block * r.blocks);
    return cap;
  }

  /// All start together; each ends when its bytes are through.
  std::vector<sim::Time> copy_times(const CopyRequest& r) const {
    sim::FluidNetwork network(resources_);
    std::vector<sim::Time> times(r.transfers.size());
    std::vector<std::pair<sim::FlowId, std::size_t>> flows;
    for (std::size_t i = 0; i < r.transfers.size(); ++i) {
      const auto& t = r.transfers[i];
      const auto way = way_of(t, r.peer_access);
      const auto& model = part(t.from == host_memory ? t.to : t.from);
      times[i] = way.latency + (r.engine == Engine::copy_engine ? model.copy_engine_start
                                                                : model.kernel_start + model.simple.overhead);
      const auto cap = cap_of(r, t);
      if (way.hops.empty()) {
        times[i] += sim::transfer_time(r.size, cap);
        continue;
      }
      std::vector<sim::Usage> usages;
      for (const auto& hop : way.hops)
        usages.push_back({topologies::Fabric::resource(hop.link, hop.forward), hop.weight});
      flows.emplace_back(network.start(sim::Time{}, usages, r.size, cap), i);
    }
    std::vector<sim::FlowId> ended;
    while (network.active() > 0) {
      const auto now = network.next_completion();
      ended.clear();
      network.complete(now, ended);
      for (const auto& [flow, i] : flows)
        if (std::ranges::find(ended, flow) != ended.end()) times[i] += now;
    }
    return times;
  }

  const workloads::CollectiveModel& model(const CollectiveRequest& r) {
    const int ranks = r.ranks == 0 ? cluster_.ranks() : r.ranks;
    if (ranks < 2 || ranks > cluster_.ranks())
      throw sim::InputError(fmt::format("a collective of {} ranks", ranks),
                            fmt::format("2 to {} on this twin", cluster_.ranks()));
    if (model_ && ranks == model_ranks_ && r.choice == model_choice_ && r.graph == model_graph_) return *model_;
    workloads::CommunicatorOptions options;
    options.nccl = options_.nccl;
    options.launch = r.graph ? models::LaunchMode::graph : options_.launch;
    if (!r.choice.algorithm.empty()) options.env.set("NCCL_ALGO", r.choice.algorithm);
    if (!r.choice.protocol.empty()) options.env.set("NCCL_PROTO", r.choice.protocol);
    if (r.choice.channels > 0)
      for (const auto* name : {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"})
        options.env.set(name, std::to_string(r.choice.channels));
    model_.emplace(part_of_cluster(ranks), std::move(options));
    model_ranks_ = ranks;
    model_choice_ = r.choice;
    model_graph_ = r.graph;
    elapsed_s_ += 0.5;  // what making a communicator takes on a node with eight GPUs
    return *model_;
  }

  /// The first ranks: of the first node, or whole nodes.
  topologies::Cluster part_of_cluster(int ranks) const {
    if (ranks == cluster_.ranks()) return cluster_;
    const int per_node = cluster_.gpus_per_node();
    if (ranks > per_node && ranks % per_node != 0)
      throw sim::InputError(fmt::format("{} ranks are no whole nodes of {} GPUs", ranks, per_node));
    std::vector<int> nodes, gpus;
    for (int n = 0; n < std::max(ranks / per_node, 1); ++n) nodes.push_back(n);
    for (int g = 0; g < std::min(ranks, per_node); ++g) gpus.push_back(g);
    if (nodes.size() == 1) return fabric().slice(gpus);
    return cluster_.job(nodes, gpus);
  }

  Timing noisy(const Request& request, std::size_t which, sim::Time time, const Repetitions& repeat) const {
    const Normal normal(options_.seed, mixed(key_of(request) + which));
    const auto off = [&](sim::Time t, std::uint64_t i) {
      return std::max(sim::Time::picoseconds(1), sim::Time::from_us(t.us() * std::exp(options_.noise * normal.at(i))));
    };
    std::vector<sim::Time> samples;
    for (int i = 1; i <= std::max(repeat.rounds, 1); ++i) samples.push_back(off(time, static_cast<std::uint64_t>(i)));
    auto timing = timing_of(std::move(samples));
    // Of run against run, which repeating does not average away.
    timing.median = off(time, 0);
    return timing;
  }

  void pass(sim::Time time, const Repetitions& repeat) {
    elapsed_s_ += 0.001 + time.seconds() * (repeat.warmup + 1.0 * repeat.rounds * repeat.iterations);
  }

  TwinOptions options_;
  topologies::Cluster cluster_;
  sim::ResourceTable resources_;
  std::optional<workloads::CollectiveModel> model_;
  int model_ranks_ = 0;
  NcclChoice model_choice_;
  bool model_graph_ = false;
  double elapsed_s_ = 0;
};

}  // namespace

std::unique_ptr<Machine> make_twin(const TwinOptions& options) { return std::make_unique<Twin>(options); }

}  // namespace linkcast::calibration
