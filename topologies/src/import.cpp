// Puts together what the readers found: one kind of machine, and the network between such machines. Knows no format
// but by the reader that it calls.
#include "linkcast/topologies/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "catalog.hpp"
#include "cluster_data.hpp"
#include "import_detect.hpp"
#include "import_network.hpp"
#include "import_parts.hpp"
#include "import_text.hpp"
#include "linkcast/topologies/fabric.hpp"
#include "loader.hpp"
#include "parts.hpp"

namespace linkcast::topologies {

void ImportNotes::add(std::vector<std::string>& to, std::string text) {
  if (std::ranges::find(to, text) == to.end()) to.push_back(std::move(text));
}

namespace {

struct Named {
  Source file;
  ImportFormat format;
};

[[noreturn]] void refuse(const std::string& file, std::string problem, std::string help = {}) {
  throw sim::InputError({{{file, 0, 0, 1}, std::move(problem), std::move(help)}}, {});
}

bool machine_format(ImportFormat f) {
  return f == ImportFormat::nccl_xml || f == ImportFormat::nvidia_smi_topo || f == ImportFormat::hwloc_xml;
}

class Import {
 public:
  Import(std::span<const InputFile> files, const ImportOptions& options) : options_{options} {
    if (files.empty()) throw sim::InputError("no file to import", "name one or several");
    check_options();
    for (const auto& f : files) {
      const auto source = unpacked(f);
      const auto format = options.format ? *options.format : detected(source);
      check_size(*source, format);
      files_.push_back({source, format});
      const auto name = std::string{name_of(format)};
      if (format_.find(name) == std::string::npos) format_ += (format_.empty() ? "" : " + ") + name;
    }
  }

  Imported run() {
    std::optional<std::string> gpu;
    for (const auto& f : files_) {
      if (f.format != ImportFormat::nvidia_smi_nvlink) continue;
      gpu = read<std::optional<std::string>>(f, import_gpu_name);
    }
    for (const auto& f : files_) {
      if (machine_format(f.format)) {
        if (machine_)
          refuse(f.file->name, fmt::format("a second machine: the first is {}", machine_file_),
                 "a cluster's machines are of one kind; import one of them");
        machine_ = read<ImportedMachine>(f, [&](const ImportInput& in) { return machine(f.format, in, gpu); });
        machine_file_ = f.file->name;
      } else if (f.format != ImportFormat::nvidia_smi_nvlink) {
        networks_.push_back(
            {read<ImportedNetwork>(f, [&](const ImportInput& in) { return network(f.format, in); }), f.file->name});
      }
    }
    if (!machine_) machine_ = from_catalog();
    return finish();
  }

 private:
  /// Throws what the reader found wrong.
  template <typename Result, typename Read>
  Result read(const Named& f, Read reader) {
    Problems problems;
    problems.keep(f.file);
    Result result = reader(ImportInput{f.file, options_, notes_, problems});
    problems.throw_if_any();
    return result;
  }

  static ImportedMachine machine(ImportFormat format, const ImportInput& in, const std::optional<std::string>& gpu) {
    if (format == ImportFormat::nccl_xml) {
      if (in.options.gpu || in.options.nic)
        in.notes.lack("--gpu and --nic change nothing: an NCCL topology says what its GPUs and NICs are");
      return import_nccl_xml(in);
    }
    if (format == ImportFormat::hwloc_xml) return import_hwloc(in);
    return import_nvidia_smi(in, gpu);
  }

  static ImportedNetwork network(ImportFormat format, const ImportInput& in) {
    if (format == ImportFormat::ibnetdiscover) return import_ibnetdiscover(in);
    if (format == ImportFormat::slurm_topology_conf) return import_slurm_conf(in);
    if (format == ImportFormat::slurm_topology_yaml) return import_slurm_yaml(in);
    return import_topograph(in);
  }

  void check_options() const {
    const auto part = [](std::string_view option, std::string_view kind, const std::optional<std::string>& name) {
      if (!name) return;
      const auto names = catalog_part_names(kind);
      if (std::ranges::find(names, *name) != names.end()) return;
      const auto near = sim::nearest(*name, names);
      throw sim::InputError(
          fmt::format("{}: no part '{}'", option, *name),
          near.empty() ? fmt::format("the catalog has {}", fmt::join(names, ", ")) : "did you mean '" + near + "'?");
    };
    part("--gpu", "gpus", options_.gpu);
    part("--nic", "nics", options_.nic);
    part("--network", "networks", options_.network);
    if (options_.machine && !catalog_entry(*options_.machine)) {
      const auto names = catalog_spellings();
      const auto near = sim::nearest(*options_.machine, names);
      throw sim::InputError(fmt::format("--machine: no machine '{}' in the catalog", *options_.machine),
                            near.empty() ? "'linkcast topo list' shows them" : "did you mean '" + near + "'?");
    }
  }

  /// What a parser makes of XML is several times as large as the text.
  static void check_size(const SourceText& file, ImportFormat format) {
    const bool xml = format == ImportFormat::nccl_xml || format == ImportFormat::hwloc_xml;
    if (!xml || file.text.size() <= max_file_bytes) return;
    refuse(file.name, fmt::format("is {} MiB large; a machine in XML has at most {} MiB", file.text.size() >> 20,
                                  max_file_bytes >> 20));
  }

