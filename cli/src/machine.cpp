// See machine.hpp. From the options to a fabric with the ranks that take part.
#include "machine.hpp"
#include "read_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "linkcast/models/nccl/network_defaults.hpp"

namespace linkcast::cli {

void MachineOptions::add_to(Form& form) {
  form.group("Machine");
  form.text("-t,--topology", topology, "NAME|FILE",
            "catalog name, Linkcast YAML file, or NCCL topology XML (linkcast topo list)");
  form.list("--set", set, "NAME=VALUE", "set a parameter of the topology; may be repeated");
  form.text("--profile", profile, "FILE", "fitted numbers, as `linkcast calibrate fit` writes them");
  form.text("--nodes", nodes, "N", "number of nodes (default: as many as the topology has, or --gpus need)");
  form.text("--gpus", gpus, "N", "number of GPUs in total, spread evenly over the nodes");
  form.text("--ranks", ranks, "LIST", "only these GPUs of each node, in this order: 0,1,4 or 0-3");
  form.group("Network");
  form.text("--nics", nics, "NxGBPS",
            "other NICs in the places of each node's own, e.g. 4x400 or 8x800 (without a described network)");
  form.text("--network", network, "KIND", "ib, roce, efa, slingshot, tcp, tcpx, tcpxo (default: as the topology says)");
  form.text("--routing", routing, "HOW", "adaptive, spray, ecmp or by_destination (default: as the topology says)");
  form.text("--placement", placement, "HOW",
            "of a job that is smaller than the cluster: packed, strided or fragmented (default packed)");
  form.text("--seed", seed, "N", "of a fragmented placement (default 1)");
  form.text("--hosts", hosts, "LIST", "the nodes of the job by name, in order: 'node[0-31,40]'");
}

void LibraryOptions::add_to(Form& form) {
  form.group("Library");
  form.text("--nccl", nccl, "X.Y[.Z]", "version of NCCL (default: " + models::nccl::Version{}.str() + ")");
  form.list("--env", env, "NCCL_X=VALUE", "an NCCL_* variable, as on the machine; may be repeated");
  form.text("--tuner", tuner, "FILE",
            "rules of NCCL's example tuner plugin (CSV), which come before NCCL's own choice");
}

namespace {

/// What the options ask for, before anything is loaded.
struct Wish {
  std::optional<int> nodes, gpus;
  std::vector<int> ranks;                      // empty: all
  std::optional<std::pair<int, double>> nics;  // how many, Gb/s of each
  topologies::ClusterOptions load;
  std::optional<topologies::Placement> placement;
  std::uint64_t seed = 1;
};

/// "8x400": eight NICs of 400 Gb/s.
std::pair<int, double> nics_of(const std::string& text) {
  const auto x = text.find('x');
  char* end = nullptr;
  const double gbps = x == std::string::npos ? 0 : std::strtod(text.c_str() + x + 1, &end);
  if (x == std::string::npos || end == text.c_str() + x + 1 || *end != '\0' || !(gbps > 0) || gbps > 1e5)
    throw sim::InputError{fmt::format("--nics {}: not a number of NICs and their Gb/s", text), "write 8x400"};
  return {whole_number("--nics", text.substr(0, x), 1, 256), gbps};
}

Wish understand(const MachineOptions& o) {
  Problems problems;
  Wish w;
  if (!o.nodes.empty()) w.nodes = problems.collect([&] { return whole_number("--nodes", o.nodes, 1, 100'000); });
  if (!o.gpus.empty()) w.gpus = problems.collect([&] { return whole_number("--gpus", o.gpus, 1, 1'000'000); });
  if (!o.gpus.empty() && !o.ranks.empty()) problems.add("--gpus and --ranks exclude each other", "keep one");
  if (!o.ranks.empty())
    w.ranks = problems.collect([&] { return rank_list("--ranks", o.ranks); }).value_or(std::vector<int>{});
  if (!o.network.empty()) w.load.fabric = o.network;
  if (!o.nics.empty()) w.nics = problems.collect([&] { return nics_of(o.nics); });
  const std::vector<std::string> routings{"adaptive", "spray", "ecmp", "by_destination"};
  if (!o.routing.empty())
    if (const auto i = problems.collect([&] { return one_of("--routing", o.routing, routings); }))
      w.load.routing = static_cast<models::Routing>(*i);
  const std::vector<std::string> placements{"packed", "strided", "fragmented"};
  if (!o.placement.empty())
    if (const auto i = problems.collect([&] { return one_of("--placement", o.placement, placements); }))
      w.placement = static_cast<topologies::Placement>(*i);
  if (!o.seed.empty())
    if (const auto n = problems.collect([&] { return whole_number("--seed", o.seed, 0, 1'000'000'000); }))
      w.seed = static_cast<std::uint64_t>(*n);
  if (!o.hosts.empty() && (w.placement || w.nodes || w.gpus))
    problems.add("--hosts names the nodes: it excludes --nodes, --gpus and --placement", "keep one");
  if (!o.profile.empty())
    problems.collect([&] {
      w.load.profile = topologies::Profile::read(o.profile);
      return true;
    });
  problems.collect([&] {
    w.load.params = assignments("--set", o.set);
    return true;
  });
  problems.finish();
  return w;
}

void check_ranks(const std::vector<int>& ranks, int all, const std::string& name) {
  Problems problems;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] >= all)
      problems.add(fmt::format("--ranks: there is no rank {}", ranks[i]),
                   fmt::format("'{}' has {} GPUs: ranks 0 to {}", name, all, all - 1));
    if (std::find(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(i), ranks[i]) !=
        ranks.begin() + static_cast<std::ptrdiff_t>(i))
      problems.add(fmt::format("--ranks: {} is given twice", ranks[i]), "a GPU holds one rank");
  }
  problems.finish();
}

[[noreturn]] void refuse(std::string problem, std::string help) {
  Problems problems;
  problems.add(std::move(problem), std::move(help));
  problems.finish();
  throw sim::InternalError("a problem that was not thrown");
}

/// Nodes that take part, and GPUs of each.
struct Share {
  int nodes = 1, locals = 1;
};

Share share_of(const Wish& w, const topologies::Cluster& whole, const std::string& name) {
  const int all = whole.gpus_per_node();
  if (!w.gpus) return {w.nodes.value_or(whole.nodes()), w.ranks.empty() ? all : static_cast<int>(w.ranks.size())};
  const int gpus = *w.gpus;
  if (w.nodes) {
    if (gpus % *w.nodes != 0)
      refuse(fmt::format("--gpus {}: they do not spread evenly over {} nodes", gpus, *w.nodes),
             "--gpus counts the GPUs of all nodes together");
    if (gpus / *w.nodes > all)
      refuse(fmt::format("--gpus {}: there are not so many", gpus),
             fmt::format("{} nodes of '{}' have {} GPUs", *w.nodes, name, *w.nodes * all));
    return {*w.nodes, gpus / *w.nodes};
  }
  if (gpus <= all) return {1, gpus};
  if (gpus % all != 0)
    refuse(fmt::format("--gpus {}: they do not fill nodes of {} GPUs", gpus, all),
           fmt::format("a multiple of {}, or say --nodes", all));
  return {gpus / all, all};
}

}  // namespace

Machine load_machine(const MachineOptions& options, const models::nccl::Environment& env) {
  auto wish = understand(options);
  if (!wish.load.fabric && models::nccl::uses_sockets(env)) wish.load.fabric = "tcp";
  const auto& name = options.topology;
  auto cluster = topologies::load_cluster(name, wish.load);
  const int all = cluster.gpus_per_node();
  check_ranks(wish.ranks, all, name);
  const auto share = share_of(wish, cluster, name);
  if (cluster.nodes() == 1 && share.nodes > 1) {
    wish.load.nodes = share.nodes;
    cluster = topologies::load_cluster(name, wish.load);
  }
  if (wish.nics && cluster.nodes() > 1) {
    if (cluster.network().generator() != "ideal")
      refuse("--nics changes machines without a described network", "say the NICs in the topology file");
    const std::string kind = cluster.network().model().name;
    cluster = topologies::ideal_cluster(
        cluster.machine(0).with_nics(wish.nics->first, sim::Rate::from_GBps(wish.nics->second / 8)), cluster.nodes(),
        kind, wish.load.profile.get());
  }
  const int of_nodes = cluster.nodes();
  if (share.nodes > of_nodes)
    refuse(fmt::format("{} nodes: there are not so many", share.nodes), fmt::format("'{}' has {}", name, of_nodes));
  auto ranks = wish.ranks;
  if (ranks.empty()) {
    ranks.resize(static_cast<std::size_t>(share.locals));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  bool whole = static_cast<int>(ranks.size()) == all;
  for (std::size_t i = 0; whole && i < ranks.size(); ++i) whole = ranks[i] == static_cast<int>(i);
  const auto none = std::vector<int>{};
  if (!options.hosts.empty()) {
    cluster = cluster.job(topologies::placed(cluster, options.hosts), whole ? none : ranks);
  } else if (share.nodes < of_nodes || wish.placement) {
    cluster = cluster.job(
        topologies::placed(cluster, share.nodes, wish.placement.value_or(topologies::Placement::packed), wish.seed),
        whole ? none : ranks);
  } else if (!whole) {
    std::vector<int> every(static_cast<std::size_t>(of_nodes));
    std::iota(every.begin(), every.end(), 0);
    cluster = cluster.job(every, ranks);
  }
  return {std::move(cluster), std::move(ranks), all, of_nodes};
}

Library read_library(const LibraryOptions& options, Problems& problems) {
  Library library;
  if (!options.nccl.empty()) {
    if (const auto v = problems.collect([&] { return models::nccl::Version::parse(options.nccl); }))
      library.version = *v;
  }
  for (const auto& text : options.env) {
    problems.collect([&] {
      const auto [name, value] = assignment("--env", text);
      if (library.env.get(name))
        throw sim::InputError{fmt::format("--env: {} is given twice", name), "keep one of them"};
      library.env.set(name, value);
      return true;
    });
  }
  if (!options.tuner.empty()) {
    problems.collect([&] {
      library.tuner = std::make_shared<const models::nccl::Tuner>(
          models::nccl::read_tuner(read_file(options.tuner), options.tuner));
      return true;
    });
  }
  return library;
}

void warn_of_idle_variables(const Library& library, Log& log) {
  for (const auto& name : library.env.without_effect())
    log.warning(name + " is a variable of NCCL, but it changes nothing in this model");
}

std::string gpu_name(const topologies::Fabric& fabric) {
  return fabric.gpus().empty() ? "no GPU" : fabric.gpu_model(fabric.gpus()[0]).name;
}

}  // namespace linkcast::cli
