// `linkcast collective`: how long a collective takes, and why.
#include "collective.hpp"
#include "expected.hpp"

#include <fmt/format.h>
#include <algorithm>

#include <memory>

#include "linkcast/workloads/algorithm_plan.hpp"
#include "linkcast/workloads/sizes.hpp"
#include "read_file.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

using Options = CollectiveOptions;

const std::vector<std::string>& dtypes() {
  static const std::vector<std::string> names{"float", "half",   "bfloat16", "double", "int8",     "uint8",
                                              "int32", "uint32", "int64",    "uint64", "fp8_e4m3", "fp8_e5m2"};
  return names;
}

}  // namespace

CollectiveQuestion understand(const CollectiveOptions& o) {
  Problems problems;
  CollectiveQuestion q;
  q.topology = o.machine.topology;
  if (o.op.empty()) {
    problems.add("the collective is missing", fmt::format("one of: {}", fmt::join(models::nccl::op_names(), ", ")));
  } else if (const auto op = models::nccl::op_from(o.op)) {
    q.call.op = *op;
  } else {
    problems.add(fmt::format("unknown collective '{}'", o.op), suggestion(o.op, models::nccl::op_names()));
  }
  if (o.machine.topology.empty())
    problems.add("--topology is missing", "name a machine ('linkcast topo list') or a file");
  problems.collect([&] {
    q.sizes = workloads::parse_sizes(o.size);
    return true;
  });
  const std::vector<std::string> modes{"single-process", "multi-process", "graph"};
  if (const auto i = problems.collect([&] { return one_of("--launch", o.launch, modes); }))
    q.options.launch = static_cast<models::LaunchMode>(*i);
  if (!o.floor.empty()) q.options.launch_floor = problems.collect([&] { return time_span("--launch-floor", o.floor); });
  const std::vector<std::string> fidelities{"flow", "chunk", "packet"};
  if (const auto i = problems.collect([&] { return one_of("--fidelity", o.fidelity, fidelities); }))
    q.options.fidelity = static_cast<workloads::Fidelity>(*i);
  problems.collect([&] { return one_of("--dtype", o.dtype, dtypes()); });
  q.call.dtype = o.dtype;
  q.call.in_place = o.in_place;
  q.call.registered = o.registered;
  q.call.symmetric_windows = o.symmetric;
  if (!o.root.empty())
    q.call.root = problems.collect([&] { return whole_number("--root", o.root, 0, 1'000'000); }).value_or(0);
  auto library = read_library(o.library, problems);
  q.options.nccl = library.version;
  q.options.env = std::move(library.env);
  q.options.tuner = std::move(library.tuner);
  for (const auto& file : o.algorithm_files)
    problems.collect([&] {
      q.options.algorithms.push_back(workloads::read_algorithm(read_file(file), file));
      return true;
    });
  q.options.fold = !o.no_fold;
  problems.finish();
  return q;
}

