// See collective.hpp. Follows one call: NCCL's choice and plan, the schedule, the replay, the launch, the row.
#include "linkcast/workloads/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "launch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/nccl_view.hpp"
#include "linkcast/workloads/algorithm_plan.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Algorithm;
using models::nccl::Call;
using models::nccl::Op;
using sim::Account;
using sim::Cause;
using sim::Time;

// Sums of bytes over ranks, and their times on links of a few MB/s, stay within 64 bits.
constexpr sim::Bytes largest_call{std::int64_t{1} << 44};

// Of a flow of packets: its two ends and their statistics in the network (128 + 64 + 96 B), its way, and what the
// replay keeps of it and of the messages under way (about 400 B); counted from the structures.
constexpr double packet_flow_bytes = 700;

bool by_send_recv(Op op) { return op == Op::alltoall || op == Op::sendrecv || op == Op::gather || op == Op::scatter; }

/// The flows of a schedule side by side, as one program: an agent with a single unit each. What the fixed part of one
/// is longer than the shortest is spent before its own bytes flow.
std::shared_ptr<const sim::ChunkProgram> side_by_side(const std::vector<sim::PipelinedFlow>& flows) {
  auto program = std::make_shared<sim::ChunkProgram>();
  const auto first = std::min_element(flows.begin(), flows.end(),
                                      [](const auto& a, const auto& b) { return a.fixed.total() < b.fixed.total(); });
  program->fixed = first->fixed;
  for (const auto& flow : flows) {
    program->kinds.push_back({flow.fixed.total() - first->fixed.total(), flow.cap, flow.cap_cause, false});
    sim::Agent agent;
    agent.units = 1;
    agent.pattern = static_cast<std::uint32_t>(program->agents.size());
    agent.local = flow.usages;
    agent.pipelined = false;
    const auto kind = static_cast<std::uint16_t>(program->kinds.size() - 1);
    agent.at = [kind, bytes = flow.bytes](std::int64_t, sim::Unit& u) {
      u.kind = kind;
      u.bytes = bytes;
      u.receive.clear();
      u.send.clear();
    };
    program->agents.push_back(std::move(agent));
  }
  return program;
}

}  // namespace

namespace {

/// Ports on a network whose switches reduce are what NCCL's SHARP plugin offers as CollNet devices.
models::nccl::System with_collnet(const models::nccl::System& plain) {
  models::nccl::System system;
  system.name = plain.name;
  for (auto node : plain.nodes()) {
    node.collnet = node.type == models::nccl::NodeType::net;
    system.add(std::move(node));
  }
  for (std::size_t from = 0; from < plain.edges().size(); ++from)
    for (const auto& e : plain.edges()[from]) system.connect_one_way(static_cast<int>(from), e.to, e.type, e.bw_GBps);
  return system;
}

/// What plugins look at: the machine's name; EFA is found at AWS only, so there its GPUs tell the kind of instance.
std::string platform_of(const topologies::Cluster& cluster) {
  const auto& machine = cluster.machine(0);
  if (cluster.network().model().name != "efa" || machine.name().starts_with("aws-")) return machine.name();
  const auto& gpu = machine.gpu_model(machine.gpus()[0]).name;
  if (gpu.starts_with("a100")) return "aws-p4d";
  if (gpu.starts_with("h200")) return "aws-p5en";
  return gpu.starts_with("h100") ? "aws-p5" : "aws-p6";
}

}  // namespace

