// report_page STUDY.json > page.html: the page of a study that was answered before, for the tests in a browser.
#include <fstream>
#include <iostream>
#include <iterator>

#include "linkcast/planning/report.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/svg.hpp"

using namespace linkcast;

namespace {

/// What a command knows besides its JSON: a drawing with links in use, and the beginning of a timeline.
planning::ReportFacts facts_of(const std::string& file, std::string_view json) {
  planning::ReportFacts facts;
  facts.command = "linkcast run scenario.yaml --set 'title=</script><b>' --report out.html";
  facts.version = "linkcast test";
  facts.seed = 7;
  facts.inputs.push_back({file, planning::file_hash(file)});
  facts.assumptions = {"No network is described: an ideal switch <none>"};
  if (json.find("linkcast.run/1") == json.npos) return facts;
  const auto cluster = topologies::load_cluster("superpod-h100");
  topologies::SvgOptions options;
  options.findings = false;
  for (std::size_t r = 0; r < cluster.resource_count(); r += 7) {
    const auto name = cluster.resource_name(sim::ResourceId{static_cast<std::uint32_t>(r)});
    options.utilisation[name] = static_cast<double>(r % 11) / 11;
  }
  facts.topology_svg = topologies::to_svg(cluster, options);
  facts.tiers = {{"nvlink", 64, 76.2, 70.1, "nvlink gpu[0]->nvswitch[0]"}, {"cable", 8, 40, 38, "cable a->b"}};
  for (int i = 0; i < 12; ++i) {
    const double t = 1100.0 * i;
    facts.timeline.push_back({"rank 0, compute", "layer " + std::to_string(i), "compute", t, t + 900});
    facts.timeline.push_back({"rank 0, tp", "all_reduce 64 MiB", "tp", t + 700, t + 1100});
  }
  facts.timeline_note = "An excerpt: rank 0, the first 13 ms.";
  return facts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream in{argv[1], std::ios::binary};
  const std::string json{std::istreambuf_iterator<char>{in}, {}};
  try {
    std::cout << planning::html_report(json, facts_of(argv[1], json));
  } catch (const sim::InputError& e) {
    std::cerr << e.what() << '\n';
    return 2;
  }
  return std::cout ? 0 : 2;
}
