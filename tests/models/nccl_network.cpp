// Where edges between nodes leave and enter: ports, proxies, GPUDirect; the double binary tree; the rounds of
// send/recv. What NCCL's rules say by hand on machines whose wiring is known, and properties at a large scale.
#include <algorithm>
#include <set>

#include "nccl_support.hpp"

using namespace nccl_test;

namespace {
Communicator on(const std::string& machine, int nodes,
                std::initializer_list<std::pair<const char*, const char*>> env = {},
                const std::string& version = "2.30.7") {
  return communicator(oracle_system(machine), version, nodes, env);
}

// A100s and NICs behind switches: `gpus` and `nics` behind each.
System behind_switches(int switches, int gpus, int nics, double port = 25) {
  System s;
  Node cpu;
  cpu.type = NodeType::cpu;
  cpu.arch = "x86_64";
  cpu.vendor = "GenuineIntel";
  cpu.family = 6;
  cpu.model = 106;
  const int root = s.add(cpu);
  Node nvs;
  nvs.type = NodeType::nvs;
  const int fabric = s.add(nvs);
  for (int i = 0; i < switches; ++i) {
    Node pci;
    pci.type = NodeType::pci;
    pci.id = 100 + i;
    const int at = s.add(pci);
    s.connect(at, root, EdgeType::pci, 24);
    for (int k = 0; k < gpus; ++k) {
      Node gpu;
      gpu.type = NodeType::gpu;
      gpu.id = gpu.dev = gpu.rank = gpus * i + k;
      gpu.cc = 80;
      const int g = s.add(gpu);
      s.connect(g, at, EdgeType::pci, 24);
      s.connect(g, fabric, EdgeType::nvl, 12 * nvlink_GBps(80));
    }
    for (int k = 0; k < nics; ++k) {
      Node nic;
      nic.type = NodeType::nic;
      nic.id = 200 + nics * i + k;
      const int n = s.add(nic);
      s.connect(n, at, EdgeType::pci, 24);
      Node net;
      net.type = NodeType::net;
      net.id = net.dev = nics * i + k;
      net.guid = static_cast<std::uint64_t>(nics * i + k + 1);
      net.net_GBps = port;
      s.connect(s.add(net), n, EdgeType::net, port);
    }
  }
  return s;
}
}  // namespace

TEST_CASE("Alternating rings of H100 stay on their rails, straight from the GPU next to the NIC", "[nccl][network]") {
  const auto c = on("dgxh100", 4);
  REQUIRE(c.graphs().at("RING").cross_nic == 2);
  for (int channel = 0; channel < c.channels().comm; ++channel) {
    for (int node = 0; node < 4; ++node) {
      const auto e = c.ring_net(channel, node);
      INFO("channel " << channel << " node " << node);
      CHECK(e.send_net == e.recv_net);
      CHECK(e.from % 8 == e.send_net);  // GPU k sits next to NIC k
      CHECK(e.to % 8 == e.recv_net);
      CHECK(e.send_proxy == -1);
      CHECK((e.send_gdr && e.recv_gdr));
      CHECK(e.send_path == PathType::pix);
      // Even nodes leave channel 0 on NIC 1, odd nodes on NIC 0.
      CHECK(e.send_net == (channel % 8 ^ (node % 2 == 0 ? 1 : 0)));
    }
  }
}

