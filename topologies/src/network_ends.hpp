// Names of what a cable can be plugged into: "node[3].nic[2]", "node[3].nic[2].port[1]", "h0004.nic[2]", "leaf[7]".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "linkcast/topologies/network.hpp"

namespace linkcast::topologies {

/// What a text names: a NIC (one port of it, or all), or a switch.
struct NamedEnd {
  int node = -1, nic = 0, port = -1;  // port -1: not said
  int network_switch = -1;
  bool is_nic() const { return node >= 0; }
};

class EndNames {
 public:
  EndNames(int nodes, const std::vector<std::string>& hosts, std::vector<int> ports_of_nics,
           const std::vector<std::string>& switches);

  /// Nothing where the text names none; `why` then says what is wrong with it, where it is known.
  std::optional<NamedEnd> find(std::string_view text, std::string* why = nullptr) const;
  /// "node[3]" or a host's name.
  std::optional<int> node(std::string_view text) const;
  /// "did you mean …", or what ends are called here.
  std::string suggest_end(std::string_view text) const;
  int nodes() const { return nodes_; }

 private:
  int nodes_;
  std::vector<int> ports_;  // by NIC
  const std::vector<std::string>& hosts_;
  const std::vector<std::string>& switches_;
  std::unordered_map<std::string, int> host_, switch_;
};

/// The number in "NAME[number]", or nothing.
std::optional<int> bracketed(std::string_view text, std::string_view name);

}  // namespace linkcast::topologies
