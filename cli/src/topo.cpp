// `linkcast topo`: the machines that are known, and files that describe others.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "linkcast/topologies/cluster.hpp"
#include "linkcast/topologies/describe.hpp"
#include "linkcast/topologies/nccl_export.hpp"
#include "linkcast/topologies/slurm_export.hpp"
#include "machine.hpp"
#include "topo_import.hpp"
#include "topo_json.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::string topology, format = "yaml", output, nodes;
  std::vector<std::string> set;
  bool json = false, sources = false;
};

topologies::Fabric load(const Options& o) {
  Problems problems;
  if (o.topology.empty()) problems.add("no topology is named", "name a machine ('linkcast topo list') or a file");
  topologies::LoadOptions options;
  if (auto params = problems.collect([&] { return assignments("--set", o.set); })) options.params = std::move(*params);
  problems.finish();
  return topologies::load(o.topology, options);
}

int list(const Options& o, Io& io) {
  const auto lines = topologies::list_catalog();
  io.out << (o.json ? json_of(lines) : topologies::to_text(lines));
  return done;
}

int show(const Options& o, Io& io) {
  const auto fabric = load(o);
  const auto description = topologies::describe(fabric);
  const auto numbers = o.sources ? topologies::sources(fabric) : std::vector<topologies::NumberSource>{};
  if (o.json) {
    io.out << json_of(description, o.sources ? &numbers : nullptr);
  } else {
    io.out << topologies::to_text(description);
    if (o.sources) io.out << '\n' << topologies::to_text(numbers);
  }
  return done;
}

/// Errors fail the check; warnings and notes are for the reader.
int check(const Options& o, Io& io) {
  const auto fabric = load(o);
  const auto findings = topologies::check(fabric);
  const auto errors = std::count_if(findings.begin(), findings.end(),
                                    [](const auto& f) { return f.severity == topologies::Severity::error; });
  if (o.json) {
    io.out << json_of(fabric.name(), findings);
  } else {
    if (!findings.empty()) io.out << topologies::to_text(findings);
    io.out << fmt::format("{}: {} GPUs, {}\n", fabric.name(), fabric.gpus().size(),
                          errors == 0 ? "sound" : fmt::format("{} error{}", errors, errors == 1 ? "" : "s"));
  }
  return errors == 0 ? done : check_failed;
}

std::string slurm_tree(const Options& o, int nodes) {
  if (o.topology.empty()) throw sim::InputError("no topology is named", "name a file that describes a cluster");
  topologies::ClusterOptions options;
  options.nodes = nodes;
  options.params = assignments("--set", o.set);
  return topologies::to_slurm_topology(topologies::load_cluster(o.topology, options));
}

int export_as(const Options& o, Io& io) {
  const std::vector<std::string> formats{"yaml", "dot", "slurm", "nccl-xml"};
  Problems problems;
  const auto format = problems.collect([&] { return one_of("--format", o.format, formats); });
  int nodes = 0;
  if (!o.nodes.empty())
    nodes = problems.collect([&] { return whole_number("--nodes", o.nodes, 1, 100'000); }).value_or(0);
  if (nodes > 0 && format && *format != 2)
    problems.add(fmt::format("--nodes: {} describes one machine", o.format), "--format slurm takes it");
  problems.finish();
  const auto text = *format == 3   ? topologies::to_nccl_xml(load(o))
                    : *format == 2 ? slurm_tree(o, nodes)
                    : *format == 1 ? topologies::to_dot(load(o))
                                   : topologies::to_yaml(load(o));
  if (o.output.empty())
    io.out << text;
  else
    write_file("--output", o.output, text);
  return done;
}

}  // namespace

void add_topo(Form root) {
  const auto o = std::make_shared<Options>();
  auto topo = root.command("topo", "the machines that are known, and files that describe others");
  topo.examples(
      "  linkcast topo list\n"
      "  linkcast topo show dgx-h100 --sources\n"
      "  linkcast topo check my-machine.yaml\n"
      "  linkcast topo export dgx-a100 --format dot | dot -Tsvg > dgx-a100.svg\n");

  auto list_form = topo.command("list", "the catalog: names, aliases, parameters");
  list_form.flag("--json", o->json, "JSON of schema linkcast.topo.list/1");
  list_form.examples("  linkcast topo list\n  linkcast topo list --json\n");
  list_form.performs([o](Io& io) { return list(*o, io); });

  const auto of_one = [&](const char* name, const char* help) {
    auto form = topo.command(name, help);
    form.word("NAME|FILE", o->topology, "catalog name, Linkcast YAML file, or NCCL topology XML");
    form.list("--set", o->set, "NAME=VALUE", "set a parameter of the topology; may be repeated");
    return form;
  };
  auto show_form = of_one("show", "parts, links, routes and rates of a machine");
  show_form.flag("--sources", o->sources, "every number with where it is from");
  show_form.flag("--json", o->json, "JSON of schema linkcast.topo.show/1");
  show_form.examples("  linkcast topo show dgx-h100 --sources\n  linkcast topo show my-machine.yaml --json\n");
  show_form.performs([o](Io& io) { return show(*o, io); });

  auto check_form = of_one("check", "what a person should look at; exit status 1 where something is broken");
  check_form.flag("--json", o->json, "JSON of schema linkcast.topo.check/1");
  check_form.examples("  linkcast topo check my-machine.yaml && echo sound\n");
  check_form.performs([o](Io& io) { return check(*o, io); });

  auto export_form = of_one("export", "the machine in another format");
  export_form.text("--format", o->format, "F",
                   "yaml (self-contained), dot (Graphviz), nccl-xml (for NCCL_TOPO_FILE), or slurm (topology.conf of a "
                   "cluster) (default yaml)");
  export_form.text("--nodes", o->nodes, "N", "of the cluster, with --format slurm (default: as the file says)");
  export_form.text("-o,--output", o->output, "FILE", "write there and not to stdout");
  export_form.examples(
      "  linkcast topo export dgx-a100 --format dot | dot -Tsvg > dgx-a100.svg\n"
      "  linkcast topo export dgx-h100 > my-machine.yaml\n"
      "  linkcast topo export dgx-h100 --format nccl-xml -o topo.xml\n"
      "  linkcast topo export superpod-h100 --nodes 512 --format slurm > topology.conf\n");
  export_form.performs([o](Io& io) { return export_as(*o, io); });
  add_topo_import(topo);
}

}  // namespace linkcast::cli
