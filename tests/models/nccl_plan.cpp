// How a call is cut. The example: all-reduce, 8 ranks, 24 channels; shares follow from cells of
// 32 KiB of traffic (16 KiB of data for an all-reduce, 4 KiB for LL, whose lines count four times).
#include "nccl_support.hpp"

using namespace nccl_test;

namespace {
Plan plan_with(const char* algo, const char* proto, Op op, std::int64_t bytes, const char* version = "2.30.7") {
  return communicator(oracle_system("dgxh100"), version, 1, {{"NCCL_ALGO", algo}, {"NCCL_PROTO", proto}})
      .plan(call(op, bytes));
}
constexpr std::int64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;
}  // namespace

TEST_CASE("An example by hand: channels, shares and chunks of ring all-reduce", "[nccl][plan]") {
  struct Row {
    const char* proto;
    std::int64_t bytes;
    int channels;
    std::int64_t share;  // of the first channel
    std::int64_t chunk;
  };
  const Row rows[] = {
      {"LL", kib, 1, kib, 32 * kib},
      {"LL", 8 * kib, 1, 8 * kib, 32 * kib},
      {"LL", 64 * kib, 2, 32 * kib, 32 * kib},
      {"LL", 512 * kib, 16, 32 * kib, 32 * kib},
      {"LL", 4 * mib, 24, 172 * kib, 32 * kib},
      {"LL128", 512 * kib, 16, 32 * kib, 576000},
      {"LL128", 4 * mib, 24, 176 * kib, 576000},
      {"LL128", 32 * mib, 24, 1376 * kib, 576000},
      {"Simple", 4 * mib, 24, 176 * kib, 2 * mib},
      {"Simple", 256 * mib, 24, 10928 * kib, 2 * mib},  // 10.67 MiB, in cells of 16 KiB
      {"Simple", 8 * gib, 24, 349536 * kib, 2 * mib},   // 341.3 MiB
  };
  for (const auto& row : rows) {
    const auto plan = plan_with("Ring", row.proto, Op::all_reduce, row.bytes);
    INFO(row.proto << " " << row.bytes);
    CHECK(plan.channels == row.channels);
    CHECK(plan.channel_bytes.front().count() == row.share);
    CHECK(plan.chunk.count() == row.chunk);
  }
}

TEST_CASE("Only the simple protocol on rings cuts a chunk into two slices", "[nccl][plan]") {
  const auto simple = plan_with("Ring", "Simple", Op::all_reduce, 64 * mib);
  CHECK(simple.slices == 2);
  CHECK(simple.slots == 4);  // eight steps of 512 KiB, two to a slice
  CHECK(simple.slice_min == sim::kib(32));
  CHECK(simple.threads == 544);  // 512 and a warp that synchronises
  const auto ll128 = plan_with("Ring", "LL128", Op::all_reduce, 64 * mib);
  CHECK(ll128.slices == 1);
  CHECK(ll128.slots == 8);
  CHECK(ll128.threads == 640);
  const auto broadcast = plan_with("Ring", "Simple", Op::broadcast, 64 * mib);
  CHECK(broadcast.slices == 1);
  CHECK(broadcast.chunk == sim::kib(512));
  const auto tree = plan_with("Tree", "Simple", Op::all_reduce, 64 * mib);
  CHECK(tree.chunk == sim::kib(512));
  CHECK(tree.slots == 8);
  CHECK(tree.threads == 640);
}

TEST_CASE("Few bytes take few threads", "[nccl][plan]") {
  // LL on a ring of 8: 8 bytes x 8 ranks a thread. 8 KiB are 128 threads, 1 KiB at least a block of 96.
  CHECK(plan_with("Ring", "LL", Op::all_reduce, 8 * kib).threads == 128);
  CHECK(plan_with("Ring", "LL", Op::all_reduce, kib).threads == 96);
  CHECK(plan_with("Ring", "LL", Op::all_reduce, 16 * mib).threads == 512);
}

TEST_CASE("NVLS: sixteen channels on Hopper, chunks by the size of a channel's share", "[nccl][plan]") {
  const auto c = communicator(oracle_system("dgxh100"));
  // 8 heads; a share below 2 x 8 x 32 KiB takes 16 KiB, below 64 x 8 x 128 KiB takes 64 KiB.
  const std::pair<std::int64_t, std::int64_t> rows[] = {
      {4 * mib, 16 * kib}, {256 * mib, 64 * kib}, {16 * gib, 128 * kib}};
  for (const auto& [bytes, chunk] : rows) {
    const auto plan = c.plan(call(Op::all_reduce, bytes));
    CHECK(plan.choice.algorithm == Algorithm::nvls);
    CHECK(plan.channels == 16);
    CHECK(plan.threads == 640);
    CHECK(plan.chunk.count() == chunk);
  }
}

