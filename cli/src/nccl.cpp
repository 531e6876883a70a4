// `linkcast nccl`: what NCCL chooses on a machine, and why.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "linkcast/topologies/nccl_import.hpp"
#include "linkcast/workloads/collective.hpp"
#include "linkcast/workloads/sizes.hpp"
#include "machine.hpp"
#include "nccl_facts.hpp"
#include "nccl_tuner.hpp"
#include "read_file.hpp"

namespace linkcast::cli {
namespace {

using models::nccl::Communicator;

struct Options {
  MachineOptions machine;
  LibraryOptions library;
  std::string explain, write_tuner;
  bool json = false;
};

struct Question {
  Library library;
  std::optional<models::nccl::Call> explain;
};

models::nccl::Call call_to_explain(const std::string& text) {
  const auto colon = text.find(':');
  const auto name = text.substr(0, colon);
  const auto op = models::nccl::op_from(name);
  if (!op)
    throw sim::InputError{fmt::format("--explain: unknown collective '{}'", name),
                          suggestion(name, models::nccl::op_names())};
  if (colon == std::string::npos)
    throw sim::InputError{fmt::format("--explain: '{}' has no size", text), fmt::format("write {}:4M", name)};
  models::nccl::Call call;
  call.op = *op;
  call.bytes = workloads::parse_size(text.substr(colon + 1));
  return call;
}

Question understand(const Options& o) {
  Problems problems;
  Question q;
  if (o.machine.topology.empty())
    problems.add("--topology is missing", "name a machine ('linkcast topo list') or a file");
  q.library = read_library(o.library, problems);
  if (!o.explain.empty()) q.explain = problems.collect([&] { return call_to_explain(o.explain); });
  if (!o.write_tuner.empty() && looks_like_xml(o.machine.topology))
    problems.add("--write-tuner: NCCL's XML has no speeds of links to simulate",
                 "name a machine, or make one of it: linkcast topo import");
  if (!o.write_tuner.empty() && !(o.explain.empty() && o.library.tuner.empty()))
    problems.add("--write-tuner looks for what is fastest without rules: --explain and --tuner do not apply",
                 "write the file first, then explain it");
  problems.finish();
  return q;
}

struct Found {
  std::string name;
  Communicator communicator;
};

/// NCCL's own XML is taken as it is; everything else goes through the fabric and NCCL's view of it.
Found search(const Options& o, const Question& q) {
  models::nccl::Config config;
  config.version = q.library.version;
  config.env = q.library.env;
  config.tuner = q.library.tuner;
  const auto& path = o.machine.topology;
  if (looks_like_xml(path)) {
    if (!o.machine.gpus.empty() || !o.machine.ranks.empty() || !o.machine.set.empty())
      throw UsageError{"error: --gpus, --ranks and --set do not apply to NCCL's XML, which is taken as it is"};
    if (!o.machine.nodes.empty()) config.nodes = whole_number("--nodes", o.machine.nodes, 1, 100'000);
    // Files of clouds leave out what NCCL asks the driver for.
    const auto completed = topologies::complete_nccl_xml(read_file(path), path);
    auto system = models::nccl::read_topology_xml(completed.text, path);
    return {std::filesystem::path{path}.filename().string(), Communicator{std::move(system), std::move(config)}};
  }
  const auto machine = load_machine(o.machine, config.env);
  return {machine.cluster.name(),
          workloads::communicator_of(machine.cluster, config.version, config.env, config.tuner)};
}

int perform(const Options& o, Io& io) {
  const auto q = understand(o);
  warn_of_idle_variables(q.library, io.log);
  if (!o.write_tuner.empty())
    return write_tuner(o.write_tuner, load_machine(o.machine, q.library.env), q.library, o.json, io);
  const auto found = search(o, q);
  if (q.explain) {
    const NcclFacts facts{found.name, &found.communicator, {}, {}};
    const Explanation e{*q.explain, found.communicator.choose(*q.explain), found.communicator.candidates(*q.explain)};
    io.out << (o.json ? explanation_json(facts, e) : explanation_text(facts, e));
    return done;
  }
  const auto facts = nccl_facts(found.name, found.communicator);
  io.out << (o.json ? nccl_json(facts) : nccl_text(facts));
  return done;
}

constexpr const char* examples =
    "  linkcast nccl --topology dgx-h100\n"
    "      graphs, channels, tuning table, and the choice for each size\n"
    "  linkcast nccl --topology dgx-h100 --explain all_reduce:4M\n"
    "      every candidate for one call\n"
    "  linkcast nccl --topology topo.xml --nodes 16 --nccl 2.27\n"
    "      a file that NCCL_TOPO_DUMP_FILE wrote, sixteen such nodes\n"
    "  linkcast nccl --topology dgx-a100 --env NCCL_ALGO=Tree --env NCCL_MAX_NCHANNELS=8 --json\n"
    "      what a variable changes, for a program to read\n"
    "  linkcast nccl --topology dgx-h100 --nodes 4 --write-tuner nccl_tuner.conf\n"
    "      the fastest choices by simulation, for NCCL's example tuner plugin\n";

}  // namespace

void add_nccl(Form root) {
  const auto o = std::make_shared<Options>();
  auto form = root.command("nccl", "what NCCL chooses on a machine, and why");
  o->machine.add_to(form);
  o->library.add_to(form);
  form.group("Output");
  form.text("--explain", o->explain, "OP:SIZE", "every candidate for one call, with reasons, e.g. all_reduce:4M");
  form.text("--write-tuner", o->write_tuner, "FILE",
            "find the fastest choice for each collective and size by simulation, and write rules for NCCL's example "
            "tuner plugin");
  form.flag("--json", o->json, "JSON of schema linkcast.nccl/1 (with --write-tuner: linkcast.tuner/1)");
  form.examples(examples);
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
