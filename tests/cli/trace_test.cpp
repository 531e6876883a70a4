// `linkcast trace`: what it says of a trace, and that other forms of one are the same workload.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "lists.hpp"
#include "ran.hpp"

namespace {

/// Two ranks: 3 ms of gemm, an all-reduce of 64 MiB on a stream of its own that was measured as 0.5 ms, a message.
const std::string recording =
    R"({"schema": "linkcast.trace/2", "world": 2, "ranks": "0-1", "communicators": [{"name": "0", "description": "dp", "ranks": [0, 1]}]}
{"ranks": [0, 1], "compute": "3 ms", "work": "gemm", "name": "backward", "id": 1}
{"ranks": [0, 1], "all_reduce": "64 MiB", "on": "0", "stream": "comm", "after": [1], "id": 2, "measured": "0.5 ms"}
{"rank": 0, "send": "4096 B", "on": "0", "peer": 1, "after": [2]}
{"rank": 1, "receive": "4096 B", "on": "0", "peer": 0, "after": [2]}
{"rank": 1, "send": "4096 B", "on": "0", "peer": 7}
)";

}  // namespace

TEST_CASE("trace info counts what is in a trace, as JSON") {
  const Folder folder{"trace"};
  const auto path = folder.write("r.jsonl", recording);
  const auto ran = typed("trace info " + path + " --json");
  REQUIRE(ran.status == 0);
  const auto out = nlohmann::json::parse(ran.out);
  CHECK(out["schema"] == "linkcast.trace_info/1");
  CHECK(out["format"] == "recording");
  CHECK(out["world"] == 2);
  CHECK(out["ranks"] == nlohmann::json::array({0, 1}));
  CHECK(out["operations"] == 6);
  CHECK(out["span_us"] == 3'500);  // 3 ms and, behind it, 0.5 ms; the message takes what was measured: nothing
  REQUIRE(out["communication"].size() == 3);
  const auto& reduce = out["communication"][0];
  CHECK(reduce["communicator"] == "dp");
  CHECK(reduce["operation"] == "all_reduce");
  CHECK(reduce["calls"] == 2);
  CHECK(reduce["bytes"] == 2 * 67'108'864);
  CHECK(reduce["measured_us"] == 1'000);
  CHECK(out["compute"][0] == nlohmann::json({{"work", "gemm"}, {"count", 2}, {"time_us", 6'000}}));
  CHECK(out["records"] == nlohmann::json({{"read", 5}, {"used", 4}}));
  REQUIRE(out["skipped"].size() == 1);
  CHECK(out["skipped"][0]["count"] == 1);
  CHECK(out["skipped"][0]["first"] == path + ":6");
}

TEST_CASE("trace convert: to Linkcast's own form and back nothing is lost") {
  const Folder folder{"trace"};
  const auto path = folder.write("r.jsonl", recording);
  const auto first = folder.at("a.jsonl"), second = folder.at("b.jsonl");
  REQUIRE(typed("trace convert " + path + " -o " + first).status == 0);
  REQUIRE(typed("trace convert " + first + " -o " + second).status == 0);
  CHECK(text_of_file(first) == text_of_file(second));
  auto before = nlohmann::json::parse(typed("trace info " + path + " --json").out);
  auto after = nlohmann::json::parse(typed("trace info " + first + " --json").out);
  for (const auto* same : {"world", "ranks", "communicators", "communication", "compute", "streams", "span_us"})
    CHECK(before[same] == after[same]);
  const auto again = typed("trace convert " + path + " -o " + first);
  CHECK(again.status == 2);
  CHECK(again.err.find("--force overwrites it") != again.err.npos);
}

TEST_CASE("trace convert: a profile and Perfetto's form, by their endings") {
  const Folder folder{"trace"};
  const auto path = folder.write("r.jsonl", recording);
  REQUIRE(typed("trace convert " + path + " -o " + folder.at("p%r.json")).status == 0);
  const auto profile = nlohmann::json::parse(text_of_file(folder.at("p1.json")));
  CHECK(profile["distributedInfo"]["rank"] == 1);
  REQUIRE(typed("trace convert " + path + " -o " + folder.at("p.pftrace")).status == 0);
  CHECK(text_of_file(folder.at("p.pftrace")).starts_with('\x0a'));
  const auto ran = typed("trace convert " + path + " -o " + folder.at("p.html"));
  CHECK(ran.status == 2);
  CHECK(ran.err.find("says no form") != ran.err.npos);
}

TEST_CASE("a trace is stopped by Ctrl-C: nothing half is left") {
  const Folder folder{"trace"};
  std::string text = recording;
  for (int i = 0; i < 10'000; ++i) text += "{\"ranks\": [0, 1], \"compute\": \"1 us\"}\n";
  const auto path = folder.write("r.jsonl", text);
  std::stop_source stop;
  stop.request_stop();
  CHECK(typed("trace convert " + path + " -o " + folder.at("a.jsonl"), stop.get_token()).status == 130);
  CHECK_FALSE(std::filesystem::exists(folder.at("a.jsonl")));
  CHECK(typed("trace info " + path, stop.get_token()).status == 130);
}

TEST_CASE("trace anonymise says what it replaced") {
  const Folder folder{"trace"};
  const auto path = folder.write("in.log", "gpu-node17:48213:48291 [3] NCCL INFO hello\n");
  const auto ran = typed("trace anonymise " + path + " -o " + folder.at("out.log") + " --key k");
  CHECK(ran.status == 0);
  CHECK(ran.out.find("1 host, 2 process") != ran.out.npos);
  CHECK(typed("trace anonymise").status == 2);
}
