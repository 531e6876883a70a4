// See import_profile.hpp.
#include "import_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>

#include "catalog.hpp"
#include "fabric_data.hpp"
#include "import_nvlink.hpp"
#include "linkcast/topologies/fabric.hpp"
#include "parts.hpp"

namespace linkcast::topologies {
namespace {

/// What a device hangs on over PCIe.
std::optional<std::size_t> parent_of(const Fabric::Data& data, std::size_t device, const Link** link = nullptr) {
  for (const auto& l : data.links) {
    if (l.kind != models::LinkKind::pcie || static_cast<std::size_t>(l.b) != device) continue;
    if (link) *link = &l;
    return static_cast<std::size_t>(l.a);
  }
  return std::nullopt;
}

void read_nvlinks(const Fabric::Data& data, MachineProfile& p) {
  const auto n = data.gpus.size();
  std::map<DeviceId, std::size_t> rank;
  for (std::size_t i = 0; i < n; ++i) rank[data.gpus[i]] = i;
  p.links.assign(n, std::vector<int>(n, 0));
  std::vector<int> to_switches(n, 0);
  std::set<DeviceId> chips;
  for (const auto& l : data.links) {
    if (l.kind == models::LinkKind::c2c) p.parts.c2c = l.model;
    if (l.kind != models::LinkKind::nvlink) continue;
    p.parts.nvlink = l.model;
    const auto a = rank.find(l.a), b = rank.find(l.b);
    if (a != rank.end() && b != rank.end()) {
      p.links[a->second][b->second] = p.links[b->second][a->second] = l.width;
      p.parts.mesh[std::minmax(static_cast<int>(a->second), static_cast<int>(b->second))] = l.width;
    } else if (a != rank.end()) {
      to_switches[a->second] += l.width;
      p.parts.nvswitch = data.device(l.b).model;
      if (a->second == 0) p.parts.switch_links.push_back(l.width);
      chips.insert(l.b);
    } else {
      p.parts.trunk_links = l.width;
    }
  }
  if (chips.empty()) return;
  p.parts.boards = static_cast<int>(chips.size() / std::max<std::size_t>(1, p.parts.switch_links.size()));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) p.links[i][j] = i == j ? 0 : std::min(to_switches[i], to_switches[j]);
  }
}

void read_cpus(const Fabric::Data& data, MachineProfile& p) {
  std::map<std::string, int> sockets;
  std::map<DeviceId, std::string> socket;
  for (std::size_t d = 0; d < data.devices.size(); ++d) {
    const auto& device = data.devices[d];
    if (device.kind != DeviceKind::cpu) continue;
    p.parts.cpu = device.model;
    p.parts.numa.push_back(device.numa);
    const auto at = device.attributes.find("socket");
    socket[DeviceId{static_cast<std::uint32_t>(d)}] = at == device.attributes.end() ? "" : at->second;
    p.parts.per_socket = std::max(p.parts.per_socket, ++sockets[at == device.attributes.end() ? "" : at->second]);
  }
  for (const auto& l : data.links) {
    if (l.kind != models::LinkKind::inter_socket) continue;
    (socket[l.a] == socket[l.b] ? p.parts.die_link : p.parts.cpu_link) = l.model;
  }
}

/// How alike two wirings are: 2 the same, 1 all pairs of the file have what the machine's pairs have.
int likeness(const PairLinks& file, const PairLinks& machine) {
  if (file.empty() || file.size() > machine.size()) return 0;
  bool same = true;
  for (std::size_t i = 0; i < file.size() && same; ++i) {
    for (std::size_t j = 0; j < file.size() && same; ++j) same = i == j || file[i][j] == machine[i][j];
  }
  return !same ? 0 : file.size() == machine.size() ? 2 : 1;
}

/// Wiring and GPUs count most, then the NICs, which tell clouds apart; among equals the makers' own machines come
/// first.
int alikeness(const Wanted& wanted, const MachineProfile& p, int like) {
  const auto starts = [&](std::string_view with) { return p.name.substr(0, with.size()) == with; };
  return 32 * like + (p.parts.gpus == wanted.gpus ? 16 : 0) +
         (!wanted.nic.empty() && p.parts.nic == wanted.nic ? 8 : 0) + (p.parts.nics == wanted.nics ? 4 : 0) +
         (starts("dgx")   ? 2
          : starts("hgx") ? 1
                          : 0);
}

const std::vector<MachineProfile>& all_profiles() {
  static const auto profiles = [] {  // built once: the catalog does not change
    std::vector<MachineProfile> out;
    for (const auto& name : catalog_names()) out.push_back(profile_of(name));
    return out;
  }();
  return profiles;
}

}  // namespace

