// Clusters as Slurm's topology.conf, and the way around: import, load, export, import.
#include "catch.hpp"
#include "import.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/topologies/import.hpp"
#include "linkcast/topologies/slurm_export.hpp"

#include <unistd.h>
#include <filesystem>

using namespace import_test;

namespace {

struct Loaded {
  Cluster cluster;
  Imported imported;
};

/// import -> YAML -> load_cluster.
Loaded loaded(const std::string& name, const std::string& machine) {
  const std::vector<InputFile> files{{name, file(name)}};
  ImportOptions options;
  options.machine = machine;
  auto imported = import_topology(files, options);
  const auto path = std::filesystem::temp_directory_path() / ("linkcast-import-" + std::to_string(getpid()) + ".yaml");
  std::ofstream{path} << imported.yaml;
  auto cluster = load_cluster(path.string());
  std::filesystem::remove(path);
  return {std::move(cluster), std::move(imported)};
}

std::map<int, int> tiers(const Cluster& c) {
  std::map<int, int> out;
  for (const auto& s : c.network().switches()) out[s.tier]++;
  return out;
}

long cables(const Cluster& c) {
  long n = 0;
  for (const auto& cable : c.network().cables()) n += cable.count;
  return n;
}

}  // namespace

TEST_CASE("an imported network loads with the counts of its file", "[topologies][import][slurm]") {
  const auto ndr = loaded("ibnetdiscover-ndr-rails.txt.gz", "hgx-h100-4").cluster;
  CHECK(ndr.nodes() == 122);
  CHECK(ndr.ranks() == 488);
  CHECK(tiers(ndr) == std::map<int, int>{{0, 31}, {1, 9}});
  CHECK(cables(ndr) == 473 + 532);
  CHECK(ndr.node_name(0) == "node001");
  // node001 mlx5_5 to node018 HCA-6: leaf01, a spine, leaf10
  const auto way = ndr.network().way(ndr.network().ports_of(0, 3)[0], ndr.network().ports_of(17, 3)[0]);
  REQUIRE(way);
  CHECK(way->switches == 3);
  // within the scalable unit: one leaf
  CHECK(ndr.network().way(ndr.network().ports_of(0, 3)[0], ndr.network().ports_of(1, 3)[0])->switches == 1);

  const auto racks = loaded("topograph-nvl72.yaml", "gb200-nvl72").cluster;
  CHECK(racks.nodes() == 4);
  CHECK(racks.ranks() == 288);
  CHECK(cables(racks) == 4 * 72 + 4 * 72 + 2 * 144);  // NICs, leaves up, spines up

  CHECK(loaded("topograph-medium.yaml", "gb200-nvl72").cluster.ranks() == 4 * 2 * 4);  // domains, trays, GPUs

  const auto chassis = loaded("ibnetdiscover-hdr-chassis.txt", "gh200-x4").cluster;
  CHECK(tiers(chassis) == std::map<int, int>{{0, 5}, {1, 2}, {2, 1}});
  CHECK(cables(chassis) == 10 + 7);
}

TEST_CASE("Slurm's tree of a rail-optimised cluster has a switch for each scalable unit", "[topologies][slurm]") {
  // The leaves of the 8 groups of hosts, named by the first of each; hosts counted per leaf with awk.
  CHECK(to_slurm_topology(loaded("ibnetdiscover-ndr-rails.txt.gz", "hgx-h100-4").cluster) ==
        "# ibnetdiscover-ndr-rails: written by `linkcast topo export --format slurm`\n"
        "SwitchName=spine02 Switches=leaf[01,10,12,17,21,25,31,37]\n"
        "SwitchName=leaf01 Nodes=node[001-017]\n"
        "SwitchName=leaf10 Nodes=node[018-028]\n"
        "SwitchName=leaf12 Nodes=node[029-044]\n"
        "SwitchName=leaf17 Nodes=node[045-060]\n"
        "SwitchName=leaf21 Nodes=node[061-075]\n"
        "SwitchName=leaf25 Nodes=node[076-093]\n"
        "SwitchName=leaf31 Nodes=node[094-111]\n"
        "SwitchName=leaf37 Nodes=node[112-122]\n");
}

TEST_CASE("Slurm's tree comes back from a cluster as it went in", "[topologies][import][slurm]") {
  const auto text = to_slurm_topology(loaded("slurm-tree.conf", "dgx-h100").cluster);
  const auto before = read(import_slurm_conf, file("slurm-tree.conf"));
  const auto after = read(import_slurm_conf, text);
  CHECK(after.net.hosts == before.net.hosts);
  REQUIRE(after.net.switches.size() == before.net.switches.size());
  for (const auto& s : before.net.switches) {
    CHECK(after.at(s.name).tier == s.tier);
    for (const auto& other : before.net.switches) {
      CHECK(after.cables(s.name, other.name) == before.cables(s.name, other.name));
    }
  }
}

TEST_CASE("Slurm's tree of generated clusters", "[topologies][slurm]") {
  // A SuperPOD of 64 nodes: two scalable units of 32, each with 8 leaves, one for each rail.
  ClusterOptions options;
  options.nodes = 64;
  const auto tree = read(import_slurm_conf, to_slurm_topology(load_cluster("superpod-h100", options)));
  CHECK(tree.net.hosts.size() == 64);
  CHECK(tree.switches_of_tier == std::map<int, int>{{0, 2}, {1, 1}});

  options.nodes = 4;
  CHECK(to_slurm_topology(load_cluster("dgx-h100", options)).find("Nodes=node[0-3]") != std::string::npos);
  options.nodes = 1;
  CHECK_THROWS_WITH(to_slurm_topology(load_cluster("dgx-h100", options)), Catch::Contains("no network"));
}