TEST_CASE("Rings and trees of the structure are those of the lists over ranks", "[nccl][network]") {
  for (const char* machine : {"dgxh100", "dgxa100", "gb200_1tray", "h100_4nic"}) {
    for (const int nodes : {1, 2, 5}) {
      const auto c = on(machine, nodes);
      const int locals = c.ranks() / nodes;
      for (int channel = 0; channel < c.channels().comm; ++channel) {
        std::vector<int> ring;
        for (int node = 0; node < nodes; ++node) {
          for (const int local : c.ring_in_node(channel, node)) ring.push_back(node * locals + local);
        }
        CHECK(ring == c.ring(channel));
        const auto parent = c.tree_parents(channel);
        const auto up = c.node_tree_parents(c.tree_index(channel));
        for (int node = 0; node < nodes; ++node) {
          const auto chain = c.tree_in_node(channel, node);
          const int head = node * locals + chain.front();
          CHECK((parent[static_cast<std::size_t>(head)] < 0) == (up[static_cast<std::size_t>(node)] < 0));
          if (up[static_cast<std::size_t>(node)] >= 0) {
            const auto e = c.tree_up_net(channel, node);
            CHECK(e.from == head);
            CHECK(e.to == parent[static_cast<std::size_t>(head)]);
            CHECK(e.to / locals == up[static_cast<std::size_t>(node)]);
            CHECK(c.tree_down_net(channel, node).to == head);
          }
        }
      }
    }
  }
}

TEST_CASE("The double binary tree of fourteen nodes, as drawn", "[nccl][network]") {
  //  0---------------8
  //           ______/ \______
  //          4               12
  //        /   \            /  \           .
  //      2       6       10     \          .
  //     / \     / \     /  \     \         .
  //    1   3   5   7   9   11    13
  const std::vector<int> in_order{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12};
  const auto c = on("h100_1gpu", 14);
  CHECK(c.node_tree_parents(0) == in_order);
  // An even number of nodes: the second tree is the mirror image.
  const auto mirror = c.node_tree_parents(1);
  for (int n = 0; n < 14; ++n) {
    const int p = in_order[static_cast<std::size_t>(13 - n)];
    CHECK(mirror[static_cast<std::size_t>(n)] == (p < 0 ? -1 : 13 - p));
  }
  // 13 nodes: shifted by one, so node 1 is the root and 0 is what 12 was.
  const auto odd = on("h100_1gpu", 13);
  CHECK(odd.node_tree_parents(0)[12] == 8);
  CHECK(odd.node_tree_parents(1)[0] == 9);
  CHECK(odd.node_tree_parents(1)[1] == -1);
}

TEST_CASE("Every node but the root is the child of its parent, at any size", "[nccl][network][property]") {
  for (const int nodes : {1, 2, 3, 7, 8, 33, 1000, 1001}) {
    const auto c = on("h100_1gpu", nodes);
    for (const int tree : {0, 1}) {
      int roots = 0, children = 0;
      for (int n = 0; n < nodes; ++n) {
        const auto place = c.tree_place(tree, n);
        if (place.parent < 0)
          ++roots;
        else
          CHECK(c.tree_place(tree, place.parent).child[place.second ? 1 : 0] == n);
        for (const int child : place.child) children += child >= 0 ? 1 : 0;
      }
      CHECK(roots == 1);
      CHECK(children == nodes - 1);
    }
  }
}

TEST_CASE("Trees of one shape put both children on the head, balanced ones on the second GPU", "[nccl][network]") {
  const auto h100 = on("dgxh100", 8);  // pattern "tree": everything at the head
  CHECK(h100.tree_child_rank(0, 4, 0) == h100.tree_in_node(0, 4)[0]);
  CHECK(h100.tree_child_rank(0, 4, 1) == h100.tree_in_node(0, 4)[0]);
  const auto a100 = on("dgxa100", 8);  // balanced: the first child's data enters at the second GPU
  CHECK(a100.tree_child_rank(0, 4, 0) == a100.tree_in_node(0, 4)[1]);
  CHECK(a100.tree_child_rank(0, 4, 1) == a100.tree_in_node(0, 4)[0]);
  // Node 2 is the first child of node 4, node 6 the second; all use the channel's own NIC.
  const auto first = a100.tree_up_net(0, 2), second = a100.tree_up_net(0, 6);
  CHECK(first.to % 8 == a100.tree_in_node(0, 4)[1]);
  CHECK(second.to % 8 == a100.tree_in_node(0, 4)[0]);
  CHECK(first.send_net == first.recv_net);
  CHECK(first.recv_net == second.recv_net);
}

