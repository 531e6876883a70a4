// The scenarios that ship run as they are.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.hpp"
#include "linkcast/workloads/scenario_file.hpp"
#include "ran.hpp"

TEST_CASE("every scenario in configs/ runs", "[cli]") {
  int tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator{LINKCAST_SOURCE_DIR "/configs"}) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().filename().string());
    const auto scenario = linkcast::workloads::open_scenario(entry.path().string());
    const bool search = scenario.root.get("search") != nullptr;
    const auto ran = typed((search ? "plan \"" : "run \"") + entry.path().string() + "\"");
    // 1: the scenario has goals, and it is there to show one that is missed.
    const bool goals = scenario.root.get("goals") != nullptr;
    CHECK((ran.status == 0 || (goals && ran.status == 1)));
    if (search) CHECK(typed("run \"" + entry.path().string() + "\"").err.find("linkcast plan") != std::string::npos);
    ++tried;
  }
  CHECK(tried >= 5);
}

TEST_CASE("every scenario in configs/packet runs, at both of its fidelities", "[cli]") {
  int tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator{LINKCAST_SOURCE_DIR "/configs/packet"}) {
    CAPTURE(entry.path().filename().string());
    for (const std::string fidelity : {"flow", "packet"}) {
      const auto ran = typed("run \"" + entry.path().string() + "\" --json --fidelity " + fidelity);
      CAPTURE(fidelity, ran.err);
      REQUIRE(ran.status == 0);
      const auto json = nlohmann::json::parse(ran.out);
      CHECK(json["schema"] == "linkcast.flows/1");
      CHECK(json["fidelity"] == fidelity);
      CHECK(json["time_us"].get<double>() > 0);
      for (const auto& l : json["links"]) CHECK(l["utilisation"].get<double>() < 1 + 1e-6);
    }
    ++tried;
  }
  CHECK(tried >= 7);
}

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in{path};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("every study does what its first comment says to try, and a page shows it", "[cli]") {
  const std::filesystem::path root{LINKCAST_SOURCE_DIR};
  std::string pages;
  for (const auto& entry : std::filesystem::directory_iterator{root / "docs/studies"}) pages += text_of(entry.path());
  int tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator{root / "configs/studies"}) {
    if (entry.path().extension() != ".yaml") continue;
    const auto name = "configs/studies/" + entry.path().filename().string();
    CAPTURE(name);
    CHECK(pages.find("](../../" + name + ")") != pages.npos);
    const auto text = text_of(entry.path());
    const std::string before = "\n# Try: linkcast ";
    const auto at = text.find(before);
    REQUIRE(at != text.npos);
    auto line = text.substr(at + before.size(), text.find('\n', at + 1) - at - before.size());
    CHECK(line.ends_with(" " + name));
    line = line.substr(0, line.find(' ')) + " \"" + entry.path().string() + "\"";
    const auto ran = typed(line);
    CAPTURE(line, ran.err);
    // 1: the study has goals, and it is there to show that none meets them.
    CHECK((ran.status == 0 || (ran.status == 1 && text.find("\ngoals:") != text.npos)));
    ++tried;
  }
  CHECK(tried >= 30);
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

TEST_CASE("validate gives step tables in the same JSON as series of collectives", "[cli]") {
  const auto ran = typed("validate \"" LINKCAST_SOURCE_DIR "/tests/data/steps\" --json");
  REQUIRE(ran.status == 0);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["schema"] == "linkcast.validate/1");
  CHECK(json["overall"]["series"] == 4);
  for (const auto& series : json["series"]) {
    if (series["id"] != "llama3-01") continue;
    CHECK(series["points"] == 3);
    CHECK(series["rows"][1]["row_id"] == "llama3-01-r002");
    // 405e9 x 6 x 2048 x 8192 operations and attention at 400 TFLOP/s on 16,384 GPUs: 6.461 s.
    CHECK(series["rows"][1]["measured_us"].get<double>() == Approx(6.461e6).epsilon(1e-3));
    CHECK(series["rows"][1]["predicted_us"].get<double>() == Approx(6.461e6).epsilon(0.10));
  }
  for (const auto* key : {"points", "median_abs_rel_error", "p90_abs_rel_error", "bias"})
    CHECK(json["overall"].contains(key));
}
