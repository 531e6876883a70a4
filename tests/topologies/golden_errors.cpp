// Every kind of mistake in a topology file, as a golden text: tests/golden/topology-errors/<case>.yaml must fail with
// exactly <case>.expected. LINKCAST_UPDATE_GOLDEN=1 rewrites the expected texts (read the diff before committing it).
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/fabric.hpp"

namespace fs = std::filesystem;
using namespace linkcast;

namespace {

std::string read(const fs::path& p) {
  std::ifstream in{p, std::ios::binary};
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The error text with paths as they are from the folder of the case.
std::string error_of(const fs::path& file) {
  const auto home = fs::current_path();
  fs::current_path(file.parent_path());
  std::string text = "no error\n";
  try {
    topologies::load(file.filename().string());
  } catch (const sim::InputError& e) {
    text = e.what();
    if (text.empty() || text.back() != '\n') text += '\n';
  }
  fs::current_path(home);
  return text;
}

}  // namespace

TEST_CASE("mistakes in topology files are reported as compilers report them", "[topologies][golden]") {
  const fs::path folder = fs::path{LINKCAST_SOURCE_DIR} / "tests/golden/topology-errors";
  const bool update = std::getenv("LINKCAST_UPDATE_GOLDEN") != nullptr;
  int cases = 0;
  for (const auto& entry : fs::directory_iterator{folder}) {
    if (entry.path().extension() != ".yaml") continue;
    auto expected = entry.path();
    expected.replace_extension(".expected");
    if (!update && !fs::exists(expected)) continue;  // a file that only other cases extend
    const auto text = error_of(entry.path());
    if (update) {
      if (text != "no error\n") std::ofstream{expected, std::ios::binary} << text;
    } else {
      INFO(entry.path().filename().string());
      CHECK(text == read(expected));
    }
    ++cases;
  }
  CHECK(cases >= 25);
}
