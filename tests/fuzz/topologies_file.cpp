// Topology files, YAML and NCCL's XML alike: whatever is in them, the loader answers with a fabric and a cluster, or
// with an InputError.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/topologies/fabric.hpp"

namespace {

using namespace linkcast::topologies;

template <typename F>
void answers(F f) {
  try {
    f();
  } catch (const linkcast::sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
}

/// A million machines are a legal answer, but not one that is worth its time here.
bool honest_size(const std::uint8_t* data, std::size_t size) {
  int digits = 0;
  for (std::size_t i = 0; i < size; ++i) {
    digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
    if (digits > 4) return false;
  }
  return true;
}

void use(const Cluster& cluster) {
  const auto& n = cluster.network();
  if (cluster.nodes() < 1 || cluster.ranks() < 1) std::abort();
  if (n.empty()) return;
  const int last = cluster.nodes() - 1;
  if (n.ports_of(0, 0).empty() || n.place(n.ports_of(last, 0)[0]).node != last) std::abort();
  std::size_t cables = 0;
  const auto count = [&](CableId c, bool, double bytes) {
    if (static_cast<std::size_t>(c) >= n.cables().size() || !(bytes > 0)) std::abort();
    ++cables;
  };
  const bool reached = n.add(NicPlace{0, 0}, NicPlace{last, 0}, 1.0, 1, count);
  if (reached != (cables > 0) || reached != n.way(NicPlace{0, 0}, NicPlace{last, 0}).has_value()) std::abort();
  if (cluster.nodes() <= 256) {
    const NicPlace ends[]{{0, 0}, {last, 0}, {last / 2, 0}};
    n.add_all_to_all(ends, 1.0, count);
    if (cluster.resources().size() != cluster.resource_count()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The loader takes names, so that the text needs one. A name for each process: targets run side by side.
  const auto path = std::filesystem::temp_directory_path() / ("linkcast-fuzz-" + std::to_string(getpid()) + ".yaml");
  std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  answers([&] {
    const auto fabric = load(path.string());
    // What was accepted must be usable.
    if (fabric.gpus().empty() || fabric.bisection() < linkcast::sim::Rate{} || fabric.resources().size() == 0)
      std::abort();
  });
  if (honest_size(data, size)) answers([&] { use(load_cluster(path.string())); });
  std::filesystem::remove(path);
  return 0;
}