models::nccl::Communicator communicator_of(const topologies::Cluster& cluster, const models::nccl::Version& version,
                                           const models::nccl::Environment& env,
                                           std::shared_ptr<const models::nccl::Tuner> tuner) {
  models::nccl::Config config;
  config.tuner = std::move(tuner);
  config.version = version;
  config.env = env;
  config.nodes = cluster.nodes();
  if (cluster.nodes() > 1) {
    config.network = cluster.network().model().name;
    config.platform = platform_of(cluster);
  }
  std::vector<models::nccl::System> systems;
  for (int k = 0; k < cluster.kinds(); ++k) {
    const auto& machine = cluster.kind(k);
    config.multicast = config.multicast && machine.nvls(machine.gpus());
    auto system = topologies::nccl_system(machine, version);
    systems.push_back(cluster.nodes() > 1 && cluster.network().sharp() ? with_collnet(system) : std::move(system));
  }
  if (systems.size() == 1) return {std::move(systems.front()), std::move(config)};
  std::vector<std::uint16_t> kind_of;
  for (int node = 0; node < cluster.nodes(); ++node)
    kind_of.push_back(static_cast<std::uint16_t>(cluster.kind_of(node)));
  return {std::move(systems), std::move(kind_of), std::move(config)};
}

struct CollectiveModel::Impl {
  topologies::Cluster cluster;
  CommunicatorOptions options;
  std::shared_ptr<const models::nccl::Communicator> chosen;
  const models::nccl::Communicator& comm;
  std::shared_ptr<const Packets> packets;  // fidelity packet
  Edges edges;
  sim::ResourceTable resources;
  mutable ShapeCache shapes, shapes_in_classes;
  mutable std::set<std::pair<const AlgorithmPlan*, Op>> checked;  // algorithms for whatever is called

  Impl(topologies::Cluster c, CommunicatorOptions o)
      : cluster{std::move(c)},
        options{std::move(o)},
        chosen{options.chosen ? options.chosen
                              : std::make_shared<const models::nccl::Communicator>(
                                    communicator_of(cluster, options.nccl, options.env, options.tuner))},
        comm{*chosen},
        packets{options.fidelity != Fidelity::packet ? nullptr
                : options.packets                    ? options.packets
                                                     : std::make_shared<const Packets>(cluster, options.packet)},
        edges{cluster, options.nccl, options.env, packets.get()},
        resources{cluster.resources()} {}

  const topologies::Fabric& fabric() const { return cluster.machine(0); }
  const models::GpuModel& gpu() const { return fabric().gpu_model(fabric().gpus()[0]); }

  void check(const Call& call) const {
    if (call.bytes.count() <= 0)
      throw sim::InputError("the size of a collective must be positive", "give at least 1 byte");
    if (call.bytes > largest_call)
      throw sim::InputError(std::to_string(call.bytes.count()) + " bytes are too many for a collective",
                            "at most 16 TiB (" + std::to_string(largest_call.count()) + "): no machine holds more");
    if (call.root < 0 || call.root >= comm.ranks())
      throw sim::InputError("root " + std::to_string(call.root) + " is not a rank",
                            "this communicator has the ranks 0 to " + std::to_string(comm.ranks() - 1));
  }

  /// Rings, trees and the like have a few agents for each rank and channel. Measured as the peak of runs on 64 to 512
  /// dgx-h100: 1.9 KB (ring), 2.6 KB (NVLSTree) to 3.2 KB (tree), and 2.5 times that unfolded (messages.cpp).
  void check_chunk_memory(const Call& call, const models::nccl::Plan& plan) const {
    const bool packet = options.fidelity == Fidelity::packet;
    double each = options.fold && !packet ? 3.2e3 : 8e3;
    if (packet) each += packet_flow_bytes * flows_of_hop();
    const double bytes = each * comm.ranks() * plan.channels;
    if (bytes <= most_chunk_bytes) return;
    throw sim::InputError(
        fmt::format("{} of {} ranks on {} channels: at fidelity {} about {:.1f} GiB, more than the 4 GiB that a "
                    "replay may take",
                    name_of(call.op), comm.ranks(), plan.channels, name_of(options.fidelity), bytes / (1 << 30)),
        "use --fidelity flow, or fewer nodes");
  }

  /// Flows of packets that a rank's sends on one channel are: one for each NVSwitch, or each queue pair.
  double flows_of_hop() const {
    double flows = 2;
    if (cluster.gpus_per_node() > 1) flows = std::max(flows, static_cast<double>(edges.lane(0, 0, 1).usages.size()));
    return flows + static_cast<double>(options.env.integer("NCCL_IB_QPS_PER_CONNECTION").value_or(1));
  }

