// The scenarios that ship run as they are.
#include <filesystem>

#include "catch.hpp"
#include "ran.hpp"


TEST_CASE("every scenario in configs/ runs", "[cli]") {
  int tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator{LINKCAST_SOURCE_DIR "/configs"}) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().filename().string());
    CHECK(typed("run \"" + entry.path().string() + "\"").status == 0);
    ++tried;
  }
  CHECK(tried >= 5);
}

TEST_CASE("Llama 3 405B takes what its report says, within a tenth", "[cli]") {
  // 400 TFLOP/s on each of 16,384 GPUs, 430 on each of 8,192 (arXiv 2407.21783, table 4): 6.46 s and 12.02 s a step.
  const std::string run = "run \"" LINKCAST_SOURCE_DIR "/configs/step-llama3-405b-16k.yaml\" --json";
  const auto seconds = [](const std::string& json) {
    const auto at = json.find("\"step_us\": ");
    REQUIRE(at != json.npos);
    return std::stod(json.substr(at + 11)) * 1e-6;
  };
  const double large = seconds(typed(run).out);
  const double small = seconds(typed(run + " --set workload.step.plan.gpus=8192").out);
  CHECK(large == Approx(6.461).epsilon(0.10));
  CHECK(small == Approx(12.021).epsilon(0.10));
  CHECK(small / large == Approx(12.021 / 6.461).epsilon(0.04));
}
