// See cluster_overrides.hpp.
#include "cluster_overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace linkcast::topologies {
namespace {

constexpr std::array<std::string_view, 6> device_kinds{"gpu", "nvswitch", "pcie_switch", "cpu", "nic", "memory"};

bool is_device(std::string_view text) {
  return std::ranges::any_of(device_kinds, [&](auto kind) { return bracketed(text, kind).has_value(); });
}

/// "node[17].gpu[3]" is "node[17]" and "gpu[3]"; without a node the first is empty.
std::pair<std::string_view, std::string_view> without_node(std::string_view text) {
  std::size_t dot = std::string_view::npos;
  for (const auto kind : device_kinds) dot = std::min(dot, text.find("." + std::string{kind} + "["));
  if (dot == std::string_view::npos) return {{}, text};
  return {text.substr(0, dot), text.substr(dot + 1)};
}

/// The node of a link inside a machine and its name there; nothing for a link of the network.
struct MachineName {
  std::string_view node;
  std::string name;
};
std::optional<MachineName> machine_link(std::string_view text) {
  const auto [node, link] = without_node(text);
  const auto dash = link.find("]-");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto a = link.substr(0, dash + 1);
  const auto [other_node, b] = without_node(link.substr(dash + 2));
  if (!is_device(a) || !is_device(b) || (!other_node.empty() && other_node != node)) return std::nullopt;
  return MachineName{node, fmt::format("{}-{}", a, b)};
}
std::optional<MachineName> machine_device(std::string_view text) {
  const auto [node, device] = without_node(text);
  return is_device(device) ? std::optional{MachineName{node, std::string{device}}} : std::nullopt;
}

class Applier {
 public:
  Applier(ReadContext context, Network::Data& d, const EndNames& names) : context_{context}, d_{d}, names_{names} {}

  void apply(const Value& item) {
    MapReader r{context_, item, "override"};
    if (!r.sound()) return;
    const auto sw = r.word("switch");
    const auto nic = r.word("nic");
    const auto link = r.word("link");
    if (sw.has_value() + nic.has_value() + link.has_value() != 1) {
      r.problem(item, "an override names one 'link', 'nic', 'switch' or 'device'",
                "write `nic: node[17].nic[3]` or `switch: spine[2]`");
      for (auto key : {"state", "count", "rate", "latency"}) r.find(key);
    } else if (sw) {
      network_switch(r, *sw);
    } else {
      cables(r, nic ? *nic : *link, nic ? "nic" : "link");
    }
    r.done();
  }

 private:
  void network_switch(MapReader& r, const std::string& name) {
    static const std::vector<std::string> states{"up", "down"};
    const auto state = r.choice("state", states, true);
    const auto end = names_.find(name);
    if (!end || end->is_nic())
      return r.problem(*r.value().get("switch"), fmt::format("no switch '{}'", name), names_.suggest_end(name));
    if (state) d_.switches[static_cast<std::size_t>(end->network_switch)].up = *state == "up";
  }

  void cables(MapReader& r, const std::string& name, std::string_view key) {
    const auto& at = *r.value().get(key);
    bool down = false;
    std::optional<sim::Rate> slowed;
    if (const auto* state = r.find("state")) {
      const auto rate = parse_quantity(state->is_scalar() ? state->text : "", Dimension::rate, "state", false);
      down = state->text == "down";
      if (const auto* n = std::get_if<std::int64_t>(&rate)) {
        slowed = sim::Rate::bytes_per_second(*n);
      } else if (!down && state->text != "up") {
        r.problem(*state, fmt::format("'state' cannot be '{}'", state->text), "up, down, or a rate such as 200 Gb/s");
      }
    }
    if (const auto rate = r.rate("rate")) slowed = rate;
    const auto latency = r.time("latency");
    const auto count = r.integer("count", 1, 1 << 16);

    const auto found = cables_named(name, key == "nic");
    if (!found.problem.empty()) {
      if (!context_.problems->full()) r.problem(at, found.problem, found.help);
      return;
    }
    std::int64_t left = count.value_or(1 << 20);
    for (const auto c : found.cables) {
      const auto& cable = d_.cables[c];
      const auto& model = d_.cable_models[cable.model];
      if (slowed && *slowed > model.bare && r.value().get("state") && !r.value().get("rate"))
        return r.problem(*r.value().get("state"), "more than this cable has", fmt::format("it has {}", model.name));
      const auto n = std::min<std::int64_t>(left, cable.count);
      if (n == 0) break;
      left -= n;
      change(c, static_cast<std::uint16_t>(n), down, slowed, latency);
    }
    if (count && left > 0) r.problem(*r.value().get("count"), fmt::format("'{}' has {} cables", name, *count - left));
  }

