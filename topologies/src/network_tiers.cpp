// See network_tiers.hpp.
#include "network_tiers.hpp"

#include <fmt/format.h>

#include <array>

namespace linkcast::topologies {

std::string tier_name(const Network& n, int tier) {
  static constexpr std::array<const char*, 3> names{"leaf", "spine", "core"};
  if (tier < 0) return "nic";
  if (is_direct(n)) return "router";
  if (n.generator() == "ideal") return "switch";
  return tier < static_cast<int>(names.size()) ? names[static_cast<std::size_t>(tier)] : fmt::format("tier{}", tier);
}

}  // namespace linkcast::topologies