  ImportedMachine from_catalog() {
    if (!options_.machine) {
      refuse(files_.front().file->name, "says nothing about the inside of a machine",
             "name it: --machine dgx-h100 ('linkcast topo list'), or give its nvidia-smi topo -m as a further file");
    }
    const auto fabric = load(*options_.machine);
    ImportedMachine m;
    m.extends = catalog_entry(*options_.machine)->name;
    m.title = fmt::format("machines {}", m.extends);
    m.gpus = static_cast<int>(fabric.gpus().size());
    for (const auto& d : fabric.devices()) m.nics += d.kind == DeviceKind::nic ? 1 : 0;
    std::string node;
    if (options_.gpu) node += fmt::format("  gpus: {{model: {}}}\n", *options_.gpu);
    if (options_.nic) node += fmt::format("  nics: {{model: {}}}\n", *options_.nic);
    if (!node.empty()) m.node = "node:\n" + node;
    notes_.assume(fmt::format("every host is a {}, as --machine says", m.extends));
    return m;
  }

  Imported finish() {
    std::string network;
    if (!networks_.empty()) {
      nic_facts();
      const auto joined = join_networks(std::move(networks_), *machine_, machine_file_, notes_);
      if (joined.trays > 0)
        machine_->node += fmt::format("{}  trays: {}\n", machine_->node.empty() ? "node:\n" : "", joined.trays);
      network = network_yaml(joined, *machine_, options_, notes_);
    }
    Imported out;
    out.format = format_;
    out.yaml = text(network);
    out.known = std::move(notes_.known);
    out.assumed = std::move(notes_.assumed);
    out.unknown = std::move(notes_.unknown);
    if (network.empty()) {
      check(out.yaml);
    } else {
      check_cluster(out.yaml);
    }
    return out;
  }

  std::string text(const std::string& network) const {
    const auto& m = *machine_;
    auto yaml = fmt::format("# Written by `linkcast topo import` from {}.\n", source_names());
    const auto comments = [&](std::string_view what, const std::vector<std::string>& lines) {
      for (const auto& l : lines) yaml += fmt::format("# {}: {}\n", what, one_line(l));
    };
    comments("assumed", notes_.assumed);
    comments("not known", notes_.unknown);
    yaml += fmt::format("schema: linkcast.topology/1\nname: \"{}\"\n", stem());
    yaml += fmt::format("title: \"{}\"\n", m.title);
    if (!m.extends.empty()) yaml += "extends: " + m.extends + "\n";
    return yaml + m.parts + m.node + network + m.overrides;
  }

  /// What a network needs to know of the machine is asked of the machine as it is built.
  void nic_facts() {
    const auto fabric = check(text({}));
    auto& m = *machine_;
    for (const auto& d : fabric.devices()) m.trays = std::max(m.trays, d.node + 1);
    const auto nics = nics_of(fabric);
    for (const auto& n : nics) m.nic_ports = std::max(m.nic_ports, n.ports);
    if (!nics.empty()) m.nic_rate = fmt::format("{:g} Gb/s", nics.front().rate.GBps() * 8);
  }

  /// Names come from files: nothing that a YAML string or a comment could not hold.
  static std::string plain(std::string text) {
    for (auto& c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == '\x7f') c = '_';
    }
    return text.size() > 80 ? text.substr(0, 80) : text;
  }
  static std::string one_line(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return text;
  }
  std::string stem() const { return options_.name ? plain(*options_.name) : default_name(); }
  std::string default_name() const {
    auto path = std::filesystem::path{files_.front().file->name}.filename();
    while (path.has_extension() && path.stem() != path) path = path.stem();
    return path.empty() ? "imported" : plain(path.string());
  }
  std::string source_names() const {
    std::string out;
    for (const auto& f : files_)
      out += (out.empty() ? "" : ", ") + plain(std::filesystem::path{f.file->name}.filename().string());
    return out;
  }

  /// What the readers accept and the loader does not (too many NVLinks for the GPU that --gpu names) is the input's
  /// fault; its place in the generated file would help nobody.
  Fabric check(const std::string& yaml) const {
    return checked("machine", [&] { return load_yaml(as_file("machine", yaml), stem(), {}); });
  }
  void check_cluster(const std::string& yaml) const {
    checked("cluster", [&] { return load_cluster_yaml(as_file("cluster", yaml), stem(), {}); });
  }
  static Source as_file(std::string_view what, const std::string& yaml) {
    auto file = std::make_shared<SourceText>();
    file->name = fmt::format("the imported {}", what);
    file->text = yaml;
    return file;
  }
  template <typename Load>
  auto checked(std::string_view what, Load load_it) const -> decltype(load_it()) {
    try {
      return load_it();
    } catch (const sim::InputError& e) {
      const auto& first = e.diagnostics().front();
      refuse(files_.front().file->name, fmt::format("describes a {} that cannot be: {}", what, first.problem),
             first.help);
    }
  }

  const ImportOptions& options_;
  std::vector<Named> files_;
  std::string format_;
  ImportNotes notes_;
  std::optional<ImportedMachine> machine_;
  std::string machine_file_;
  std::vector<NamedNetwork> networks_;
};

}  // namespace

Imported import_topology(std::span<const InputFile> files, const ImportOptions& options) {
  return Import{files, options}.run();
}

}  // namespace linkcast::topologies
