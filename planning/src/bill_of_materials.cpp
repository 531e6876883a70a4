// Machines and their cards, then the network (count_network.cpp). See cost.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "count_network.hpp"
#include "linkcast/planning/cost.hpp"

namespace linkcast::planning {
namespace {

using topologies::Cluster;
using topologies::DeviceKind;
using topologies::Fabric;

struct Inside {
  std::map<std::string, int> gpus;                     // by model
  std::map<std::pair<std::string, double>, int> nics;  // by model and Gb/s of the card
  int all_gpus = 0;
};

Inside inside(const Fabric& machine) {
  Inside out;
  for (const auto& d : machine.devices()) {
    if (d.kind == DeviceKind::gpu) {
      ++out.gpus[d.model];
      ++out.all_gpus;
    } else if (d.kind == DeviceKind::nic && !d.attributes.contains("absent")) {
      const auto gbps = d.attributes.find("gbps");
      ++out.nics[{d.model, gbps == d.attributes.end() ? 0 : std::atof(gbps->second.c_str())}];
    }
  }
  return out;
}

PartPrice price_of_nic(const Prices::Data& p, const std::string& model, double gbps) {
  auto out = Prices::Data::at(p.nic_rates, gbps);
  if (const auto it = p.nics.find(model); it != p.nics.end()) {
    if (it->second.usd) out.usd = it->second.usd;
    if (it->second.watts) out.watts = it->second.watts;
  }
  return out;
}

/// Rates of the cards that prices of servers contain.
double usual_rate(const std::string& nic) {
  static constexpr std::pair<std::string_view, double> rates[] = {
      {"connectx-5", 100}, {"connectx-6", 200}, {"connectx-7", 400}, {"connectx-8", 800}};
  for (const auto& [name, gbps] : rates)
    if (name == nic) return gbps;
  return 400;
}

/// Takes the typical figure off all three: how uncertain the server is stays its own, and what remains is in order.
void subtract(std::optional<Figure>& from, const std::optional<Figure>& what, double times) {
  if (!from || !what) return;
  const auto part = what->band.typical * times;
  auto& band = from->band;
  band = {std::max(0.0, band.low - part), std::max(0.0, band.typical - part), std::max(0.0, band.high - part)};
}

class Machines {
 public:
  Machines(const Prices::Data& prices, BillOfMaterials& bom) : p_{prices}, bom_{bom} {}

  void add(const Fabric& machine, std::string_view cluster, int nodes) {
    const auto in = inside(machine);
    bom_.nodes += nodes;
    bom_.gpus += in.all_gpus * nodes;
    if (const auto* server = named(machine, cluster); server || (server = same(in))) {
      whole(machine, *server, in, nodes);
    } else {
      parts(machine, in, nodes);
    }
    for (const auto& [nic, count] : in.nics)
      bom_.lines.push_back(line_of(bom_, BomKind::nic,
                                   nic.second > 0 ? fmt::format("{} {:g}G", nic.first, nic.second) : nic.first, "",
                                   std::int64_t{count} * nodes, price_of_nic(p_, nic.first, nic.second)));
  }

 private:
  using Entry = std::pair<const std::string, ServerPrice>;

  const Entry* named(const Fabric& machine, std::string_view cluster) const {
    for (const auto& entry : p_.servers) {
      for (const auto& system : entry.second.systems)
        if (system == machine.name() || system == cluster) return &entry;
    }
    return nullptr;
  }

  /// A server with these GPUs: as many, else the nearest number of them.
  const Entry* same(const Inside& in) const {
    if (in.gpus.size() != 1) return nullptr;
    const auto& [model, count] = *in.gpus.begin();
    const Entry* best = nullptr;
    for (const auto& entry : p_.servers) {
      if (entry.second.gpu != model || entry.second.gpus == 0) continue;
      if (!best || std::abs(entry.second.gpus - count) < std::abs(best->second.gpus - count)) best = &entry;
    }
    return best;
  }

  void whole(const Fabric& machine, const Entry& entry, const Inside& in, int nodes) {
    const auto& server = entry.second;
    PartPrice price = server;
    if (server.nics > 0) {
      const auto nic = price_of_nic(p_, server.nic, usual_rate(server.nic));
      subtract(price.usd, nic.usd, server.nics);
      subtract(price.watts, nic.watts, server.nics);
    }
    const double k = server.gpus > 0 ? static_cast<double>(in.all_gpus) / server.gpus : 1;
    if (k != 1) {
      price = times(price, k);
      bom_.notes.push_back(fmt::format("{}: {} for each of its {} GPUs what a server of {} costs", machine.name(),
                                       entry.first, in.all_gpus, server.gpus));
    }
    const auto part = entry.first == machine.name() ? entry.first : fmt::format("{} ({})", entry.first, machine.name());
    bom_.lines.push_back(line_of(bom_, BomKind::server, part, server.nics > 0 ? "without NICs" : "", nodes, price));
  }