TEST_CASE("Shares add up to the size, on every version, operation and odd size", "[nccl][plan][property]") {
  for (const char* version : {"2.12", "2.18.5", "2.21", "2.22", "2.25", "2.30.7"}) {
    for (const char* machine : {"dgxa100", "dgxh100"}) {
      const auto c = communicator(oracle_system(machine), version);
      for (const auto op :
           {Op::all_reduce, Op::all_gather, Op::reduce_scatter, Op::broadcast, Op::reduce, Op::alltoall}) {
        for (std::int64_t bytes :
             {std::int64_t{0}, std::int64_t{4}, std::int64_t{1000}, std::int64_t{12345678}, 3 * mib + 52, gib}) {
          const auto plan = c.plan(call(op, bytes));
          std::int64_t sum = 0;
          for (const auto b : plan.channel_bytes) {
            CHECK(b.count() >= 0);
            sum += b.count();
          }
          INFO(version << " " << machine << " " << name_of(op) << " " << bytes);
          CHECK(sum == bytes);
          CHECK(plan.channels == static_cast<int>(plan.channel_bytes.size()));
          CHECK(plan.channels <= std::max({c.channels().comm, c.channels().nvls, c.channels().p2p}));
        }
      }
    }
  }
}

TEST_CASE("Up to 2.21 channels interleave loop by loop", "[nccl][plan]") {
  const auto old = plan_with("Ring", "Simple", Op::all_reduce, gib, "2.18.5");
  CHECK(old.looped_interleaved);
  CHECK(old.channels == 24);
  // 24 channels x 8 ranks x 2 MiB = 384 MiB a loop: two whole loops and 256 MiB shared evenly.
  CHECK(old.channel_bytes.front().count() >= 32 * mib + 256 * mib / 24);
  CHECK_FALSE(plan_with("Ring", "Simple", Op::all_reduce, gib, "2.22").looped_interleaved);
  // 2.19 and before let tree chunks shrink with the depth of the tree: 7 on eight GPUs.
  CHECK(plan_with("Tree", "Simple", Op::all_reduce, 16 * mib, "2.18.5").chunk < sim::kib(512));
  CHECK(plan_with("Tree", "Simple", Op::all_reduce, 16 * mib, "2.20").chunk == sim::kib(512));
}

