// `calibrate check`: what programs read of it. What people read is in tests/golden/cli/drift-*.txt.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.hpp"
#include "ran.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const std::string input = std::string{LINKCAST_SOURCE_DIR} + "/tests/golden/cli/input/drift/";
const std::string both_days = "calibrate check \"" + input + "baseline\" \"" + input + "today\"";

}  // namespace

TEST_CASE("calibrate check --json has the fields of linkcast.drift/1") {
  const auto ran = typed(both_days + " --json");
  CHECK(ran.status == 1);
  const auto answer = json::parse(ran.out);
  CHECK(answer["schema"] == "linkcast.drift/1");
  CHECK(answer["verdict"] == "drifted");
  CHECK(answer["only_launch"] == false);
  CHECK(answer["tolerance_percent"] == 5.0);
  REQUIRE(answer["findings"].size() == 3);
  const auto& gpu = answer["findings"][2];
  CHECK(gpu["where"] == "GPU 5");
  CHECK(gpu["level"] == "device");
  CHECK(gpu["points"] == 14);
  CHECK(gpu["unit"] == "GB/s");
  CHECK(gpu["from_bytes"].is_null());
  // Written with links at 8/9 of their bandwidth: 12.5 % more time.
  CHECK(gpu["time_percent"].get<double>() == Approx(12.5).margin(0.5));
  CHECK(gpu["low_percent"].get<double>() < 12.5);
  CHECK(gpu["high_percent"].get<double>() > 12.5);
  CHECK(answer["compared"].size() == 7);
  CHECK(answer["not_compared"].empty());
}

TEST_CASE("what became faster fails only where it is asked for") {
  const auto other_way = "calibrate check \"" + input + "today\" \"" + input + "baseline\"";
  CHECK(typed(other_way).status == 0);
  CHECK(typed(other_way + " --both").status == 1);
  CHECK(typed(both_days + " --tolerance 30%").status == 0);
}

TEST_CASE("the textfile is replaced whole, and nothing else is left beside it") {
  const auto folder = fs::temp_directory_path() / ("linkcast-drift-" + std::to_string(std::rand()));
  fs::create_directories(folder);
  const auto file = folder / "linkcast.prom";
  std::ofstream{file} << "old\n";
  CHECK(typed(both_days + " --textfile \"" + file.string() + "\"").status == 1);
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  CHECK(text.str().find("\nlinkcast_drift 1\n") != std::string::npos);
  CHECK(text.str().find("old") == std::string::npos);
  CHECK(std::distance(fs::directory_iterator{folder}, {}) == 1);
  fs::remove_all(folder);

  const auto ran = typed(both_days + " --textfile \"" + file.string() + "\"");
  CHECK(ran.status == 2);
  CHECK(ran.err.find("cannot write '" + file.string() + "'") != std::string::npos);
}
