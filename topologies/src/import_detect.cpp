// Which program wrote a text: by what stands in it, never by its name. Knows no more of each format than what tells it
// from the others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "import_detect.hpp"
#include "import_text.hpp"

namespace linkcast::topologies {
namespace {

constexpr std::array formats{
    ImportFormat::nccl_xml,
    ImportFormat::nvidia_smi_topo,
    ImportFormat::nvidia_smi_nvlink,
    ImportFormat::hwloc_xml,
    ImportFormat::ibnetdiscover,
    ImportFormat::slurm_topology_conf,
    ImportFormat::slurm_topology_yaml,
    ImportFormat::topograph,
};

std::string lowered(std::string_view text) {
  std::string out{text};
  for (auto& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Of XML: the name of the first element.
std::string_view root_element(std::string_view text) {
  while (!text.empty()) {
    const auto open = text.find('<');
    if (open == std::string_view::npos) return {};
    text.remove_prefix(open + 1);
    if (text.substr(0, 3) == "!--") {
      const auto end = text.find("-->");
      if (end == std::string_view::npos) return {};
      text.remove_prefix(end + 3);
    } else if (!text.empty() && text[0] != '!' && text[0] != '?') {
      const auto end = text.find_first_of(" \t\r\n/>");
      return text.substr(0, end);
    }
  }
  return {};
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  constexpr std::string_view blank = " \t|>`*";  // tables and quotes that people paste
  while (out.size() < 64) {
    const auto first = line.find_first_not_of(blank);
    if (first == std::string_view::npos) break;
    line.remove_prefix(first);
    const auto end = std::min(line.find_first_of(blank), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return out;
}

bool numbered(std::string_view word, std::string_view prefix) {
  return word.size() > prefix.size() && word.substr(0, prefix.size()) == prefix &&
         std::all_of(word.begin() + static_cast<std::ptrdiff_t>(prefix.size()), word.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// "GPU0   X   NV18 …", or the header "GPU0 GPU1 …" where the rest was cut off.
bool matrix_line(const std::vector<std::string_view>& w) {
  if (w.empty() || !numbered(w[0], "GPU")) return false;
  return std::any_of(w.begin() + 1, w.end(), [](std::string_view s) {
    return s == "X" || s == "PIX" || s == "PXB" || s == "PHB" || s == "NODE" || s == "SYS" || numbered(s, "NV") ||
           numbered(s, "GPU") || numbered(s, "NIC");
  });
}

bool slurm_line(const std::string& line) {
  return line.rfind("switchname=", 0) == 0 || line.rfind("blockname=", 0) == 0 || line.rfind("blocksizes=", 0) == 0;
}

bool ib_line(std::string_view line) {
  for (std::string_view start : {"Switch", "Ca", "Rt"}) {
    if (line.substr(0, start.size()) != start) continue;
    const auto rest = line.substr(start.size());
    if (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t') && rest.find("\"") != std::string_view::npos) return true;
  }
  return line.rfind("switchguid=", 0) == 0 || line.rfind("caguid=", 0) == 0;
}

}  // namespace

std::string_view name_of(ImportFormat f) {
  switch (f) {
    case ImportFormat::nccl_xml:
      return "nccl-xml";
    case ImportFormat::nvidia_smi_topo:
      return "nvidia-smi-topo";
    case ImportFormat::nvidia_smi_nvlink:
      return "nvidia-smi-nvlink";
    case ImportFormat::hwloc_xml:
      return "hwloc-xml";
    case ImportFormat::ibnetdiscover:
      return "ibnetdiscover";
    case ImportFormat::slurm_topology_conf:
      return "slurm-conf";
    case ImportFormat::slurm_topology_yaml:
      return "slurm-yaml";
    case ImportFormat::topograph:
      return "topograph";
  }
  return "?";
}

std::span<const ImportFormat> import_formats() { return formats; }

std::optional<ImportFormat> import_format(std::string_view name) {
  for (auto f : formats) {
    if (name_of(f) == name) return f;
  }
  return std::nullopt;
}

ImportFormat detected(const Source& file) {
  const auto refuse = [&](int line, std::string problem, std::string help) {
    throw sim::InputError({{{file->name, line, line ? 1 : 0, 1}, std::move(problem), std::move(help)}}, file->text);
  };
  std::vector<std::string_view> names;
  for (auto f : formats) names.push_back(name_of(f));
  const auto known = fmt::format("the formats are {}; --format names one", fmt::join(names, ", "));

  const auto text = trimmed(file->text);
  if (!text.empty() && text[0] == '<') {
    const auto root = root_element(text);
    if (root == "system") return ImportFormat::nccl_xml;
    if (root == "topology") return ImportFormat::hwloc_xml;
    refuse(1, root.empty() ? "XML without an element" : fmt::format("XML of an unknown kind: <{}>", quoted(root)),
           "NCCL writes <system>, hwloc (lstopo --of xml) <topology>");
  }
  bool nvlink_status = false, gpu_list = false, yaml_topology = false, yaml_switches = false;
  for (const auto& line : lines_of(file->text)) {
    const auto clean = without_escapes(line.text);
    const auto content = trimmed(clean);
    if (content.empty()) continue;
    const auto w = words(content);
    if (matrix_line(w)) return ImportFormat::nvidia_smi_topo;
    if (ib_line(content)) return ImportFormat::ibnetdiscover;
    if (content.size() < 4096 && slurm_line(lowered(content.substr(0, 16)))) return ImportFormat::slurm_topology_conf;
    if (w.size() > 2 && w[0] == "GPU" && w[1].back() == ':') gpu_list = true;
    if (gpu_list && w.size() > 2 && w[0] == "Link") nvlink_status = true;
    if (content.rfind("schema:", 0) == 0 && content.find("linkcast.") != std::string_view::npos)
      refuse(line.number, "is a Linkcast file already", "use it as it is: --topology FILE");
    if (content.rfind("- topology:", 0) == 0 || content.rfind("-topology:", 0) == 0) yaml_topology = true;
    if (clean.rfind("switches:", 0) == 0 || clean.rfind("blocks:", 0) == 0 || clean.rfind("capacity_blocks:", 0) == 0 ||
        clean.rfind("nodes:", 0) == 0)
      yaml_switches = true;
  }
  if (nvlink_status || gpu_list) return ImportFormat::nvidia_smi_nvlink;
  if (yaml_topology) return ImportFormat::slurm_topology_yaml;
  if (yaml_switches) return ImportFormat::topograph;
  refuse(1, "nothing that is known: no format was recognised", known);
  return ImportFormat::nccl_xml;  // not reached
}

ImportFormat detect_format(std::string_view text, const std::string& name) {
  return detected(unpacked({name, std::string{text}}));
}

}  // namespace linkcast::topologies
