// Cables that carry less than they should: NCCL's view stays, the payload falls.
#include <catch2/catch.hpp>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/cluster.hpp"

namespace {

using namespace linkcast;

TEST_CASE("A slow cable keeps its bare rate and loses payload", "[topologies]") {
  const auto whole = topologies::ideal_cluster(topologies::load("dgx-h100"), 2, "ib");
  const topologies::SlowCable half{0.5, 1, 3};
  const auto slow = topologies::with_slow_cables(whole, std::span{&half, 1});
  int slowed = 0;
  for (std::size_t i = 0; i < slow.network().cables().size(); ++i) {
    const auto& was = whole.network().cable_models()[whole.network().cables()[i].model];
    const auto& is = slow.network().cable_models()[slow.network().cables()[i].model];
    CHECK(is.bare == was.bare);
    if (is.payload == was.payload) continue;
    ++slowed;
    CHECK(is.payload.GBps() == Approx(was.payload.GBps() / 2));
  }
  CHECK(slowed == 1);
}

TEST_CASE("A slow cable of a NIC that is not there is refused", "[topologies]") {
  const auto whole = topologies::ideal_cluster(topologies::load("dgx-h100"), 2, "ib");
  const topologies::SlowCable none{0.5, 0, 8};
  CHECK_THROWS_AS(topologies::with_slow_cables(whole, std::span{&none, 1}), sim::InputError);
}

}  // namespace