  /// The algorithm from a file that takes NCCL's place for a call.
  const AlgorithmPlan* written(const Call& call) const {
    for (const auto& plan : options.algorithms) {
      if (!plan->fits(call.op, call.bytes.count())) continue;
      if (plan->ranks() != comm.ranks())
        throw sim::InputError(
            fmt::format("{} is for {} GPUs, but {} take part", plan->file, plan->ranks(), comm.ranks()),
            fmt::format("--gpus and --nodes choose {} of them", plan->ranks()));
      if ((call.op == Op::broadcast || call.op == Op::reduce) && call.root != plan->root)
        throw sim::InputError(fmt::format("{} has root {}, not {}", plan->file, plan->root, call.root),
                              fmt::format("--root {}", plan->root));
      if (!plan->op && checked.emplace(plan.get(), call.op).second) {
        if (auto wrong = check_algorithm(*plan, call.op); !wrong.empty()) throw sim::InputError(std::move(wrong), "");
      }
      return plan.get();
    }
    return nullptr;
  }

  /// `classify`: for a call that has the links for itself.
  Schedule schedule(const Call& call, bool classify) const {
    classify = classify && comm.nodes() > 1 && options.fidelity != Fidelity::packet;
    const Context c{cluster,  fabric(),    comm, edges, gpu(), resources, classify ? shapes_in_classes : shapes,
                    classify, options.fold};
    const Fidelity f = options.fidelity;
    if (const auto* plan = written(call)) return build_algorithm(c, call, *plan);
    if (by_send_recv(call.op) && !call.symmetric_windows) return build_p2p(c, call, f);
    const auto plan = comm.plan(call);
    if (f != Fidelity::flow) check_chunk_memory(call, plan);
    Schedule s;
    switch (plan.choice.algorithm) {
      case Algorithm::tree:
        s = build_tree(c, call, plan, f);
        break;
      case Algorithm::nvls:
        s = comm.nodes() > 1 ? build_in_network(c, call, plan) : build_nvls(c, call, plan, f);
        break;
      case Algorithm::collnet_direct:
      case Algorithm::collnet_chain:
        s = build_in_network(c, call, plan);
        break;
      case Algorithm::pat:
        s = build_pat(c, call, plan, f);
        break;
      case Algorithm::nvls_tree:
        s = build_nvls_tree(c, call, plan, f);
        break;
      case Algorithm::symmetric:
        s = build_symmetric(c, call, plan, f);
        break;
      case Algorithm::copy_engine:
        s = build_copy_engine(c, call, f);
        break;
      case Algorithm::p2p:
        return build_p2p(c, call, f);
      case Algorithm::ring:
        s = call.op == Op::broadcast || call.op == Op::reduce ? build_chain(c, call, plan, f)
                                                              : build_ring(c, call, plan, f);
        break;
      default:
        throw sim::InternalError("no schedule for " + std::string(name_of(plan.choice.algorithm)) + " is modelled");
    }
    s.algorithm = std::string(name_of(plan.choice.algorithm));
    s.protocol = std::string(name_of(plan.choice.protocol));
    return s;
  }

  /// What runs on the GPUs, without the host.
  sim::Task kernel(const Schedule& s) const {
    Account fixed = s.jitter;
    fixed.add(Cause::launch, gpu().kernel_start);
    sim::Task task;
    task.label = s.algorithm + "/" + s.protocol;
    if (s.program) {
      auto program = std::make_shared<sim::ChunkProgram>(*s.program);
      program->fixed += fixed;
      task.work = std::shared_ptr<const sim::ChunkProgram>(std::move(program));
    } else if (s.flows.size() == 1) {
      auto flow = s.flows.front();
      flow.fixed += fixed;
      task.work = std::move(flow);
    } else if (!s.flows.empty()) {
      auto program = std::make_shared<sim::ChunkProgram>(*side_by_side(s.flows));
      program->fixed += fixed;
      task.work = std::shared_ptr<const sim::ChunkProgram>(std::move(program));
    } else {
      sim::PipelinedFlow nothing;
      nothing.fixed = fixed;
      task.work = nothing;
    }
    return task;
  }

