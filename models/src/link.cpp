// Packet efficiency and payload rate of a link. Knows no topology.
#include "linkcast/models/link.hpp"

namespace linkcast::models {

std::string_view name_of(LinkKind k) {
  switch (k) {
    case LinkKind::nvlink:
      return "nvlink";
    case LinkKind::c2c:
      return "c2c";
    case LinkKind::pcie:
      return "pcie";
    case LinkKind::inter_socket:
      return "inter_socket";
    case LinkKind::memory:
      return "memory";
    case LinkKind::network:
      return "network";
  }
  return "unknown";
}

double PacketFormat::efficiency() const {
  const auto data = static_cast<double>(payload.count());
  return data / (data + static_cast<double>(header.count()) + static_cast<double>(response.count()));
}

double PacketFormat::one_way_efficiency() const {
  const auto data = static_cast<double>(payload.count());
  return data / (data + static_cast<double>(header.count()));
}

sim::Rate LinkModel::payload_rate() const { return rate * (packet.efficiency() * residual); }

}  // namespace linkcast::models
