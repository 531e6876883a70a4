// Tuner files: rules and measured data of NCCL's example plugin, and what they change in NCCL's choice.
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "linkcast/models/nccl/communicator.hpp"
#include "linkcast/models/nccl/tuner.hpp"
#include "nccl_support.hpp"

using namespace linkcast;
using namespace linkcast::models::nccl;

namespace {

std::string sample(const std::string& name) {
  std::ifstream file{std::string{LINKCAST_SOURCE_DIR} + "/tests/data/traces/nccl_tuner/" + name};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string said(const std::string& text) {
  try {
    read_tuner(text, "t.conf");
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "";
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the rules that NCCL ships are read", "[nccl][tuner]") {
  const auto rules = read_tuner_rules(sample("nccl_tuner.conf"), "nccl_tuner.conf");
  // Counted in the file: three of allreduce, two of broadcast, one of allgather, two of reducescatter, one of reduce.
  REQUIRE(rules.size() == 9);
  CHECK(rules[0].op == Op::all_reduce);
  CHECK(rules[0].max_bytes == 65536);
  CHECK(rules[0].algorithm == Algorithm::tree);
  CHECK(rules[0].protocol == Protocol::simple);
  CHECK(rules[0].channels == 2);
  CHECK(rules[0].nodes == 1);
  CHECK(rules[0].ranks == -1);
  CHECK(rules[0].registered == 1);
  CHECK(rules[1].pipe_ops == 1);
  CHECK(rules[1].registered == 0);
  CHECK(rules[5].op == Op::all_gather);  // eight fields
  CHECK(rules[5].pipe_ops == -1);
  CHECK(csv_line(rules[1]) == "allreduce,65537,1048576,ring,simple,4,4,32,1,0");

  const Tuner tuner{"t", rules};
  // 64 KiB of registered buffers on one node: the first; not registered: none, the third begins at 1 MiB + 1.
  CHECK(tuner.matching(Op::all_reduce, 65536, 1, 8, true) == std::vector<std::size_t>{0});
  CHECK(tuner.matching(Op::all_reduce, 65536, 1, 8, false).empty());
  CHECK(tuner.matching(Op::all_reduce, 65537, 4, 32, false) == std::vector<std::size_t>{1});
  CHECK(tuner.matching(Op::all_reduce, 65537, 4, 31, false).empty());
  // Four pipeline operations are asked for: a call alone has one.
  CHECK(tuner.matching(Op::all_reduce, 2 << 20, 4, 32, false).empty());
  CHECK(tuner.matching(Op::reduce, 1, 9, 72, false) == std::vector<std::size_t>{8});
}

TEST_CASE("measured data becomes rules", "[nccl][tuner]") {
  const auto text = sample("sample_performance_data.csv");
  REQUIRE(is_measured_tuning(text));
  const auto rows = read_tuner_measurements(text, "s.csv");
  REQUIRE(rows.size() == 23);
  CHECK(rows[1].bandwidth_GBps == 52.1);
  CHECK(rows[1].latency_us == 10.8);
  const auto rules = rules_of(rows);
  // Sizes: allreduce on 8 and on 16 ranks and broadcast on 8, three each.
  REQUIRE(rules.size() == 9);
  // allreduce, 8 ranks: ring/simple (0.12) at 1 KiB, ring/ll128 (0.16) at 32 KiB, nvls (0.32) at 1 MiB.
  const Tuner tuner{"s.csv", rules};
  const auto taken = [&](Op op, std::int64_t bytes, int nodes, int ranks) {
    const auto m = tuner.matching(op, bytes, nodes, ranks, false);
    REQUIRE(m.size() == 1);
    return csv_line(rules[m[0]]);
  };
  CHECK(taken(Op::all_reduce, 8, 1, 8) == "allreduce,0,32767,ring,simple,4,1,8,-1,-1");
  CHECK(taken(Op::all_reduce, 32768, 1, 8) == "allreduce,32768,1048575,ring,ll128,8,1,8,-1,-1");
  CHECK(taken(Op::all_reduce, 1 << 30, 1, 8) == "allreduce,1048576,9223372036854775807,nvls,simple,16,1,8,-1,-1");
  CHECK(taken(Op::broadcast, 1, 1, 8) == "broadcast,0,32767,tree,simple,2,1,8,-1,-1");
}

TEST_CASE("a rule written is a rule read", "[nccl][tuner]") {
  for (const auto& r : read_tuner_rules(sample("nccl_tuner.conf"), "t")) {
    const auto again = read_tuner_rules(csv_line(r) + "\r\n", "t");
    REQUIRE(again.size() == 1);
    CHECK(csv_line(again[0]) == csv_line(r));
  }
}

TEST_CASE("all mistakes of a tuner file are said at once, with their place", "[nccl][tuner]") {
  const auto all = said(
      "# comment\n"
      "all_reduce,0,1,ring,simple,1,-1,-1\n"
      "allreduce,0,10,rink,simple,1,-1,-1\n"
      "allreduce,20,10,ring,Simple,1,-1,-1\n"
      "allreduce,0,10,ring,simple,0,-1,-1\n"
      "allreduce,-5,x,ring,simple,1,-1,-1,-1,2\n"
      "allreduce,0,10,ring\n");
  CHECK(has(all, "t.conf:2:1: error: unknown collective 'all_reduce'"));
  CHECK(has(all, "did you mean 'allreduce'?"));
  CHECK(has(all, "t.conf:3:16: error: unknown algorithm 'rink'"));
  CHECK(has(all, "did you mean 'ring'?"));
  CHECK(has(all, "t.conf:4:14: error: max_bytes is less than min_bytes"));
  CHECK(has(all, "t.conf:4:22: error: unknown protocol 'Simple'"));
  CHECK(has(all, "t.conf:5:28: error: channels must not be 0"));
  CHECK(has(all, "t.conf:6:11: error: min_bytes -5 is negative"));
  CHECK(has(all, "t.conf:6:14: error: max_bytes 'x' is not a whole number"));
  CHECK(has(all, "t.conf:6:39: error: regBuff 2 is too large"));
  CHECK(has(all, "t.conf:7:1: error: 4 fields"));
  CHECK(has(said("# nothing\n"), "no rule in this file"));
  CHECK(has(said("collective,size_bytes,algorithm,protocol\n"), "the column 'cost_metric' is missing"));
  CHECK(has(said("collective,size_byte,algorithm,protocol,cost_metric\n"), "did you mean 'size_bytes'?"));
}
