// See draw_cluster.hpp: the inside of one machine, from its NICs down to its NVSwitches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "draw_cluster.hpp"
#include "fabric_data.hpp"

namespace linkcast::topologies {
namespace {

constexpr double margin = 12, header = 22, gap = 30;
/// Up to so many devices of a kind have names and links.
constexpr std::size_t most_named = 16;

constexpr std::array kinds{DeviceKind::nic, DeviceKind::pcie_switch, DeviceKind::gpu, DeviceKind::nvswitch};

const char* fill_of(DeviceKind k) {
  switch (k) {
    case DeviceKind::gpu:
      return "#b6e3a8";
    case DeviceKind::nvswitch:
      return "#ffd28a";
    case DeviceKind::nic:
      return "#ffffff";
    default:
      return "#e4e7ea";
  }
}

struct Layout {
  std::array<std::vector<std::size_t>, kinds.size()> rows;
  bool small = false;  // no names, no links
  double cell = 0, width = 0, height = 0;
  std::array<double, kinds.size()> top{}, tall{};
  std::array<std::size_t, kinds.size()> columns{};

  explicit Layout(const Fabric& machine) {
    const auto& devices = machine.devices();
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const auto at = std::ranges::find(kinds, devices[d].kind);
      if (at != kinds.end()) rows[static_cast<std::size_t>(at - kinds.begin())].push_back(d);
    }
    std::size_t most = 1;
    for (const auto& row : rows) most = std::max(most, row.size());
    small = most > most_named;
    cell = small ? 18 : 62;
    std::size_t widest = 1;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      columns[r] = std::min<std::size_t>(std::max<std::size_t>(rows[r].size(), 1), 36);
      widest = std::max(widest, columns[r]);
    }
    width = std::max(230.0, 2 * margin + static_cast<double>(widest) * cell);
    double y = margin + (small ? 0 : 4);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      top[r] = y;
      const auto lines = (rows[r].size() + columns[r] - 1) / columns[r];
      tall[r] = small ? 14 : 26;
      if (!rows[r].empty()) y += static_cast<double>(lines) * (tall[r] + 4) + (small ? 20 : gap);
    }
    height = y + header - (small ? 10 : gap - 12);
  }

  Drawing::Rect place(std::size_t row, std::size_t i) const {
    const auto n = rows[row].size();
    const auto line = i / columns[row], column = i % columns[row];
    // The last line of several begins at the left, a single one is spread over the width.
    const double pitch = n <= columns[row] && !small ? (width - 2 * margin) / static_cast<double>(n) : cell;
    const double first = small ? (width - cell * static_cast<double>(columns[row])) / 2 : margin;
    Drawing::Rect r;
    r.w = cell - 6;
    r.h = tall[row];
    r.x = first + pitch * (static_cast<double>(column) + 0.5) - r.w / 2;
    r.y = top[row] + static_cast<double>(line) * (tall[row] + 4);
    return r;
  }
};

}  // namespace

DrawnMachine measure_machine(const Fabric& machine) {
  const Layout layout{machine};
  DrawnMachine out{layout.width, layout.height, {}};
  for (std::size_t i = 0; i < layout.rows[0].size(); ++i) out.nics.push_back(layout.place(0, i).centre());
  return out;
}

void draw_machine(Drawing& page, const Fabric& machine, double x, double y, const std::string& name,
                  const std::vector<int>& rails, const std::function<double(LinkId)>& busy) {
  const Layout layout{machine};
  const auto& data = machine.data();
  page.rects.push_back({x, y, layout.width, layout.height, "#f7f8fa", "#888888", false, true, {}});
  std::map<std::size_t, Drawing::Rect> drawn;
  std::string parts;
  for (std::size_t r = 0; r < kinds.size(); ++r) {
    if (layout.rows[r].empty()) continue;
    const auto& first = data.devices[layout.rows[r].front()];
    if (kinds[r] != DeviceKind::pcie_switch)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", layout.rows[r].size(), first.model);
    for (std::size_t i = 0; i < layout.rows[r].size(); ++i) {
      const auto d = layout.rows[r][i];
      auto rect = layout.place(r, i);
      rect.x += x;
      rect.y += y;
      rect.fill = fill_of(kinds[r]);
      rect.tip = data.devices[d].name + " " + data.devices[d].model;
      if (kinds[r] == DeviceKind::nic && i < rails.size() && rails[i] >= 0) rect.stroke = rail_colour(rails[i]);
      if (!data.device_extra[d].up) rect.stroke = broken_colour, rect.dashed = true;
      drawn[d] = rect;
      page.rects.push_back(rect);
      if (layout.small) continue;
      static constexpr std::array names{"nic", "pcie sw", "gpu", "nvsw"};
      page.text(rect.centre(), rect.y + 17, fmt::format("{} {}", names[r], data.devices[d].index), 10);
    }
  }
  for (std::size_t i = 0; i < data.links.size(); ++i) {
    const auto& l = data.links[i];
    auto a = drawn.find(static_cast<std::size_t>(l.a)), b = drawn.find(static_cast<std::size_t>(l.b));
    if (a == drawn.end() || b == drawn.end()) continue;
    const bool sound = l.state == "up" && data.usable(LinkId{static_cast<std::uint32_t>(i)});
    const double share = busy ? busy(LinkId{static_cast<std::uint32_t>(i)}) : 0;
    if (layout.small && sound) continue;
    if (a->second.y > b->second.y) std::swap(a, b);
    const bool level = a->second.y == b->second.y;
    if (level && l.kind != models::LinkKind::nvlink) continue;
    Drawing::Line line;
    line.x1 = a->second.centre();
    line.x2 = b->second.centre();
    line.y1 = a->second.y + a->second.h;
    line.y2 = level ? line.y1 : b->second.y;
    line.bend = level ? -std::min(16.0, 3 + std::abs(line.x1 - line.x2) / 20) : 0;
    line.stroke = !sound ? broken_colour : l.kind == models::LinkKind::nvlink ? "#6aa84f" : "#9aa4ae";
    line.width = std::min(3.0, 0.6 + 0.15 * l.width);
    line.dashed = !sound;
    if (!sound) line.width = 2;
    if (busy && sound) line.stroke = heat_colour(share), line.width = heat_width(share);
    line.tip = fmt::format("{}-{}: {} x{}, {:.1f} GB/s, {}", data.device(l.a).name, data.device(l.b).name, l.model,
                           l.width, l.bare.GBps(), l.state);
    if (busy) line.tip += fmt::format(", {:.1f} % used", 100 * share);
    page.lines.push_back(std::move(line));
  }
  page.text(x + layout.width / 2, y + layout.height - 8, fitted(name + ": " + parts, layout.width - 10, 11, true), 11,
            Drawing::Anchor::middle, true);
}

}  // namespace linkcast::topologies
