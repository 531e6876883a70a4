// `linkcast topo`: the machines that are known, and files that describe others.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "linkcast/topologies/cluster.hpp"
#include "linkcast/topologies/describe_cluster.hpp"
#include "linkcast/topologies/nccl_export.hpp"
#include "linkcast/topologies/slurm_export.hpp"
#include "linkcast/topologies/svg.hpp"
#include "machine.hpp"
#include "topo_import.hpp"
#include "topo_json.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::string topology, format = "yaml", output, nodes, svg, profile;
  std::vector<std::string> set;
  bool json = false, sources = false;
};

/// A cluster, or one machine.
topologies::Cluster load(const Options& o) {
  Problems problems;
  if (o.topology.empty()) problems.add("no topology is named", "name a machine ('linkcast topo list') or a file");
  topologies::ClusterOptions options;
  if (auto params = problems.collect([&] { return assignments("--set", o.set); })) options.params = std::move(*params);
  if (!o.nodes.empty()) {
    if (const auto n = problems.collect([&] { return whole_number("--nodes", o.nodes, 1, 1'000'000); }))
      options.nodes = *n;
  }
  if (!o.profile.empty())
    problems.collect([&] {
      options.profile = topologies::Profile::read(o.profile);
      return true;
    });
  problems.finish();
  return topologies::load_cluster(o.topology, options);
}

bool one_machine(const topologies::Cluster& c) { return c.nodes() == 1 && c.network().empty(); }

int list(const Options& o, Io& io) {
  const auto lines = topologies::list_catalog();
  io.out << (o.json ? json_of(lines) : topologies::to_text(lines));
  return done;
}

int show(const Options& o, Io& io) {
  const auto cluster = load(o);
  if (!o.svg.empty()) check_writable("--svg", o.svg);
  const auto numbers = o.sources ? topologies::sources(cluster.kind(0)) : std::vector<topologies::NumberSource>{};
  const auto* shown = o.sources ? &numbers : nullptr;
  if (one_machine(cluster)) {
    const auto description = topologies::describe(cluster.kind(0));
    io.out << (o.json ? json_of(description, shown) : topologies::to_text(description));
  } else {
    const auto description = topologies::describe(cluster);
    io.out << (o.json ? json_of(description, shown) : topologies::to_text(description));
  }
  if (o.sources && !o.json) io.out << '\n' << topologies::to_text(numbers);
  if (!o.svg.empty()) write_file("--svg", o.svg, topologies::to_svg(cluster));
  return done;
}

/// Errors fail the check; warnings and notes are for the reader.
int check(const Options& o, Io& io) {
  const auto cluster = load(o);
  const auto findings = topologies::check(cluster);
  const auto of = [&](topologies::Severity severity) {
    return std::ranges::count(findings, severity, &topologies::Finding::severity);
  };
  const auto number = [](auto n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  const auto errors = of(topologies::Severity::error), warnings = of(topologies::Severity::warning);
  if (o.json) {
    io.out << json_of(cluster.name(), findings);
  } else {
    if (!findings.empty()) io.out << topologies::to_text(findings);
    const auto machines = one_machine(cluster) ? std::string{} : fmt::format("{} machines, ", cluster.nodes());
    const auto verdict = errors > 0     ? number(errors, "error")
                         : warnings > 0 ? number(warnings, "warning") + ", no error"
                                        : std::string{"sound"};
    io.out << fmt::format("{}: {}{} GPUs, {}\n", cluster.name(), machines, cluster.ranks(), verdict);
  }
  return errors == 0 ? done : check_failed;
}

int export_as(const Options& o, Io& io) {
  const std::vector<std::string> formats{"yaml", "dot", "svg", "slurm", "nccl-xml"};
  Problems problems;
  const auto format = problems.collect([&] { return one_of("--format", o.format, formats); });
  if (!o.nodes.empty() && o.format == "nccl-xml")
    problems.add("--nodes: nccl-xml describes one machine", "another --format takes it");
  problems.finish();
  const auto cluster = load(o);
  const auto text = *format == 4   ? topologies::to_nccl_xml(cluster.kind(0))
                    : *format == 3 ? topologies::to_slurm_topology(cluster)
                    : *format == 2 ? topologies::to_svg(cluster)
                    : *format == 1 ? topologies::to_dot(cluster)
                                   : topologies::to_yaml(cluster);
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
      "  linkcast topo show superpod-h100 --svg superpod.svg\n"
      "  linkcast topo export dgx-a100 --format dot | dot -Tsvg > dgx-a100.svg\n");

  auto list_form = topo.command("list", "the catalog: names, aliases, parameters");
  list_form.flag("--json", o->json, "JSON of schema linkcast.topo.list/1");
  list_form.examples("  linkcast topo list\n  linkcast topo list --json\n");
  list_form.performs([o](Io& io) { return list(*o, io); });

  const auto of_one = [&](const char* name, const char* help) {
    auto form = topo.command(name, help);
    form.word("NAME|FILE", o->topology, "catalog name, Linkcast YAML file, or NCCL topology XML");
    form.text("--nodes", o->nodes, "N", "of the cluster (default: as the file says, else one machine)");
    form.list("--set", o->set, "NAME=VALUE", "set a parameter of the topology; may be repeated");
    form.text("--profile", o->profile, "FILE", "fitted numbers, as `linkcast calibrate fit` writes them");
    return form;
  };
  auto show_form = of_one("show", "parts, links, routes and rates of a machine or a cluster");
  show_form.flag("--sources", o->sources, "every number with where it is from");
  show_form.text("--svg", o->svg, "FILE", "also draw it there");
  show_form.flag("--json", o->json, "JSON of schema linkcast.topo.show/1, of a cluster linkcast.topo.cluster/1");
  show_form.examples(
      "  linkcast topo show dgx-h100 --sources\n"
      "  linkcast topo show my-machine.yaml --json\n"
      "  linkcast topo show superpod-h100 --set units=2 --svg superpod.svg\n"
      "  linkcast topo show dgx-h100 --nodes 16\n");
  show_form.performs([o](Io& io) { return show(*o, io); });

  auto check_form = of_one("check", "what a person should look at; exit status 1 where something is broken");
  check_form.flag("--json", o->json, "JSON of schema linkcast.topo.check/1");
  check_form.examples(
      "  linkcast topo check my-machine.yaml && echo sound\n"
      "  linkcast topo check my-cluster.yaml --json\n");
  check_form.performs([o](Io& io) { return check(*o, io); });

  auto export_form = of_one("export", "the machine or the cluster in another format");
  export_form.text(
      "--format", o->format, "F",
      "yaml (self-contained), dot (Graphviz), svg (a drawing), nccl-xml (one machine, for NCCL_TOPO_FILE), "
      "or slurm (topology.conf of a cluster) (default yaml)");
  export_form.text("-o,--output", o->output, "FILE", "write there and not to stdout");
  export_form.examples(
      "  linkcast topo export dgx-a100 --format dot | dot -Tsvg > dgx-a100.svg\n"
      "  linkcast topo export dgx-h100 > my-machine.yaml\n"
      "  linkcast topo export superpod-h100 --format svg -o superpod.svg\n"
      "  linkcast topo export dgx-h100 --format nccl-xml -o topo.xml\n"
      "  linkcast topo export superpod-h100 --format slurm > topology.conf\n");
  export_form.performs([o](Io& io) { return export_as(*o, io); });
  add_topo_import(topo);
}

}  // namespace linkcast::cli
