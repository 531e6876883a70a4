// Reduction in the network: CollNet's graphs, channels, costs and cuts by version, on an H100 node whose eight ports
// reach SHARP switches. Numbers by hand from NCCL's formulas; the all-reduce row also stands in NCCL's own output.
#include "nccl_support.hpp"

using namespace nccl_test;

namespace {
constexpr std::int64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

System with_sharp(const std::string& topology) {
  auto text = data_file("topologies/" + topology + ".xml");
  for (std::size_t at = 0; (at = text.find("<net ", at)) != std::string::npos; at += 15) {
    text.replace(at, 5, "<net coll=\"1\" ");
  }
  return read_topology_xml(text, topology + ".xml");
}

Communicator sharp(const char* version = "2.30.7", int nodes = 16,
                   std::initializer_list<std::pair<const char*, const char*>> more = {}) {
  Config config;
  config.version = Version::parse(version);
  config.nodes = nodes;
  config.env.set("NCCL_COLLNET_ENABLE", "1");
  for (const auto& [name, value] : more) config.env.set(name, value);
  return Communicator{with_sharp("dgxh100"), std::move(config)};
}
}  // namespace

TEST_CASE("CollNet needs ports that reduce, the variable and enough nodes", "[nccl][collnet]") {
  CHECK(sharp().graphs().count("COLLNET_CHAIN") == 1);
  CHECK(sharp().graphs().count("COLLNET_DIRECT") == 1);
  CHECK(communicator(with_sharp("dgxh100"), "2.30.7", 16).graphs().count("COLLNET_CHAIN") == 0);
  CHECK(communicator(oracle_system("dgxh100"), "2.30.7", 16, {{"NCCL_COLLNET_ENABLE", "1"}})
            .graphs()
            .count("COLLNET_CHAIN") == 0);
  CHECK(sharp("2.30.7", 3, {{"NCCL_COLLNET_NODE_THRESHOLD", "4"}}).graphs().count("COLLNET_CHAIN") == 0);
}

TEST_CASE("All-reduce on 16 x 8 H100 with SHARP", "[nccl][collnet]") {
  const auto tune = sharp().tune(Op::all_reduce);
  // NVLS: 25 us inside and 18 us of network; 40 GB/s x 0.85 x 7/8 x 2 = 59.5 inside, 48 outside: 8 x 48 x 128/254.
  CHECK(tune.at("NVLS/Simple").latency_us == Approx(43.0));
  CHECK(tune.at("NVLS/Simple").bandwidth_GBps == Approx(8 * 48 * 128.0 / 254));
  // CollNetDirect: 2 (3.7 + 7 x 0.4) + 31; one head per GPU, 0.85 on Hopper, half of it is algorithm bandwidth.
  CHECK(tune.at("CollNetDirect/Simple").latency_us == Approx(44.0));
  CHECK(tune.at("CollNetDirect/Simple").bandwidth_GBps == Approx(8 * 48 * 0.85 / 2));
  // CollNetChain: 14 hops of 2.8 and 30.
  CHECK(tune.at("CollNetChain/Simple").latency_us == Approx(69.2));
  for (const auto bytes : {kib, mib, gib, 8 * gib}) {
    CHECK(spelled(sharp().choose(call(Op::all_reduce, bytes))) == "NVLS/Simple");
  }
}

