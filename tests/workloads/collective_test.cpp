// Properties of a collective's answer that hold whatever the constants are.
#include <fstream>
#include <limits>
#include <numeric>
#include <string>

#include "catch.hpp"
#include "linkcast/workloads/collective.hpp"
#include "scratch.hpp"

using namespace linkcast;
using models::nccl::Op;
using workloads::CollectiveModel;
using workloads::Fidelity;

namespace {

CollectiveModel model(const topologies::Fabric& fabric, Fidelity f = Fidelity::flow, const char* algorithm = nullptr,
                      const char* protocol = nullptr) {
  workloads::CommunicatorOptions o;
  o.fidelity = f;
  if (algorithm) o.env.set("NCCL_ALGO", algorithm);
  if (protocol) o.env.set("NCCL_PROTO", protocol);
  return {fabric, o};
}

models::nccl::Call call(Op op, std::int64_t bytes) {
  models::nccl::Call c;
  c.op = op;
  c.bytes = sim::Bytes{bytes};
  return c;
}

/// Bytes out of a GPU over NVLink, in wire bytes.
double egress(const topologies::Fabric& fabric, const std::vector<double>& carried, int rank) {
  const auto gpu = fabric.gpus()[static_cast<std::size_t>(rank)];
  double sum = 0;
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    const auto& l = fabric.links()[i];
    if (l.kind != models::LinkKind::nvlink || (l.a != gpu && l.b != gpu)) continue;
    const auto id = topologies::Fabric::resource(topologies::LinkId{static_cast<std::uint32_t>(i)}, l.a == gpu);
    sum += carried[static_cast<std::size_t>(id)];
  }
  return sum;
}

}  // namespace

TEST_CASE("a ring puts 2S(n-1)/n on every GPU's port, LL twice and LL128 16/15 of it", "[workloads][conservation]") {
  const auto fabric = topologies::load("dgx-h100");
  const double S = 1 << 28;  // 256 MiB: divides into 24 channels x 8 blocks with less than 0.1 % of rounding
  const double payload = 2 * S * 7 / 8;
  const auto [proto, factor] =
      GENERATE(table<std::string, double>({{"Simple", 1.0}, {"LL", 2.0}, {"LL128", 16.0 / 15.0}}));
  for (const Fidelity f : {Fidelity::flow, Fidelity::chunk}) {
    const auto row = model(fabric, f, "Ring", proto.c_str()).run(call(Op::all_reduce, 1 << 28));
    CAPTURE(proto, name_of(f));
    REQUIRE(row.protocol == proto);
    for (int r = 0; r < 8; ++r) CHECK(egress(fabric, row.carried, r) == Approx(payload * factor).epsilon(1e-3));
  }
}

TEST_CASE("all_gather and reduce_scatter put T(n-1)/n on every port", "[workloads][conservation]") {
  const auto fabric = topologies::load("dgx-a100");
  const double T = 1 << 28;
  for (const Op op : {Op::all_gather, Op::reduce_scatter})
    for (const Fidelity f : {Fidelity::flow, Fidelity::chunk}) {
      const auto row = model(fabric, f, "Ring", "Simple").run(call(op, 1 << 28));
      for (int r = 0; r < 8; ++r) CHECK(egress(fabric, row.carried, r) == Approx(T * 7 / 8).epsilon(1e-3));
    }
}

TEST_CASE("the account of time adds up to the total, to the picosecond", "[workloads][account]") {
  for (const auto* name : {"dgx-h100", "dgx-a100", "dgx1-v100", "pcie-rtx4090"}) {
    const auto fabric = topologies::load(name);
    for (const Fidelity f : {Fidelity::flow, Fidelity::chunk}) {
      const auto m = model(fabric, f);
      for (const Op op : {Op::all_reduce, Op::all_gather, Op::broadcast, Op::alltoall, Op::sendrecv})
        for (std::int64_t bytes = 8; bytes <= std::int64_t{1} << 32; bytes *= 16) {
          const auto row = m.run(call(op, bytes));
          CAPTURE(name, name_of(f), name_of(op), bytes);
          CHECK(row.account.total() == row.time);
          for (std::size_t i = 0; i < sim::cause_count; ++i)
            CHECK(row.account[static_cast<sim::Cause>(i)] >= sim::Time{});
        }
    }
  }
}

