// Properties of a collective's answer that hold whatever the constants are.
#include <numeric>
#include <string>

#include "catch.hpp"
#include "linkcast/workloads/collective.hpp"

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
  const double S = 1 << 28;             // 256 MiB: divides into 24 channels x 8 blocks with less than 0.1 % of rounding
  const double payload = 2 * S * 7 / 8;
  const auto [proto, factor] = GENERATE(table<std::string, double>({{"Simple", 1.0}, {"LL", 2.0}, {"LL128", 16.0 / 15.0}}));
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
          for (std::size_t i = 0; i < sim::cause_count; ++i) CHECK(row.account[static_cast<sim::Cause>(i)] >= sim::Time{});
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
        CHECK(model(fabric.slice(order), f).run(call(op, bytes)).time == model(fabric.slice(shuffled), f).run(call(op, bytes)).time);
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

TEST_CASE("a bad call says what is wrong", "[workloads][errors]") {
  const auto m = model(topologies::load("dgx-h100"));
  CHECK_THROWS_AS(m.run(call(Op::all_reduce, 0)), sim::InputError);
  CHECK_THROWS_AS(m.run(call(Op::all_reduce, -5)), sim::InputError);
  auto c = call(Op::broadcast, 1024);
  c.root = 8;
  CHECK_THROWS_WITH(m.run(c), ContainsText("root 8 is not a rank"));
}
