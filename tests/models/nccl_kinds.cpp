// Unlike machines in one communicator: the slowest node sets what all agree on, and each keeps its own lines.
#include <regex>

#include "nccl_support.hpp"

using namespace nccl_test;

namespace {
std::string h100() { return data_file("topologies/dgxh100.xml"); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string without_nic(const std::string& name) {
  return std::regex_replace(h100(), std::regex("<nic><net name=\"" + name + "\"[^>]*/></nic>"), "");
}

/// Four nodes of H100, the second of them another machine.
Communicator mixed(const std::string& odd_one, const char* version = "2.30.7",
                   std::initializer_list<std::pair<const char*, const char*>> env = {}) {
  std::vector<System> kinds;
  kinds.push_back(read_topology_xml(h100(), "good.xml"));
  kinds.push_back(read_topology_xml(odd_one, "odd.xml"));
  Config config;
  config.version = Version::parse(version);
  for (const auto& [name, value] : env) config.env.set(name, value);
  return Communicator{std::move(kinds), {0, 1, 0, 0}, std::move(config)};
}

Communicator alone(const std::string& machine) {
  return communicator(read_topology_xml(machine, "odd.xml"), "2.30.7", 4);
}
}  // namespace

TEST_CASE("Two kinds that are alike are one", "[nccl][kinds]") {
  const auto both = mixed(h100());
  const auto one = communicator(oracle_system("dgxh100"), "2.30.7", 4);
  CHECK(both.nodes() == 4);
  CHECK(both.notes().empty());
  CHECK(both.channels().comm == one.channels().comm);
  for (int c = 0; c < one.channels().comm; ++c) CHECK(both.ring(c) == one.ring(c));
  for (const auto op : {Op::all_reduce, Op::all_gather}) {
    for (const auto& [name, tune] : one.tune(op)) {
      CHECK(both.tune(op).at(name).bandwidth_GBps == tune.bandwidth_GBps);
      CHECK(both.tune(op).at(name).latency_us == tune.latency_us);
    }
  }
}

TEST_CASE("A missing NIC takes a channel from all nodes, and its GPU's data goes through a neighbour",
          "[nccl][kinds]") {
  const auto c = mixed(without_nic("mlx5_3"));
  // Seven ports of 48 GB/s carry seven channels; on the healthy nodes the eighth is dropped.
  CHECK(c.graphs().at("RING").channels == 7);
  CHECK(c.graphs().at("RING").bw_inter == 48);
  CHECK(c.graphs().at("NVLS").channels == 7);
  CHECK(c.nvls_heads_in_node(0).size() == 7);
  // 7 search channels x 2 are fewer than 16: doubled once more.
  CHECK(c.channels().comm == 28);
  // The odd node has NETs 0..6, of which 3 is mlx5_4, next to GPU 4.
  bool relayed = false;
  for (int channel = 0; channel < 7; ++channel) {
    const auto out = c.ring_net(channel, 1);
    CHECK(out.send_net < 7);
    CHECK(c.ring_net(channel, 0).recv_net < 7);
    relayed = relayed || out.send_path == PathType::pxn;
    if (out.send_path == PathType::pxn) CHECK(out.send_proxy >= 0);
  }
  CHECK(relayed);
  CHECK(c.graphs().at("RING").type_inter == PathType::pxn);
  // An odd number of channels cannot alternate in pairs: healthy nodes keep every channel's own line.
  CHECK(std::vector<int>(c.ring_in_node(0, 0).begin(), c.ring_in_node(0, 0).end()) ==
        std::vector<int>(c.ring_in_node(0, 3).begin(), c.ring_in_node(0, 3).end()));
  REQUIRE(c.notes().size() == 1);
  CHECK(c.notes()[0] ==
        "nodes with 7 and with 8 network ports: NCCL 2.30.7 refuses to start unless NCCL_IGNORE_NET_MISMATCH=1 is set");
  CHECK(mixed(without_nic("mlx5_3"), "2.29").notes().empty());
  CHECK(mixed(without_nic("mlx5_3"), "2.30.7", {{"NCCL_IGNORE_NET_MISMATCH", "1"}}).notes().empty());
}

TEST_CASE("A NIC at half its rate or width, fewer NVLinks: what one node cannot, nobody does", "[nccl][kinds]") {
  const auto slow_port = replaced(h100(), "dev=\"3\" speed=\"400000\"", "dev=\"3\" speed=\"200000\"");
  const auto narrow_slot =
      replaced(h100(), "<pci busid=\"0043:a3:00.0\" class=\"0x020700\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"",
               "<pci busid=\"0043:a3:00.0\" class=\"0x020700\" link_speed=\"32.0 GT/s PCIe\" link_width=\"8\"");
  const auto half_nvlink = replaced(
      h100(),
      "<gpu dev=\"3\" sm=\"90\" rank=\"3\" gdr=\"1\">\n          <nvlink target=\"fffffff:ffff:ff\" count=\"18\"",
      "<gpu dev=\"3\" sm=\"90\" rank=\"3\" gdr=\"1\">\n          <nvlink target=\"fffffff:ffff:ff\" count=\"9\"");
  const auto healthy = communicator(oracle_system("dgxh100"), "2.30.7", 4);
  const auto rate = [](const Communicator& c) {
    const auto& g = c.graphs().at("RING");
    return g.channels * std::min(g.bw_intra, g.bw_inter);
  };
  for (const auto& text : {slow_port, narrow_slot, half_nvlink}) {
    const auto c = mixed(text);
    const auto worst = alone(text);
    CHECK(rate(c) < rate(healthy));
    CHECK(rate(c) <= rate(worst) + 1e-6);
    for (const auto& [name, g] : c.graphs()) {
      CHECK(g.channels <= worst.graphs().at(name).channels);
      CHECK(g.bw_intra <= worst.graphs().at(name).bw_intra);
      CHECK(g.bw_inter <= worst.graphs().at(name).bw_inter);
      CHECK(g.type_inter >= worst.graphs().at(name).type_inter);
    }
    CHECK(c.tune(Op::all_reduce).at("Ring/Simple").bandwidth_GBps <
          healthy.tune(Op::all_reduce).at("Ring/Simple").bandwidth_GBps);
  }
  // 25 or 24 GB/s are no 48: seven ports are left at that speed.
  CHECK(mixed(slow_port).graphs().at("RING").channels == 7);
  CHECK(mixed(narrow_slot).graphs().at("RING").channels == 7);
  // Nine NVLinks are 185.4 GB/s in each direction. All rings go in and out there, but the one that begins at this GPU
  // does not come in, and the one that ends there does not go out: four of 45 GB/s, and one more.
  const auto five = mixed(half_nvlink);
  CHECK(five.graphs().at("RING").channels == 5);
  CHECK(five.graphs().at("RING").bw_intra == 45);
}

TEST_CASE("CPUs of two makers limit LL as AMD does and post like neither", "[nccl][kinds]") {
  const auto amd = std::regex_replace(h100(), std::regex("GenuineIntel"), "AuthenticAMD");
  const auto c = mixed(amd);
  const auto one = communicator(oracle_system("dgxh100"), "2.30.7", 4);
  // Ring/LL: 19 GB/s (AMD, more than two nodes) instead of 20.4, x 32/62.
  CHECK(c.tune(Op::all_reduce).at("Ring/LL").bandwidth_GBps == Approx(19.0 * 32 / 62));
  CHECK(one.tune(Op::all_reduce).at("Ring/LL").bandwidth_GBps == Approx(20.4 * 32 / 62));
  CHECK(c.tune(Op::all_reduce).at("Ring/LL").latency_us == one.tune(Op::all_reduce).at("Ring/LL").latency_us);
}

TEST_CASE("Kinds: contradictions are told", "[nccl][kinds][errors]") {
  const auto make = [](std::vector<std::uint16_t> nodes, const std::string& second) {
    std::vector<System> kinds;
    kinds.push_back(oracle_system("dgxh100"));
    kinds.push_back(oracle_system(second));
    return Communicator{std::move(kinds), std::move(nodes), Config{}};
  };
  CHECK_THROWS_WITH(make({0, 2}, "dgxh100"), holds("there are 2 kinds, counted from 0"));
  CHECK_THROWS_WITH(make({0, 1}, "h100_4gpu"), holds("machines of 8 and of 4 GPUs"));
  CHECK_NOTHROW(make({0, 0}, "h100_4gpu"));  // a kind that no node has
}