TEST_CASE("more bytes never take less time under one algorithm and protocol", "[workloads][property]") {
  const auto fabric = topologies::load("dgx-h100");
  for (const auto* algorithm : {"Ring", "Tree", "NVLS"}) {
    const auto m = model(fabric, Fidelity::flow, algorithm, "Simple");
    sim::Time last;
    for (std::int64_t bytes = 4096; bytes <= std::int64_t{1} << 34; bytes *= 2) {
      const auto time = m.run(call(Op::all_reduce, bytes)).time;
      CAPTURE(algorithm, bytes);
      CHECK(time >= last);
      last = time;
    }
  }
}

TEST_CASE("relabelling the ranks of a symmetric machine changes no time", "[workloads][property]") {
  const auto fabric = topologies::load("dgx-h100");
  std::vector<int> order(8);
  std::iota(order.begin(), order.end(), 0);
  const std::vector<int> shuffled{3, 1, 4, 0, 5, 7, 2, 6};
  for (const Fidelity f : {Fidelity::flow, Fidelity::chunk})
    for (const Op op : {Op::all_reduce, Op::all_gather, Op::alltoall})
      for (const std::int64_t bytes : {1 << 10, 1 << 20, 1 << 28})
        CHECK(model(fabric.slice(order), f).run(call(op, bytes)).time ==
              model(fabric.slice(shuffled), f).run(call(op, bytes)).time);
}

TEST_CASE("folding changes no time", "[workloads][property]") {
  for (const auto* name : {"dgx-h100", "dgx1-v100", "dgx2-v100", "pcie-a100"}) {
    const auto fabric = topologies::load(name);
    workloads::CommunicatorOptions o;
    o.fidelity = Fidelity::chunk;
    const CollectiveModel folded{fabric, o};
    o.fold = false;
    const CollectiveModel plain{fabric, o};
    for (const Op op : {Op::all_reduce, Op::broadcast, Op::alltoall})
      for (const std::int64_t bytes : {1 << 12, 1 << 22}) {
        CAPTURE(name, name_of(op), bytes);
        CHECK(folded.run(call(op, bytes)).time == plain.run(call(op, bytes)).time);
      }
  }
}

TEST_CASE("kernels on symmetric windows reach the links' rate with the few blocks that NCCL gives them",
          "[workloads][symmetric]") {
  // 2 blocks on 8 H100: NCCL takes 65 GiB/s for each and peer, 2 * 65 * 8 * 1.07 GB/s on the bus: more than in-switch
  // reduction carries. Bytes on the port as of NVLS, S + S/n, so a large call takes as long as NVLS does.
  const auto fabric = topologies::load("dgx-h100");
  auto c = call(Op::all_reduce, std::int64_t{1} << 32);
  c.symmetric_windows = true;
  const auto nvls = model(fabric, Fidelity::flow, "NVLS").run(call(Op::all_reduce, std::int64_t{1} << 32));
  for (const Fidelity f : {Fidelity::flow, Fidelity::chunk}) {
    const auto row = model(fabric, f).run(c);
    REQUIRE(row.algorithm == "Symmetric");
    CHECK(row.channels == 2);
    CHECK(row.time <= nvls.time);
    CHECK(row.time.us() == Approx(nvls.time.us()).epsilon(0.05));
  }
  // Without the switch, 2S(n-1)/n over 18 links of stores; NCCL takes at most 64 blocks of 65 GiB/s.
  workloads::CommunicatorOptions o;
  o.env.set("NCCL_NVLS_ENABLE", "0");
  CHECK(CollectiveModel{fabric, o}.run(c).busbw_GBps > 300);
}

TEST_CASE("one NVLS channel moves what one block can copy, not what the switch can reduce", "[workloads][nvls]") {
  const auto fabric = topologies::load("dgx-h100");
  const double block = fabric.gpu_model(fabric.gpus()[0]).simple.local.GBps();
  workloads::CommunicatorOptions o;
  o.env.set("NCCL_ALGO", "NVLS");
  const auto all = CollectiveModel{fabric, o}.run(call(Op::all_reduce, 1 << 30));
  o.env.set("NCCL_NVLS_NCHANNELS", "1");
  for (const Fidelity f : {Fidelity::flow, Fidelity::chunk}) {
    o.fidelity = f;
    const auto one = CollectiveModel{fabric, o}.run(call(Op::all_reduce, 1 << 30));
    REQUIRE(one.channels == 1);
    CHECK(one.algbw_GBps < block);
    CHECK(one.algbw_GBps > 0.9 * block);
    CHECK(one.bound_by == "sm");
  }
  CHECK(all.bound_by == "nvlink");
}