TEST_CASE("NVLSTree: head h talks to head h over its own NIC; even channels take tree 0", "[nccl][network]") {
  const auto c = on("dgxh100", 4);
  REQUIRE(c.nvls_heads_in_node(0).size() == 8);
  for (int channel = 0; channel < 2; ++channel) {
    for (int head = 0; head < 8; ++head) {
      const int node = 2;  // a child in both trees
      const auto up = c.nvls_tree_up_net(channel, head, node);
      CHECK(up.from == node * 8 + c.nvls_heads_in_node(node)[static_cast<std::size_t>(head)]);
      CHECK(up.to / 8 == c.node_tree_parents(c.nvls_tree_index(channel))[node]);
      CHECK(up.to % 8 == up.from % 8);
      CHECK(up.send_net == up.from % 8);
      CHECK(up.recv_net == up.send_net);
      const auto down = c.nvls_tree_down_net(channel, head, node);
      CHECK((down.from == up.to && down.to == up.from));
    }
  }
}

TEST_CASE("Send/recv leaves on the rail of the receiver, over NVLink to the GPU next to that NIC", "[nccl][network]") {
  const auto c = on("dgxh100", 2);
  for (int peer = 0; peer < 8; ++peer) {
    const auto e = c.p2p_net(0, 8 + peer, 0);
    CHECK(e.send_net == peer);
    CHECK(e.recv_net == peer);
    CHECK(e.send_proxy == (peer == 0 ? -1 : peer));
    CHECK(e.send_path == (peer == 0 ? PathType::pix : PathType::pxn));
    CHECK((e.send_gdr && e.recv_gdr));
  }
  for (const char* off : {"NCCL_PXN_DISABLE", "NCCL_P2P_PXN_LEVEL"}) {
    const auto without = on("dgxh100", 2, {{off, off == std::string{"NCCL_PXN_DISABLE"} ? "1" : "0"}});
    const auto e = without.p2p_net(0, 11, 0);
    CHECK(e.send_net == 0);  // its own NIC: the message crosses rails in the network
    CHECK(e.recv_net == 3);
    CHECK(e.send_proxy == -1);
  }
  // Not crossing NICs without PXN: through the host to the NIC of the receiver's rail.
  const auto same = on("dgxh100", 2, {{"NCCL_PXN_DISABLE", "1"}, {"NCCL_CROSS_NIC", "0"}}).p2p_net(0, 11, 0);
  CHECK(same.send_net == 3);
  CHECK(same.send_proxy == -1);
  CHECK(same.send_path == PathType::phb);
  CHECK_FALSE(same.send_gdr);
  CHECK(same.recv_gdr);
}

TEST_CASE("Two GPUs share a NIC: the one that comes first in NCCL's order relays", "[nccl][network]") {
  const auto c = communicator(behind_switches(4, 2, 1), "2.30.7", 2);
  // One NIC for two GPUs: both use it themselves, whatever the channel.
  CHECK(c.p2p_net(0, 9, 0).recv_net == 0);
  CHECK(c.p2p_net(0, 9, 1).recv_net == 0);
  // GPU 1's peer on the other node is GPU 9: its NIC is local to GPU 0, through which the data goes.
  const auto e = c.p2p_net(1, 9, 0);
  CHECK(e.send_net == 0);
  CHECK(e.send_proxy == 0);
  CHECK(c.p2p_net(0, 9, 0).send_proxy == -1);
  CHECK(c.p2p_net(0, 15, 0).send_net == 3);
  CHECK(c.p2p_net(0, 15, 0).send_proxy == 6);
}

TEST_CASE("Two NICs of one GPU take turns; which comes first depends on the version", "[nccl][network]") {
  const auto ports = [](const char* version, std::initializer_list<std::pair<const char*, const char*>> env = {}) {
    const auto c = communicator(behind_switches(2, 1, 2), version, 2, env);
    std::vector<int> used;
    for (int channel = 0; channel < 2; ++channel) used.push_back(c.p2p_net(0, 3, channel).recv_net);
    return used;
  };
  // GPU 1 has ports 2 and 3. Before 2.30.7 the start was mirrored from the device number 1; now from 1 mod 1 GPU.
  CHECK(ports("2.29") == std::vector<int>{3, 2});
  CHECK(ports("2.30.7") == std::vector<int>{2, 3});
  CHECK(ports("2.17") == std::vector<int>{3, 3});  // channels came in with 2.18
  CHECK(ports("2.30.7", {{"NCCL_NETDEVS_POLICY", "max:1"}}) == std::vector<int>{2, 2});
}

