// `topo list` and `topo show`: see describe.hpp.
#include "linkcast/topologies/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

#include "catalog.hpp"
#include "fabric_data.hpp"
#include "quantity.hpp"

namespace linkcast::topologies {
namespace {

std::string rate(sim::Rate r) { return fmt::format("{:.1f} GB/s", r.GBps()); }

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i + 1 < row.size() ? fmt::format("{:<{}}", row[i], width[i] + 2) : row[i];
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::optional<Route> best_route(const Fabric& f, DeviceId a, DeviceId b) {
  for (auto t : {Transport::nvlink, Transport::pcie_p2p, Transport::host_memory}) {
    if (auto r = f.route(a, b, t)) return r;
  }
  return std::nullopt;
}

RouteRow row_of(const Fabric& f, const Route& route) {
  RouteRow row{};
  row.transport = route.transport;
  row.latency = route.latency;
  double shares = 0, bare = 1e30, payload = 1e30;
  for (const auto& hop : route.hops) {
    const auto& link = f.links()[static_cast<std::size_t>(hop.link)];
    shares += hop.weight;
    bare = std::min(bare, link.bare.GBps() / hop.weight);
    payload = std::min(payload, link.payload.GBps() / hop.weight);
  }
  // The shares of parallel NVLinks add up to 1 for each link of the way.
  row.hops = route.transport == Transport::nvlink ? static_cast<int>(std::lround(shares))
                                                  : static_cast<int>(route.hops.size());
  row.bare = sim::Rate::from_GBps(bare);
  row.payload = sim::Rate::from_GBps(payload);
  return row;
}

template <typename Key>
void count(std::vector<std::pair<Key, int>>& counts, const Key& key) {
  const auto found = std::ranges::find(counts, key, &std::pair<Key, int>::first);
  if (found == counts.end()) {
    counts.emplace_back(key, 1);
  } else {
    ++found->second;
  }
}

void describe_gpu_links(const Fabric::Data& data, Description& d) {
  const auto gpu = data.gpus.front();
  std::vector<int> widths;
  std::string peer;
  for (std::size_t i = 0; i < data.links.size(); ++i) {
    const auto& l = data.links[i];
    if ((l.a != gpu && l.b != gpu) || !data.usable(LinkId{static_cast<std::uint32_t>(i)})) continue;
    if (l.kind == models::LinkKind::nvlink) {
      d.nvlink_bare = d.nvlink_bare + l.bare;
      d.nvlink_payload = d.nvlink_payload + l.payload;
      widths.push_back(l.width);
      const auto& other = data.device(l.a == gpu ? l.b : l.a);
      peer = other.kind == DeviceKind::gpu ? "other GPUs" : other.model;
    } else if (l.kind == models::LinkKind::pcie) {
      d.pcie_bare = d.pcie_bare + l.bare;
      d.pcie_payload = d.pcie_payload + l.payload;
    }
  }
  if (!widths.empty()) d.wiring = fmt::format("{} links to {} {}", fmt::join(widths, "-"), widths.size(), peer);
}

CatalogLine line_of(const std::string& name) {
  CatalogLine line;
  line.name = name;
  const auto entry = catalog_entry(name);
  auto file = std::make_shared<SourceText>(SourceText{entry->file, std::string{entry->text}, true});
  Problems problems;
  const auto document = parse_yaml(file, problems);
  if (const auto* title = document.get("title")) line.title = title->text;
  if (const auto* aliases = document.get("aliases")) {
    for (const auto& a : aliases->items) line.aliases.push_back(a.text);
  }
  if (const auto* params = document.get("params")) {
    for (const auto& p : params->entries) {
      CatalogLine::Parameter out;
      out.name = p.key.text;
      if (const auto* v = p.value.get("default")) out.value = v->text;
      if (const auto* v = p.value.get("help")) out.help = v->text;
      if (const auto* v = p.value.get("choices")) {
        for (const auto& c : v->items) out.choices.push_back(c.text);
      }
      line.parameters.push_back(std::move(out));
    }
  }
  return line;
}

}  // namespace

std::vector<CatalogLine> list_catalog() {
  std::vector<CatalogLine> out;
  for (const auto& name : catalog_names()) out.push_back(line_of(name));
  return out;
}

std::string to_text(const std::vector<CatalogLine>& lines) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& l : lines) {
    rows.push_back({l.name, l.title});
    for (const auto& p : l.parameters) {
      rows.push_back({"", fmt::format("{}={} ({}): {}", p.name, p.value, fmt::join(p.choices, "|"), p.help)});
    }
  }
  return table(rows);
}