TEST_CASE("All-gather in the network: from 2.27 by NVLS too, before only by CollNetDirect", "[nccl][collnet]") {
  const auto now = sharp().tune(Op::all_gather);
  // 40 x 0.85 x 7/8 x 7/8 = 26.03 inside, below the 48 outside.
  CHECK(now.at("NVLS/Simple").bandwidth_GBps == Approx(8 * 40 * 0.85 * 49 / 64));
  CHECK(now.at("CollNetDirect/Simple").bandwidth_GBps == Approx(8 * 48 * 0.9));
  const auto before = sharp("2.26").tune(Op::all_gather);
  CHECK(before.count("NVLS/Simple") == 0);
  CHECK(before.at("CollNetDirect/Simple").bandwidth_GBps == Approx(8 * 48 * 0.85));  // measured at 8 GPUs a node
  CHECK(sharp("2.19").tune(Op::all_gather).count("CollNetDirect/Simple") == 0);
  // Without switches that reduce there is neither across nodes.
  const auto without = communicator(oracle_system("dgxh100"), "2.30.7", 16).tune(Op::all_gather);
  CHECK(without.count("NVLS/Simple") == 0);
  CHECK(without.count("CollNetDirect/Simple") == 0);
}

TEST_CASE("Half as many channels again where the chain is faster inside the node than outside", "[nccl][collnet]") {
  const auto channels = [](const char* version) {
    Config config;
    config.version = Version::parse(version);
    config.nodes = 4;
    config.env.set("NCCL_COLLNET_ENABLE", "1");
    return Communicator{with_sharp("h100_4nic"), std::move(config)};
  };
  // Eight GPUs and four ports: the chain runs at 45 inside and 24 GB/s outside, CollNetDirect at 24 and 24.
  const auto now = channels("2.30.7");
  CHECK(now.graphs().at("COLLNET_CHAIN").bw_intra == 45);
  CHECK(now.graphs().at("COLLNET_CHAIN").bw_inter == 24);
  CHECK(now.channels().comm == 8 * 2 * 3 / 2);
  CHECK(channels("2.20").channels().comm == 8 * 2);  // until 2.21 the graph of CollNetDirect decided
  CHECK(now.collnet_heads_in_node(0).size() == 4);
  // Four heads for eight GPUs: no all-gather in the network.
  CHECK(now.tune(Op::all_gather).count("CollNetDirect/Simple") == 0);
}

TEST_CASE("CollNet channels walk the buffer together", "[nccl][collnet][plan]") {
  const auto c = sharp("2.30.7", 16, {{"NCCL_ALGO", "CollNetDirect"}});
  // 16 channels x 8 heads: 64 MiB are one loop of chunks of 512 KiB, fewer than 2 x 64: 128 KiB; those are 4 loops,
  // fewer than 2 x 8: 64 KiB, then 32 KiB.
  const auto plan = c.plan(call(Op::all_reduce, 64 * mib));
  CHECK(plan.channels == 16);
  CHECK(plan.looped_interleaved);
  CHECK(plan.chunk == sim::kib(32));
  CHECK(plan.threads == 640);
  // A gibibyte is 1 GiB / (128 x 128 KiB) = 64 loops: fewer than 2 x 64, so 128 KiB is where it stops.
  CHECK(c.plan(call(Op::all_reduce, gib)).chunk == sim::kib(128));
  // Full parts of 8 x 32 KiB in the order of the channels: 64 MiB + 1 MiB leave 1 MiB, four parts of 256 KiB.
  const auto odd = c.plan(call(Op::all_reduce, 65 * mib));
  REQUIRE(odd.channels == 16);
  CHECK(odd.channel_bytes[3] - odd.channel_bytes[4] == sim::kib(256));
  CHECK(odd.channel_bytes[4] == odd.channel_bytes[15]);
  // 16 x 640 x 8 x 512 bytes = 40 MiB fill the blocks; 256 KiB at the end of the ladder are one channel.
  CHECK(c.plan(call(Op::all_reduce, 40 * mib)).channels == 16);
  CHECK(c.plan(call(Op::all_reduce, 256 * kib)).channels == 1);
  const auto nvls = sharp().plan(call(Op::all_reduce, gib));
  CHECK(nvls.channels == 16);
  CHECK(nvls.looped_interleaved);
}

