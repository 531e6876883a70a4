// What a price file says, read. Written once by the reader, then only looked up. Knows no cluster.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/planning/cost.hpp"

namespace linkcast::planning {

struct Figure {
  Band band;
  std::string source, date;
};

struct PartPrice {
  std::optional<Figure> usd, watts;
};

struct ServerPrice : PartPrice {
  std::vector<std::string> systems;  // machines of that name, before all others
  std::string gpu;                   // machines with `gpus` of these
  int gpus = 0;
  std::string nic;  // cards that the price and the watts contain
  int nics = 0;
};

struct SwitchPrice : PartPrice {
  int ports_per_cage = 1;  // ports that one transceiver serves
};

struct CopperPrice : PartPrice {
  double up_to = 0;  // m
};

/// A switch for networks that nobody described.
struct AssumedSwitch {
  std::string name;
  int ports = 0;
  double gbps = 0;  // of one port
};

struct Prices::Data {
  std::map<std::string, ServerPrice> servers;
  std::map<std::string, PartPrice> gpus, nics;
  std::map<std::string, SwitchPrice> switches;
  std::map<double, PartPrice> nic_rates, switch_ports, transceivers;  // by Gb/s
  std::map<double, CopperPrice> copper;
  PartPrice host_per_gpu, other_per_gpu, fibre;
  int machines_per_rack = 1;
  std::map<std::string, std::vector<AssumedSwitch>> assumed;  // "ib", "slingshot", "ethernet"
  std::optional<Figure> years, pue, electricity, hosting;
  std::vector<std::string> files;  // laid over the shipped one

  /// Of the nearest rate, scaled to this one; nothing where no rate has a figure.
  static PartPrice at(const std::map<double, PartPrice>& rates, double gbps);
};

/// Both figures, times k.
PartPrice times(PartPrice p, double k);

}  // namespace linkcast::planning