  void parts(const Fabric& machine, const Inside& in, int nodes) {
    for (const auto& [model, count] : in.gpus) {
      const auto it = p_.gpus.find(model);
      bom_.lines.push_back(line_of(bom_, BomKind::gpu, model, "", std::int64_t{count} * nodes,
                                   it == p_.gpus.end() ? PartPrice{} : it->second));
    }
    bom_.lines.push_back(line_of(bom_, BomKind::server,
                                 fmt::format("host of {} GPUs ({})", in.all_gpus, machine.name()), "without NICs",
                                 nodes, times(p_.host_per_gpu, in.all_gpus)));
    bom_.notes.push_back(
        fmt::format("{}: no price as a whole; its host as the share of an 8-GPU server for each GPU", machine.name()));
  }

  const Prices::Data& p_;
  BillOfMaterials& bom_;
};

template <typename F>
Band sum(const std::vector<BomLine>& lines, F value) {
  Band out;
  for (const auto& l : lines) out += value(l);
  return out;
}

bool of_network(const BomLine& l) {
  return l.kind == BomKind::network_switch || l.kind == BomKind::optics || l.kind == BomKind::cable;
}

}  // namespace

std::string_view name_of(BomKind k) {
  static constexpr std::string_view names[] = {"server", "gpu", "nic", "switch", "optics", "cable", "other"};
  return names[static_cast<std::size_t>(k)];
}

Band BillOfMaterials::capex() const {
  return sum(lines, [](const BomLine& l) { return l.total_usd(); });
}
Band BillOfMaterials::power() const {
  return sum(lines, [](const BomLine& l) { return l.total_watts(); });
}
Band BillOfMaterials::network_capex() const {
  return sum(lines, [](const BomLine& l) { return of_network(l) ? l.total_usd() : Band{}; });
}
Band BillOfMaterials::network_power() const {
  return sum(lines, [](const BomLine& l) { return of_network(l) ? l.total_watts() : Band{}; });
}

BillOfMaterials bill_of_materials(const Cluster& cluster, const Prices& prices) {
  const auto& p = prices.data();
  BillOfMaterials bom;
  std::vector<int> nodes(static_cast<std::size_t>(cluster.kinds()), 0);
  for (int i = 0; i < cluster.nodes(); ++i) ++nodes[static_cast<std::size_t>(cluster.kind_of(i))];
  Machines machines{p, bom};
  // Machines that differ only in what is broken are the same to a buyer: their lines are joined below.
  for (int k = 0; k < cluster.kinds(); ++k) {
    if (nodes[static_cast<std::size_t>(k)] > 0)
      machines.add(cluster.kind(k), cluster.name(), nodes[static_cast<std::size_t>(k)]);
  }
  std::vector<BomLine> joined;
  for (auto& l : bom.lines) {
    const auto it = std::ranges::find_if(
        joined, [&](const BomLine& o) { return o.kind == l.kind && o.part == l.part && o.tier == l.tier; });
    if (it == joined.end())
      joined.push_back(std::move(l));
    else
      it->count += l.count;
  }
  bom.lines = std::move(joined);

  if (cluster.ranks() < bom.gpus)
    bom.notes.push_back(fmt::format("the job uses {} of the {} GPUs of its machines; all of them are counted",
                                    cluster.ranks(), bom.gpus));
  if (cluster.network().empty()) {
    bom.notes.push_back("one machine: no switch, no cable");
  } else {
    count_network(cluster, p, bom);
    if (p.other_per_gpu.usd || p.other_per_gpu.watts)
      bom.lines.push_back(line_of(bom, BomKind::other, "storage, front end, racks, installation per GPU", "", bom.gpus,
                                  p.other_per_gpu));
  }
  std::vector<std::string> once;
  for (auto& note : bom.notes)
    if (std::ranges::find(once, note) == once.end()) once.push_back(std::move(note));
  bom.notes = std::move(once);
  return bom;
}

}  // namespace linkcast::planning
