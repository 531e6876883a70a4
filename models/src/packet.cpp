// The usual settings of each kind of network, with their sources. See packet.hpp.
#include "linkcast/models/packet.hpp"

#include <algorithm>
#include <array>
#include <thread>

namespace linkcast::models {
namespace {

using namespace sim::literals;
namespace packet = sim::packet;
using packet::Choice;
using packet::FlowControl;
using packet::Recovery;
using packet::VirtualLane;

constexpr VirtualLane lossless{true, false, true};
constexpr VirtualLane lossy{false, false, true};
constexpr VirtualLane urgent_lossless{true, true, false};
constexpr VirtualLane urgent_lossy{false, true, false};

Choice choice_of(Routing r) {
  switch (r) {
    case Routing::adaptive:
      return Choice::adaptive;
    case Routing::spray:
      return Choice::spray;
    case Routing::ecmp:
      return Choice::hash;
    case Routing::by_destination:
      return Choice::by_destination;
  }
  return Choice::hash;
}

bool reorders(const PacketSettings& s) {
  return s.paths > 0 || s.routing == Choice::adaptive || s.routing == Choice::spray || s.routing == Choice::flowlet;
}

/// Credits on every lane, no loss, no congestion control (Quantum's is off unless it is configured). NDR NICs place
/// packets that adaptive routing put out of order (NVIDIA, Adaptive Routing on Quantum).
void infiniband(PacketSettings& s) {
  s.lanes = {lossless};
  s.flow_control = FlowControl::credit;
  s.any_order = reorders(s);
}

/// As InfiniBand here: lossless hop by hop, adaptive, its NICs order messages; links repeat damaged frames themselves
/// (De Sensi et al., An In-Depth Analysis of the Slingshot Interconnect, SC20). Its congestion control holds back flows
/// that fill an endpoint, by means that are not public: none is modelled.
void slingshot(PacketSettings& s) {
  infiniband(s);
  s.link_retry = true;
}

/// PFC, ECN and DCQCN as SONiC and mlx5 ship them.
void roce(PacketSettings& s) {
  s.lanes = {urgent_lossless, lossless};  // CNPs: DSCP 48, priority 6, strict (mlxconfig)
  s.data_lane = 1;
  s.flow_control = FlowControl::pause;
  s.buffer.alpha = 1;        // dynamic_th 0 of a lossless priority group, 3 of a lossy queue: 2^dynamic_th
  s.buffer.lossy_alpha = 8;  // (sonic-buildimage, pg_profile_lookup.ini, buffers_defaults)
  s.buffer.reserve = 4_KiB;  // alibaba-edu/High-Precision-Congestion-Control, switch-mmu: 4 KiB of each queue
  s.buffer.resume_offset = sim::Bytes{19'456};  // xon of SN5600 at 400 Gb/s (sonic-buildimage; 38,912 at 800)
  s.marking = {true, 1_MiB, 2_MiB, 0.05};       // SONiC's AZURE_LOSSLESS, at every rate
  s.control = packet::dcqcn::Settings::mlx5();
  s.any_order = reorders(s);
  // ConnectX repeats from the gap on; where packets may overtake each other it must not (Spectrum-X: selective).
  s.recovery = s.any_order ? Recovery::selective : Recovery::go_back_n;
}

/// SRD: the sender sprays over many paths, the switches hash, the receiver takes any order (Shalev et al., A
/// Cloud-Optimized Transport Protocol for Elastic and Scalable HPC, IEEE Micro 2020: delay and loss steer it). 64
/// paths: as UET's default (uet-htsim). Its control is not public: Swift stands for it.
void srd(PacketSettings& s) {
  s.lanes = {urgent_lossy, lossy};
  s.data_lane = 1;
  s.flow_control = FlowControl::none;
  if (s.routing == Choice::spray || s.routing == Choice::adaptive) s.routing = Choice::hash, s.paths = 64;
  s.any_order = true;
  s.recovery = Recovery::selective;
  s.control = packet::swift::Settings{};
  s.retransmit_timeout = 100_us;  // csg-htsim swift.cpp
}

/// Linux TCP with SACK and DCTCP. The threshold: 30 KB for each 10 Gb/s (HPCC's ns-3, as DCTCP's paper at 10 Gb/s).
void tcp(PacketSettings& s, sim::Rate port_rate) {
  s.lanes = {urgent_lossy, lossy};
  s.data_lane = 1;
  s.flow_control = FlowControl::none;
  s.buffer.lossy_alpha = 8;
  const auto k = sim::Bytes{static_cast<std::int64_t>(30e3 * port_rate.GBps() / 1.25)};
  s.marking = {true, std::max(k, sim::Bytes{30'000}), std::max(k, sim::Bytes{30'000}), 1};
  s.recovery = Recovery::selective;
  s.any_order = reorders(s);
  s.control = packet::dctcp::Settings{};
  s.ack_every = 2;  // RFC 5681: at least every second segment
  s.retransmit_timeout =
      sim::Time::microseconds(1000);  // estimate: a tail loss probe (RFC 8985), not the 200 ms of RTO
}

}  // namespace

PacketSettings packet_settings(const NetworkModel& network, Routing routing, sim::Rate port_rate) {
  PacketSettings s;
  if (network.packet.payload.count() > 1) s.mtu = network.packet.payload;
  s.routing = choice_of(routing);
  const auto kind = network.packets.empty() ? network.name : network.packets;
  if (kind == "ib")
    infiniband(s);
  else if (kind == "slingshot")
    slingshot(s);
  else if (kind == "roce")
    roce(s);
  else if (kind == "efa")
    srd(s);
  else
    tcp(s, port_rate);
  return s;
}

packet::Transport PacketSettings::transport() const {
  packet::Transport t;
  t.name = "network";
  t.mtu = mtu;
  t.lane = data_lane;
  t.control_lane = 0;
  t.ack_every = ack_every;
  t.recovery = recovery;
  t.any_order = any_order;
  t.retransmit_timeout = retransmit_timeout;
  t.paths = paths;
  t.control = control;
  if (const auto* d = std::get_if<packet::dcqcn::Settings>(&control))
    t.min_time_between_cnps = d->min_time_between_cnps;
  return t;
}

packet::Transport PacketSettings::nvlink_transport() const {
  packet::Transport t;
  t.name = "nvlink";
  t.mtu = train;
  t.acknowledged = false;
  t.any_order = true;
  return t;
}

packet::Options PacketSettings::options() const {
  packet::Options o;
  o.seed = seed;
  o.threads = threads > 0 ? threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  o.partitions = partitions;
  o.sample_every = sample_every;
  // The budget of DESIGN: below 200 bytes for a packet under way.
  o.most_packets = static_cast<std::size_t>(memory.count() / 200);
  return o;
}

sim::Bytes credit_input(sim::Rate rate, sim::Time round_trip, sim::Bytes packet) {
  const auto on_the_way =
      rate.is_unlimited() ? 0.0 : static_cast<double>(rate.bytes_per_second()) * round_trip.seconds();
  const auto bytes = static_cast<std::int64_t>(on_the_way) + 1 + 3 * packet.count();
  constexpr std::int64_t unit = 64;  // of credits (InfiniBand specification; patent US20160021016)
  return sim::Bytes{(bytes + unit - 1) / unit * unit};
}

sim::Bytes usual_credit_input(sim::Rate rate, sim::Bytes packet) {
  // 100 m of 4.5 ns and error correction of 70 ns (catalog/parts/cables.yaml), and a switch of 150 ns at either end
  // (network_switches.yaml, qm9700): 2 x (450 + 70 + 150) = 1340 ns, 67 KB at 400 Gb/s.
  return credit_input(rate, sim::Time::nanoseconds(2 * (450 + 70 + 150)), packet);
}

sim::Bytes pause_headroom(sim::Rate rate, sim::Time round_trip, sim::Bytes packet) {
  const auto on_the_way =
      rate.is_unlimited() ? 0.0 : static_cast<double>(rate.bytes_per_second()) * round_trip.seconds();
  constexpr std::int64_t frame = 64;  // the pause itself (IEEE 802.1Qbb)
  return sim::Bytes{static_cast<std::int64_t>(on_the_way) + 1 + frame} + 3 * packet;
}

namespace {
template <typename Enum, std::size_t N>
std::string_view in(const std::array<std::string_view, N>& names, Enum e) {
  const auto i = static_cast<std::size_t>(e);
  return i < N ? names[i] : "unknown";
}
}  // namespace

std::string_view name_of(Choice c) {
  return in(std::array<std::string_view, 5>{"hash", "by_destination", "spray", "adaptive", "flowlet"}, c);
}
std::string_view name_of(FlowControl c) { return in(std::array<std::string_view, 3>{"none", "credit", "pause"}, c); }
std::string_view name_of(Recovery r) {
  return in(std::array<std::string_view, 3>{"none", "go_back_n", "selective"}, r);
}
std::string_view name_of(const packet::ControlSettings& c) {
  return in(
      std::array<std::string_view, 8>{"none", "dcqcn", "infiniband_cct", "dctcp", "timely", "swift", "hpcc", "nscc"},
      c.index());
}

}  // namespace linkcast::models
