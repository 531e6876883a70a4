// What `ibnetdiscover` prints, line by line: nodes, ports, and what is plugged into each. Says nothing about which node
// is a host, a leaf or a spine, and knows no topology of Linkcast.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "yaml_value.hpp"

namespace linkcast::topologies {

/// A node of the subnet. Views point into the text.
struct IbNode {
  char kind = 'S';       // S switch, H channel adapter, R router
  bool section = false;  // false: seen only as the peer of others
  std::uint16_t ports = 0;
  std::uint32_t device = 0;  // vendor's device id; 0: not said
  std::uint64_t guid = 0;
  std::string_view description;
  int line = 0, column = 1;
};

struct IbPort {
  std::uint32_t node = 0;
  std::uint16_t port = 0;
  friend bool operator==(const IbPort&, const IbPort&) = default;
  friend auto operator<=>(const IbPort&, const IbPort&) = default;
};

/// Lanes and signalling, "4xNDR"; 0 lanes: the file does not say.
struct IbSpeed {
  std::uint8_t lanes = 0;
  std::string_view signalling;
  double gbps = 0;  // of data, one direction
};

struct IbLink {
  IbPort a, b;  // a < b
  IbSpeed speed;
  int line = 0;  // where it is said first
};

struct IbFabric {
  std::vector<IbNode> nodes;
  std::vector<IbLink> links;  // each once, sorted
  int noise = 0;              // lines of error messages among the output
  int one_sided = 0;          // links that only one of two sections says
  int uneven = 0;             // links whose two ends say different speeds; the slower one is kept
  int loops = 0;              // a switch plugged into itself: left out
};

/// Adds what is wrong to `problems`.
IbFabric parse_ibnetdiscover(const Source& file, Problems& problems);

/// "0x100000000000001c" without the prefix, 16 digits.
std::string ib_guid(std::uint64_t guid);

}  // namespace linkcast::topologies
