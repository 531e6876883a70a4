// See packet_buffers.hpp.
#include "packet_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::topologies {
namespace {

// The least of the known switches per unit of rate: SN5600, 158.2 MB for 64 x 800 Gb/s = 6.4 TB/s, 24.7 us of all its
// ports (Tomahawk 4: 35.5 us; SN4700: 38 us; sources in catalog/parts/network_switches.yaml). Of a switch about whose
// buffer nothing is known, the ideal one too.
constexpr double usual_buffer_seconds = 24.7e-6;

// Receive buffer of a ConnectX port (the mlx5 driver's "Port buffer size", HowTo Tune Receive Buffers on Mellanox
// Adapter Cards, MLNX_OFED 4.2).
constexpr sim::Bytes nic_buffer{262'016};

}  // namespace

sim::Bytes headroom_of(const SwitchModel& model, sim::Rate rate, double metres) {
  const SwitchHeadroom *below = nullptr, *above = nullptr;
  for (const auto& row : model.headroom) {
    if (row.rate != rate) continue;
    if (row.metres <= metres && (!below || row.metres > below->metres)) below = &row;
    if (row.metres >= metres && (!above || row.metres < above->metres)) above = &row;
  }
  if (!below && !above) return {};
  if (!below) return above->size;
  if (!above || above == below || above->metres == below->metres) return below->size;
  const auto part = (metres - below->metres) / (above->metres - below->metres);
  const auto more = static_cast<double>((above->size - below->size).count()) * part;
  return below->size + sim::Bytes{static_cast<std::int64_t>(more + 0.5)};
}

BufferPlan::BufferPlan(const models::PacketSettings& settings, sim::Bytes header, std::span<const SwitchModel> models,
                       std::size_t switches)
    : s_{settings},
      packet_{std::max(settings.mtu, settings.train) + header},
      models_{models},
      of_model_(models.size()),
      plugged_(switches, 0.0),
      links_(switches, 0),
      most_(models.size(), 0.0),
      most_links_(models.size(), 0) {}

BufferPlan::Need BufferPlan::needed(const Link& link) const {
  return {std::max(models::credit_input(link.rate, link.there_and_back, packet_),
                   models::usual_credit_input(link.rate, packet_)),
          models::pause_headroom(link.rate, link.there_and_back, packet_)};
}

void BufferPlan::at_switch(std::size_t model, std::size_t sw, const Link& link, int count) {
  auto need = needed(link);
  need.headroom = std::max(need.headroom, headroom_of(models_[model], link.rate, link.metres));
  auto& of = of_model_[model];
  of = {std::max(of.input, need.input), std::max(of.headroom, need.headroom)};
  plugged_[sw] += static_cast<double>(link.rate.bytes_per_second()) * count;
  links_[sw] += count;
  most_[model] = std::max(most_[model], plugged_[sw]);
  most_links_[model] = std::max(most_links_[model], links_[sw]);
}

void BufferPlan::at_nic(const Link& link) {
  const auto need = needed(link);
  nic_ = {std::max(nic_.input, need.input), std::max(nic_.headroom, need.headroom)};
}

sim::packet::NodeKind BufferPlan::kind(const Need& need) const {
  sim::packet::NodeKind k;
  k.control = s_.flow_control;
  k.input = s_.buffer.input.value_or(need.input);
  k.headroom = s_.buffer.headroom.value_or(need.headroom);
  k.reserve = s_.buffer.reserve;
  k.alpha = s_.buffer.alpha;
  k.resume_offset = s_.buffer.resume_offset;
  k.lossy_alpha = s_.buffer.lossy_alpha;
  k.choice = s_.routing;
  k.flowlet_gap = s_.flowlet_gap;
  return k;
}

sim::packet::NodeKind BufferPlan::switch_kind(std::size_t model, std::size_t lossless_lanes) const {
  const auto& m = models_[model];
  auto k = kind(of_model_[model]);
  k.name = m.name;
  k.marking = s_.marking;
  k.trims = s_.trim;
  if (s_.buffer.shared) {
    k.shared = *s_.buffer.shared;
    return k;
  }
  const auto all =
      m.buffer.count() > 0 ? m.buffer : sim::Bytes{static_cast<std::int64_t>(most_[model] * usual_buffer_seconds)};
  // The pool is what the ports' own parts leave. Switches that promise more headroom than they have keep some pool.
  const auto own = (k.headroom + k.reserve) * static_cast<std::int64_t>(lossless_lanes) * most_links_[model];
  k.shared = s_.flow_control == sim::packet::FlowControl::pause ? std::max(all - own, all / 4) : all;
  return k;
}

sim::packet::NodeKind BufferPlan::nic_kind() const {
  auto k = kind(nic_);
  k.name = "nic";
  k.shared = nic_buffer;
  return k;
}

sim::packet::NodeKind nvlink_kind(std::string name, std::span<const NvlinkNeed> links, sim::Bytes train) {
  sim::packet::NodeKind k;
  k.name = std::move(name);
  k.control = sim::packet::FlowControl::credit;
  k.input = 2 * train;
  for (const auto& l : links) k.input = std::max(k.input, models::credit_input(l.rate, l.there_and_back, train));
  return k;
}

sim::packet::NodeKind endless_kind(std::string name) {
  sim::packet::NodeKind k;
  k.name = std::move(name);
  return k;
}

}  // namespace linkcast::topologies
