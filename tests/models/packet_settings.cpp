// The usual settings of each kind of network: what they must be for the network to be that kind.
#include "linkcast/models/packet.hpp"

#include "catch.hpp"

using namespace linkcast;
using namespace linkcast::sim::literals;
namespace packet = sim::packet;

namespace {

models::PacketSettings of(const std::string& kind, models::Routing routing, double gbps = 400) {
  models::NetworkModel network;
  network.packets = kind;
  network.packet = {4096_B, 82_B, 0_B};
  return models::packet_settings(network, routing, sim::Rate::from_GBps(gbps / 8));
}

}  // namespace

TEST_CASE("InfiniBand never loses and lets packets overtake where routing adapts", "[models][packet]") {
  const auto s = of("ib", models::Routing::adaptive);
  CHECK(s.flow_control == packet::FlowControl::credit);
  CHECK(s.lanes[s.data_lane].lossless);
  CHECK(s.recovery == packet::Recovery::none);
  CHECK(s.any_order);
  CHECK(s.routing == packet::Choice::adaptive);
  CHECK(models::name_of(s.control) == "none");
  CHECK_FALSE(of("ib", models::Routing::by_destination).any_order);
}

TEST_CASE("RoCE pauses, marks and repairs by go-back-N", "[models][packet]") {
  const auto s = of("roce", models::Routing::ecmp);
  CHECK(s.flow_control == packet::FlowControl::pause);
  CHECK(s.routing == packet::Choice::hash);
  CHECK(s.lanes[0].strict);  // notifications
  CHECK(s.lanes[s.data_lane].lossless);
  CHECK(s.marking.on);
  CHECK(s.recovery == packet::Recovery::go_back_n);
  CHECK(s.transport().min_time_between_cnps == packet::dcqcn::Settings::mlx5().min_time_between_cnps);
  const auto spectrum_x = of("roce", models::Routing::adaptive);
  CHECK(spectrum_x.any_order);
  CHECK(spectrum_x.recovery == packet::Recovery::selective);
}

TEST_CASE("SRD sprays from the sender, TCP marks at a step", "[models][packet]") {
  const auto efa = of("efa", models::Routing::spray);
  CHECK(efa.flow_control == packet::FlowControl::none);
  CHECK(efa.paths == 64);
  CHECK(efa.routing == packet::Choice::hash);  // by the packet's entropy
  CHECK(efa.any_order);
  CHECK(efa.recovery == packet::Recovery::selective);
  const auto tcp = of("tcp", models::Routing::ecmp, 100);
  // 30 KB for each 10 Gb/s
  CHECK(tcp.marking.kmin == 300'000_B);
  CHECK(tcp.marking.kmax == tcp.marking.kmin);
  CHECK(tcp.recovery == packet::Recovery::selective);
  CHECK(models::name_of(tcp.control) == "dctcp");
  CHECK(models::name_of(of("somebody's", models::Routing::ecmp).control) == "dctcp");
}

TEST_CASE("the arithmetic of buffers", "[models][packet]") {
  // 50 GB/s x 1 us = 50,000 B on the way; three packets of 4124 B and a pause frame of 64 B: 62,436 B;
  // and one byte for the rounding.
  CHECK(models::pause_headroom(50_GBps, 1_us, 4124_B) == 62'437_B);
  // In credits of 64 B: 975 of them.
  CHECK(models::credit_input(50_GBps, 1_us, 4124_B) == sim::Bytes{975 * 64});
  CHECK(models::credit_input(sim::Rate::unlimited(), 1_us, 64_B) == sim::Bytes{4 * 64});
}

TEST_CASE("NVLink's transport has neither acknowledgements nor order to keep", "[models][packet]") {
  models::PacketSettings s;
  s.train = 8_KiB;
  CHECK(s.nvlink_transport().mtu == 8_KiB);
  CHECK_FALSE(s.nvlink_transport().acknowledged);
  // 8 GiB by 200 bytes
  CHECK(s.options().most_packets == (std::size_t{8} << 30) / 200);
}
