// See import_nvlink.hpp.
#include "import_nvlink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace linkcast::topologies {
namespace {

/// Links of each GPU to the switches, if every pair has what the poorer of the two has; else nothing.
std::optional<std::vector<int>> switched_links(const PairLinks& links) {
  const auto n = links.size();
  std::vector<int> own(n, 0);
  for (std::size_t i = 0; i < n; ++i) own[i] = *std::ranges::max_element(links[i]);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i != j && links[i][j] != std::min(own[i], own[j])) return std::nullopt;
    }
  }
  return own;
}

/// What a GPU with fewer links has lost; which chip's links these are is not known.
void lose_links(const ImportInput& in, int gpu, int lost, MachineModel& m) {
  in.notes.assume(
      fmt::format("gpu[{}] has lost {} NVLinks: to the last switches, as the file does not say which", gpu, lost));
  for (auto k = m.switch_links.size(); k-- > 0 && lost > 0;) {
    const int here = std::min(lost, m.switch_links[k]);
    lost -= here;
    const auto left = m.switch_links[k] - here;
    const auto link = fmt::format("link: \"gpu[{}]-nvswitch[{}]\"", gpu, k);
    m.overrides.push_back(left > 0 ? fmt::format("{{{}, width: {}}}", link, left)
                                   : fmt::format("{{{}, state: down}}", link));
  }
}

}  // namespace

bool has_nvlink(const PairLinks& links) {
  return std::ranges::any_of(links,
                             [](const auto& row) { return std::ranges::any_of(row, [](int n) { return n > 0; }); });
}

void wire_nvlinks(const ImportInput& in, const MachineProfile& profile, const PairLinks& links, int ports,
                  const std::function<void(int, int, std::string, std::string)>& report, MachineModel& m) {
  if (!has_nvlink(links)) return;
  const auto n = static_cast<int>(links.size());
  const auto own = switched_links(links);
  const int most = own ? *std::ranges::max_element(*own) : 0;
  const bool needs_switches = own && n > 2 && most * (n - 1) > ports;
  const auto total = std::accumulate(profile.parts.switch_links.begin(), profile.parts.switch_links.end(), 0);
  const bool pair_of_switched = own && n == 2 && !profile.parts.nvswitch.empty() && most == total;

  m.nvlink = profile.parts.nvlink;
  const auto* switched = &profile.parts;
  std::optional<MachineProfile> other;
  if (needs_switches && profile.parts.nvswitch.empty()) {
    other = switched_profile(m.gpu, m.nvlink);
    if (other) {
      switched = &other->parts;
      m.nvlink = other->parts.nvlink;
    }
  }
  if (m.nvlink.empty()) {
    report(0, 1, fmt::format("NVLinks, but the machine '{}' has none to take their kind from", profile.name),
           "name a machine with NVLinks: --machine");
    return;
  }
  for (int i = 0; i < n; ++i) {
    const auto& row = links[static_cast<std::size_t>(i)];
    const int used = needs_switches || pair_of_switched ? *std::ranges::max_element(row)
                                                        : std::accumulate(row.begin(), row.end(), 0);
    if (used <= ports) continue;
    const auto widest = static_cast<int>(std::ranges::max_element(row) - row.begin());
    report(i, widest,
           needs_switches || pair_of_switched
               ? fmt::format("gpu[{}] has {} NVLinks, the part {} has {}", i, used, m.gpu, ports)
               : fmt::format("gpu[{}] has {} NVLinks in all, the part {} has {}", i, used, m.gpu, ports),
           "are these other GPUs? --gpu names them");
    return;
  }
  if (!needs_switches && !pair_of_switched) {
    for (int i = 0; i < n; ++i) {
      for (int j = i + 1; j < n; ++j) {
        const int width = links[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
        if (width > 0) m.mesh[{i, j}] = width;
      }
    }
    in.notes.know("NVLinks straight between GPUs, with their number for each pair");
    return;
  }
  if (switched->nvswitch.empty()) {
    report(0, 1, fmt::format("all pairs have NV{}, more than a {} has links for without NVSwitches", most, m.gpu),
           "name a machine with NVSwitches: --machine");
    return;
  }
  in.notes.know(fmt::format("NVLinks: {} of each GPU to NVSwitches (all pairs have as many)", most));
  m.nvswitch = switched->nvswitch;
  m.switch_links = switched->switch_links;
  const int shares = std::accumulate(m.switch_links.begin(), m.switch_links.end(), 0);
  if (shares != most) {  // the same chips with other numbers of links
    const auto chips = std::min<int>(static_cast<int>(m.switch_links.size()), most);
    m.switch_links.assign(static_cast<std::size_t>(chips), most / chips);
    for (int k = 0; k < most % chips; ++k) ++m.switch_links[static_cast<std::size_t>(k)];
  }
  if (n == switched->gpus && switched->boards > 1) {
    m.boards = switched->boards;
    m.trunk_links = switched->trunk_links;
  }
  in.notes.assume(fmt::format(
      "{} {} chips{}, {} links of each GPU to them", m.switch_links.size() * static_cast<std::size_t>(m.boards),
      m.nvswitch, m.boards > 1 ? fmt::format(" on {} boards", m.boards) : "", fmt::join(m.switch_links, "-")));
  for (int g = 0; g < n; ++g) {
    if (const int lost = most - (*own)[static_cast<std::size_t>(g)]; lost > 0) lose_links(in, g, lost, m);
  }
}

}  // namespace linkcast::topologies
