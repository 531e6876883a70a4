// `overrides`: one link or one device that is not as its part says: down, slower, narrower.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "build.hpp"

namespace linkcast::topologies {
namespace {

/// Names of links ("gpu[3]-nvswitch[1]", from either end) and devices.
struct Names {
  std::map<std::string, std::size_t, std::less<>> links, devices;
  std::vector<std::string> link_names, device_names;

  explicit Names(const Fabric::Data& data) {
    for (std::size_t i = 0; i < data.links.size(); ++i) {
      const auto& a = data.device(data.links[i].a).name;
      const auto& b = data.device(data.links[i].b).name;
      for (const auto& name : {a + "-" + b, b + "-" + a}) {
        links.emplace(name, i);
        link_names.push_back(name);
      }
    }
    for (std::size_t i = 0; i < data.devices.size(); ++i) {
      devices.emplace(data.devices[i].name, i);
      device_names.push_back(data.devices[i].name);
    }
  }
};

void set_bare(Link& l, sim::Rate bare, const std::string& why) {
  const double efficiency =
      static_cast<double>(l.payload.bytes_per_second()) / static_cast<double>(l.bare.bytes_per_second());
  l.bare = bare;
  l.payload = std::max(bare * efficiency, sim::Rate::bytes_per_second(1));
  l.state = why;
}

void override_link(MapReader& r, Link& l, LinkExtra& extra) {
  const auto* state = r.find("state");
  if (state && state->is_scalar()) {
    if (state->text == "down") {
      extra.up = false;
      l.state = "down";
    } else if (state->text != "up") {
      const auto rate = parse_quantity(state->text, Dimension::rate, "state", false);
      if (const auto* n = std::get_if<std::int64_t>(&rate)) {
        const auto bare = sim::Rate::bytes_per_second(*n);
        if (bare > l.bare) {
          r.problem(*state, fmt::format("{} is more than this link has ({})", state->text,
                                        format_quantity(l.bare.bytes_per_second(), Dimension::rate)));
        } else {
          set_bare(l, bare, "slowed to " + state->text);
        }
      } else {
        r.problem(*state, fmt::format("'state' cannot be '{}'", state->text), "up, down, or a rate such as 200 Gb/s");
      }
    }
  } else if (state) {
    r.problem(*state, "'state' must be one value", "up, down, or a rate such as 200 Gb/s");
  }
  if (const auto rate = r.rate("rate")) {
    set_bare(l, *rate, "rate " + format_quantity(rate->bytes_per_second(), Dimension::rate));
  }
  if (const auto width = r.integer("width", 1, l.width)) {
    const double share = static_cast<double>(*width) / l.width;
    l.bare = std::max(l.bare * share, sim::Rate::bytes_per_second(1));
    l.payload = std::max(l.payload * share, sim::Rate::bytes_per_second(1));
    if (*width != l.width) l.state = fmt::format("width {} of {}", *width, l.width);
    l.width = static_cast<int>(*width);
  }
  if (const auto latency = r.time("latency")) l.latency = *latency;
}

}  // namespace

void apply_overrides(NodeBuild& b, const Value& overrides) {
  if (!overrides.is_sequence()) {
    b.context.problems->add(overrides, "'overrides' must be a list",
                            "write `- {link: gpu[3]-nvswitch[1], state: down}`");
    return;
  }
  auto& data = b.data;
  const Names names{data};
  for (const auto& item : overrides.items) {
    MapReader r{b.context, item, "override"};
    if (!r.sound()) continue;
    const auto link = r.word("link");
    const auto device = r.word("device");
    if (link.has_value() == device.has_value()) {
      r.problem(item, "an override names one 'link' or one 'device'",
                "write `link: gpu[3]-nvswitch[1]` or `device: nvswitch[1]`");
      r.find("state");
      r.done();
      continue;
    }
    if (device) {
      const std::vector<std::string> states{"up", "down"};
      const auto state = r.choice("state", states, true);
      if (const auto found = names.devices.find(*device); found == names.devices.end()) {
        if (!b.context.problems->full()) {
          r.problem(*item.get("device"), fmt::format("no device '{}'", *device), suggest(*device, names.device_names));
        }
      } else if (state) {
        data.device_extra[found->second].up = *state == "up";
      }
    } else if (const auto found = names.links.find(*link); found != names.links.end()) {
      override_link(r, data.links[found->second], data.link_extra[found->second]);
    } else {
      if (!b.context.problems->full()) {
        r.problem(*item.get("link"), fmt::format("link to nowhere: '{}'", *link), suggest(*link, names.link_names));
      }
      for (auto key : {"state", "rate", "width", "latency"}) r.find(key);
    }
    r.done();
  }
}

}  // namespace linkcast::topologies
