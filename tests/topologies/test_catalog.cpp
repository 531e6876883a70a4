// Every entry of the catalog loads, is sound, and has the rates that its datasheet says.
#include <map>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/describe.hpp"
#include "linkcast/topologies/fabric.hpp"

using namespace linkcast;
using topologies::Fabric;
using topologies::LoadOptions;

namespace {

/// All combinations of the entry's parameters.
std::vector<LoadOptions> combinations(const topologies::CatalogLine& line) {
  std::vector<LoadOptions> all(1);
  for (const auto& p : line.parameters) {
    std::vector<LoadOptions> next;
    for (const auto& o : all) {
      for (const auto& c : p.choices) {
        next.push_back(o);
        next.back().params[p.name] = c;
      }
    }
    all = std::move(next);
  }
  return all;
}

}  // namespace

TEST_CASE("every catalog entry is sound, with every combination of its parameters", "[topologies][catalog]") {
  const auto lines = topologies::list_catalog();
  CHECK(lines.size() >= 40);
  for (const auto& line : lines) {
    CHECK_FALSE(line.title.empty());
    for (const auto& options : combinations(line)) {
      INFO(line.name);
      const auto fabric = topologies::load(line.name, options);
      CHECK(fabric.name() == line.name);
      CHECK(fabric.gpu_components() == 1);
      CHECK(fabric.bisection() > sim::Rate{});
      for (const auto& f : topologies::check(fabric)) CHECK(f.severity == topologies::Severity::note);
      for (const auto& n : topologies::sources(fabric)) {
        INFO(n.what);
        CHECK_FALSE(n.source.empty());
      }
    }
  }
}

TEST_CASE("bisections by hand", "[topologies][catalog]") {
  // GB/s one way: links that cross the middle times the rate of one.
  const std::map<std::string, double> expected{
      {"dgx1-v100", 150},   // 0-4: 2, 1-5: 2, 2-6: 1, 3-7: 1 = 6 links of 25
      {"dgx2-v100", 1200},  // 6 pairs of switches, 8 trunks of 25; also 8 GPUs with 6 links of 25
      {"dgx-a100", 1200},   // 4 GPUs, 12 links of 25
      {"hgx-a100-4", 400},  // 2 x 2 pairs, 4 links of 25
      {"dgx-h100", 1800},   // 4 GPUs, 18 links of 25; NVIDIA says 3.6 TB/s, both ways
      {"dgx-h200", 1800},  {"hgx-h20", 1800},  {"hgx-h800", 800},  // 4 GPUs, 8 links of 25
      {"hgx-h100-4", 600},                                         // 4 pairs, 6 links of 25
      {"gh200-x4", 600},   {"hgx-b200", 3600},                     // 4 GPUs, 18 links of 50
      {"hgx-b300", 3600},
  };
  for (const auto& [name, rate] : expected) {
    INFO(name);
    CHECK(topologies::load(name).bisection().GBps() == Approx(rate));
  }
  // PCIe: 4 GPUs of a socket, each on its own gen 4 x16 (16 * 1.9692 = 31.5), less than the socket link.
  CHECK(topologies::load("pcie-a100").bisection().GBps() == Approx(4 * 31.5072));
  // Two GPUs: one x16.
  CHECK(topologies::load("pcie-v100").bisection().GBps() == Approx(15.7536));
}

TEST_CASE("in-switch reduction is where NVSwitch has it", "[topologies][catalog]") {
  const auto nvls = [](const std::string& name) {
    const auto f = topologies::load(name);
    return f.nvls(f.gpus());
  };
  CHECK(nvls("dgx-h100"));
  CHECK(nvls("hgx-b200"));
  CHECK_FALSE(nvls("dgx-a100"));    // NVSwitch gen 2
  CHECK_FALSE(nvls("hgx-h100-4"));  // no switch
  CHECK_FALSE(nvls("gh200-x4"));
}

TEST_CASE("aliases, wrong names and wrong parameters", "[topologies][catalog]") {
  CHECK(topologies::load("dgx-b200").name() == "hgx-b200");
  CHECK(topologies::catalog_text("hgx-a100").starts_with("# NVSwitch wiring"));
  CHECK_THROWS_WITH(topologies::load("dgx-h10"), Catch::Contains("did you mean 'dgx-h100'?"));
  CHECK_THROWS_WITH(topologies::load("dgx-h100", {1, {{"gpus", "4"}}}), Catch::Contains("it has no parameters"));
  CHECK_THROWS_WITH(topologies::load("pcie-a100", {1, {{"gpu", "4"}}}), Catch::Contains("did you mean 'gpus'?"));
  CHECK_THROWS_WITH(topologies::load("pcie-a100", {1, {{"gpus", "3"}}}), Catch::Contains("one of: 2, 4, 8"));
  CHECK_THROWS_AS(topologies::load("dgx-h100", {0, {}}), sim::InputError);
  CHECK_THROWS_AS(topologies::load("dgx-h100", {2, {}}), sim::InputError);
}

TEST_CASE("an exported machine is the same machine", "[topologies][catalog][property]") {
  for (const auto& name : topologies::catalog_names()) {
    INFO(name);
    const auto fabric = topologies::load(name);
    const auto yaml = topologies::to_yaml(fabric);
    CHECK(yaml.find("extends:") == std::string::npos);
    CHECK(topologies::to_dot(fabric).find("gpu[0]") != std::string::npos);
  }
}