TEST_CASE("a channel never moves more than its block, however many peers share it", "[workloads][p2p]") {
  // One channel for seven peers: NCCL works on four of their sends at once, then on the others.
  const auto fabric = topologies::load("dgx-h100");
  const double block = fabric.gpu_model(fabric.gpus()[0]).p2p_channel.GBps();
  workloads::CommunicatorOptions o;
  o.env.set("NCCL_MAX_NCHANNELS", "1");
  o.env.set("NCCL_MAX_P2P_NCHANNELS", "1");
  for (const Fidelity f : {Fidelity::flow, Fidelity::chunk})
    for (const Op op : {Op::alltoall, Op::scatter}) {
      o.fidelity = f;
      const auto row = CollectiveModel{fabric, o}.run(call(op, 1 << 30));
      CAPTURE(name_of(f), name_of(op), row.channels);
      REQUIRE(row.channels == 1);
      CHECK(row.busbw_GBps < block);
      CHECK(row.busbw_GBps > 0.8 * block);
    }
}

TEST_CASE("a bad call says what is wrong", "[workloads][errors]") {
  const auto m = model(topologies::load("dgx-h100"));
  CHECK_THROWS_AS(m.run(call(Op::all_reduce, 0)), sim::InputError);
  CHECK_THROWS_AS(m.run(call(Op::all_reduce, -5)), sim::InputError);
  // Past what 64 bits hold of picoseconds and of bytes times ranks: said, not wrapped round.
  CHECK_NOTHROW(m.run(call(Op::all_reduce, std::int64_t{1} << 44)));
  CHECK_THROWS_WITH(m.run(call(Op::all_reduce, (std::int64_t{1} << 44) + 1)),
                    ContainsText("too many for a collective"));
  CHECK_THROWS_AS(m.run(call(Op::alltoall, std::numeric_limits<std::int64_t>::max())), sim::InputError);
  auto c = call(Op::broadcast, 1024);
  c.root = 8;
  CHECK_THROWS_WITH(m.run(c), ContainsText("root 8 is not a rank"));
}

TEST_CASE("NVLS does not use a switch that is down, and a slow link holds back all", "[workloads][faults]") {
  // 18 links of a GPU: switches 1 and 2 have 5 each. Without them 8 of 18 links are left, and the bytes on the wire
  // take 18/8 of the time; one of the four links to switch 0 at a quarter of its rate makes all wait for it.
  const test::Scratch scratch;
  const auto write = [&](const char* name, const std::string& overrides) {
    return scratch.write(std::string{name} + ".yaml",
                         "schema: linkcast.topology/1\ntitle: a fault\nextends: dgx-h100\noverrides:\n" + overrides);
  };
  const auto down = write("two-switches-down",
                          "  - {device: \"nvswitch[1]\", state: down}\n  - {device: \"nvswitch[2]\", state: down}\n");
  const auto slow = write("one-link-slow", "  - {link: \"gpu[0]-nvswitch[0]\", state: 25 GB/s}\n");
  const auto time = [](const std::string& name) {
    return model(topologies::load(name), Fidelity::flow, "NVLS")
        .run(call(Op::all_reduce, std::int64_t{1} << 32))
        .time.us();
  };
  const double whole = time("dgx-h100");
  CHECK(time(down) / whole == Approx(18.0 / 8).epsilon(0.03));
  CHECK(time(slow) / whole == Approx(4.0).epsilon(0.05));  // 100 GB/s of four links, now 25
}

TEST_CASE("a domain of more GPUs than NCCL has channels keeps to its channels, in every version", "[workloads]") {
  // 72 GPUs; 64 channels at most (MAXCHANNELS), and before 2.25 NVLS asked for one for each GPU.
  for (const auto* version : {"2.19.4", "2.23.4", "2.27.7"}) {
    CAPTURE(version);
    const auto comm = workloads::communicator_of(topologies::Cluster{topologies::load("gb200-nvl72")},
                                                 models::nccl::Version::parse(version), {});
    CHECK(comm.graphs().at("NVLS").channels <= 64);
  }
}
