// See machine.hpp. From the options to a fabric with the ranks that take part.
#include "machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace linkcast::cli {

void MachineOptions::add_to(Form& form) {
  form.group("Machine");
  form.text("-t,--topology", topology, "NAME|FILE",
            "catalog name, Linkcast YAML file, or NCCL topology XML (linkcast topo list)");
  form.list("--set", set, "NAME=VALUE", "set a parameter of the topology; may be repeated");
  form.text("--nodes", nodes, "N", "number of such machines, joined by their network (default 1)");
  form.text("--gpus", gpus, "N", "only the first N GPUs of the machine");
  form.text("--ranks", ranks, "LIST", "only these GPUs, in this order: 0,1,4 or 0-3");
}

void LibraryOptions::add_to(Form& form) {
  form.group("Library");
  form.text("--nccl", nccl, "X.Y[.Z]", "version of NCCL (default: " + models::nccl::Version{}.str() + ")");
  form.list("--env", env, "NCCL_X=VALUE", "an NCCL_* variable, as on the machine; may be repeated");
}

int nodes_of(const MachineOptions& options, Problems& problems) {
  if (options.nodes.empty()) return 1;
  return problems.collect([&] { return whole_number("--nodes", options.nodes, 1, 100'000); }).value_or(1);
}

std::vector<int> chosen_ranks(const MachineOptions& options, int all, const std::string& name) {
  Problems problems;
  std::vector<int> ranks;
  if (!options.gpus.empty() && !options.ranks.empty())
    problems.add("--gpus and --ranks exclude each other", "keep one");
  if (!options.ranks.empty()) {
    ranks = problems.collect([&] { return rank_list("--ranks", options.ranks); }).value_or(std::vector<int>{});
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] >= all)
        problems.add(fmt::format("--ranks: there is no rank {}", ranks[i]),
                     fmt::format("'{}' has {} GPUs: ranks 0 to {}", name, all, all - 1));
      if (std::find(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(i), ranks[i]) !=
          ranks.begin() + static_cast<std::ptrdiff_t>(i))
        problems.add(fmt::format("--ranks: {} is given twice", ranks[i]), "a GPU holds one rank");
    }
  } else {
    int n = all;
    if (!options.gpus.empty()) {
      n = problems.collect([&] { return whole_number("--gpus", options.gpus, 1, 1'000'000); }).value_or(all);
      if (n > all)
        problems.add(fmt::format("--gpus {}: there are not so many", n), fmt::format("'{}' has {} GPUs", name, all));
    }
    ranks.resize(static_cast<std::size_t>(std::min(n, all)));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  problems.finish();
  return ranks;
}

Machine load_machine(const MachineOptions& options) {
  topologies::LoadOptions load;
  load.params = assignments("--set", options.set);
  auto fabric = topologies::load(options.topology, load);
  const int all = static_cast<int>(fabric.gpus().size());
  auto ranks = chosen_ranks(options, all, options.topology);
  bool whole = static_cast<int>(ranks.size()) == all;
  for (std::size_t i = 0; whole && i < ranks.size(); ++i) whole = ranks[i] == static_cast<int>(i);
  if (!whole) fabric = fabric.slice(ranks);
  return {std::move(fabric), std::move(ranks), all};
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