  /// `n` of a bundle become a cable of their own.
  void change(std::size_t c, std::uint16_t n, bool down, std::optional<sim::Rate> slowed,
              std::optional<sim::Time> latency) {
    if (n < d_.cables[c].count) {
      auto rest = d_.cables[c];
      rest.count = static_cast<std::uint16_t>(rest.count - n);
      d_.cables[c].count = n;
      d_.cables.push_back(rest);
    }
    auto& cable = d_.cables[c];
    if (down) cable.up = false;
    if (!slowed && !latency) return;
    const auto model = d_.cable_models[cable.model];
    const auto rate = slowed.value_or(model.bare);
    cable.model = d_.cable_model(rate, latency.value_or(model.latency),
                                 rate == model.bare ? "up" : "slowed from " + model.name, d_.metres_of(cable.model));
  }

  struct Found {
    std::vector<std::size_t> cables;
    std::string problem, help;
  };
  Found cables_named(const std::string& name, bool only_nic) {
    std::string why;
    if (const auto end = names_.find(name, &why)) {
      if (!end->is_nic())
        return {{},
                fmt::format("'{}' is a switch, not a cable", name),
                "write `switch: " + name + "`, or both ends of a link"};
      auto cables = of_nic(*end);
      if (cables.empty()) return {{}, fmt::format("'{}' has no cable", name), {}};
      return {std::move(cables), {}, {}};
    }
    if (only_nic) {
      return {{},
              why.empty() ? fmt::format("no NIC '{}'", name) : fmt::format("'{}': {}", name, why),
              why.empty() ? names_.suggest_end(name) : std::string{}};
    }
    // Names may have dashes themselves: every way to cut the text in two is tried.
    std::string unknown;
    for (auto dash = name.find('-'); dash != std::string::npos; dash = name.find('-', dash + 1)) {
      const auto a = names_.find(name.substr(0, dash), &why), b = names_.find(name.substr(dash + 1), &why);
      if (!a && (b || unknown.empty())) unknown = name.substr(0, dash);
      if (a && !b) unknown = name.substr(dash + 1);
      if (!a || !b) continue;
      auto cables = between(*a, *b);
      if (cables.empty()) return {{}, fmt::format("no cable between {}", name), "name two ends that are joined"};
      return {std::move(cables), {}, {}};
    }
    return {{},
            fmt::format("link to nowhere: '{}'", name),
            why.empty() ? names_.suggest_end(unknown.empty() ? name : unknown) : why};
  }

  std::vector<std::uint32_t> ends_of(const NamedEnd& e) const {
    if (!e.is_nic()) return {d_.end(SwitchId{static_cast<std::uint32_t>(e.network_switch)})};
    const auto nic = d_.first_nic[static_cast<std::size_t>(e.node)] + static_cast<std::uint32_t>(e.nic);
    std::vector<std::uint32_t> out;
    for (auto p = d_.first_port[nic]; p < d_.first_port[nic + 1]; ++p) {
      if (e.port < 0 || p == d_.first_port[nic] + static_cast<std::uint32_t>(e.port)) out.push_back(p);
    }
    return out;
  }
  std::vector<std::size_t> of_nic(const NamedEnd& e) const {
    std::vector<std::size_t> out;
    for (const auto end : ends_of(e)) {
      for (auto i = d_.first_arc[end]; i < d_.first_arc[end + 1]; ++i) out.push_back(d_.arcs[i] / 2);
    }
    return out;
  }
  std::vector<std::size_t> between(const NamedEnd& a, const NamedEnd& b) const {
    const auto others = ends_of(b);
    std::vector<std::size_t> out;
    for (const auto end : ends_of(a)) {
      for (auto i = d_.first_arc[end]; i < d_.first_arc[end + 1]; ++i) {
        const auto& c = d_.cables[d_.arcs[i] / 2];
        if (std::ranges::find(others, c.a == end ? c.b : c.a) != others.end()) out.push_back(d_.arcs[i] / 2);
      }
    }
    return out;
  }

  ReadContext context_;
  Network::Data& d_;
  const EndNames& names_;
};

}  // namespace

SplitOverrides split_overrides(const Value& overrides) {
  SplitOverrides out;
  out.machine = overrides;
  if (!overrides.is_sequence()) return out;
  out.machine.items.clear();
  for (const auto& item : overrides.items) {
    const auto* link = item.get("link");
    const auto* device = item.get("device");
    const auto name = link && link->is_scalar()       ? machine_link(link->text)
                      : device && device->is_scalar() ? machine_device(device->text)
                                                      : std::nullopt;
    if (name && !name->node.empty()) {
      auto inside = item;
      inside.get(link ? "link" : "device")->text = name->name;
      const std::string node{name->node};
      auto at = std::ranges::find(out.of, node, &std::pair<std::string, Value>::first);
      if (at == out.of.end()) {
        Value list = overrides;
        list.items.clear();
        at = out.of.insert(at, {node, std::move(list)});
      }
      at->second.items.push_back(std::move(inside));
    } else if (name || !item.is_map() || device) {
      out.machine.items.push_back(item);
    } else {
      out.network.push_back(&item);
    }
  }
  return out;
}

void apply_network_overrides(ReadContext context, const std::vector<const Value*>& overrides, Network::Data& data,
                             const EndNames& names) {
  Applier applier{context, data, names};
  for (const auto* item : overrides) {
    if (context.problems->full()) return;
    applier.apply(*item);
  }
  data.index_cables();
}

}  // namespace linkcast::topologies
