// Routes by hand: which links, in which shares, how long.
#include <cmath>
#include <numeric>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/fabric.hpp"

using namespace linkcast;
using namespace linkcast::topologies;

namespace {

std::string name(const Fabric& f, DeviceId d) { return f.devices()[static_cast<std::size_t>(d)].name; }

/// "gpu[0]>nvswitch[1]" -> weight.
std::map<std::string, double> weights(const Fabric& f, const Route& r) {
  std::map<std::string, double> out;
  for (const auto& h : r.hops) {
    const auto& l = f.links()[static_cast<std::size_t>(h.link)];
    out[name(f, h.forward ? l.a : l.b) + ">" + name(f, h.forward ? l.b : l.a)] += h.weight;
  }
  return out;
}

Route route(const Fabric& f, int a, int b, Transport t) {
  const auto r = f.route(f.gpus()[static_cast<std::size_t>(a)], f.gpus()[static_cast<std::size_t>(b)], t);
  REQUIRE(r);
  return *r;
}

}  // namespace

TEST_CASE("dgx-h100: four switches share in proportion to 4-5-5-4 links", "[topologies][routes]") {
  const auto f = load("dgx-h100");
  const auto r = route(f, 0, 5, Transport::nvlink);
  const auto w = weights(f, r);
  REQUIRE(w.size() == 8);
  CHECK(w.at("gpu[0]>nvswitch[0]") == Approx(4.0 / 18));
  CHECK(w.at("gpu[0]>nvswitch[1]") == Approx(5.0 / 18));
  CHECK(w.at("nvswitch[2]>gpu[5]") == Approx(5.0 / 18));
  CHECK(w.at("nvswitch[3]>gpu[5]") == Approx(4.0 / 18));
  // Two links of 105 ns and a switch of 120 ns.
  CHECK(r.latency == sim::Time::nanoseconds(330));
}

TEST_CASE("dgx2-v100: across the boards over six trunks", "[topologies][routes]") {
  const auto f = load("dgx2-v100");
  const auto same = route(f, 0, 7, Transport::nvlink);
  CHECK(same.hops.size() == 12);  // 6 up, 6 down
  CHECK(same.latency == sim::Time::nanoseconds(2 * 90 + 120));
  const auto across = route(f, 0, 8, Transport::nvlink);
  const auto w = weights(f, across);
  REQUIRE(w.size() == 18);
  for (int k = 0; k < 6; ++k) {
    const auto one = "nvswitch[" + std::to_string(k) + "]", other = "nvswitch[" + std::to_string(k + 6) + "]";
    CHECK(w.at("gpu[0]>" + one) == Approx(1.0 / 6));
    CHECK(w.at(one + ">" + other) == Approx(1.0 / 6));
    CHECK(w.at(other + ">gpu[8]") == Approx(1.0 / 6));
  }
  CHECK(across.latency == sim::Time::nanoseconds(3 * 90 + 2 * 120));
}

TEST_CASE("dgx1-v100: neighbours by link, others only through another GPU or PCIe", "[topologies][routes]") {
  const auto f = load("dgx1-v100");
  CHECK(weights(f, route(f, 0, 3, Transport::nvlink)).at("gpu[0]>gpu[3]") == 1.0);
  CHECK_FALSE(f.route(f.gpus()[0], f.gpus()[5], Transport::nvlink));
  // 0-1-5: one and two links; 0-4-5: two and one: the first found of equals.
  const auto nvb = f.route_through_gpu(f.gpus()[0], f.gpus()[5]);
  REQUIRE(nvb);
  CHECK(nvb->hops.size() == 2);
  CHECK(weights(f, *nvb).contains("gpu[1]>gpu[5]"));
}

TEST_CASE("PCIe peers: a common switch costs nothing extra, a root complex small packets", "[topologies][routes]") {
  const auto at = [](const std::string& placement) {
    return load("pcie-a100", {1, {{"gpus", "2"}, {"placement", placement}}});
  };
  const auto under_switch = at("switch");
  const auto w = weights(under_switch, route(under_switch, 0, 1, Transport::pcie_p2p));
  CHECK(w.size() == 2);
  CHECK(w.at("gpu[0]>pcie_switch[0]") == 1.0);
  const auto under_bridge = at("host-bridge");
  const auto b = weights(under_bridge, route(under_bridge, 0, 1, Transport::pcie_p2p));
  CHECK(b.size() == 2);
  CHECK(b.at("gpu[0]>cpu[0]") > 1.0);
  const auto two_sockets = at("socket");
  const auto s = weights(two_sockets, route(two_sockets, 0, 1, Transport::pcie_p2p));
  CHECK(s.size() == 3);
  CHECK(s.at("cpu[0]>cpu[1]") == 1.0);
  CHECK(s.at("gpu[0]>cpu[0]") >= b.at("gpu[0]>cpu[0]"));
}

