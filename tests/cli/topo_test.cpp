// `topo show`, `check` and `export` of clusters as a user calls them: files that are written, exit statuses, a file
// that is exported and read again.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "ran.hpp"

namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A file of this test's own that is gone afterwards.
struct Scratch {
  fs::path path;
  explicit Scratch(const std::string& name) : path{fs::temp_directory_path() / ("linkcast-topo-test-" + name)} {}
  ~Scratch() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

}  // namespace

TEST_CASE("topo show --svg draws beside what it says") {
  const Scratch file{"show.svg"};
  const auto ran = typed("topo show superpod-h100 --set units=1 --svg " + file.path.string());
  CHECK(ran.status == 0);
  CHECK(ran.out == typed("topo show superpod-h100 --set units=1").out);
  const auto svg = contents(file.path);
  CHECK(svg.rfind("<svg ", 0) == 0);
  CHECK(svg == typed("topo export superpod-h100 --set units=1 --format svg").out);
  CHECK(svg.find(">31 machines<") != std::string::npos);
}

TEST_CASE("a cluster that is exported is read again") {
  const Scratch file{"cluster.yaml"};
  for (const std::string cluster : {"superpod-h100 --set units=2", "polaris-cluster", "dgx-h100 --nodes 4"}) {
    INFO(cluster);
    REQUIRE(typed("topo export " + cluster + " -o " + file.path.string()).status == 0);
    const auto tiers = [](const std::string& text) {
      const auto from = text.find("\nmachines "), to = text.find("\neach machine:");
      REQUIRE(from != std::string::npos);
      auto middle = text.substr(from, to - from);
      return middle.substr(0, middle.find("\nassumed:"));
    };
    CHECK(tiers(typed("topo show " + file.path.string()).out) == tiers(typed("topo show " + cluster).out));
  }
}

TEST_CASE("topo check fails where something is broken, not where something is odd") {
  fs::current_path(LINKCAST_SOURCE_DIR);
  CHECK(typed("topo check superpod-h100").status == 0);
  CHECK(typed("topo check tests/golden/cli/input/broken-cluster.yaml").status == 0);
  CHECK(typed("topo check tests/golden/cli/input/islands.yaml").status == 1);
  CHECK(typed("topo check superpod-h100 --nodes 128").status == 2);
}

TEST_CASE("one machine is said as it always was") {
  const auto one = typed("topo show dgx-h100").out;
  CHECK(typed("topo show dgx-h100 --nodes 1").out == one);
  // In a cluster the same words stand below those of the cluster.
  const auto parts = one.substr(one.find("\n\n") + 2);
  const auto four = typed("topo show dgx-h100 --nodes 4").out;
  CHECK(four.substr(four.find("each machine:\n\n") + 15) == parts);
}
