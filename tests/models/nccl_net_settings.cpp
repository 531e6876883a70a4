// What the network layer brings along: settings with their sources, plugins by kind of network, selected and fused
// ports. Expected values are the defaults of NCCL's and the plugins' sources.
#include <algorithm>

#include "linkcast/models/nccl/network_defaults.hpp"
#include "nccl_support.hpp"

using namespace nccl_test;

namespace {
Environment env_of(std::initializer_list<std::pair<const char*, const char*>> list) {
  Environment env;
  for (const auto& [name, value] : list) env.set(name, value);
  return env;
}

std::string source_of(const NetSettings& s, const std::string& name) {
  for (const auto& [variable, source] : s.sources) {
    if (variable == name) return source;
  }
  return "none";
}

Communicator on_network(const char* machine, int nodes, const char* kind, const char* platform,
                        const char* version = "2.30.7",
                        std::initializer_list<std::pair<const char*, const char*>> env = {}) {
  Config config;
  config.version = Version::parse(version);
  config.nodes = nodes;
  config.network = kind;
  config.platform = platform;
  for (const auto& [name, value] : env) config.env.set(name, value);
  return Communicator{oracle_system(machine), std::move(config)};
}

// One H100 node's dump, with a second port on the first card and two functions on the second.
std::string dual_ports() {
  auto text = data_file("topologies/dgxh100.xml");
  const std::string first =
      "<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\" guid=\"0x100\" latency=\"0.000000\" "
      "maxconn=\"131072\" gdr=\"1\" net=\"1\"/></nic>";
  const auto at = text.find(first);
  REQUIRE(at != std::string::npos);
  std::string two = first;
  two.insert(two.size() - 6,
             "<net name=\"mlx5_8\" dev=\"8\" speed=\"200000\" port=\"2\" guid=\"0x100\" latency=\"0.000000\" "
             "maxconn=\"131072\" gdr=\"1\" net=\"1\"/>");
  return text.replace(at, first.size(), two);
}
}  // namespace

TEST_CASE("Settings of the InfiniBand layer by version, each with its source", "[nccl][net]") {
  const auto plain = net_settings(Environment{});
  CHECK(plain.qps_per_connection == 1);
  CHECK_FALSE(plain.split_data_on_qps);
  CHECK(plain.adaptive_routing);
  CHECK(plain.ar_threshold == 8192);
  CHECK(plain.two_writes(8193));
  CHECK_FALSE(plain.two_writes(8192));
  CHECK(source_of(plain, "NCCL_IB_QPS_PER_CONNECTION") == "NCCL 2.30.7 default");
  CHECK_FALSE(net_settings(Environment{}, {}, "roce").adaptive_routing);
  CHECK(net_settings(Environment{}, Version::parse("2.19")).split_data_on_qps);

  const auto four = net_settings(env_of({{"NCCL_IB_QPS_PER_CONNECTION", "4"}, {"NCCL_IB_OOO_RQ", "1"}}));
  CHECK(source_of(four, "NCCL_IB_QPS_PER_CONNECTION") == "NCCL_IB_QPS_PER_CONNECTION=4");
  CHECK(four.qps_of_connection() == 4);
  CHECK(four.qps_of_message() == 1);  // messages take turns on the QPs
  CHECK(four.qps_of_message(2) == 2);
  CHECK_FALSE(four.two_writes(1 << 20));
  const auto split = net_settings(env_of({{"NCCL_IB_QPS_PER_CONNECTION", "4"}, {"NCCL_IB_SPLIT_DATA_ON_QPS", "1"}}));
  CHECK(split.qps_of_message() == 4);
}

TEST_CASE("Sockets: threads by the maker of the card, at most 64 sockets", "[nccl][net]") {
  CHECK(net_settings(Environment{}, {}, "tcp").sockets_per_connection() == 1);
  CHECK(net_settings(Environment{}, {}, "tcp", "aws-p4d").sockets_per_connection() == 16);
  CHECK(net_settings(Environment{}, {}, "tcp", "gcp-a3-high").sockets_per_connection() == 4);
  const auto many = net_settings(env_of({{"NCCL_SOCKET_NTHREADS", "16"}, {"NCCL_NSOCKS_PERTHREAD", "16"}}), {}, "tcp");
  CHECK(many.sockets_per_connection() == 64);
  CHECK(net_settings(env_of({{"NCCL_IB_DISABLE", "1"}})).sockets);
  CHECK(net_settings(env_of({{"NCCL_NET", "Socket"}})).sockets);
  CHECK_FALSE(net_settings(env_of({{"NCCL_NET", "IB"}})).sockets);
}

