// `linkcast topo import`: what other programs say of a machine or a network, as a topology file, with what was known,
// assumed and unknown. Reads the files; what is in them is the business of topologies/import.hpp.
#include "topo_import.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "linkcast/topologies/import.hpp"
#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string output, gpu, nic, machine, network, format, name;
  bool force = false, json = false;
};

/// At most one byte more than an import takes: enough to be refused, and no memory for a disk's image.
std::string read_bounded(const std::string& path) {
  const auto refuse = [&](const std::string& problem, const std::string& help) {
    throw sim::InputError{{sim::Diagnostic{{path, 0, 0, 1}, problem, help}}, {}};
  };
  std::error_code ignored;
  std::ifstream file;
  if (path != "-") {
    if (std::filesystem::is_directory(path, ignored)) refuse("is a directory", "name a file");
    file.open(path, std::ios::binary);
    if (!file) refuse(fmt::format("cannot be read: {}", std::strerror(errno)), {});
    const auto size = std::filesystem::is_regular_file(path, ignored) ? std::filesystem::file_size(path, ignored) : 0;
    if (size > topologies::max_import_bytes)
      refuse(fmt::format("is {} MiB large, more than {} MiB", size >> 20, topologies::max_import_bytes >> 20),
             "is it the description of one machine or one network?");
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  std::string piece(std::size_t{1} << 16, '\0');
  while (text.size() <= topologies::max_import_bytes) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(in.gcount()));
    if (!in) break;
  }
  return text;
}

std::string summary(const topologies::Imported& imported) {
  std::string out = fmt::format("read as {}\n", imported.format);
  const auto part = [&](std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out += fmt::format("{}:\n", title);
    for (const auto& l : lines) out += fmt::format("  {}\n", l);
  };
  part("known", imported.known);
  part("assumed", imported.assumed);
  part("not known", imported.unknown);
  return out;
}

std::string json_of(const Options& o, const topologies::Imported& imported) {
  nlohmann::ordered_json out{{"schema", "linkcast.topo.import/1"}};
  out["files"] = o.files;
  out["format"] = imported.format;
  out["known"] = imported.known;
  out["assumed"] = imported.assumed;
  out["unknown"] = imported.unknown;
  if (o.output.empty())
    out["yaml"] = imported.yaml;
  else
    out["output"] = o.output;
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int import_files(const Options& o, Io& io) {
  Problems problems;
  topologies::ImportOptions options;
  const auto take = [](const std::string& text, std::optional<std::string>& into) {
    if (!text.empty()) into = text;
  };
  take(o.gpu, options.gpu);
  take(o.nic, options.nic);
  take(o.machine, options.machine);
  take(o.network, options.network);
  take(o.name, options.name);
  if (o.files.empty()) problems.add("no file is named", "name one or several, or - for what is piped in");
  if (!o.format.empty()) {
    std::vector<std::string> names;
    for (auto f : topologies::import_formats()) names.emplace_back(topologies::name_of(f));
    if (const auto at = problems.collect([&] { return one_of("--format", o.format, names); }))
      options.format = topologies::import_formats()[*at];
  }
  if (!o.output.empty() && !o.force && std::filesystem::exists(o.output))
    problems.add(fmt::format("--output: '{}' exists already", o.output), "--force overwrites it");
  problems.finish();

  std::vector<topologies::InputFile> files;
  for (const auto& path : o.files) files.push_back({path == "-" ? "standard input" : path, read_bounded(path)});
  const auto imported = topologies::import_topology(files, options);
  if (!o.output.empty()) write_file("--output", o.output, imported.yaml);
  if (o.json) {
    io.out << json_of(o, imported);
  } else if (o.output.empty()) {
    io.out << imported.yaml;
    io.out.flush();
    auto text = summary(imported);
    text.pop_back();
    io.log.note(text);
  } else {
    io.out << summary(imported) << "written to " << o.output << "\n";
  }
  return done;
}

}  // namespace

void add_topo_import(Form& topo) {
  const auto o = std::make_shared<Options>();
  auto form = topo.command("import", "a topology file from what other programs say of a machine or a network");
  form.words(
      "FILE", o->files,
      "nvidia-smi topo -m, hwloc XML, NCCL topology XML, ibnetdiscover, Slurm topology, topograph model; gzip too; "
      "- is standard input");
  form.text("-o,--output", o->output, "FILE", "write there and not to stdout");
  form.flag("--force", o->force, "overwrite the output");
  form.flag("--json", o->json, "JSON of schema linkcast.topo.import/1");
  form.group("What the files do not say");
  form.text("--gpu", o->gpu, "PART", "the GPUs: h100-sxm, a100-pcie, …");
  form.text("--nic", o->nic, "PART", "the NICs: connectx-7, …");
  form.text("--machine", o->machine, "NAME", "a machine of the catalog to take all other parts from");
  form.text("--network", o->network, "KIND", "the kind of network: ib, roce, …");
  form.text("--format", o->format, "F",
            "what the files are, instead of looking at them: nvidia-smi-topo, hwloc-xml, …");
  form.text("--name", o->name, "NAME", "of the topology (default: the first file's)");
  form.examples(
      "  nvidia-smi topo -m > topo.txt; linkcast topo import topo.txt --gpu h100-sxm -o my-machine.yaml\n"
      "  lstopo --of xml | linkcast topo import - > my-machine.yaml\n"
      "  linkcast topo import topo.txt fabric.ibnetdiscover topology.conf -o my-cluster.yaml\n");
  form.performs([o](Io& io) { return import_files(*o, io); });
}

}  // namespace linkcast::cli