TEST_CASE("through host memory: in and out, and across sockets once", "[topologies][routes]") {
  const auto f = load("pcie-rtx4090", {1, {{"gpus", "2"}, {"placement", "socket"}}});
  CHECK_FALSE(f.pcie_p2p());
  CHECK_FALSE(f.route(f.gpus()[0], f.gpus()[1], Transport::pcie_p2p));
  const auto w = weights(f, route(f, 0, 1, Transport::host_memory));
  CHECK(w == std::map<std::string, double>{{"gpu[0]>cpu[0]", 1.0},
                                           {"cpu[0]>memory[0]", 1.0},
                                           {"memory[0]>cpu[0]", 1.0},
                                           {"cpu[0]>cpu[1]", 1.0},
                                           {"cpu[1]>gpu[1]", 1.0}});
  CHECK(load("pcie-rtx4090", {1, {{"p2p", "true"}}}).pcie_p2p());
}

TEST_CASE("what leaves a GPU by NVLink arrives: shares add up to 1 at both ends", "[topologies][routes][property]") {
  for (const auto& name_ : catalog_names()) {
    const auto f = load(name_);
    for (auto a : f.gpus()) {
      for (auto b : f.gpus()) {
        const auto r = a == b ? std::nullopt : f.route(a, b, Transport::nvlink);
        if (!r) continue;
        double out = 0, in = 0;
        for (const auto& h : r->hops) {
          const auto& l = f.links()[static_cast<std::size_t>(h.link)];
          if ((h.forward ? l.a : l.b) == a) out += h.weight;
          if ((h.forward ? l.b : l.a) == b) in += h.weight;
        }
        CHECK(out == Approx(1.0));
        CHECK(in == Approx(1.0));
      }
    }
  }
}

TEST_CASE("a slice keeps the machine and renumbers the ranks", "[topologies][slice]") {
  const auto f = load("dgx-h100");
  const auto s = f.slice(std::vector<int>{6, 1});
  REQUIRE(s.gpus().size() == 2);
  CHECK(name(s, s.gpus()[0]) == "gpu[6]");
  CHECK(s.devices().size() == f.devices().size());
  CHECK(s.bisection().GBps() == Approx(450));  // one GPU to one GPU
  CHECK(s.nvls(s.gpus()));
  CHECK_THROWS_AS(f.slice(std::vector<int>{8}), sim::InputError);
  CHECK_THROWS_AS(f.slice(std::vector<int>{1, 1}), sim::InputError);
  CHECK_THROWS_AS(f.slice(std::vector<int>{}), sim::InputError);
}

TEST_CASE("two resources per link, payload within the bare rate", "[topologies][resources]") {
  for (const auto& name_ : catalog_names()) {
    const auto f = load(name_);
    const auto table = f.resources();
    REQUIRE(table.size() == 2 * f.links().size());
    for (std::size_t i = 0; i < f.links().size(); ++i) {
      const auto& forward = table[Fabric::resource(LinkId{static_cast<std::uint32_t>(i)}, true)];
      CHECK(forward.capacity == f.links()[i].payload);
      CHECK(forward.bare == f.links()[i].bare);
      CHECK(forward.capacity <= forward.bare);
    }
  }
}

TEST_CASE("packet efficiency: payload / (payload + header + response)", "[models][link]") {
  const models::PacketFormat p{sim::Bytes{128}, sim::Bytes{16}, sim::Bytes{16}};
  CHECK(p.efficiency() == Approx(128.0 / 160));          // 0.8: both directions busy
  CHECK(p.one_way_efficiency() == Approx(128.0 / 144));  // 0.889: one direction
  models::LinkModel l;
  l.rate = sim::Rate::from_GBps(25);
  l.packet = p;
  CHECK(l.payload_rate().GBps() == Approx(20));  // what NCCL's rings reach per NVLink of an A100
  CHECK(models::PacketFormat{}.efficiency() == 1.0);
}