TEST_CASE("Plugins set variables by platform, never over the user's", "[nccl][net]") {
  auto env = env_of({{"NCCL_BUFFSIZE", "1048576"}});
  apply_network_defaults(env, "efa", "p5.48xlarge");
  CHECK(env.get("NCCL_BUFFSIZE") == "1048576");
  CHECK(env.get("NCCL_P2P_NET_CHUNKSIZE") == "524288");
  CHECK(env.get("NCCL_NVLS_CHUNKSIZE") == "524288");
  CHECK_FALSE(env.get("NCCL_PROTO"));
  CHECK(network_defaults("efa", "aws-p5").latency_us == 75);
  CHECK(network_defaults("efa", "aws-p5en").latency_us == 35);
  CHECK(network_defaults("efa", "aws-p5e").latency_us == 75);
  CHECK_FALSE(network_defaults("efa", "aws-g5").gpudirect);

  Environment p4d;
  apply_network_defaults(p4d, "efa", "p4d.24xlarge");
  CHECK(p4d.get("NCCL_PROTO") == "Simple");  // bytes may arrive out of order
  CHECK_FALSE(p4d.get("NCCL_NVLS_CHUNKSIZE"));

  Environment slingshot;
  apply_network_defaults(slingshot, "slingshot", "gh200-x4");
  CHECK(slingshot.get("NCCL_NET_GDR_LEVEL") == "PHB");
  CHECK(slingshot.get("NCCL_CROSS_NIC") == "1");
  CHECK_THROWS_WITH(network_defaults("slingshoot", ""), holds("did you mean 'slingshot'?"));
}

TEST_CASE("What a plugin brings along reaches choices", "[nccl][net]") {
  // p4d: only the simple protocol; 4 MiB would otherwise take LL128.
  const auto p4d = on_network("dgxa100", 4, "efa", "aws-p4d");
  for (const auto bytes : {1 << 10, 4 << 20, 256 << 20}) {
    CHECK(p4d.choose(call(Op::all_reduce, bytes)).protocol == Protocol::simple);
  }
  // 75 us of latency a message: 3 network crossings of 14 + 2 x 75 us each way, 28 hops of 4 us inside, 8.4 us base:
  // 4 nodes are two levels: 8.4 + 2 (7 x 4 + 2 x 164).
  CHECK(p4d.tune(Op::all_reduce).at("Tree/Simple").latency_us == Approx(8.4 + 2 * (7 * 4 + 2 * 164)));
  const auto tree = on_network("dgxa100", 4, "efa", "aws-p4d", "2.30.7", {{"NCCL_ALGO", "Tree"}});
  CHECK(tree.plan(call(Op::all_reduce, 1 << 30)).chunk == sim::mib(1));  // an eighth of 8 MiB
  const auto bare = communicator(oracle_system("dgxa100"), "2.30.7", 4);
  CHECK(bare.choose(call(Op::all_reduce, 4 << 20)).protocol == Protocol::ll128);

  const auto tcp = on_network("dgxh100", 2, "tcp", "");
  CHECK_FALSE(tcp.ring_net(0, 0).send_gdr);
  CHECK_FALSE(tcp.ring_net(0, 0).recv_gdr);
  const auto tcpx = on_network("dgxh100", 2, "tcpx", "gcp-a3-high");
  CHECK(tcpx.channels().comm == 12);
  CHECK(spelled(tcpx.choose(call(Op::all_reduce, 1 << 20))) == "Ring/Simple");
  CHECK(tcpx.p2p_net(0, 11, 0).send_proxy == -1);  // no PXN
}

