// Statistics by hand, and the two reports of one small validation as golden text.
#include "linkcast/calibration/report.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::calibration;

TEST_CASE("median, 90th percentile and bias") {
  CHECK(summarise({}).points == 0);
  const auto one = summarise({-0.25});
  CHECK(one.median_abs_rel_error == 0.25);
  CHECK(one.p90_abs_rel_error == 0.25);
  CHECK(one.bias == -0.25);
  // Sorted: -0.4 -0.1 0.2 0.3, bias (-0.1 + 0.2) / 2. Absolute: 0.1 0.2 0.3 0.4, median 0.25,
  // 90th percentile at 0.9 x 3 = 2.7: 0.3 + 0.7 x 0.1.
  const auto four = summarise({0.3, -0.1, 0.2, -0.4});
  CHECK(four.points == 4);
  CHECK(four.bias == Approx(0.05));
  CHECK(four.median_abs_rel_error == Approx(0.25));
  CHECK(four.p90_abs_rel_error == Approx(0.37));
}

Validation small() {
  Validation v;
  v.series.resize(2);
  auto& a = v.series[0];
  a.series.id = "run.log";
  a.series.system = "dgx-h100";
  a.series.ranks = 8;
  a.series.remarks = {"2 rows move no byte and are left out"};
  a.assumed = {"launch mode not stated: one process for all GPUs"};
  a.rows = {{{sim::kib(4), sim::Time::microseconds(20)}, sim::Time::microseconds(25), "Tree", "LL"},
            {{sim::mib(256), sim::Time::microseconds(1000)}, sim::Time::microseconds(980), "NVLS", "Simple"}};
  a.all = {2, 0.135, 0.227, 0.115};
  a.below_1M = {1, 0.25, 0.25, 0.25};
  a.from_64M = {1, 0.02, 0.02, -0.02};
  v.series[1].series.id = "two-nodes";
  v.series[1].skipped = "across nodes: a later step";
  v.all = a.all;
  v.below_1M = a.below_1M;
  v.from_64M = a.from_64M;
  v.families["dgx-h100 all_reduce"] = a.all;
  v.family_classes["dgx-h100 all_reduce"] = {a.below_1M, {}, a.from_64M};
  v.counted_series = 1;
  v.median_of_series = 0.135;
  v.median_of_series_below_1M = 0.25;
  v.median_of_series_from_64M = 0.02;
  return v;
}

void check_golden(const std::string& name, const std::string& text) {
  const auto path = test::repository() / "tests/golden/validation" / name;
  if (std::getenv("LINKCAST_REFRESH_GOLDEN") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  CHECK(text == test::text_of(path));
}

TEST_CASE("the reports of a validation") {
  ReportOptions rows;
  rows.rows = true;
  check_golden("report.txt", text_report(small(), rows));
  check_golden("report.json", json_report(small()));
}

TEST_CASE("what a run says about its machine becomes parameters, and nothing else does") {
  Series s;
  s.id = "rtx4090x8-allreduce-nop2p";  // an id never decides
  s.ranks = 4;
  s.system = "pcie-rtx4090";
  auto a = assumptions(s);
  CHECK(a.load.params == std::map<std::string, std::string>{{"gpus", "4"}});
  CHECK(a.communicator.launch == models::LaunchMode::single_process);
  s.machine_notes = "4 GPUs on one socket, P2P over BAR1 with a patched driver";
  a = assumptions(s);
  CHECK(a.load.params ==
        std::map<std::string, std::string>{{"gpus", "4"}, {"p2p", "true"}, {"placement", "host-bridge"}});
  s.env["NCCL_P2P_DISABLE"] = "1";
  CHECK(assumptions(s).load.params.at("p2p") == "false");

  Series nvswitch;
  nvswitch.ranks = 4;
  nvswitch.system = "dgx-h100";
  nvswitch.env = {{"NCCL_ALGO", "Ring"}, {"NCCL_ALGOO", "Ring"}, {"FI_PROVIDER", "efa"}};
  nvswitch.launch = models::LaunchMode::multi_process;
  nvswitch.nccl = models::nccl::Version{2, 18, 5};
  a = assumptions(nvswitch);
  CHECK(a.load.params.empty());
  CHECK(a.communicator.env.get("NCCL_ALGO") == "Ring");
  CHECK(a.communicator.launch == models::LaunchMode::multi_process);
  REQUIRE(a.sentences.size() == 1);  // NCCL_ALGOO is left out, as NCCL leaves it out
  CHECK(a.sentences[0].find("NCCL_ALGOO=Ring is left out") == 0);
}

}  // namespace
