// Bills of materials: what is counted against hand counts, what it costs against published clusters (HARDWARE sheet of
// public BOMs, SemiAnalysis, NVIDIA's reference architectures; docs/cost.md has the table).
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "catch.hpp"
#include "linkcast/planning/cost.hpp"
#include "linkcast/planning/sweep.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/fabric.hpp"

using namespace linkcast;
using planning::Band;
using planning::BillOfMaterials;
using planning::BomKind;
using planning::Prices;

namespace {

topologies::Cluster cluster_of(const std::string& machine, int nodes, const std::string& network) {
  return topologies::load_cluster_text(
      fmt::format("schema: linkcast.topology/1\ntitle: a cluster\nextends: {}\nnodes: {}\n"
                  "network: {}\n",
                  machine, nodes, network),
      "cluster.yaml");
}
BillOfMaterials bom_of(const topologies::Cluster& c) { return planning::bill_of_materials(c, *Prices::shipped()); }
BillOfMaterials h100(int nodes, const std::string& type, const std::string& more = "lengths: [20 m, 30 m, 50 m]") {
  return bom_of(cluster_of(
      "dgx-h100", nodes, fmt::format("{{fabric: ib, type: {}, switch: qm9700, nodes_per_unit: 32, {}}}", type, more)));
}
topologies::Cluster catalog(const std::string& name, int nodes = 0, std::map<std::string, std::string> params = {}) {
  topologies::ClusterOptions o;
  o.nodes = nodes;
  o.params = std::move(params);
  return topologies::load_cluster(name, o);
}

std::int64_t count(const BillOfMaterials& bom, BomKind kind, const std::string& part = {},
                   const std::string& tier = {}) {
  std::int64_t n = 0;
  for (const auto& l : bom.lines) {
    if (l.kind == kind && (part.empty() || l.part == part) && (tier.empty() || l.tier == tier)) n += l.count;
  }
  return n;
}
Band usd(const BillOfMaterials& bom, std::set<BomKind> kinds) {
  Band out;
  for (const auto& l : bom.lines)
    if (kinds.contains(l.kind)) out += l.total_usd();
  return out;
}
Band watts(const BillOfMaterials& bom, std::set<BomKind> kinds) {
  Band out;
  for (const auto& l : bom.lines)
    if (kinds.contains(l.kind)) out += l.total_watts();
  return out;
}
double share(const BillOfMaterials& bom) { return bom.network_capex().typical / bom.capex().typical; }
double per_gpu(const BillOfMaterials& bom) { return bom.capex().typical / bom.gpus; }
bool noted(const BillOfMaterials& bom, const std::string& what) {
  return std::ranges::any_of(bom.notes, [&](const auto& n) { return n.find(what) != std::string::npos; });
}
std::string refusal(const std::string& yaml) {
  try {
    Prices::parse(yaml, "mine.yaml");
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "accepted";
}
const std::string schema = "schema: linkcast.prices/1\n";

}  // namespace

TEST_CASE("one machine costs what its sheet says, its cards listed by themselves", "[cost]") {
  const auto bom = bom_of(catalog("dgx-h100"));
  CHECK(bom.gpus == 8);
  CHECK(bom.capex().typical == Approx(310e3));
  CHECK(bom.power().typical == Approx(10.2e3));  // 8 x 1,275 W
  CHECK(count(bom, BomKind::nic) == 8);
  CHECK(usd(bom, {BomKind::nic}).typical == Approx(8 * 1499));
  CHECK(bom.network_capex().typical == 0);
  CHECK(noted(bom, "one machine"));
  // Other cards change the total by their difference: 8 x (2248 - 1499).
  const auto faster = catalog("dgx-h100").machine(0).with_nics(8, sim::Rate::from_GBps(100));
  CHECK(bom_of(topologies::Cluster{faster}).capex().typical == Approx(310e3 + 8 * (2248 - 1499)));
  // Half of the GPUs of a board are half of its price.
  const auto half = bom_of(catalog("hgx-h100-4"));
  CHECK(half.capex().typical == Approx(155e3));
  CHECK(noted(half, "what a server of 8 costs"));
}

TEST_CASE("1,024 H100, rail-optimised: every part by hand", "[cost]") {
  const auto bom = h100(128, "rail_optimised");
  // 4 units x 8 rails = 32 leaves of 32 down, 32 up; 1,024 uplinks / 64 ports = 16 spines.
  CHECK(count(bom, BomKind::network_switch, "qm9700", "leaf") == 32);
  CHECK(count(bom, BomKind::network_switch, "qm9700", "spine") == 16);
  CHECK(count(bom, BomKind::cable, "400G fibre, 20 m", "nic-leaf") == 1024);
  CHECK(count(bom, BomKind::cable, "400G fibre, 30 m", "leaf-spine") == 1024);
  // A card has a transceiver of its own; in a switch one serves two ports.
  CHECK(count(bom, BomKind::optics, "400G transceiver", "nic-leaf") == 1024);
  CHECK(count(bom, BomKind::optics, "2x400G transceiver", "nic-leaf") == 512);
  CHECK(count(bom, BomKind::optics, "2x400G transceiver", "leaf-spine") == 1024);
  CHECK(count(bom, BomKind::nic) == 1024);
  // 48 x 50 k + 1,024 x 659 + 1,536 x 1,399 + 2,048 x 60 = 5.347 M; 128 x 310 k; 1,024 x 6.2 k.
  CHECK(bom.network_capex().typical == Approx(5'346'560));
  CHECK(bom.capex().typical == Approx(5'346'560 + 39.68e6 + 6'348'800));
  // 48 x 747 + 1,024 x 8.5 + 1,536 x 16 W.
  CHECK(bom.network_power().typical == Approx(35'856 + 8'704 + 24'576));
  CHECK(bom.network_capex().low < bom.network_capex().typical);
  CHECK(bom.network_capex().high > bom.network_capex().typical);
}

TEST_CASE("published clusters: switches as the public sheet counts them", "[cost][published]") {
  // Sheet: 8 switches for 512 GPUs (a rail each), 48 for 1,024, 192 and 768 for 4,096 and 16,384 (rails never meet),
  // 2,560 for 32,768 (three tiers).
  const auto all = [](const BillOfMaterials& bom) { return count(bom, BomKind::network_switch); };
  CHECK(all(bom_of(cluster_of("dgx-h100", 64, "{fabric: ib, type: rail_only, switch: qm9700, nodes_per_unit: 64}"))) ==
        8);
  CHECK(all(h100(128, "rail_optimised")) == 48);
  const auto k4 = h100(512, "rail_only"), k16 = h100(2048, "rail_only"), k32 = h100(4096, "rail_optimised");
  CHECK(all(k4) == 192);
  CHECK(all(k16) == 768);
  CHECK(all(k32) == 2560);
  // Cables and optics: 2.62 M over 2,048 cables, 10.5 M over 8,192, 41.9 M over 32,768: 1,279 to 1,282 each.
  CHECK(count(k4, BomKind::cable) == 8192);
  CHECK(count(k16, BomKind::cable) == 32'768);
  for (const auto& bom : {h100(128, "rail_optimised"), k4, k16}) {
    const auto each = usd(bom, {BomKind::cable, BomKind::optics});
    const auto cables = static_cast<double>(count(bom, BomKind::cable));
    CHECK(each.low / cables < 1279);
    CHECK(each.high / cables > 1282);
    CHECK(each.typical / cables == Approx(1280).epsilon(0.15));
  }
}

TEST_CASE("published clusters: the network's share of capex and USD per GPU", "[cost][published]") {
  // Published: 5-10 % (BOM pages), 8.6 % (sheet, 1,024 GPUs), 13 % (Bernstein); 46.9 to 51.6 k USD per GPU.
  for (const auto& bom : {h100(128, "rail_optimised"), h100(512, "rail_only"), h100(2048, "rail_only")}) {
    CAPTURE(bom.gpus);
    CHECK(share(bom) > 0.05);
    CHECK(share(bom) < 0.13);
    CHECK(per_gpu(bom) > 46e3);
    CHECK(per_gpu(bom) < 52e3);
  }
  // With the sheet's own prices, its own results: 1.728 M + 2.62 M of 50.4 M.
  const auto sheet = Prices::parse(schema +
                                       "switches: {qm9700: {usd: 36 k USD}}\n"
                                       "transceivers: {400 Gb/s: {usd: 639.5 USD}, 800 Gb/s: {usd: 1279 USD}}\n"
                                       "fibre: {usd: 0 USD}\n",
                                   "sheet.yaml");
  const auto bom = planning::bill_of_materials(
      cluster_of("dgx-h100", 128,
                 "{fabric: ib, type: rail_optimised, switch: qm9700, nodes_per_unit: 32, lengths: [20 m, 30 m]}"),
      *sheet);
  CHECK(bom.network_capex().typical == Approx(1.728e6 + 2.62e6).epsilon(0.001));
  CHECK(share(bom) == Approx(0.086).margin(0.0005));
  CHECK(per_gpu(bom) == Approx(49.2e3).epsilon(0.001));  // what is no network and no server was derived from the sheet
}

TEST_CASE("published clusters: three tiers that block nothing cost more than the published share",
          "[cost][published]") {
  // 5 switches for 64 GPUs, three cables each: with switches and optics at their low end the share is within 13 %, at
  // their typical prices above.
  const auto bom = h100(4096, "rail_optimised");
  CHECK(bom.network_capex().low / bom.capex().low < 0.13);
  CHECK(share(bom) > 0.13);
  CHECK(share(bom) < 0.17);
}

TEST_CASE("published power: 1,275 W per H100 with its host, 150 MW for 100,000, 458 kW for 32 DGX B200",
          "[cost][published]") {
  const auto bom = h100(4096, "rail_optimised");
  const std::set<BomKind> server{BomKind::server, BomKind::nic};
  CHECK(watts(bom, server).typical / bom.gpus == Approx(1275));
  // SemiAnalysis: about 150 MW, a tenth of it not servers.
  const double it = bom.power().typical / bom.gpus * 100e3;
  CHECK(it == Approx(150e6).epsilon(0.05));
  CHECK(1 - watts(bom, server).typical / bom.power().typical == Approx(0.10).margin(0.03));
  // 1.59 TWh a year.
  const auto e = planning::economics(bom, *Prices::shipped());
  CHECK(e.kwh_per_year / bom.gpus * 100e3 == Approx(1.59e9).epsilon(0.05));

  CHECK(watts(bom_of(catalog("hgx-b200", 32)), server).typical == Approx(458e3).epsilon(0.002));
}

TEST_CASE("cables: copper where it reaches, by the length that the file says", "[cost]") {
  const auto with = [](const std::string& lengths) {
    return bom_of(cluster_of("dgx-h100", 8,
                             "{fabric: ib, type: leaf_spine, switch: qm9700, nodes_per_leaf: 4, " + lengths + "}"));
  };
  const auto near = with("lengths: [3 m, 20 m]");
  CHECK(count(near, BomKind::cable, "400G copper, 3 m", "nic-leaf") == 64);
  CHECK(count(near, BomKind::optics, {}, "nic-leaf") == 0);
  CHECK(count(near, BomKind::optics, {}, "leaf-spine") > 0);
  CHECK(count(with("lengths: [4 m, 20 m]"), BomKind::optics, "400G transceiver", "nic-leaf") == 64);
  // Not said: four machines of a leaf fit one rack, 32 do not.
  const auto rack = with("");
  CHECK(count(rack, BomKind::cable, "400G copper", "nic-leaf") == 64);
  CHECK(noted(rack, "no lengths of cables are described"));
  const auto hall = h100(64, "rail_optimised", "");
  CHECK(count(hall, BomKind::optics, "400G transceiver", "nic-leaf") == 512);
  CHECK(noted(hall, "fill more than a rack"));
}

TEST_CASE("a job pays for its machines whole and for its part of the network", "[cost]") {
  const auto whole = catalog("superpod-h100");
  const auto all = bom_of(whole);
  std::vector<int> nodes(32);
  for (int i = 0; i < 32; ++i) nodes[static_cast<std::size_t>(i)] = 3 * i;
  const auto job = bom_of(whole.job(nodes));
  CHECK(job.nodes == 32);
  CHECK(job.network_capex().typical == Approx(all.network_capex().typical * 32 / 127));
  CHECK(usd(job, {BomKind::server, BomKind::nic}).typical == Approx(32 * 310e3));
  const std::vector<int> gpus{0, 1};
  const auto part = bom_of(whole.job(nodes, gpus));
  CHECK(part.capex().typical == Approx(job.capex().typical));
  CHECK(part.gpus == 256);
  CHECK(noted(part, "the job uses 64 of the 256 GPUs"));
}

TEST_CASE("what is broken was bought all the same", "[cost]") {
  const auto text = [](const std::string& overrides) {
    return bom_of(topologies::load_cluster_text(
        "schema: linkcast.topology/1\ntitle: t\nextends: dgx-h100\nnodes: 64\n"
        "network: {fabric: ib, type: rail_optimised, switch: qm9700, nodes_per_unit: 32, lengths: [20 m, 30 m]}\n" +
            overrides,
        "t.yaml"));
  };
  const auto sound = text("");
  const auto broken = text(
      "overrides:\n  - {link: 'node[3].nic[2]', state: 200 Gb/s}\n  - {switch: 'spine[1]', state: down}\n"
      "  - {link: 'leaf[0]-spine[0]', state: down}\n");
  CHECK(broken.capex().typical == Approx(sound.capex().typical));
  CHECK(broken.power().typical == Approx(sound.power().typical));
}

TEST_CASE("a network that nobody described is a tree that blocks nothing, and is called an estimate", "[cost]") {
  const auto bom = bom_of(catalog("dgx-h100", 16));
  // 128 ports: 4 leaves of 32 down and up, 128 uplinks over 2 spines of 64.
  CHECK(count(bom, BomKind::network_switch, "qm9700", "leaf") == 4);
  CHECK(count(bom, BomKind::network_switch, "qm9700", "spine") == 2);
  CHECK(count(bom, BomKind::cable) == 256);
  CHECK(noted(bom, "estimate"));
  CHECK(count(bom_of(catalog("dgx-h100", 8)), BomKind::network_switch) == 1);  // 64 ports: one switch
  // The same as what the generator builds.
  const auto built = bom_of(cluster_of("dgx-h100", 16,
                                       "{fabric: ib, type: leaf_spine, switch: qm9700, nodes_per_leaf: 4, "
                                       "lengths: [20 m, 20 m]}"));
  CHECK(count(built, BomKind::network_switch) == count(bom, BomKind::network_switch));
  CHECK(built.network_capex().typical == Approx(bom.network_capex().typical));
}

TEST_CASE("places for NICs that stay empty cost nothing", "[cost]") {
  const auto machine = topologies::load("dgx-h100").with_nics(4, sim::Rate::from_GBps(50));
  const auto bom = bom_of(topologies::ideal_cluster(machine, 16, "ib"));
  CHECK(count(bom, BomKind::nic) == 64);
  CHECK(count(bom, BomKind::network_switch) == 1);  // 64 ports of 64
  CHECK(count(bom, BomKind::cable) == 64);
}

TEST_CASE("racks, split ports, boxes priced by their ports", "[cost]") {
  const auto rack = bom_of(catalog("gb200-nvl72"));
  CHECK(rack.capex().typical == Approx(3.2e6));
  CHECK(rack.power().typical == Approx(120e3));
  CHECK(bom_of(catalog("gb200-nvl72", 0, {{"trays", "9"}})).capex().typical == Approx(1.6e6));
  // HPN: a 400 Gb/s port of a ToR is two ports of 200 Gb/s for cards: 2 x 8 x 1,920 cables, half as many transceivers.
  const auto hpn = bom_of(catalog("alibaba-hpn7"));
  CHECK(count(hpn, BomKind::network_switch, {}, "leaf") == 240);
  CHECK(count(hpn, BomKind::network_switch, {}, "spine") == 120);
  CHECK(count(hpn, BomKind::cable, {}, "nic-leaf") == 30'720);
  CHECK(count(hpn, BomKind::optics, "2x200G transceiver", "nic-leaf") == 15'360);
  // tomahawk5 has no price of its own: 128 ports of 400 Gb/s at 1,090.
  const auto leaf = std::ranges::find(hpn.lines, "leaf", &planning::BomLine::tier);
  REQUIRE(leaf != hpn.lines.end());
  CHECK(leaf->usd.typical == Approx(128 * 1090));
}

TEST_CASE("every machine of the catalog can be counted; what has no price is named", "[cost]") {
  for (const auto& name : topologies::catalog_names()) {
    CAPTURE(name);
    const auto c = catalog(name);
    const auto bom = bom_of(c);
    CHECK(bom.gpus == c.ranks());
    CHECK(bom.capex().low <= bom.capex().typical);
    CHECK(bom.capex().typical <= bom.capex().high);
    CHECK(bom.power().typical > 0);
    for (const auto& l : bom.lines) {
      CAPTURE(l.part);
      CHECK(l.count > 0);
      CHECK(l.source.empty() == (!l.priced && !l.metered));
      CHECK(l.date.empty() == (!l.priced && !l.metered));
      CHECK(l.priced == (std::ranges::find(bom.unpriced, l.part) == bom.unpriced.end()));
    }
    for (const auto& part : bom.unpriced) CHECK(noted(bom, "no price for '" + part + "'"));
  }
  CHECK(bom_of(catalog("hgx-h20")).unpriced == std::vector<std::string>{"h20-sxm"});
  CHECK(bom_of(catalog("superpod-h100")).unpriced.empty());
}

TEST_CASE("a price file changes what it names and leaves the rest", "[cost][prices]") {
  const auto mine =
      Prices::parse(schema +
                        "servers:\n  h100-8: {usd: 250 k USD}\n"
                        "  mine: {systems: [hgx-h20], usd: {typical: 100 k USD, high: 0.12 M USD}, watts: 5-7 kW}\n"
                        "switches: {qm9700: {usd: {low: 20k USD, typical: 30 kUSD, high: 40 k USD, source: our "
                        "offer, date: 2026-01}}}\n"
                        "other_per_gpu: {usd: 0 USD}\n",
                    "mine.yaml");
  const auto cluster = cluster_of(
      "dgx-h100", 128, "{fabric: ib, type: rail_optimised, switch: qm9700, nodes_per_unit: 32, lengths: [20 m, 30 m]}");
  const auto bom = planning::bill_of_materials(cluster, *mine);
  CHECK(usd(bom, {BomKind::server, BomKind::nic}).typical == Approx(128 * 250e3));
  CHECK(usd(bom, {BomKind::network_switch}).low == Approx(48 * 20e3));
  CHECK(usd(bom, {BomKind::network_switch}).typical == Approx(48 * 30e3));
  CHECK(usd(bom, {BomKind::other}).typical == 0);
  CHECK(watts(bom, {BomKind::network_switch}).typical == Approx(48 * 747));  // not named: as shipped
  const auto leaf = std::ranges::find(bom.lines, BomKind::network_switch, &planning::BomLine::kind);
  CHECK(leaf->source.starts_with("our offer"));
  CHECK(leaf->date == "2026-01");
  const auto h20 = planning::bill_of_materials(catalog("hgx-h20"), *mine);
  const auto server = std::ranges::find(h20.lines, BomKind::server, &planning::BomLine::kind);
  CHECK(server->usd.low == 100e3);
  CHECK(server->usd.high == 120e3);
  CHECK(server->watts.low == 5e3);
  CHECK(server->watts.typical == 6e3);
  CHECK(h20.unpriced.empty());
}

TEST_CASE("wrong price files: everything that is wrong, with its line", "[cost][prices]") {
  const auto said = refusal(
      "schema: linkcast.prices/1\n"
      "switches:\n"
      "  qm9700: {usd: 36000, wats: 1 kW}\n"
      "  sn5600: {usd: {low: 9 k USD, typical: 8 k USD}, watts: -3 W}\n"
      "servers: {new: {usd: 1 k USD}}\n"
      "nic_rates: {400G: {usd: 1 k USD}}\n"
      "economics: {pue: 0.9, years: 5, electricity: 0.1 USD}\n"
      "prizes: {}\n");
  for (const auto* expected :
       {"mine.yaml:3:", "a price cannot be '36000'", "36 k USD", "did you mean 'watts'?", "mine.yaml:4:",
        "is not in order", "a power cannot be '-3 W'", "which machines is server 'new'?", "'400G' is no rate",
        "'pue' is below 1", "a time cannot be '5'", "a price of energy cannot be '0.1 USD'", "unknown key 'prizes'"}) {
    CAPTURE(expected, said);
    CHECK(said.find(expected) != std::string::npos);
  }
  CHECK(refusal("gpus: {}\n") == "accepted");  // a part of a scenario
  CHECK(refusal("schema: linkcast.topology/1\n").find("linkcast.prices/1") != std::string::npos);
  CHECK(refusal(schema + "copper: 3\n").find("must be a map") != std::string::npos);
  CHECK_THROWS_AS(Prices::read("no-such-file.yaml"), sim::InputError);
}

TEST_CASE("economics by hand", "[cost]") {
  const auto prices = Prices::parse(schema +
                                        "servers: {h100-8: {usd: 400 k USD, watts: 10 kW}}\n"
                                        "economics: {years: 4 years, pue: 1.5, electricity: 0.1 USD/kWh}\n",
                                    "mine.yaml");
  const auto bom = planning::bill_of_materials(catalog("dgx-h100"), *prices);
  // 400 k / 4 years = 100 k a year; 10 kW x 1.5 x 8,760 h x 0.1 = 13,140 a year; over 8 x 8,760 GPU-hours.
  auto e = planning::economics(bom, *prices);
  CHECK(e.facility_watts == Approx(15e3));
  CHECK(e.energy_usd_per_year.typical == Approx(13'140));
  CHECK(e.usd_per_gpu_hour.typical == Approx(113'140.0 / 8 / 8760));
  CHECK(!e.usd_per_million_tokens);
  // 10,000 tokens/s, half of the time: 157.68e9 tokens a year.
  e = planning::economics(bom, *prices, 10'000, 0.5);
  REQUIRE(e.usd_per_million_tokens);
  CHECK(e.usd_per_million_tokens->typical == Approx(113'140.0 / 157'680));
  // Rent of 100 USD/kW/month: 12,000 more.
  const auto rented = Prices::parse(schema +
                                        "servers: {h100-8: {usd: 400 k USD, watts: 10 kW}}\n"
                                        "economics: {years: 4 years, pue: 1.5, electricity: 0.1 USD/kWh, hosting: 100 "
                                        "USD/kW/month}\n",
                                    "mine.yaml");
  CHECK(planning::economics(planning::bill_of_materials(catalog("dgx-h100"), *rented), *rented)
            .usd_per_gpu_hour.typical == Approx(125'140.0 / 8 / 8760));
  const auto shipped = planning::economics(bom_of(catalog("superpod-h100")), *Prices::shipped());
  CHECK(shipped.usd_per_gpu_hour.low < shipped.usd_per_gpu_hour.typical);
  CHECK(shipped.usd_per_gpu_hour.typical < shipped.usd_per_gpu_hour.high);
}

TEST_CASE("the CSV and the JSON add up to the bill", "[cost]") {
  const auto cluster = catalog("superpod-h100").job(std::vector<int>{1, 2, 3});
  const auto bom = bom_of(cluster);
  const auto rows = planning::read_csv(planning::to_csv(bom));
  REQUIRE(rows.size() == bom.lines.size() + 1);
  const auto column = [&](const char* name) { return std::ranges::find(rows[0], name) - rows[0].begin(); };
  double usd = 0, w = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    REQUIRE(rows[i].size() == rows[0].size());
    usd += std::stod(rows[i][static_cast<std::size_t>(column("total_usd_typical"))]);
    w += std::stod(rows[i][static_cast<std::size_t>(column("total_watts_typical"))]);
    CHECK(!rows[i][static_cast<std::size_t>(column("source"))].empty());
  }
  CHECK(usd == Approx(bom.capex().typical));
  CHECK(w == Approx(bom.power().typical));

  const auto e = planning::economics(bom, *Prices::shipped(), 1e6);
  const auto json = nlohmann::json::parse(planning::json_report(bom, e, cluster.name()));
  CHECK(json["schema"] == "linkcast.bom/1");
  CHECK(json["gpus"] == 24);
  double sum = 0;
  for (const auto& l : json["lines"]) sum += l["total_usd"]["typical"].get<double>();
  CHECK(sum == Approx(json["capex_usd"]["typical"].get<double>()));
  CHECK(json["network_share"].get<double>() == Approx(share(bom)));
  CHECK(json["usd_per_million_tokens"]["typical"].get<double>() == Approx(e.usd_per_million_tokens->typical));
  const auto unpriced = nlohmann::json::parse(planning::json_report(
      bom_of(catalog("hgx-h20")), planning::economics(bom_of(catalog("hgx-h20")), *Prices::shipped()), "x"));
  CHECK(unpriced["unpriced"] == nlohmann::json::array({"h20-sxm"}));
  const auto text = planning::to_text(bom, e);
  for (const auto* word :
       {"3 machines, 24 GPUs", "qm9700", "network without NICs", "a million tokens", "note:", "assumed:"})
    CHECK(text.find(word) != std::string::npos);
}
