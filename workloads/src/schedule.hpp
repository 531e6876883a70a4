// What every algorithm's builder gets and gives. A builder turns NCCL's plan into work for the engine twice: as
// pipelined flows (fidelity `flow`) and as a chunk program (fidelity `chunk`), from the same numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costs.hpp"
#include "edges.hpp"
#include "linkcast/models/nccl/communicator.hpp"
#include "linkcast/workloads/collective.hpp"
#include "shapes.hpp"

namespace linkcast::workloads {

/// What the agents of one call may take at fidelity chunk: what docs/topology.md promises for a cluster's replay.
inline constexpr double most_chunk_bytes = 4.0 * (1 << 30);

struct Context {
  const topologies::Cluster& cluster;
  const topologies::Fabric& fabric;  // of node 0: the only one for what stays inside a machine
  const models::nccl::Communicator& comm;
  const Edges& edges;
  const models::GpuModel& gpu;
  const sim::ResourceTable& resources;
  ShapeCache& shapes;
  /// Each channel has its own way through the network, by the hash of its queue pairs.
  bool hashed() const { return comm.nodes() > 1 && cluster.network().routing() == models::Routing::ecmp; }
  bool classify = false;  // flows in classes of equal links (shapes.hpp): where nothing else shares them
  bool fold = true;       // agents that behave alike are simulated once
};

/// The shape of the first `channels` channels. Over several machines that of all channels is made once, and parts of it
/// taken; within one, where channels of a ring are one flow, each is made by itself.
template <typename Make>
std::shared_ptr<const FlowShape> shape_for(const Context& c, models::nccl::Algorithm algorithm,
                                           models::nccl::Protocol protocol, int channels, Make make) {
  const auto key = [&](int n) {
    return ShapeCache::Key{static_cast<int>(algorithm), static_cast<int>(protocol), n, 0};
  };
  const int all = c.comm.channels().comm;
  if (!c.classify || channels >= all) return c.shapes.get(key(channels), [&] { return make(channels); });
  return c.shapes.get(key(channels), [&] {
    return first_channels(*c.shapes.get(key(all), [&] { return make(all); }), channels, c.resources);
  });
}

/// One collective as work for the engine. In `flow`, the parts run side by side; the collective ends with the last.
struct Schedule {
  std::string algorithm, protocol;
  int channels = 0;
  std::vector<sim::PipelinedFlow> flows;             // fidelity flow
  std::shared_ptr<const LinkClasses> classes;        // whose numbers the flows' usages are; null: the cluster's
  std::shared_ptr<const sim::ChunkProgram> program;  // fidelity chunk
  sim::Account jitter;                               // added to both (jitter.hpp)
};

Schedule build_ring(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f);
Schedule build_chain(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f);
Schedule build_tree(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f);
Schedule build_nvls(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f);
Schedule build_nvls_tree(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f);
Schedule build_p2p(const Context& c, const models::nccl::Call& call, Fidelity f);
Schedule build_p2p_over_nodes(const Context& c, const models::nccl::Call& call, Fidelity f);
Schedule build_pat(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f);
Schedule build_in_network(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan);
Schedule build_symmetric(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f);
Schedule build_copy_engine(const Context& c, const models::nccl::Call& call, Fidelity f);
/// At any fidelity the same: chunk by chunk.
Schedule build_algorithm(const Context& c, const models::nccl::Call& call, const AlgorithmPlan& plan);

}  // namespace linkcast::workloads