TEST_CASE("Amazon's tuner on p5: by size and ranks, beyond two nodes", "[nccl][net]") {
  const auto pick = [](int nodes, std::int64_t bytes, const char* version = "2.30.7") {
    const auto c = on_network("dgxh100", nodes, "efa", "aws-p5", version);
    return spelled(c.choose(call(Op::all_reduce, bytes)));
  };
  // Its corners at 32 ranks: Tree/LL128 up to 36 MiB, at 64 up to 112 MiB, at 128 up to 288 MiB.
  CHECK(pick(4, 1024) == "Tree/LL128");
  CHECK(pick(4, 36 << 20) == "Tree/LL128");
  CHECK(pick(4, 48 << 20) == "Ring/LL128");
  CHECK(pick(8, 112 << 20) == "Tree/LL128");
  CHECK(pick(16, 288 << 20) == "Tree/LL128");
  CHECK(pick(16, 320 << 20) == "Ring/LL128");
  CHECK(pick(32, std::int64_t{4} << 30) == "NVLSTree/Simple");
  CHECK(pick(4, std::int64_t{8} << 30) == "Ring/Simple");
  // NCCL chooses by itself on two nodes, and before it had tuners.
  CHECK(pick(2, 1024) == "Tree/LL");
  CHECK(pick(4, 1024, "2.18.5") != "Tree/LL128");
  const auto c = on_network("dgxh100", 4, "efa", "aws-p5", "2.30.7", {{"NCCL_PROTO", "Simple"}});
  CHECK(c.choose(call(Op::all_reduce, 1024)).protocol == Protocol::simple);
}

TEST_CASE("A network that leaves unpacking to the GPU doubles few channels, and has no PAT", "[nccl][net]") {
  const auto tcpx = [](std::initializer_list<std::pair<const char*, const char*>> env) {
    return on_network("h100_1gpu", 4, "tcpx", "", "2.30.7", env);
  };
  const auto c = tcpx({{"NCCL_MIN_NCHANNELS", "1"}, {"NCCL_MAX_NCHANNELS", "64"}, {"NCCL_ALGO", "Ring,PAT"}});
  const auto ib = communicator(oracle_system("h100_1gpu"), "2.30.7", 4, {{"NCCL_CROSS_NIC", "0"}});
  CHECK(c.channels().comm == 2 * ib.channels().comm);
  CHECK(c.tune(Op::all_gather).count("PAT/Simple") == 0);
  CHECK(ib.tune(Op::all_gather).count("PAT/Simple") == 1);
}

TEST_CASE("NCCL_IB_HCA selects ports by prefix, exactly, or by exception", "[nccl][net]") {
  const auto nets = [](const char* list) {
    const auto c = communicator(oracle_system("dgxh100"), "2.30.7", 2, {{"NCCL_IB_HCA", list}});
    std::vector<int> used;
    for (int channel = 0; channel < c.channels().search; ++channel) {
      for (int node = 0; node < 2; ++node) used.push_back(c.ring_net(channel, node).send_net);
    }
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    return used;
  };
  CHECK(nets("mlx5_0,mlx5_5:1") == std::vector<int>{0, 5});
  CHECK(nets("=mlx5_2,mlx5_3") == std::vector<int>{2, 3});
  CHECK(nets("^mlx5_0,mlx5_1,mlx5_2,mlx5_3") == std::vector<int>{4, 5, 6, 7});
  CHECK(nets("^=mlx5_7") == std::vector<int>{0, 1, 2, 3, 4, 5, 6});
  CHECK_THROWS_WITH(nets("mthca0"), holds("NCCL_IB_HCA=mthca0 leaves no port") && holds("mlx5_7"));
}