TEST_CASE("Reads by the NIC before Ampere need NVLinks, before 2.19 on any GPU", "[nccl][network]") {
  // GPUs without NVLink that share a switch with a NIC.
  const auto sends_direct = [](int cc, const char* version) {
    auto s = pcie_machine(2, 1, cc, 24, "GenuineIntel", 106);
    Node pci;
    pci.type = NodeType::pci;
    pci.id = 50;
    const int at = s.add(pci);
    s.connect(at, s.of_type(NodeType::cpu)[0], EdgeType::pci, 24);
    for (const int g : s.of_type(NodeType::gpu)) s.connect(g, at, EdgeType::pci, 24);
    Node nic;
    nic.type = NodeType::nic;
    const int n = s.add(nic);
    s.connect(n, at, EdgeType::pci, 24);
    Node net;
    net.type = NodeType::net;
    net.guid = 1;
    net.net_GBps = 25;
    s.connect(s.add(net), n, EdgeType::net, 25);
    const auto e = communicator(std::move(s), version, 2).ring_net(0, 0);
    CHECK(e.recv_gdr);
    return e.send_gdr;
  };
  CHECK(sends_direct(80, "2.30.7"));
  CHECK_FALSE(sends_direct(70, "2.30.7"));
  CHECK(sends_direct(80, "2.19"));
  CHECK_FALSE(sends_direct(80, "2.18.5"));
}

TEST_CASE("GPUDirect off stages both ends", "[nccl][network]") {
  const auto c = on("dgxh100", 2, {{"NCCL_NET_GDR_LEVEL", "LOC"}});
  const auto e = c.ring_net(0, 0);
  CHECK_FALSE(e.send_gdr);
  CHECK_FALSE(e.recv_gdr);
  CHECK(e.recv_path == PathType::phb);
  // Without reads only the sender stages.
  const auto reads = on("dgxh100", 2, {{"NCCL_NET_GDR_READ", "0"}}).ring_net(0, 0);
  CHECK_FALSE(reads.send_gdr);
  CHECK(reads.recv_gdr);
}

TEST_CASE("The rounds of send/recv follow triangular distances between groups of eight", "[nccl][network]") {
  const std::vector<int> sixteen{0, 1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8};
  const auto c = on("dgxh100", 16);
  for (int i = 0; i < 16; ++i) CHECK(c.p2p_round(8 * i).group_delta == sixteen[static_cast<std::size_t>(i)]);
  CHECK(c.p2p_round(8 + 3).send_to(0) == 11);  // next node, three GPUs further
  CHECK(c.p2p_round(8 + 3).receive_from(11) == 0);
  // Up to 2.28.3 distances inside a node were triangular too: 0 1 3 6 2 7 5 4.
  const auto old = on("dgxh100", 1, {}, "2.27");
  const std::vector<int> eight{0, 1, 3, 6, 2, 7, 5, 4};
  for (int i = 0; i < 8; ++i) CHECK(old.p2p_round(i).send_to(0) == eight[static_cast<std::size_t>(i)]);
}

TEST_CASE("Up to 2.21 near and opposite nodes took turns", "[nccl][network]") {
  const auto c = on("dgxh100", 8, {}, "2.20");
  const std::vector<int> eight{0, 4, 1, 7, 3, 5, 2, 6};
  for (int i = 0; i < 8; ++i) CHECK(c.p2p_round(8 * i).group_delta == eight[static_cast<std::size_t>(i)]);
  for (int d = 0; d < 8; ++d) CHECK(c.p2p_round(d).local_delta == d);
}