TEST_CASE("Buffers and thresholds of the user cut chunks", "[nccl][plan]") {
  const auto small = communicator(oracle_system("dgxh100"), "2.30.7", 1,
                                  {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}, {"NCCL_BUFFSIZE", "1048576"}});
  CHECK(small.plan(call(Op::all_reduce, gib)).chunk == sim::kib(512));  // a quarter of 2 MiB
  const auto ll =
      communicator(oracle_system("dgxh100"), "2.30.7", 1, {{"NCCL_PROTO", "LL"}, {"NCCL_LL_BUFFSIZE", "1048576"}});
  CHECK(ll.plan(call(Op::all_reduce, mib)).chunk == sim::kib(64));
  const auto threads = communicator(oracle_system("dgxh100"), "2.30.7", 1,
                                    {{"NCCL_NTHREADS", "256"}, {"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}});
  CHECK(threads.plan(call(Op::all_reduce, gib)).threads == 288);
}

TEST_CASE("Messages: parts and chunks", "[nccl][plan]") {
  const auto c = communicator(oracle_system("dgxh100"));
  const auto plan = [&](std::int64_t bytes) { return c.p2p_plan(call(Op::alltoall, 8 * bytes), sim::Bytes{bytes}); };
  // 32 channels for 8 ranks: four a peer, unless the message is longer than 4 x 32 x 512 KiB.
  CHECK(plan(kib).channels_per_peer == 1);
  CHECK(plan(kib).protocol == Protocol::ll);
  CHECK(plan(mib).channels_per_peer == 4);
  CHECK(plan(mib).protocol == Protocol::simple);
  CHECK(plan(mib).chunk == sim::kib(512));
  CHECK(plan(128 * mib).channels_per_peer == 8);  // four parts of 32 MiB are longer than 16 MiB
  CHECK(plan(gib).channels_per_peer == 32);
  const auto pcie = communicator(pcie_machine(4, 2, 89, 24, "AuthenticAMD", 1));
  CHECK(pcie.p2p_plan(call(Op::alltoall, gib), sim::Bytes{mib}).chunk == sim::kib(128));
}

TEST_CASE("Channels of send/recv between nodes, by version", "[nccl][plan]") {
  const auto per_peer = [](const char* version, int nodes) {
    return communicator(oracle_system("dgxh100"), version, nodes).channels().p2p_per_peer;
  };
  CHECK(per_peer("2.18.5", 2) == 2);
  CHECK(per_peer("2.18.5", 16) == 2);  // two, whatever the size
  CHECK(per_peer("2.26", 2) == 2);
  CHECK(per_peer("2.26", 16) == 1);  // 2 x 128 ranks are more than 4 x 16 channels
  CHECK(per_peer("2.29", 2) == 4);   // 48 GB/s in channels of 14
  CHECK(per_peer("2.29", 16) == 1);  // 16 batches of eight peers fill the 16 channels
  CHECK(communicator(oracle_system("dgxh100"), "2.29", 16, {{"NCCL_NCHANNELS_PER_NET_PEER", "8"}})
            .channels()
            .p2p_per_peer == 8);
}

TEST_CASE("Messages over the network and past it, in one communicator", "[nccl][plan]") {
  const auto c = communicator(oracle_system("dgxh100"), "2.30.7", 2);  // steps of 128 KiB, four channels a peer
  const auto net = [&](std::int64_t bytes) { return c.p2p_plan(sim::Bytes{bytes}, true); };
  CHECK(net(64 * kib).chunk == sim::kib(32));   // less than a step: a quarter
  CHECK(net(512 * kib).chunk == sim::kib(64));  // less than eight: half
  CHECK(net(mib).chunk == sim::kib(128));
  CHECK(net(64 * kib).channels_per_peer == 1);
  CHECK(net(mib).channels_per_peer == 4);  // parts stay above a step until all four are used
  CHECK(net(16 * kib).protocol == Protocol::simple);
  const auto inside = c.p2p_plan(sim::Bytes{16 * kib}, false);
  CHECK(inside.protocol == Protocol::ll);  // NVLink peers keep their LL buffers
  CHECK(c.p2p_plan(sim::Bytes{512 * kib}, false).chunk == sim::kib(128));
  const auto buffers = communicator(oracle_system("dgxh100"), "2.30.7", 2, {{"NCCL_ALLOC_P2P_NET_LL_BUFFERS", "1"}});
  CHECK(buffers.p2p_plan(sim::Bytes{16 * kib}, true).protocol == Protocol::ll);
  // Grace Blackwell: twice the step since 2.29, because fewer GPUs share a host.
  const auto chunk = [](const char* version) {
    return communicator(oracle_system("gb200_1tray"), version, 2).p2p_plan(sim::Bytes{8 * mib}, true).chunk;
  };
  CHECK(chunk("2.30.7") == sim::kib(256));
  CHECK(chunk("2.28.3") == sim::kib(128));
  // Before 2.22 each part was looked at by itself: 1 MiB in two parts of 512 KiB.
  CHECK(communicator(oracle_system("dgxh100"), "2.20", 2).p2p_plan(sim::Bytes{mib}, true).chunk == sim::kib(64));
}

TEST_CASE("The rounds of send and receive meet every pair once", "[nccl][plan]") {
  for (int nodes : {1, 2, 3}) {
    const auto c = communicator(oracle_system("dgxa100"), "2.30.7", nodes);
    const auto rounds = c.p2p_schedule();
    REQUIRE(rounds.size() == static_cast<std::size_t>(c.ranks()));
    std::vector<std::vector<int>> met(static_cast<std::size_t>(c.ranks()),
                                      std::vector<int>(static_cast<std::size_t>(c.ranks())));
    for (const auto& round : rounds) {
      for (int r = 0; r < c.ranks(); ++r) {
        const auto [to, from] = round[static_cast<std::size_t>(r)];
        ++met[static_cast<std::size_t>(r)][static_cast<std::size_t>(to)];
        CHECK(round[static_cast<std::size_t>(to)].second == r);  // who is sent to, receives
        CHECK(round[static_cast<std::size_t>(from)].first == r);
      }
    }
    for (const auto& row : met) {
      for (const int n : row) CHECK(n == 1);
    }
  }
}

TEST_CASE("Symmetric windows take kernels of their own, large Blackwell all-gathers the copy engines", "[nccl][plan]") {
  auto symmetric = call(Op::all_reduce, kib);
  symmetric.symmetric_windows = true;
  const auto h100 = communicator(oracle_system("dgxh100"));
  CHECK(h100.choose(symmetric).algorithm == Algorithm::symmetric);
  CHECK(h100.choose(symmetric).kernel == "AllReduce_AGxLLMC_R");
  symmetric.bytes = sim::mib(64);
  CHECK(h100.choose(symmetric).kernel == "AllReduce_RSxLDMC_AGxSTMC");
  CHECK(h100.plan(symmetric).channels == 2);  // 16 multicast blocks shared by 8 GPUs
  CHECK(communicator(oracle_system("dgxh100"), "2.26").choose(symmetric).algorithm != Algorithm::symmetric);
  CHECK(communicator(pcie_machine(4, 2, 89, 24, "AuthenticAMD", 1)).choose(symmetric).algorithm !=
        Algorithm::symmetric);

  auto gather = call(Op::all_gather, gib);  // 32 Mi floats a rank
  gather.symmetric_windows = true;
  CHECK(communicator(oracle_system("b200_8x400")).choose(gather).algorithm == Algorithm::copy_engine);
  CHECK(h100.choose(gather).algorithm == Algorithm::symmetric);
  CHECK(communicator(oracle_system("dgxh100"), "2.30.7", 1, {{"NCCL_CTA_POLICY", "ZERO"}}).choose(gather).algorithm ==
        Algorithm::copy_engine);
}
