// See import_machine.hpp.
#include "import_machine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::topologies {
namespace {

/// The wire that most links of the machine have: written once, the others where they differ.
PcieWire usual_wire(const MachineModel& m) {
  std::vector<std::pair<PcieWire, int>> counts;
  const auto count = [&](const PcieWire& w) {
    const auto at = std::ranges::find(counts, w, &std::pair<PcieWire, int>::first);
    if (at == counts.end()) {
      counts.emplace_back(w, 1);
    } else {
      ++at->second;
    }
  };
  const auto walk = [&](const PcieTree& t, const auto& self) -> void {
    if (t.chip) count(t.wire);
    for (const auto& d : t.devices) count(d.wire);
    for (const auto& b : t.below) self(b, self);
  };
  for (const auto& [cpu, tree] : m.trees) walk(tree, walk);
  if (counts.empty()) return {};
  return std::ranges::max_element(counts, {}, &std::pair<PcieWire, int>::second)->first;
}

class TreeText {
 public:
  TreeText(const MachineModel& m, PcieWire usual) : m_{m}, usual_{std::move(usual)} {}

  std::string run() {
    for (const auto& [cpu, tree] : m_.trees) {
      if (!tree.empty()) write(tree, fmt::format("cpu: {}", cpu), usual_, "      ");
    }
    return out_;
  }

 private:
  /// A device whose link is of another kind than the tree's stands in a tree of its own, without a switch.
  void write(const PcieTree& t, std::string keys, PcieWire inherited, const std::string& indent) {
    const auto add = [&](const std::string& text) { keys += (keys.empty() ? "" : ", ") + text; };
    if (t.chip) add("switch: " + m_.pcie_switch);
    const PcieWire own = t.chip || t.devices.empty() ? (t.chip ? t.wire : inherited) : t.devices.front().wire;
    if (own.link != inherited.link) add("link: " + own.link);
    if (own.lanes != inherited.lanes) add(fmt::format("lanes: {}", own.lanes));
    std::vector<PcieTree> below;
    std::vector<int> gpus, nics;
    for (const auto& d : t.devices) {
      if (d.wire == own) {
        (d.gpu ? gpus : nics).push_back(d.index);
        continue;
      }
      const auto same = std::ranges::find_if(below, [&](const auto& b) { return b.devices.front().wire == d.wire; });
      if (same == below.end()) {
        below.push_back({false, {}, {d}, {}});
      } else {
        same->devices.push_back(d);
      }
    }
    if (!gpus.empty()) add("gpus: " + index_list(gpus));
    if (!nics.empty()) add("nics: " + index_list(nics));
    for (const auto& b : t.below) {
      if (!b.empty()) below.push_back(b);
    }
    if (below.empty()) {
      out_ += indent + "- {" + keys + "}\n";
      return;
    }
    out_ += indent + "- ";
    for (std::size_t at = 0, n = 0; at < keys.size(); ++n) {  // one key per line; lists have their own commas
      auto end = at;
      for (int depth = 0; end < keys.size() && !(keys[end] == ',' && depth == 0); ++end) {
        depth += keys[end] == '[' ? 1 : keys[end] == ']' ? -1 : 0;
      }
      out_ += (n ? indent + "  " : "") + keys.substr(at, end - at) + "\n";
      at = std::min(end + 2, keys.size());
    }
    if (keys.empty()) out_ += "\n";
    out_ += indent + "  switches:\n";
    for (const auto& b : below) write(b, "", own, indent + "    ");
  }

