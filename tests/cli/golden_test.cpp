// Every file of tests/golden/cli: a command line, then what it must say. LINKCAST_REFRESH_GOLDEN=1 writes the files
// anew; a new case is a file with nothing but its first line, then a refresh, then a reading of what came out.
#include <algorithm>
#include <cstdlib>
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

std::string transcript(const std::string& line, const Ran& ran) {
  std::string text = "$ linkcast " + line + "\nexit status " + std::to_string(ran.status) + "\n";
  if (!ran.out.empty()) text += "--- stdout\n" + ran.out;
  if (!ran.err.empty()) text += "--- stderr\n" + ran.err;
  return text;
}

std::vector<fs::path> cases() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator{fs::path{LINKCAST_SOURCE_DIR} / "tests/golden/cli"})
    if (entry.path().extension() == ".txt") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST_CASE("the command says what it said before") {
  // Paths in the files are relative to the project.
  fs::current_path(LINKCAST_SOURCE_DIR);
  const bool refresh = std::getenv("LINKCAST_REFRESH_GOLDEN") != nullptr;
  const auto all = cases();
  REQUIRE(all.size() > 20);
  for (const auto& path : all) {
    const auto expected = contents(path);
    const auto first = expected.substr(0, expected.find('\n'));
    INFO(path.filename().string());
    REQUIRE(first.rfind("$ linkcast ", 0) == 0);
    const auto line = first.substr(11);
    const auto actual = transcript(line, typed(line));
    if (refresh)
      std::ofstream{path, std::ios::binary} << actual;
    else
      CHECK(actual == expected);
  }
}