MachineProfile profile_of(const std::string& machine) {
  const auto fabric = load(machine);
  const auto& data = fabric.data();
  MachineProfile p;
  p.name = machine;
  p.parts.host = data.host_name;
  p.parts.gpu = data.device(data.gpus.front()).model;
  p.parts.gpus = static_cast<int>(data.gpus.size());
  p.parts.p2p = data.pcie_p2p;
  read_cpus(data, p);
  read_nvlinks(data, p);
  for (const auto& d : data.devices) {
    if (d.kind == DeviceKind::pcie_switch) p.parts.pcie_switch = d.model;
    if (d.kind != DeviceKind::nic) continue;
    ++p.parts.nics;
    p.parts.nic = d.model;
    if (const auto at = d.attributes.find("gbps"); at != d.attributes.end()) {
      p.parts.nic_rate = at->second + " Gb/s";
      p.nic_gbps = std::strtod(at->second.c_str(), nullptr);
    }
    if (const auto at = d.attributes.find("ports"); at != d.attributes.end())
      p.nic_ports = std::max(1, std::atoi(at->second.c_str()));
  }
  Problems problems;
  Parts parts{ReadContext{&problems}, nullptr};
  if (const auto* part = p.parts.nic.empty() ? nullptr : parts.nic(p.parts.nic, Value{}))
    p.nic_part_rate = fmt::format("{} Gb/s", static_cast<double>(part->rate.bytes_per_second()) * 8e-9);
  if (p.parts.nic_rate == p.nic_part_rate) p.parts.nic_rate.clear();
  std::map<std::size_t, std::vector<int>> below;
  for (std::size_t i = 0; i < data.gpus.size(); ++i) {
    const Link* link = nullptr;
    const auto parent = parent_of(data, static_cast<std::size_t>(data.gpus[i]), &link);
    if (!parent) continue;
    if (i == 0) p.pcie = {link->model, link->width};
    if (data.devices[*parent].kind == DeviceKind::pcie_switch) below[*parent].push_back(static_cast<int>(i));
  }
  for (auto& [chip, gpus] : below) p.switch_of.push_back(std::move(gpus));
  if (p.parts.pcie_switch.empty()) {
    p.parts.pcie_switch = p.pcie.link == "pcie-gen3" ? "pex8796" : p.pcie.link == "pcie-gen4" ? "pex88096" : "pex89144";
  }
  return p;
}

std::optional<MachineProfile> choose_profile(const ImportInput& in, const Wanted& wanted) {
  const auto& o = in.options;
  auto gpu = o.gpu ? o.gpu : wanted.gpu;
  if (o.gpu) in.notes.assume(fmt::format("GPUs are {}, as --gpu says", *o.gpu));
  if (o.gpu && wanted.gpu && *o.gpu != *wanted.gpu)
    in.notes.assume(fmt::format("--gpu goes before the file, which says {}", wanted.gpu_words));
  if (!o.gpu && wanted.gpu) in.notes.know(fmt::format("GPUs: {} ({})", *wanted.gpu, wanted.gpu_words));
  if (o.machine) {
    auto p = profile_of(*o.machine);
    if (!gpu) in.notes.assume(fmt::format("GPUs are {}, as in {}", p.parts.gpu, p.name));
    if (gpu) p.parts.gpu = *gpu;
    in.notes.assume(fmt::format("what the file does not say is as in {}, as --machine says", p.name));
    return p;
  }
  const MachineProfile* best = nullptr;
  int best_likeness = -1;
  // A machine with as many GPUs explains the file better than a part of a larger one.
  const bool whole =
      std::ranges::any_of(all_profiles(), [&](const auto& p) { return likeness(wanted.links, p.links) == 2; });
  std::vector<std::string> fitting;
  for (const auto& p : all_profiles()) {
    const int like = likeness(wanted.links, p.links);
    if (gpu ? p.parts.gpu != *gpu : like < (whole ? 2 : 1) || !has_nvlink(wanted.links)) continue;
    if (!gpu && std::ranges::find(fitting, p.parts.gpu) == fitting.end()) fitting.push_back(p.parts.gpu);
    const int score = alikeness(wanted, p, like);
    if (score > best_likeness) best = &p, best_likeness = score;
  }
  if (!gpu && fitting.size() != 1) {
    const auto names = catalog_part_names("gpus");
    in.problems.add(in.file, wanted.line, wanted.column,
                    wanted.gpu_words.empty() ? "the file does not say which GPUs these are"
                                             : fmt::format("GPUs '{}' are not in the catalog", wanted.gpu_words),
                    fitting.empty()
                        ? fmt::format("name their part with --gpu, or a like machine with --machine; the parts are {}",
                                      fmt::join(names, ", "))
                        : fmt::format("--gpu names them: {} are wired like this", fmt::join(fitting, ", ")));
    return std::nullopt;
  }
  if (!gpu) {
    gpu = fitting.front();
    in.notes.assume(fmt::format("GPUs are {}: of the catalog's machines only {} is wired like this", *gpu, best->name));
  }
  if (!best) {
    in.problems.add(in.file, wanted.line, wanted.column,
                    fmt::format("no machine of the catalog has GPUs {} to take CPUs and links from", *gpu),
                    "name a like machine with --machine ('linkcast topo list')");
    return std::nullopt;
  }
  in.notes.assume(fmt::format("what the file does not say is as in {}, a machine with such GPUs", best->name));
  return *best;
}