TEST_CASE("Ports of one card are fused, ports at a distance when the user says so", "[nccl][net]") {
  const auto with = [](const std::string& text, const char* version,
                       std::initializer_list<std::pair<const char*, const char*>> env) {
    return communicator(read_topology_xml(text, "topo.xml"), version, 2, env);
  };
  const auto fused = with(dual_ports(), "2.30.7", {});
  REQUIRE(fused.fused_nets(0, 0).size() == 2);
  CHECK(fused.fused_nets(0, 0)[1] == 1);  // the second port stands after the first in the file
  CHECK(fused.fused_nets(0, 2).size() == 1);
  CHECK(with(dual_ports(), "2.30.7", {{"NCCL_NET_MERGE_LEVEL", "LOC"}}).fused_nets(0, 0).size() == 1);
  CHECK(with(dual_ports(), "2.30.7", {{"NCCL_IB_MERGE_NICS", "0"}}).fused_nets(0, 0).size() == 1);
  CHECK(with(dual_ports(), "2.22", {}).fused_nets(0, 0).size() == 1);  // cards with one and with two ports: none

  // All eight behind one socket: four a device, which is the most.
  const auto h100 = data_file("topologies/dgxh100.xml");
  const auto by_socket = with(h100, "2.30.7", {{"NCCL_NET_MERGE_LEVEL", "PHB"}});
  CHECK(by_socket.fused_nets(0, 0).size() == 4);
  CHECK(by_socket.fused_nets(1, 4).size() == 4);
  const auto pair = with(h100, "2.30.7", {{"NCCL_NET_FORCE_MERGE", "mlx5_0,mlx5_1;mlx5_4,mlx5_6"}});
  CHECK(std::vector<int>(pair.fused_nets(0, 4).begin(), pair.fused_nets(0, 4).end()) == std::vector<int>{4, 6});
  CHECK(pair.fused_nets(0, 2).size() == 1);
  CHECK_THROWS_WITH(with(h100, "2.30.7", {{"NCCL_NET_FORCE_MERGE", "mlx5_0,mlx5_9"}}),
                    holds("'mlx5_0,mlx5_9' is 1 ports of this machine"));
}

TEST_CASE("Sockets cannot reach GPU memory: everything is staged", "[nccl][net]") {
  const auto c = communicator(oracle_system("dgxh100"), "2.30.7", 2, {{"NCCL_IB_DISABLE", "1"}});
  const auto e = c.ring_net(0, 0);
  CHECK_FALSE((e.send_gdr || e.recv_gdr));
  CHECK(c.graphs().at("RING").type_inter >= PathType::phb);
  CHECK(c.tune(Op::all_reduce).count("Ring/LL128") == 0);
}

TEST_CASE("Variables of the network are known, with effect where they have one", "[nccl][net]") {
  Environment env;
  for (const char* name : {"NCCL_FASTRAK_NUM_FLOWS", "NCCL_GPUDIRECTTCPX_CTRL_DEV", "NCCL_DYNAMIC_CHUNK_SIZE",
                           "NCCL_IB_GID_INDEX", "NCCL_SOCKET_IFNAME", "NCCL_IB_TC"}) {
    env.set(name, "1");
  }
  env.set("NCCL_IB_QPS_PER_CONNECTION", "2");
  env.set("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1");
  env.set("NCCL_NET_MERGE_LEVEL", "PORT");
  const auto idle = env.without_effect();
  CHECK(idle.size() == 6);
  CHECK(std::find(idle.begin(), idle.end(), "NCCL_IB_QPS_PER_CONNECTION") == idle.end());
  CHECK_THROWS_WITH(env.set("NCCL_IB_QPS_PER_CONECTION", "2"), holds("did you mean 'NCCL_IB_QPS_PER_CONNECTION'?"));
  CHECK_THROWS_WITH(env.set("NCCL_IB_QPS_PER_CONNECTION", "two"), holds("not a whole number"));
  CHECK_THROWS_WITH(env.set("NCCL_NET_MERGE_LEVEL", "PRT"), holds("not a path level"));
}

TEST_CASE("Every kind of network on every platform sets variables that NCCL has", "[nccl][net]") {
  for (const auto& kind : network_kinds()) {
    for (const char* platform :
         {"", "aws-p4d", "p3dn.24xlarge", "aws-p5", "aws-p5en", "aws-p6-b200", "p6e-gb200.36xlarge", "aws-g5",
          "gcp-a3-high", "gcp-a3-mega", "gcp-a3-ultra", "gcp-a4", "gh200-x4"}) {
      for (const char* version : {"2.18", "2.30.7"}) {
        Environment env;
        INFO(kind << " on " << platform);
        CHECK_NOTHROW(apply_network_defaults(env, kind, platform, Version::parse(version)));
        CHECK_FALSE(network_defaults(kind, platform).source.empty());
      }
    }
  }
  Environment ultra;
  apply_network_defaults(ultra, "roce", "gcp-a3-ultra");
  CHECK(net_settings(ultra, {}, "roce").qps_per_connection == 4);
  CHECK(net_settings(ultra, {}, "roce").adaptive_routing);
  CHECK(on_network("dgxh100", 2, "tcpxo", "gcp-a3-mega").channels().nvls == 0);
}
