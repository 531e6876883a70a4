// What the golden texts cannot hold: answers that change with calibration, generated inputs, stopping.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "ran.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// A folder of its own, removed at the end.
struct Scratch {
  fs::path path = fs::temp_directory_path() / ("linkcast-cli-" + std::to_string(std::rand()));
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("collective --json has the fields of linkcast.collective/1, and they agree with each other") {
  const auto ran = typed("collective all_reduce --topology dgx-h100 --size 1K,1M,1G --json");
  REQUIRE(ran.status == 0);
  CHECK(ran.err.empty());
  const auto answer = json::parse(ran.out);
  CHECK(answer["schema"] == "linkcast.collective/1");
  CHECK(answer["topology"] == "dgx-h100");
  CHECK(answer["ranks"] == 8);
  REQUIRE(answer["rows"].size() == 3);
  for (const auto& row : answer["rows"]) {
    const double time = row["time_us"];
    // 1 GB/s is 1000 bytes in a microsecond; bus bandwidth of an all-reduce on 8 ranks is 2*7/8 of the algorithm's.
    CHECK(row["algbw_GBps"].get<double>() == Approx(row["size_bytes"].get<double>() / time / 1000));
    CHECK(row["busbw_GBps"].get<double>() == Approx(row["algbw_GBps"].get<double>() * 1.75));
    double sum = 0;
    for (const auto& [cause, us] : row["account"].items()) sum += us.get<double>();
    CHECK(sum == Approx(time).epsilon(1e-9));
    CHECK(row["channels"].get<int>() > 0);
    for (const auto* key : {"algorithm", "protocol", "bound_by"}) CHECK(row[key].is_string());
  }
}

TEST_CASE("a launch floor makes small calls slower and leaves large ones alone") {
  const auto time = [](const std::string& floor, const std::string& size) {
    const auto ran =
        typed("collective all_reduce --topology dgx-h100 --json --launch-floor " + floor + " --size " + size);
    return json::parse(ran.out)["rows"][0]["time_us"].get<double>();
  };
  CHECK(time("0us", "8") < 40);
  CHECK(time("40us", "8") >= 40);
  CHECK(time("0.04ms", "8") == time("40000ns", "8"));
  CHECK(time("40us", "16G") == Approx(time("0us", "16G")).epsilon(1e-6));
}

TEST_CASE("ranks are counted and named") {
  const auto answer =
      json::parse(typed("collective all_gather --topology dgx-a100 --ranks 6,2,0-1 --size 1M --json").out);
  CHECK(answer["ranks"] == 4);
  CHECK(answer["gpus"] == json({6, 2, 0, 1}));
  // nccl-tests' count of an all-gather: the elements that each rank sends, 2^20 bytes / 4 bytes / 4 ranks.
  CHECK(answer["rows"][0]["count"] == 65536);
}

TEST_CASE("nccl --json has the oracle's keys") {
  const auto answer = json::parse(typed("nccl --topology dgx-h100 --json").out);
  CHECK(answer["schema"] == "linkcast.nccl/1");
  for (const auto* key :
       {"pattern", "crossNic", "nChannels", "bwIntra", "bwInter", "typeIntra", "typeInter", "sameChannels"})
    CHECK(answer["graphs"]["RING"].contains(key));
  for (const auto* key : {"search", "comm", "p2p_per_peer", "p2p"}) CHECK(answer["channels"].contains(key));
  CHECK(answer["tune"]["AllReduce"]["Ring/LL"].contains("bandwidth_GBps"));
  const auto& picks = answer["pick"]["AllReduce"];
  REQUIRE(!picks.empty());
  CHECK(picks[0]["from_bytes"] == 256);
  // Runs of one choice are merged: neighbours differ.
  for (std::size_t i = 1; i < picks.size(); ++i) CHECK(picks[i]["choice"] != picks[i - 1]["choice"]);
}

TEST_CASE("the exported YAML is a topology that gives the same answer") {
  Scratch scratch;
  const auto file = (scratch.path / "mine.yaml").string();
  REQUIRE(typed("topo export dgx-a100 --output \"" + file + "\"").status == 0);
  const auto rows = [](const std::string& topology) {
    const auto ran = typed("collective all_reduce --size 1K,64M --json --topology \"" + topology + "\"");
    REQUIRE(ran.status == 0);
    return json::parse(ran.out)["rows"];
  };
  CHECK(rows(file) == rows("dgx-a100"));
}

TEST_CASE("a YAML of 100 MB is refused, and not read into memory") {
  Scratch scratch;
  const auto path = scratch.path / "huge.yaml";
  {
    std::ofstream file{path, std::ios::binary};
    const std::string line(1 << 20, '#');
    for (int i = 0; i < 100; ++i) file << line << '\n';
  }
  for (const std::string command : {"nccl --topology ", "collective all_reduce --topology ", "run "}) {
    const auto ran = typed(command + "\"" + path.string() + "\"");
    INFO(ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.err.find("huge.yaml") != std::string::npos);
    CHECK(ran.err.size() < 2000);
  }
}

TEST_CASE("what was stopped prints what is finished") {
  std::stop_source stop;
  stop.request_stop();
  const auto text = typed("collective all_reduce --topology dgx-h100", stop.get_token());
  CHECK(text.status == 130);
  const auto answer = json::parse(typed("collective all_reduce --topology dgx-h100 --json", stop.get_token()).out);
  CHECK(answer["interrupted"] == true);
  CHECK(answer["rows"].empty());
}

TEST_CASE("a timeline holds each collective and its account, one after the other") {
  Scratch scratch;
  const auto path = scratch.path / "t.json";
  REQUIRE(typed("collective all_reduce --topology dgx-h100 --size 1M,1G --json --timeline \"" + path.string() + "\"")
              .status == 0);
  std::ifstream file{path};
  const auto timeline = json::parse(file);
  double collectives = 0, parts = 0;
  int n = 0;
  for (const auto& e : timeline["traceEvents"]) {
    if (e["ph"] != "X") continue;
    (e["tid"] == 1 ? collectives : parts) += e["dur"].get<double>();
    n += e["tid"] == 1;
  }
  CHECK(n == 2);
  CHECK(parts == Approx(collectives).epsilon(1e-9));
}

TEST_CASE("a reader that has seen enough ends the command quietly") {
  Scratch scratch;
  const auto err = (scratch.path / "err").string();
  // Thousands of rows are more than a pipe holds: the command is still writing when `head` has gone.
  const auto line = std::string{LINKCAST_COMMAND} +
                    " collective all_reduce --topology hgx-a100-4 --size 1K:5000K:+1K 2>" + err +
                    " | head -n 1 >/dev/null";
  CHECK(std::system(line.c_str()) == 0);
  CHECK(fs::file_size(err) == 0);
}

TEST_CASE("every command explains itself with an example that names it") {
  for (const std::string name :
       {"collective", "nccl", "validate", "run", "topo", "topo list", "topo show", "topo check", "topo export"}) {
    const auto ran = typed(name + " --help");
    CHECK(ran.status == 0);
    CHECK(ran.out.find("Examples:\n  linkcast " + name) != std::string::npos);
  }
  CHECK(typed("--version").out.rfind("linkcast ", 0) == 0);
}
