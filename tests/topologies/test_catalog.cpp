// Every entry of the catalog loads, is connected, and has the rates that its datasheet says.
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/fabric.hpp"

using namespace linkcast;
using topologies::Fabric;

TEST_CASE("every catalog entry loads and is one machine", "[topologies][catalog]") {
  for (const auto& name : topologies::catalog_names()) {
    INFO(name);
    const auto fabric = topologies::load(name);
    CHECK(fabric.name() == name);
    CHECK(fabric.gpu_components() == 1);
    CHECK(fabric.gpus().size() >= 2);
    CHECK(fabric.bisection() > sim::Rate{});
  }
}
