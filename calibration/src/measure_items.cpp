// The questions that a machine can be asked: which copies, patterns and collectives, and what each tells. `information`
// is a judgement of how many of the model's parameters an item pins down, and how firmly: measurements of what users
// run (NCCL's own choice) weigh most, forced variants less, cross-checks least.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "linkcast/calibration/measure_plan.hpp"

namespace linkcast::calibration {
namespace {

using models::nccl::Op;

constexpr sim::Bytes large_copy = sim::mib(64), small_copy{64};

class Items {
 public:
  Items(const Discovery& there, const PlanOptions& options) : there_{there}, options_{options} {}

  std::vector<Item> all() {
    if (gpus() > 0) {
      launches();
      host_copies();
      sm_rates();
      chases();
    }
    if (gpus() > 1) {
      pairs();
      patterns();
    }
    if (there_.ranks > 1) collectives();
    return std::move(items_);
  }

 private:
  int gpus() const { return static_cast<int>(there_.gpus.size()); }
  bool peers(int a, int b) const {
    return there_.peer_access[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  }
  bool any_peers() const {
    for (int a = 0; a < gpus(); ++a)
      for (int b = 0; b < gpus(); ++b)
        if (a != b && peers(a, b)) return true;
    return false;
  }

  void add(std::string id, std::string tells, ItemKind kind, double information, std::vector<Request> requests) {
    const bool wanted = options_.only.empty() || std::ranges::find(options_.only, kind) != options_.only.end();
    if (!wanted || requests.empty()) return;
    Item item;
    item.id = std::move(id);
    item.tells = std::move(tells);
    item.kind = kind;
    item.information = information;
    for (auto& r : requests) item.cells.push_back({std::move(r), {}, {}, {}});
    items_.push_back(std::move(item));
  }

  static CopyRequest copies(std::vector<Transfer> transfers, Engine engine, sim::Bytes size = large_copy) {
    CopyRequest r;
    r.transfers = std::move(transfers);
    r.engine = engine;
    r.size = size;
    return r;
  }

  void launches() {
    for (const auto kind : {LaunchKind::kernel, LaunchKind::graph}) {
      std::vector<Request> requests;
      std::vector<int> used;
      for (int g = 0; g < gpus(); ++g) {
        used.push_back(g);
        if ((used.size() & (used.size() - 1)) == 0 || g + 1 == gpus())
          requests.push_back(LaunchRequest{kind, used, {}});
      }
      const bool graph = kind == LaunchKind::graph;
      add(graph ? "launch/graph" : "launch/kernel",
          graph ? "what a captured graph costs the host: the floor under small messages with CUDA graphs"
                : "what a kernel costs the host, and each further GPU: the floor under small messages",
          ItemKind::launch, graph ? 1.5 : 3, std::move(requests));
    }
  }

  void host_copies() {
    std::vector<Request> to, from, both;
    for (int g = 0; g < gpus(); ++g) {
      to.push_back(copies({{g, host_memory}}, Engine::copy_engine));
      from.push_back(copies({{host_memory, g}}, Engine::copy_engine));
      both.push_back(copies({{g, host_memory}, {host_memory, g}}, Engine::copy_engine));
    }
    add("host/to", "PCIe (or C2C) of each GPU towards its CPU: width, speed, a bad slot", ItemKind::host, 1.5, to);
    add("host/from", "PCIe (or C2C) of each GPU from its CPU", ItemKind::host, 1.5, from);
    add("host/both", "both directions of PCIe at once", ItemKind::host, 0.7, both);
  }

  std::vector<Request> of_pairs(const CopyRequest& like, bool both_ways, bool need_peers) const {
    std::vector<Request> out;
    for (int a = 0; a < gpus(); ++a) {
      for (int b = 0; b < gpus(); ++b) {
        if (a == b || (both_ways && a > b) || (need_peers && !(peers(a, b) && (!both_ways || peers(b, a))))) continue;
        auto r = like;
        r.transfers = {{a, b}};
        if (both_ways) r.transfers.push_back({b, a});
        out.emplace_back(std::move(r));
      }
    }
    return out;
  }

  void pairs() {
    const auto ce = copies({}, Engine::copy_engine), sm = copies({}, Engine::sm);
    auto pull = sm, staged = ce, tiny = sm;
    pull.pull = true;
    staged.peer_access = false;
    staged.size = sim::mib(16);
    tiny.size = small_copy;
    tiny.blocks = 1;
    add("pairs/ce/write", "the links between GPUs, pair by pair: a slow or missing link, the wiring", ItemKind::pairs,
        4, of_pairs(ce, false, true));
    add("pairs/ce/both", "both directions of a pair at once: full duplex", ItemKind::pairs, 2,
        of_pairs(ce, true, true));
    add("pairs/sm/write", "what kernels (as NCCL's) can store to a peer", ItemKind::pairs, 3,
        of_pairs(sm, false, true));
    add("pairs/sm/both", "stores of kernels in both directions at once", ItemKind::pairs, 1.5,
        of_pairs(sm, true, true));
    add("pairs/sm/read", "loads of kernels from a peer: slower than stores where latency counts", ItemKind::pairs, 1,
        of_pairs(pull, false, true));
    add("pairs/sm/latency", "a kernel that stores 64 bytes to a peer", ItemKind::pairs, 1, of_pairs(tiny, false, true));
    add("pairs/staged/write", "the way through host memory, which NCCL takes without peer access", ItemKind::pairs, 1,
        of_pairs(staged, false, false));
  }

  std::vector<Request> by_pattern(Engine engine) const {
    std::vector<std::vector<Transfer>> patterns;
    for (const int shift : std::set<int>{1, gpus() / 2}) {
      std::vector<Transfer> ring;
      for (int g = 0; g < gpus(); ++g) ring.push_back({g, (g + shift) % gpus()});
      patterns.push_back(std::move(ring));
    }
    std::vector<Transfer> to_one, to_all, halves;
    for (int g = 1; g < gpus(); ++g) {
      to_one.push_back({g, 0});
      to_all.push_back({0, g});
    }
    for (int g = 0; g < gpus() / 2; ++g) halves.push_back({g, g + gpus() / 2});
    for (auto* p : {&to_one, &to_all, &halves}) patterns.push_back(std::move(*p));
    std::vector<Request> out;
    for (auto& p : patterns) {
      if (!std::ranges::all_of(p, [&](const Transfer& t) { return peers(t.from, t.to); })) continue;
      out.emplace_back(copies(std::move(p), engine));
    }
    return out;
  }

  void patterns() {
    if (gpus() > 2) {
      add("pattern/ce", "rings, one to all, all to one, halves: what ports limit against what switches and roots limit",
          ItemKind::pattern, 3, by_pattern(Engine::copy_engine));
      add("pattern/sm", "the same patterns by kernels", ItemKind::pattern, 2, by_pattern(Engine::sm));
    }
    std::vector<Request> sizes;
    for (auto size = sim::kib(4); size <= sim::mib(256); size = size * 4) {
      auto r = copies({{0, 1}}, Engine::copy_engine, size);
      r.peer_access = peers(0, 1);
      sizes.emplace_back(std::move(r));
    }
    add("pattern/ce/sizes", "one copy from 4 KiB to 256 MiB: the fixed cost of a copy against its rate",
        ItemKind::pattern, 2, std::move(sizes));
  }

  void chases() {
    std::vector<Request> requests;
    requests.push_back(ChaseRequest{0, 0, sim::mib(256), {}});
    requests.push_back(ChaseRequest{0, host_memory, sim::mib(64), {}});
    for (int g = 1; g < gpus(); ++g)
      if (peers(0, g)) requests.push_back(ChaseRequest{0, g, sim::mib(64), {}});
    add("chase", "latency of one load: own memory, the host's, each peer's over its links", ItemKind::chase, 2,
        std::move(requests));
  }

  void sm_rates() {
    std::vector<int> blocks{1, 2, 4, 8, 16, 32};
    for (const bool reduce : {false, true}) {
      const std::string_view verb = reduce ? "reduce" : "copy";
      for (const int to : {0, 1}) {
        if (to == 1 && (gpus() < 2 || !peers(0, 1))) continue;
        std::vector<Request> requests;
        for (const int n : blocks) {
          auto r = copies({{0, to}}, Engine::sm, sim::mib(4) * n);
          r.blocks = n;
          r.reduce = reduce;
          requests.emplace_back(std::move(r));
        }
        add(fmt::format("sm-rate/{}/{}", verb, to == 0 ? "own" : "peer"),
            fmt::format("what one thread block {}s {}, and how many of them fill the {}", reduce ? "reduce" : "copie",
                        to == 0 ? "in its own memory" : "to a peer", to == 0 ? "memory" : "link"),
            ItemKind::sm_rate, to == 0 ? 1 : 2, std::move(requests));
      }
    }
  }

  // ---- collectives

  std::vector<sim::Bytes> sizes(int factor, sim::Bytes least) const {
    std::vector<sim::Bytes> out;
    if (!options_.sizes.empty()) {
      out = options_.sizes;
    } else {
      for (auto size = least; size <= sim::gib(1); size = size * factor) out.push_back(size);
    }
    // Send and receive buffers, and room for NCCL's own.
    if (!there_.gpus.empty() && there_.gpus.front().memory.count() > 0)
      std::erase_if(out, [&](sim::Bytes s) { return s > there_.gpus.front().memory / 4; });
    return out;
  }

  void collective(const CollectiveRequest& like, double information, std::string tells, int factor) {
    if (!options_.ops.empty() && std::ranges::find(options_.ops, like.op) == options_.ops.end()) return;
    // As nccl-tests does: what does not go into equal parts is left out of the size. It runs what is then nothing, too,
    // and times that; such a size is no measurement.
    const auto unit = least_size(like.op, like.ranks);
    std::vector<Request> requests;
    std::set<std::int64_t> left_out, used;
    for (const auto size : sizes(factor, sim::kib(1))) {
      auto r = like;
      r.size = unit * (size / unit);
      if (r.size.count() == 0)
        left_out.insert(size.count());
      else if (used.insert(r.size.count()).second)
        requests.emplace_back(std::move(r));
    }
    if (!left_out.empty())
      tells += fmt::format("; without {} B: less than a float{}", fmt::join(left_out, ", "),
                           unit.count() > 4 ? " for each rank" : "");
    auto id = fmt::format("collective/{}", models::nccl::name_of(like.op));
    if (!like.choice.algorithm.empty()) id += "/" + like.choice.algorithm;
    if (!like.choice.protocol.empty()) id += "/" + like.choice.protocol;
    if (like.choice.channels > 0) id += fmt::format("/{}-channels", like.choice.channels);
    if (like.graph) id += "/graph";
    add(id + fmt::format("/{}-ranks", like.ranks), std::move(tells), ItemKind::collective, information,
        std::move(requests));
  }

  CollectiveRequest call(Op op) const {
    CollectiveRequest r;
    r.op = op;
    r.ranks = there_.ranks;
    return r;
  }

  void collectives() {
    constexpr std::array<std::pair<Op, double>, 7> ops{{{Op::all_reduce, 8},
                                                        {Op::all_gather, 5},
                                                        {Op::reduce_scatter, 5},
                                                        {Op::alltoall, 5},
                                                        {Op::broadcast, 3},
                                                        {Op::reduce, 2},
                                                        {Op::sendrecv, 3}}};
    for (const auto& [op, information] : ops)
      collective(call(op), information, "what users see: NCCL's own choice of algorithm and protocol", 2);
    for (const std::string_view algorithm : {"Ring", "Tree", there_.nodes > 1 ? "NVLSTree" : "NVLS"}) {
      for (const std::string_view protocol : {"LL", "LL128", "Simple"}) {
        if (algorithm.starts_with("NVLS") && protocol != "Simple") continue;
        auto r = call(Op::all_reduce);
        r.choice = {std::string{algorithm}, std::string{protocol}, 0};
        collective(r, 3, "latency and rate of one algorithm and protocol, without NCCL's switching between them", 4);
      }
    }
    for (const auto op : {Op::all_gather, Op::reduce_scatter}) {
      for (const std::string_view protocol : {"LL", "LL128", "Simple"}) {
        auto r = call(op);
        r.choice = {"Ring", std::string{protocol}, 0};
        collective(r, 1.5, "the same for half an all-reduce: separates sending from reducing", 4);
      }
    }
    for (const int channels : {1, 2, 4, 8, 16}) {
      auto r = call(Op::all_reduce);
      r.choice = {"Ring", "Simple", channels};
      collective(r, 1.5, "one channel's rate, and how many fill the links", 16);
    }
    const int per_node = std::max(there_.ranks / there_.nodes, 1);
    for (int ranks = 2; ranks < there_.ranks; ranks *= 2) {
      if (ranks > per_node && ranks % per_node != 0) continue;  // whole nodes only
      auto r = call(Op::all_reduce);
      r.ranks = ranks;
      collective(r, 2, "how times grow with the number of ranks", 4);
    }
    auto graph = call(Op::all_reduce);
    graph.graph = true;
    collective(graph, 2, "the same as a CUDA graph: without the host's launch", 4);
  }

  const Discovery& there_;
  const PlanOptions& options_;
  std::vector<Item> items_;
};

}  // namespace

sim::Bytes least_size(Op op, int ranks) {
  constexpr std::array shared{Op::all_gather, Op::reduce_scatter, Op::alltoall, Op::gather, Op::scatter};
  return sim::Bytes{4} * (std::ranges::find(shared, op) != shared.end() ? ranks : 1);
}

std::vector<Item> items_for(const Discovery& there, const PlanOptions& options) { return Items(there, options).all(); }

}  // namespace linkcast::calibration