  const MachineModel& m_;
  PcieWire usual_;
  std::string out_;
};

std::string nvlink_text(const MachineModel& m) {
  if (m.nvlink.empty()) return {};
  auto out = fmt::format("  nvlink:\n    link: {}\n", m.nvlink);
  if (!m.nvswitch.empty()) {
    const bool alike = std::ranges::all_of(m.switch_links, [&](int n) { return n == m.switch_links.front(); });
    const auto links =
        alike ? std::to_string(m.switch_links.front()) : fmt::format("[{}]", fmt::join(m.switch_links, ", "));
    out += fmt::format("    switches: {{model: {}, count: {}, links: {}", m.nvswitch,
                       m.switch_links.size() * static_cast<std::size_t>(m.boards), links);
    if (m.boards > 1) out += fmt::format(", boards: {}, trunk_links: {}", m.boards, m.trunk_links);
    return out + "}\n";
  }
  const auto pairs = static_cast<std::size_t>(m.gpus * (m.gpus - 1) / 2);
  const int first = m.mesh.begin()->second;
  if (m.mesh.size() == pairs && std::ranges::all_of(m.mesh, [&](const auto& p) { return p.second == first; }))
    return out + fmt::format("    mesh: {{all: {}}}\n", first);
  out += "    mesh:\n";
  for (int from = 0; from < m.gpus; ++from) {
    std::string row;
    for (const auto& [pair, n] : m.mesh) {
      if (pair.first == from) row += fmt::format("{}{}: {}", row.empty() ? "" : ", ", pair.second, n);
    }
    if (!row.empty()) out += fmt::format("      {}: {{{}}}\n", from, row);
  }
  return out;
}

}  // namespace

bool PcieTree::empty() const {
  return devices.empty() && std::ranges::all_of(below, [](const auto& b) { return b.empty(); });
}

std::string index_list(std::vector<int> indices) {
  std::ranges::sort(indices);
  if (indices.size() == 1) return std::to_string(indices.front());
  std::string out;
  for (std::size_t i = 0; i < indices.size();) {
    auto end = i;
    while (end + 1 < indices.size() && indices[end + 1] == indices[end] + 1) ++end;
    const bool range = end > i + 1;
    if (range) {
      out += fmt::format("{}{}-{}", out.empty() ? "" : ", ", indices[i], indices[end]);
      i = end + 1;
    } else {
      out += fmt::format("{}{}", out.empty() ? "" : ", ", indices[i++]);
    }
  }
  return "[" + out + "]";
}

ImportedMachine machine_yaml(const MachineModel& m) {
  ImportedMachine out;
  out.gpus = m.gpus;
  out.nics = m.nics;
  auto& y = out.node;
  y = fmt::format("node:\n  host: {}\n", m.host);
  y += fmt::format("  cpus: {{model: {}, count: {}", m.cpu, m.numa.size());
  if (m.per_socket > 1) y += fmt::format(", per_socket: {}", m.per_socket);
  bool counted = true;
  for (std::size_t i = 0; i < m.numa.size(); ++i) counted = counted && m.numa[i] == static_cast<int>(i);
  if (!counted) y += fmt::format(", numa: [{}]", fmt::join(m.numa, ", "));
  if (m.numa.size() > static_cast<std::size_t>(m.per_socket)) y += ", link: " + m.cpu_link;
  if (m.per_socket > 1) y += ", die_link: " + m.die_link;
  y += "}\n";
  y += fmt::format("  gpus: {{model: {}, count: {}}}\n", m.gpu, m.gpus);
  if (m.nics > 0) {
    y +=
        fmt::format("  nics: {{model: {}, count: {}{}{}}}\n", m.nic, m.nics,
                    m.nic_rate.empty() ? "" : ", rate: " + m.nic_rate, m.fabric.empty() ? "" : ", fabric: " + m.fabric);
  }
  y += nvlink_text(m);
  if (!m.c2c.empty()) y += fmt::format("  c2c: {{link: {}, cpus: [{}]}}\n", m.c2c, fmt::join(m.c2c_cpus, ", "));
  const auto usual = usual_wire(m);
  if (!usual.link.empty()) {
    y += fmt::format("  pcie:\n    link: {}\n    lanes: {}\n", usual.link, usual.lanes);
    if (m.p2p_known) y += fmt::format("    p2p: {}\n", m.p2p);
    y += "    trees:\n" + TreeText{m, usual}.run();
  }
  if (!m.overrides.empty()) {
    out.overrides = "overrides:\n";
    for (const auto& o : m.overrides) out.overrides += "  - " + o + "\n";
  }
  return out;
}

}  // namespace linkcast::topologies