  sim::ReplayResult replay(const Schedule& s) const {
    sim::ReplayOptions o;
    o.fold = options.fold;
    if (packets) o.packets = &packets->setting();
    return sim::replay(s.classes ? s.classes->table : resources, kernel(s), o);
  }

  /// The name of the largest cause; of the links, the kind that is loaded most, and the first such link.
  std::pair<std::string, std::string> bound_by(const Account& account, const Schedule& s,
                                               const std::vector<double>& carried) const {
    std::size_t largest = 0;
    for (std::size_t i = 1; i < sim::cause_count; ++i)
      if (account[static_cast<Cause>(i)] > account[static_cast<Cause>(largest)]) largest = i;
    const auto cause = static_cast<Cause>(largest);
    const auto of_links = {Cause::wire, Cause::protocol, Cause::congestion, Cause::queueing, Cause::paused};
    if (std::ranges::find(of_links, cause) == of_links.end()) return {std::string(name_of(cause)), {}};
    const auto& table = s.classes ? s.classes->table : resources;
    double worst = -1;
    sim::ResourceId busiest{};
    for (std::uint32_t i = 0; i < carried.size(); ++i) {
      const double busy = carried[i] / table[sim::ResourceId{i}].capacity.GBps();
      if (busy > worst) worst = busy, busiest = s.classes ? s.classes->representative[i] : sim::ResourceId{i};
    }
    return {std::string(models::name_of(cluster.resource_kind(busiest))), cluster.resource_name(busiest)};
  }
};

CollectiveModel::CollectiveModel(topologies::Cluster cluster, CommunicatorOptions options)
    : impl_{std::make_unique<Impl>(std::move(cluster), std::move(options))} {}
CollectiveModel::~CollectiveModel() = default;
CollectiveModel::CollectiveModel(CollectiveModel&&) noexcept = default;

CollectiveRow CollectiveModel::run(const Call& call) const {
  const Impl& m = *impl_;
  m.check(call);
  CollectiveRow row;
  row.size = call.bytes;
  const Schedule s = m.schedule(call, true);
  sim::ReplayResult result = m.replay(s);
  const Time floor = launch_floor(call.op);
  row.time = with_launch(result.end, floor);
  row.account = result.account;
  row.account.add(Cause::launch, row.time - result.end);
  row.algorithm = s.algorithm;
  row.protocol = s.protocol;
  row.channels = s.channels;
  row.algbw_GBps = static_cast<double>(row.size.count()) / row.time.us() * 1e-3;
  row.busbw_GBps = row.algbw_GBps * busbw_factor(call.op, m.comm.ranks());
  std::tie(row.bound_by, row.bound_link) = m.bound_by(row.account, s, result.carried);
  if (!s.classes) row.carried = std::move(result.carried);
  if (row.account.total() != row.time) throw sim::InternalError("the account of time does not add up");
  return row;
}

sim::Task CollectiveModel::task(const Call& call) const {
  impl_->check(call);
  return impl_->kernel(impl_->schedule(call, false));
}

const topologies::Cluster& CollectiveModel::cluster() const { return impl_->cluster; }
const topologies::Fabric& CollectiveModel::fabric() const { return impl_->fabric(); }
const models::nccl::Communicator& CollectiveModel::communicator() const { return impl_->comm; }
std::shared_ptr<const models::nccl::Communicator> CollectiveModel::chosen() const { return impl_->chosen; }
const CommunicatorOptions& CollectiveModel::options() const { return impl_->options; }
std::shared_ptr<const Packets> CollectiveModel::packets() const { return impl_->packets; }

Time CollectiveModel::launch_floor(models::nccl::Op op) const {
  const Impl& m = *impl_;
  if (m.options.launch_floor) return *m.options.launch_floor;
  return workloads::launch_floor(m.fabric().host(), m.options.launch, m.cluster.gpus_per_node(), op, m.comm.ranks());
}

}  // namespace linkcast::workloads