TEST_CASE("Heads reach the switches through their own ports", "[nccl][collnet][network]") {
  for (const char* version : {"2.30.7", "2.24"}) {  // by the NVLS graph and by that of CollNetDirect
    const auto c = sharp(version, 4);
    const auto heads = c.collnet_heads_in_node(2);
    REQUIRE(heads.size() == 8);
    for (int h = 0; h < 8; ++h) {
      const auto e = c.collnet_net(h, 2);
      CHECK(e.from == 16 + heads[static_cast<std::size_t>(h)]);
      CHECK(e.to == -1);
      CHECK(e.send_net == heads[static_cast<std::size_t>(h)]);
      CHECK(e.recv_net == e.send_net);
      CHECK((e.send_gdr && e.recv_gdr));
    }
    for (int channel = 0; channel < c.channels().comm; ++channel) {
      CHECK(c.collnet_chain_in_node(channel, 0).front() == channel % 8);
    }
  }
  CHECK(communicator(oracle_system("dgxh100"), "2.30.7", 4).collnet_heads_in_node(0).empty());
}

TEST_CASE("Shares of CollNet add up", "[nccl][collnet][property]") {
  for (const char* version : {"2.18", "2.20", "2.24", "2.30.7"}) {
    for (const char* algo : {"NVLS", "CollNetDirect", "CollNetChain"}) {
      const auto c = sharp(version, 4, {{"NCCL_ALGO", algo}});
      for (const std::int64_t bytes : {std::int64_t{4}, 1000 * kib + 12, 37 * mib + 4, gib}) {
        std::int64_t sum = 0;
        for (const auto b : c.plan(call(Op::all_reduce, bytes)).channel_bytes) {
          CHECK(b.count() >= 0);
          sum += b.count();
        }
        CHECK(sum == bytes);
      }
    }
  }
}

TEST_CASE("NVLSTree: four nodes and more cut smaller, on Blackwell by NIC", "[nccl][collnet][plan]") {
  const auto chunk = [](const char* topology, const char* version, int nodes) {
    return communicator(oracle_system(topology), version, nodes, {{"NCCL_ALGO", "NVLSTree"}})
        .plan(call(Op::all_reduce, 16 * gib))
        .chunk;
  };
  CHECK(chunk("dgxh100", "2.30.7", 2) == sim::kib(128));
  CHECK(chunk("dgxh100", "2.30.7", 4) == sim::kib(64));
  CHECK(chunk("dgxh100", "2.20", 4) == sim::kib(64));
  CHECK(chunk("dgxh100", "2.20", 2) == sim::kib(512));  // before 2.21 a whole step
  CHECK(chunk("dgxh100", "2.18", 4) == sim::kib(512));
  CHECK(chunk("b200_8x400", "2.29", 4) == sim::kib(64));
  // 2.30: 400G ports near the GPU take 64 KiB, 800G ports on nodes of eight 256 KiB.
  CHECK(chunk("b200_8x400", "2.30.7", 4) == sim::kib(64));
  CHECK(chunk("b300_8x800", "2.30.7", 4) == sim::kib(256));
}

TEST_CASE("Tree/LL128 chunks by depth and GPUs per node", "[nccl][plan]") {
  const auto chunk = [](int nodes, std::int64_t bytes) {
    return communicator(oracle_system("dgxh100"), "2.30.7", nodes, {{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "LL128"}})
        .plan(call(Op::all_reduce, bytes))
        .chunk.count();
  };
  // 16 nodes: 1 + 4 + 0.8 steps, x 64 / 8 = 46.4 chunks a channel for the whole 576000 bytes, x 16 / 8 = 11.6 for more
  // than 32768. A channel has 1/16: 256 MiB are 16 MiB, 29 chunks of 576000, 58 of 288000, which is enough.
  CHECK(chunk(16, 256 * mib) == 288000);
  CHECK(chunk(16, gib) == 576000);  // 116 chunks
  // 16 MiB: 1 MiB a channel, 7 chunks of 144000 are too few, 14 of 72000 suffice; in grains of 1920: 71040.
  CHECK(chunk(16, 16 * mib) == 72000 / 1920 * 1920);
}