Description describe(const Fabric& fabric) {
  const auto& data = fabric.data();
  Description d;
  d.name = data.name;
  d.title = data.title;
  d.params = data.params;
  d.host = data.host_name;
  d.assumptions = data.assumptions;
  d.pcie_p2p = data.pcie_p2p;
  d.multicast = fabric.nvls(fabric.gpus());
  d.bisection = fabric.bisection();
  for (const auto& device : data.devices) {
    if (device.kind != DeviceKind::memory) count(d.devices, fmt::format("{} {}", name_of(device.kind), device.model));
  }
  for (const auto& l : data.links) {
    if (l.kind != models::LinkKind::memory) {
      count(d.links, fmt::format("{} {} x{}", models::name_of(l.kind), l.model, l.width));
    }
  }
  describe_gpu_links(data, d);

  const auto gpus = fabric.gpus();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      const auto route = best_route(fabric, gpus[i], gpus[j]);
      if (!route) continue;
      auto row = row_of(fabric, *route);
      const auto same = std::ranges::find_if(d.routes, [&](const RouteRow& r) {
        return r.transport == row.transport && r.hops == row.hops && r.latency == row.latency && r.bare == row.bare &&
               r.payload == row.payload;
      });
      if (same != d.routes.end()) {
        ++same->pairs;
        continue;
      }
      row.pairs = 1;
      row.example = fmt::format("{} - {}", data.device(gpus[i]).name, data.device(gpus[j]).name);
      d.routes.push_back(std::move(row));
    }
  }
  return d;
}

std::string to_text(const Description& d) {
  std::string out = d.name + (d.title.empty() ? "" : ": " + d.title) + "\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : d.params) rows.push_back({"parameter " + name, value});
  for (const auto& [what, n] : d.devices) rows.push_back({what, std::to_string(n)});
  for (const auto& [what, n] : d.links) rows.push_back({what, std::to_string(n)});
  rows.push_back({"host", d.host});
  if (d.nvlink_bare > sim::Rate{}) {
    rows.push_back({"NVLink of a GPU", fmt::format("{} one way ({} payload of SM stores), {}", rate(d.nvlink_bare),
                                                   rate(d.nvlink_payload), d.wiring)});
  }
  if (d.pcie_bare > sim::Rate{}) {
    rows.push_back({"PCIe of a GPU", fmt::format("{} one way ({} payload)", rate(d.pcie_bare), rate(d.pcie_payload))});
  }
  rows.push_back({"P2P over PCIe", d.pcie_p2p ? "yes" : "no"});
  rows.push_back({"in-switch reduction", d.multicast ? "yes (NVLS)" : "no"});
  rows.push_back({"bisection", rate(d.bisection) + " one way, before packet headers"});
  out += table(rows) + "\n";
  rows = {{"GPU pairs", "for example", "by", "links", "latency", "rate", "payload"}};
  for (const auto& r : d.routes) {
    rows.push_back({std::to_string(r.pairs), r.example, std::string{name_of(r.transport)}, std::to_string(r.hops),
                    fmt::format("{:.3f} us", r.latency.us()), rate(r.bare), rate(r.payload)});
  }
  out += table(rows);
  if (!d.assumptions.empty()) out += "\nassumed:\n";
  for (const auto& a : d.assumptions) out += "  " + a + "\n";
  return out;
}

std::vector<NumberSource> sources(const Fabric& fabric) {
  std::vector<NumberSource> out;
  for (const auto& n : fabric.data().numbers) out.push_back({n.what, n.value, n.source});
  return out;
}

std::string to_text(const std::vector<NumberSource>& numbers) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& n : numbers) rows.push_back({n.what, n.value, n.source});
  return table(rows);
}

}  // namespace linkcast::topologies
