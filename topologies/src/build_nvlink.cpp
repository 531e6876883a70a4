// NVLink wiring: through NVSwitches (links per GPU and chip; boards joined by trunks) or straight between GPUs (a
// mesh). Also NVLink-C2C between a GPU and its CPU. Checks that ports suffice.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "build.hpp"

namespace linkcast::topologies {
namespace {

struct PortUse {
  std::map<std::uint32_t, int> used;
  void take(DeviceId id, int n) { used[static_cast<std::uint32_t>(id)] += n; }
};

void check_ports(NodeBuild& b, const PortUse& use, const Value& at, const SwitchPart* chip) {
  for (const auto& [id, used] : use.used) {
    const auto& device = b.data.devices[id];
    const int ports = device.kind == DeviceKind::gpu ? (b.gpu_part ? b.gpu_part->nvlinks : used)
                                                     : (chip && chip->ports ? chip->ports : used);
    if (used <= ports) continue;
    b.context.problems->add(at,
                            fmt::format("{} needs {} NVLinks but a {} has {}", device.name, used, device.model, ports));
    return;  // its likes have the same mistake
  }
}

/// `links`: per chip of a board, how many links each GPU of that board has to it.
void build_switches(NodeBuild& b, const Value& v, const LinkPart* link, PortUse& use) {
  MapReader r{b.context, v, "'switches'"};
  const auto model = r.word("model", true);
  const auto count = static_cast<int>(r.integer("count", 1, 256, true).value_or(0));
  const auto boards = static_cast<int>(r.integer("boards", 1, 16).value_or(1));
  auto links = r.integers("links", 1, 1024, true);
  const auto trunks = static_cast<int>(r.integer("trunk_links", 1, 1024, boards > 1).value_or(0));
  r.done();
  const auto* part = model ? b.parts.switch_chip(*model, *v.get("model")) : nullptr;
  if (part && !part->nvswitch) {
    r.problem(*v.get("model"), fmt::format("switch part '{}' is a PCIe switch, not an NVSwitch", *model));
    part = nullptr;
  }
  if (!links || count == 0 || !b.gpus_known) return;
  const auto gpu_count = static_cast<int>(b.gpus.size());
  if (count % boards != 0) {
    r.problem(*v.get("count"), fmt::format("{} switches do not divide over {} boards", count, boards));
    return;
  }
  if (gpu_count % boards != 0) {
    r.problem(*v.get("boards"), fmt::format("{} GPUs do not divide over {} boards", gpu_count, boards));
    return;
  }
  const int chips = count / boards;
  if (links->size() == 1) links->assign(static_cast<std::size_t>(chips), links->front());
  if (static_cast<int>(links->size()) != chips) {
    r.problem(*v.get("links"), fmt::format("{} numbers of links for {} switches of a board", links->size(), chips),
              "one number for each switch, or one number for all of them");
    return;
  }
  if (!link || !part) return;
  for (int i = 0; i < count; ++i) {
    b.nvswitches.push_back(b.add(DeviceKind::nvswitch, i, part->name, 0));
    b.data.device_extra.back().transit = part->latency;
    b.data.device_extra.back().multicast = part->multicast;
  }
  const int per_board = gpu_count / boards;
  for (int g = 0; g < gpu_count; ++g) {
    for (int k = 0; k < chips; ++k) {
      const auto chip = b.nvswitches[static_cast<std::size_t>(g / per_board * chips + k)];
      const auto gpu = b.gpus[static_cast<std::size_t>(g)];
      const int n = (*links)[static_cast<std::size_t>(k)];
      b.connect(gpu, chip, *link, n);
      use.take(gpu, n);
      use.take(chip, n);
    }
  }
  for (int x = 0; x < boards; ++x) {
    for (int y = x + 1; y < boards; ++y) {
      for (int k = 0; k < chips; ++k) {
        const auto one = b.nvswitches[static_cast<std::size_t>(x * chips + k)];
        const auto other = b.nvswitches[static_cast<std::size_t>(y * chips + k)];
        b.connect(one, other, *link, trunks);
        use.take(one, trunks);
        use.take(other, trunks);
      }
    }
  }
  check_ports(b, use, v, part);
}

/// `{0: {1: 2, 3: 1}, …}`: links between GPUs; a pair may be written from either side, or from both alike.
void build_mesh(NodeBuild& b, const Value& v, const LinkPart* link, PortUse& use) {
  const auto count = static_cast<int>(b.gpus.size());
  std::map<std::pair<int, int>, int> pairs;
  const auto gpu = [&](const Value& at) -> int {
    const auto n = parse_integer(at.text);
    if (!at.is_scalar() || !n || *n < 0 || *n >= count) {
      b.context.problems->add(at, fmt::format("link to nowhere: no gpu[{}]", at.text),
                              fmt::format("the GPUs are 0 to {}", count - 1));
      return -1;
    }
    return static_cast<int>(*n);
  };
  if (const auto* all = v.get("all")) {
    MapReader r{b.context, v, "'mesh'"};
    const auto n = r.integer("all", 1, 1024);
    r.done();
    for (int i = 0; n && i < count; ++i) {
      for (int j = i + 1; j < count; ++j) pairs[{i, j}] = static_cast<int>(*n);
    }
    (void)all;
  } else if (v.is_map()) {
    for (const auto& row : v.entries) {
      const int from = gpu(row.key);
      if (!row.value.is_map()) {
        b.context.problems->add(row.value, "the peers of a GPU must be a map",
                                "write `0: {1: 2, 3: 1}`: peer and links");
        continue;
      }
      for (const auto& peer : row.value.entries) {
        const int to = gpu(peer.key);
        const auto n = parse_integer(peer.value.text);
        if (!peer.value.is_scalar() || !n || *n < 1 || *n > 1024) {
          b.context.problems->add(peer.value, fmt::format("'{}' is not a number of links", peer.value.text),
                                  "a whole number from 1");
          continue;
        }
        if (from < 0 || to < 0) continue;
        if (from == to) {
          b.context.problems->add(peer.key, fmt::format("gpu[{}] is linked to itself", from));
          continue;
        }
        const auto [known, fresh] = pairs.try_emplace(std::minmax(from, to), static_cast<int>(*n));
        if (!fresh && known->second != *n) {
          b.context.problems->add(peer.value, fmt::format("gpu[{}] and gpu[{}] have {} links here and {} above", from,
                                                          to, *n, known->second));
        }
      }
    }
  } else {
    b.context.problems->add(v, "'mesh' must be a map", "write `{all: 4}` or `{0: {1: 2, 3: 1}, …}`");
  }
  if (!link) return;
  for (const auto& [pair, n] : pairs) {
    const auto one = b.gpus[static_cast<std::size_t>(pair.first)];
    const auto other = b.gpus[static_cast<std::size_t>(pair.second)];
    b.connect(one, other, *link, n);
    use.take(one, n);
    use.take(other, n);
  }
  check_ports(b, use, v, nullptr);
}

}  // namespace

void build_nvlink(NodeBuild& b, const Value& nvlink) {
  MapReader r{b.context, nvlink, "'nvlink'"};
  const auto* link = read_link_part(b, r, "link", models::LinkKind::nvlink);
  const auto* switches = r.find("switches");
  const auto* mesh = r.find("mesh");
  r.done();
  if (!r.sound()) return;
  if (!switches && !mesh) r.problem(nvlink, "'nvlink' has neither 'switches' nor 'mesh'");
  if (switches && mesh) r.problem(nvlink, "'nvlink' has both 'switches' and 'mesh'", "keep one of them");
  PortUse use;
  if (switches) build_switches(b, *switches, link, use);
  if (mesh && !switches && b.gpus_known) build_mesh(b, *mesh, link, use);
}

void build_c2c(NodeBuild& b, const Value& c2c) {
  MapReader r{b.context, c2c, "'c2c'"};
  const auto* link = read_link_part(b, r, "link", models::LinkKind::c2c);
  const auto trays = static_cast<std::size_t>(b.trays);
  const auto of_tray = b.cpus.size() / trays;
  const auto cpus = r.integers("cpus", 0, static_cast<int>(of_tray) - 1, true);
  r.done();
  if (!cpus || !b.gpus_known) return;
  const auto gpus = b.gpus.size() / trays;
  if (cpus->size() != gpus) {
    r.problem(*c2c.get("cpus"), fmt::format("{} CPUs for {} GPUs", cpus->size(), gpus), "one CPU index for each GPU");
    return;
  }
  for (std::size_t g = 0; link && g < b.gpus.size(); ++g) {
    const auto cpu = g / gpus * of_tray + static_cast<std::size_t>((*cpus)[g % gpus]);
    b.connect(b.gpus[g], b.cpus[cpu], *link, 1);
  }
}

}  // namespace linkcast::topologies