namespace {

/// Whether the answer takes a way that no measurement behind the expected errors took: kernels on symmetric memory,
/// copy engines, PCIe peers through host memory.
bool unlike_measured(const workloads::CollectiveModel& model, const workloads::CollectiveRow& row) {
  using models::nccl::Algorithm;
  if (row.algorithm == name_of(Algorithm::symmetric) || row.algorithm == name_of(Algorithm::copy_engine)) return true;
  const auto& written = model.options().algorithms;
  if (std::any_of(written.begin(), written.end(), [&](const auto& a) { return a->format == row.algorithm; }))
    return true;
  const auto links = model.fabric().links();
  const bool nvlink =
      std::any_of(links.begin(), links.end(), [](const auto& l) { return l.kind == models::LinkKind::nvlink; });
  return !nvlink && !model.fabric().pcie_p2p();
}

/// That another's numbers are in use, and that they are of another machine.
std::string profile_line(const std::string& path, const std::string& machine) {
  if (path.empty()) return {};
  const auto profile = topologies::Profile::read(path);
  auto out = fmt::format("# profile: {} ({})", profile->name().empty() ? "without a name" : profile->name(), path);
  const auto& system = profile->system();
  if (system.empty()) return out + ", not of one machine\n";
  out += fmt::format(", fitted for {}\n", system);
  if (system != machine)
    out += fmt::format("# warning: the profile is of {}, not of {}: numbers of parts that both have are laid over\n",
                       system, machine);
  return out;
}

int perform(const Options& o, Io& io) {
  if (!o.vary.empty()) return perform_varied(o, io);
  const auto q = understand(o);
  warn_of_idle_variables({q.options.nccl, q.options.env, nullptr}, io.log);
  const auto machine = load_machine(o.machine, q.options.env);
  const int ranks = machine.cluster.ranks();
  if (ranks < 2) throw UsageError{"error: a collective needs at least 2 ranks\n  help: --gpus 2 or more"};
  if (q.call.root >= ranks) {
    throw sim::InputError{fmt::format("--root: there is no rank {}", q.call.root),
                          fmt::format("the ranks are 0 to {}", ranks - 1)};
  }
  if (!o.timeline.empty()) check_writable("--timeline", o.timeline);
  const workloads::CollectiveModel model{machine.cluster, q.options};
  const auto& fabric = machine.fabric();
  const auto family = calibration::family_of(fabric.name(), machine.cluster.nodes() > 1);
  const auto& architecture = fabric.gpu_model(fabric.gpus()[0]).architecture;

  const Expected expected{o.machine.profile};

  if (!o.json) {
    auto head = collective_head(q, machine, model);
    head.insert(head.find('\n') + 1, profile_line(o.machine.profile, fabric.name()));
    io.out << head;
  }
  std::vector<CollectiveAnswer> answers;
  auto call = q.call;
  for (const auto size : q.sizes) {
    if (io.stop.stop_requested()) break;
    call.bytes = size;
    auto row = model.run(call);
    auto error = expected.of(family, architecture, call.op, size);
    if (error && unlike_measured(model, row)) error->extrapolated = true;
    answers.push_back({std::move(row), std::move(error)});
    // Each row is out as soon as it is known: a long sweep that is stopped has shown what it found.
    if (!o.json) io.out << collective_line(q, answers.back(), ranks) << std::flush;
  }
  const bool cut_short = answers.size() < q.sizes.size();
  if (o.json) {
    io.out << collective_json(q, machine, model, answers, cut_short);
  } else {
    if (o.account) io.out << account_table(answers);
    io.out << collective_foot(q, answers, o.account);
  }
  if (!o.timeline.empty()) write_file("--timeline", o.timeline, collective_timeline(q, answers));
  return cut_short ? interrupted : done;
}

constexpr const char* examples =
    "  linkcast collective all_reduce --topology dgx-h100\n"
    "      from 8 B to 16 GiB, doubling, on all GPUs\n"
    "  linkcast collective all_gather --topology dgx-a100 --gpus 4 --size 1M:1G:x4 --account\n"
    "      on four of the GPUs, and what every microsecond is spent on\n"
    "  linkcast collective all_reduce --topology dgx-h100 --size 1G --env NCCL_NVLS_ENABLE=0 --json\n"
    "      without in-switch reduction, for a program to read\n"
    "  linkcast collective alltoall --topology pcie-rtx4090 --launch single-process --launch-floor 25us\n"
    "      nccl-tests with -g 8, on a host whose smallest call takes 25 us\n"
    "  linkcast collective all_reduce --topology dgx-h100 --vary nodes=1,2,4,16,64 --size 1M:4G:x8\n"
    "      busbw of growing clusters, side by side\n"
    "  linkcast collective all_reduce --topology dgx-a100 --algorithm-file allreduce.xml --size 1M:64M:x4\n"
    "      an algorithm of one's own, checked and run step by step\n"
    "  linkcast collective reduce_scatter --topology my-machine.yaml --nccl 2.18 --fidelity chunk\n"
    "      a machine of one's own, an older NCCL, chunk by chunk\n";

}  // namespace

void add_collective(Form root) {
  const auto o = std::make_shared<Options>();
  auto form = root.command("collective", "how long a collective takes, and why");
  form.word("OP", o->op, fmt::format("{}", fmt::join(models::nccl::op_names(), ", ")));
  o->machine.add_to(form);
  form.group("Call");
  form.text("-s,--size", o->size, "SIZES",
            "FROM:TO, FROM:TO:xF, FROM:TO:+STEP or a list; K, M, G are 1024-based (default 8:16G:x2)");
  form.text("--dtype", o->dtype, "TYPE", "nccl-tests' name of the type (default float)");
  form.text("--root", o->root, "R", "root of broadcast, reduce, gather, scatter (default 0)");
  form.flag("--in-place", o->in_place, "send and receive buffer are one");
  form.flag("--registered", o->registered, "buffers are registered (nccl-tests -R 1)");
  form.flag("--symmetric", o->symmetric, "buffers are symmetric windows (nccl-tests -R 2)");
  o->library.add_to(form);
  form.list("--algorithm-file", o->algorithm_files, "FILE",
            "an algorithm in place of NCCL's for its collective and sizes: MSCCL XML or an MSCCL++ execution plan "
            "(JSON); may be repeated, the first that fits is taken");
  form.group("Host");
  form.text("--launch", o->launch, "MODE", "single-process, multi-process or graph (default multi-process)");
  form.text("--launch-floor", o->floor, "TIME",
            "the smallest time of any call on your host, e.g. 20us (default: the machine's)");
  form.group("Simulation");
  form.text("--fidelity", o->fidelity, "F", "flow, chunk or packet (default flow)");
  form.flag("--no-fold", o->no_fold, "simulate every GPU, also those that behave alike");
  form.group("Output");
  form.text("--vary", o->vary, "KEY=A,B,...",
            "the same call for several values, side by side: of topology, nodes, gpus, placement, routing, network, "
            "nccl, an NCCL_* variable, or a parameter of the topology");
  form.flag("--account", o->account, "what the time is spent on, cause by cause");
  form.flag("--json", o->json, "JSON of schema linkcast.collective/1");
  form.text("--timeline", o->timeline, "FILE", "write a timeline for ui.perfetto.dev");
  form.examples(examples);
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
