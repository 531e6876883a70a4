// See network_ends.hpp.
#include "network_ends.hpp"

#include <fmt/format.h>

#include "map_reader.hpp"

namespace linkcast::topologies {

std::optional<int> bracketed(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || text.size() < name.size() + 3 || text[name.size()] != '[' || text.back() != ']')
    return std::nullopt;
  const auto digits = text.substr(name.size() + 1, text.size() - name.size() - 2);
  const auto n = parse_integer(digits);
  if (!n || *n < 0 || *n > (1 << 30) || digits.front() == '+') return std::nullopt;
  return static_cast<int>(*n);
}

EndNames::EndNames(int nodes, const std::vector<std::string>& hosts, std::vector<int> ports_of_nics,
                   const std::vector<std::string>& switches)
    : nodes_{nodes}, ports_{std::move(ports_of_nics)}, hosts_{hosts}, switches_{switches} {
  for (std::size_t i = 0; i < hosts.size(); ++i) host_.emplace(hosts[i], static_cast<int>(i));
  for (std::size_t i = 0; i < switches.size(); ++i) switch_.emplace(switches[i], static_cast<int>(i));
}

std::optional<int> EndNames::node(std::string_view text) const {
  if (const auto known = host_.find(std::string{text}); known != host_.end()) return known->second;
  return bracketed(text, "node");
}

std::optional<NamedEnd> EndNames::find(std::string_view text, std::string* why) const {
  if (const auto known = switch_.find(std::string{text}); known != switch_.end()) {
    NamedEnd e;
    e.network_switch = known->second;
    return e;
  }
  NamedEnd e;
  auto nic = text.rfind(".nic[");
  if (nic == std::string_view::npos) return std::nullopt;
  const auto host = node(text.substr(0, nic));
  auto rest = text.substr(nic + 1);
  if (const auto port = rest.find(".port["); port != std::string_view::npos) {
    const auto n = bracketed(rest.substr(port + 1), "port");
    if (!n) return std::nullopt;
    e.port = *n;
    rest = rest.substr(0, port);
  }
  const auto n = bracketed(rest, "nic");
  if (!host || !n) return std::nullopt;
  e.node = *host;
  e.nic = *n;
  const auto wrong = [&](std::string text_of) {
    if (why) *why = std::move(text_of);
    return std::nullopt;
  };
  if (e.node >= nodes_) return wrong(fmt::format("node {} of {}: they are 0 to {}", e.node, nodes_, nodes_ - 1));
  if (e.nic >= static_cast<int>(ports_.size()))
    return wrong(fmt::format("the machine has {} NICs: 0 to {}", ports_.size(), static_cast<int>(ports_.size()) - 1));
  const auto ports = ports_[static_cast<std::size_t>(e.nic)];
  if (e.port >= ports) return wrong(fmt::format("the NIC has {} port{}", ports, ports == 1 ? "" : "s"));
  return e;
}

std::string EndNames::suggest_end(std::string_view text) const {
  if (text.find("nic[") != std::string_view::npos) {
    if (host_.empty())
      return fmt::format("a NIC is node[0].nic[0] to node[{}].nic[{}]", nodes_ - 1,
                         static_cast<int>(ports_.size()) - 1);
    return suggest(text.substr(0, text.find('.')), hosts_);
  }
  return suggest(text, switches_);
}

}  // namespace linkcast::topologies
