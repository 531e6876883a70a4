// `linkcast calibrate measure` as a user types it, on the twin: the file, going on with it, what stops it.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.hpp"
#include "ran.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A folder of its own, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / "linkcast-calibrate-test";
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

json contents(const std::string& path) {
  std::ifstream file{path};
  return json::parse(file);
}

TEST_CASE("a twin is measured into a file, which a second run goes on with") {
  const Folder folder;
  const auto path = folder.file("m.json");
  const std::string twin = "calibrate measure --twin dgx-h100 --noise 3% --seed 4 --size 1M,64M ";
  const auto first = typed(twin + "--only launch,pairs --budget 1h -o " + path);
  INFO(first.err);
  REQUIRE(first.status == 0);
  CHECK(first.out.find("pairs/ce/write") != std::string::npos);
  CHECK(first.out.find("Written to " + path) != std::string::npos);
  const auto one = contents(path);
  CHECK(one["schema"] == "linkcast.measurement/1");
  CHECK(one["machine"]["gpus"].size() == 8);

  // There already: neither overwritten nor gone on with by mistake.
  const auto again = typed(twin + "-o " + path);
  CHECK(again.status == 2);
  CHECK(again.err.find("--resume " + path) != std::string::npos);

  const auto second = typed(twin + "--only launch,pairs,host --budget 1h --resume " + path);
  INFO(second.err);
  REQUIRE(second.status == 0);
  const auto two = contents(path);
  CHECK(two["items"].size() == one["items"].size() + 3);  // host/to, from, both
  for (std::size_t i = 0; i < one["items"].size(); ++i) CHECK(two["items"][i] == one["items"][i]);

  const auto other = typed("calibrate measure --twin dgx-a100 --resume " + path);
  CHECK(other.status == 2);
  CHECK(other.err.find("the file is of another machine") != std::string::npos);
}

TEST_CASE("--plan measures nothing and writes nothing; --json is the file") {
  const Folder folder;
  const auto before = fs::current_path();
  fs::current_path(folder.path);
  const auto plan = typed("calibrate measure --twin dgx-h100 --plan --budget 5s");
  const auto as_json = typed("calibrate measure --twin dgx-h100 --plan --budget 5s --json");
  CHECK(fs::is_empty(folder.path));
  fs::current_path(before);
  REQUIRE(plan.status == 0);
  CHECK(plan.out.find("Plan for 5 s:") != std::string::npos);
  CHECK(plan.out.find("Dropped, as it does not fit:") != std::string::npos);
  const auto file = json::parse(as_json.out);
  CHECK(file["items"].empty());
  double planned = 0;
  for (const auto& p : file["plan"])
    if (p["state"] == "planned") planned += p["estimated_s"].get<double>();
  CHECK(planned > 0);
  CHECK(planned <= 5);
}

TEST_CASE("stopped before the first item: nothing is lost, and it says how to go on") {
  const Folder folder;
  std::stop_source stop;
  stop.request_stop();
  const auto ran = typed("calibrate measure --twin dgx-a100 -o " + folder.file("m.json"), stop.get_token());
  CHECK(ran.status == 130);
  CHECK(ran.err.find("--resume " + folder.file("m.json")) != std::string::npos);
  CHECK(contents(folder.file("m.json"))["items"].empty());
}

TEST_CASE("a hidden number changes what is measured") {
  const auto copy_us = [](const std::string& hidden) {
    const Folder folder;
    const auto ran =
        typed("calibrate measure --twin dgx-h100 --only pairs --budget 1h -o " + folder.file("m.json") + hidden);
    REQUIRE(ran.status == 0);
    const auto file = contents(folder.file("m.json"));
    for (const auto& item : file["items"])
      if (item["id"] == "pairs/ce/write") return item["cells"][0]["times"][0]["median_us"].get<double>();
    return 0.0;
  };
  // 64 MiB at 100 GB/s instead of 200: 671.1 us less 335.5 us; what a copy costs beside its bytes is the same.
  CHECK(copy_us(" --hidden \"gpus.h100-sxm.copy_engine=100 GB/s\"") -
            copy_us(" --hidden gpus.h100-sxm.copy_engine=200GB/s") ==
        Approx(67'108.864 / 200).epsilon(0.001));
}

TEST_CASE("without a GPU it says what is missing and how to go on, and leaves no file") {
  const Folder folder;
  const auto ran = typed("calibrate measure --budget 1s -o " + folder.file("m.json"));
  if (ran.status == 0) return;  // there is one
  CHECK(ran.status == 2);
  CHECK(ran.err.find("--twin NAME") != std::string::npos);
  CHECK(fs::is_empty(folder.path));
}

}  // namespace
