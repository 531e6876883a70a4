// Descriptions that other programs write of a machine or of a network, turned into a topology file of Linkcast, with a
// list of what the files said, what was assumed, and what they cannot say. Knows no command line and opens no file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::topologies {

enum class ImportFormat : unsigned char {
  nccl_xml,             // NCCL_TOPO_DUMP_FILE, or the NCCL_TOPO_FILE of a cloud
  nvidia_smi_topo,      // nvidia-smi topo -m
  nvidia_smi_nvlink,    // nvidia-smi nvlink -s
  hwloc_xml,            // lstopo --of xml
  ibnetdiscover,        // ibnetdiscover
  slurm_topology_conf,  // topology.conf
  slurm_topology_yaml,  // topology.yaml of Slurm 25.05 and later
  topograph,            // a model of NVIDIA's topograph
};
/// "nccl-xml", "nvidia-smi-topo", …: what `--format` takes.
std::string_view name_of(ImportFormat f);
std::span<const ImportFormat> import_formats();
std::optional<ImportFormat> import_format(std::string_view name);

/// `text` may be packed by gzip: it is unpacked where it is read.
struct InputFile {
  std::string name;  // as messages say it
  std::string text;
};

/// Text larger than this, also after unpacking, is refused. A hundred thousand NIC ports under three tiers are some 60
/// MB of ibnetdiscover.
inline constexpr std::size_t max_import_bytes = std::size_t{64} << 20;

/// What the files do not say and the user does.
struct ImportOptions {
  std::optional<std::string> gpu;      // a GPU part of the catalog: "h100-sxm"
  std::optional<std::string> machine;  // a machine of the catalog whose parts are taken: "dgx-h100"
  std::optional<std::string> nic;      // a NIC part of the catalog: "connectx-7"
  std::optional<std::string> network;  // a kind of network: "ib", "roce"
  std::optional<ImportFormat> format;  // instead of looking at the content; all files are of it
  std::optional<std::string> name;     // of the topology; default: from the first file's name
};

struct Imported {
  std::string yaml;                  // a linkcast.topology/1 file, complete: load() and load_cluster() take it
  std::string format;                // "nvidia-smi-topo", "nvidia-smi-topo + ibnetdiscover"
  std::vector<std::string> known;    // what the files said
  std::vector<std::string> assumed;  // what was taken for granted, and from where
  std::vector<std::string> unknown;  // what no file said and nothing was assumed for
};

/// The format of a text (not packed), by its content. Throws sim::InputError: empty, binary, nothing that is known.
ImportFormat detect_format(std::string_view text, const std::string& name);

/// Several files describe one cluster: at most one machine and what joins such machines. Throws sim::InputError with
/// every problem of the first file that has any.
Imported import_topology(std::span<const InputFile> files, const ImportOptions& options = {});

}  // namespace linkcast::topologies