TEST_CASE("In every version each pair of ranks meets once", "[nccl][network][property]") {
  for (const char* version : {"2.18", "2.21", "2.24", "2.28.3", "2.30.7"}) {
    for (const int nodes : {1, 2, 3, 4, 5, 6, 7, 9, 16}) {
      const auto c = on("h100_4gpu", nodes, {}, version);
      std::set<int> met;
      for (int i = 0; i < c.p2p_rounds(); ++i) {
        const auto round = c.p2p_round(i);
        met.insert(round.send_to(0));
        CHECK(round.receive_from(round.send_to(3)) == 3);
      }
      INFO(version << ", " << nodes << " nodes");
      CHECK(static_cast<int>(met.size()) == c.ranks());
    }
  }
}

TEST_CASE("Channels of the rounds: bits mirrored, so that neighbours lie far apart", "[nccl][network]") {
  const auto c = on("dgxh100", 4);  // 16 channels, four a peer
  REQUIRE(c.channels().p2p == 16);
  CHECK(c.p2p_channel(0, 0) == 0);
  CHECK(c.p2p_channel(7, 0) == 0);   // eight peers of one node share the base
  CHECK(c.p2p_channel(8, 0) == 8);   // 0001 mirrored
  CHECK(c.p2p_channel(16, 3) == 7);  // 0010 mirrored is 4, fourth part
  // 2.22 to 2.27 mirrored the part instead of the round.
  const auto old = on("dgxh100", 4, {}, "2.24");
  REQUIRE(old.channels().p2p == 16);
  CHECK(old.p2p_channel(8, 0) == 1);
  CHECK(old.p2p_channel(8, 1) == 9);
}

TEST_CASE("A hundred thousand nodes cost what two cost", "[nccl][network][scale]") {
  const auto c = on("dgxh100", 100'000);
  CHECK(c.ranks() == 800'000);
  CHECK(c.ring_net(0, 99'999).to == 0);  // an odd node: channel 0 leaves on NIC 0
  CHECK(c.ring_net(0, 99'999).send_net == 0);
  CHECK(c.tree_place(0, 65'536).parent == 0);
  const auto round = c.p2p_round(799'999);
  CHECK(round.receive_from(round.send_to(123'456)) == 123'456);
  CHECK(c.p2p_rounds() == 800'000);
}

TEST_CASE("NCCL_NETDEVS_POLICY=MAX:n ends the list of ports", "[nccl][network]") {
  // Two GPUs with two ports of 12.5 GB/s each, which their slot of 24 GB/s feeds: one a GPU leaves half of them.
  const auto rate = [](const char* policy, const char* version) {
    const auto c = communicator(behind_switches(2, 1, 2, 12.5), version, 2, {{"NCCL_NETDEVS_POLICY", policy}});
    const auto& ring = c.graphs().at("RING");
    std::set<int> used;
    for (int channel = 0; channel < ring.channels; ++channel) {
      used.insert(ring.inter[static_cast<std::size_t>(channel)].first);
    }
    return used.size();
  };
  CHECK(rate("AUTO", "2.30.7") == 4);
  CHECK(rate("MAX:1", "2.30.7") == 2);
  CHECK(rate("ALL", "2.30.7") == 4);
}

TEST_CASE("Racks: send/recv relays through the tray's own GPU with the peer's number", "[nccl][network]") {
  // GPU 5 of the other rack is the second of its tray; rank 0's tray has rank 1 as its second.
  const auto now = on("gb200_nvl72", 2).p2p_net(0, 72 + 5, 0);
  CHECK(now.send_net == 1);
  CHECK(now.send_proxy == 1);
  CHECK(now.recv_net == 5);
  CHECK((now.send_gdr && now.recv_gdr));
  // Relaying over NVLink-C2C is the default since 2.28.
  const auto before = on("gb200_nvl72", 2, {}, "2.27.3").p2p_net(0, 72 + 5, 0);
  CHECK(before.send_net == 0);
  CHECK(before.send_proxy == -1);
  CHECK(on("gb200_nvl72", 2, {{"NCCL_PXN_C2C", "1"}}, "2.27.3").p2p_net(0, 72 + 5, 0).send_proxy == 1);
}
