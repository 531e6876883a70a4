// What stands in people's environments is repeated in no message and no name.
#include "linkcast/calibration/measurements.hpp"
#include "support.hpp"

using namespace linkcast;
using namespace linkcast::calibration;

namespace {

const std::string before = R"({"args": ["./all_reduce_perf"], "env": [
  "AWS_SECRET_ACCESS_KEY=abc123", "http_proxy=http://me:abc123@proxy",)";

std::string error_of_json(const std::string& text) {
  return test::error_of([&] { read_nccl_tests_json(text, "run.json"); });
}

}  // namespace

TEST_CASE("a damaged environment is not quoted") {
  const auto cut_in_value = error_of_json(before + "\n  \"API_TOKEN=abc123");
  CHECK(cut_in_value.find("run.json:3:") != std::string::npos);
  CHECK(cut_in_value.find("abc123") == std::string::npos);
  const auto not_json = error_of_json(before + " AND_THIS=abc123 ], \"results\": [");
  CHECK(not_json.find("not valid JSON") != std::string::npos);
  CHECK(not_json.find("abc123") == std::string::npos);
}

TEST_CASE("elsewhere a line is quoted without the values of variables") {
  const auto message = error_of_json(R"({"env": [], "nccl_version": 22903,
"results": [ {"size": 8, "x": "HOME=abc123", NCCL_ALGO=Ring --size=8 } ]})");
  CHECK(message.find("HOME=******") != std::string::npos);
  CHECK(message.find("NCCL_ALGO=Ring --size=8") != std::string::npos);
  CHECK(message.find("abc123") == std::string::npos);
}

TEST_CASE("the value of a variable of NCCL that sounds like a secret is not kept") {
  const auto log =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1\n"
      "NCCL_NET_AUTH_TOKEN=abc123 NCCL_ALGO=Ring all_reduce_perf\n"
      "#  Rank  0 Group  0 Pid   1 on a device  0 [0000:41:00] NVIDIA H100 80GB HBM3\n"
      "#  Rank  1 Group  0 Pid   2 on a device  1 [0000:42:00] NVIDIA H100 80GB HBM3\n"
      "     1048576        262144     float     sum      -1    50.00   20.97   20.97      0    50.00   20.97   20.97   "
      "   0\n";
  for (const auto& s : read_nccl_tests(log, "run.log")) {
    CHECK(s.env.at("NCCL_NET_AUTH_TOKEN") == "(hidden)");
    CHECK(s.env.at("NCCL_ALGO") == "Ring");
  }
}