std::optional<MachineProfile> switched_profile(const std::string& gpu, const std::string& nvlink) {
  for (const bool same_gpu : {true, false}) {
    for (const auto& p : all_profiles()) {
      if (!p.parts.nvswitch.empty() && (same_gpu ? p.parts.gpu == gpu : p.parts.nvlink == nvlink)) return p;
    }
  }
  return std::nullopt;
}

int nvlink_ports(const std::string& gpu) {
  Problems problems;
  Parts parts{ReadContext{&problems}, nullptr};
  const auto* part = parts.gpu(gpu, Value{});
  return part ? part->nvlinks : 0;
}

std::optional<std::string> gpu_part_of(std::string_view product) {
  std::string text;
  for (const char c : product) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  // Of names that contain each other the longer stands first. Form factors: HBM3 and SXM are the module, PCIe and NVL
  // the card ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-32GB", "NVIDIA H100 PCIe").
  struct Name {
    std::string_view word, form, part;
  };
  constexpr std::array names{
      Name{"GH200", "", "gh200"},
      Name{"GB300", "", "gb300"},
      Name{"GB200", "", "gb200"},
      Name{"B300", "", "b300-sxm"},
      Name{"B200", "", "b200-sxm"},
      Name{"H200", "NVL", ""},
      Name{"H200", "", "h200-sxm"},
      Name{"H800", "PCIE", ""},
      Name{"H800", "", "h800-sxm"},
      Name{"H100", "PCIE", "h100-pcie"},
      Name{"H100", "NVL", "h100-pcie"},
      Name{"H100", "", "h100-sxm"},
      Name{"H20", "", "h20-sxm"},
      Name{"A800", "", "a800-sxm"},
      Name{"A100", "PCIE", "a100-pcie"},
      Name{"A100", "", "a100-sxm"},
      Name{"V100", "PCIE", "v100-pcie"},
      Name{"V100", "", "v100-sxm2"},
      Name{"L40S", "", "l40s"},
      Name{"L40", "", "l40"},
      Name{"4090", "", "rtx4090"},
      Name{"2080 TI", "", "rtx2080ti"},
      Name{"A10G", "", "a10g"},
      Name{"T4", "", "t4"},
      Name{"RTX PRO 6000", "", "rtx6000d"},
  };
  const auto parts = catalog_part_names("gpus");
  for (const auto& n : names) {
    if (!has(n.word) || (!n.form.empty() && !has(n.form))) continue;
    const auto known = std::ranges::find(parts, n.part);
    return known == parts.end() ? std::nullopt : std::optional{*known};
  }
  return std::nullopt;
}

void choose_nic(const ImportInput& in, const MachineProfile& profile, MachineModel& m) {
  if (m.nics == 0) return;
  if (in.options.network) m.fabric = *in.options.network;
  if (in.options.nic) {
    m.nic = *in.options.nic;
    m.nic_rate.clear();
    in.notes.assume(fmt::format("NICs are {}, as --nic says", m.nic));
  } else if (!profile.parts.nic.empty()) {
    m.nic = profile.parts.nic;
    m.nic_rate = profile.parts.nic_rate;
    if (profile.nic_ports > 1 && m.nics == profile.parts.nics * profile.nic_ports)
      m.nic_rate = fmt::format("{:g} Gb/s", profile.nic_gbps / profile.nic_ports);
    in.notes.assume(fmt::format("every NIC is {} with {}, as in {}", m.nic,
                                m.nic_rate.empty() ? profile.nic_part_rate : m.nic_rate, profile.name));
  } else {
    in.problems.add(in.file, 0, 0, fmt::format("the file has {} NICs and does not say how fast they are", m.nics),
                    fmt::format("--nic names their part: {}", fmt::join(catalog_part_names("nics"), ", ")));
  }
}

}  // namespace linkcast::topologies
