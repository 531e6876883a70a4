// Clusters of the catalog, with every value of their parameters: sound, connected, within their switches' ports.
#include "linkcast/topologies/describe.hpp"
#include "network_fixture.hpp"

using namespace linkcast;
using namespace linkcast::topologies;

TEST_CASE("every cluster of the catalog", "[topologies][network][catalog]") {
  int clusters = 0;
  for (const auto& line : list_catalog()) {
    std::vector<ClusterOptions> all(1);
    for (const auto& p : line.parameters) {
      std::vector<ClusterOptions> next;
      for (const auto& o : all) {
        for (const auto& choice : p.choices) {
          next.push_back(o);
          next.back().params[p.name] = choice;
        }
      }
      all = std::move(next);
    }
    for (const auto& options : all) {
      INFO(line.name);
      const auto c = load_cluster(line.name, options);
      if (c.network().empty()) break;
      ++clusters;
      const auto& n = c.network();
      CHECK(c.nodes() > 1);
      const int last = c.nodes() - 1;
      for (std::size_t nic = 0; nic < nics_of(c.kind(0)).size(); ++nic) {
        Loads loads;
        REQUIRE(n.add(NicPlace{0, static_cast<int>(nic)}, NicPlace{last, static_cast<int>(nic)}, 1.0, 3, loads.sink()));
        check_conservation(n, loads);
        CHECK(n.way(NicPlace{0, static_cast<int>(nic)}, NicPlace{last, 0})->switches <= 5);
      }
      std::vector<double> rate(n.switches().size(), 0.0);
      for (const auto& cable : n.cables()) {
        for (const auto e : {cable.a, cable.b}) {
          if (e >= n.ports()) rate[e - n.ports()] += n.cable_models()[cable.model].bare.GBps() * cable.count;
        }
      }
      for (std::size_t s = 0; s < rate.size(); ++s) {
        const auto& m = n.switch_models()[n.switches()[s].model];
        CHECK(rate[s] <= m.radix * m.rate.GBps() + 1e-6);
      }
    }
  }
  CHECK(clusters >= 30);
}

// Meta: "zones are joined 1:7": what a zone's rack switches send up is seven times what leaves the zone.
TEST_CASE("Meta 24k: eight zones, 1:7 between them", "[topologies][network][catalog]") {
  for (const auto* uplinks : {"full", "double"}) {
    ClusterOptions options;
    options.params["rack_uplinks"] = uplinks;
    const auto c = load_cluster("meta-24k", options);
    const auto& n = c.network();
    CHECK(c.ranks() == 24'576);
    CHECK(count_tier(n, 0) == 8 * 192);
    CHECK(count_cables(n, -1) == 24'576);
    const int up = std::string{uplinks} == "full" ? 24'576 : 2 * 24'576;
    CHECK(count_cables(n, 0) == up);
    CHECK(count_cables(n, 1) >= up / 7);
    CHECK(count_cables(n, 1) < up / 6.9);
  }
}
