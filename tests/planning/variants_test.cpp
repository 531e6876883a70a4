// Variants: what a grid counts, names and makes.
#include "linkcast/planning/variants.hpp"

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"

using namespace linkcast;

namespace {

planning::Variants variants(const std::string& yaml) {
  workloads::trace::Problems problems;
  planning::Variants v{workloads::open_scenario_text("topology: dgx-h100\nnodes: 4\n" + yaml, "study.yaml"), problems};
  problems.throw_if_any();
  return v;
}

std::string refusal(const std::string& yaml) {
  try {
    variants(yaml);
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a grid is the product of its keys, the last varies fastest", "[variants]") {
  const auto v = variants("variants: {nodes: [1, 2, 4], nccl: [\"2.18\", \"2.27\"]}");
  REQUIRE(v.count() == 6);
  CHECK(v.name(0) == "1, 2.18");
  CHECK(v.name(1) == "1, 2.27");
  CHECK(v.name(5) == "4, 2.27");
  const auto s = v.scenario(5);
  CHECK(s.root.get("nodes")->text == "4");
  CHECK(s.root.get("nccl")->text == "2.27");
  CHECK(s.root.get("variants") == nullptr);
}

TEST_CASE("options set several keys; what is not there is made", "[variants]") {
  const auto v = variants(
      "options: {fast: {nics: 8x800, env.NCCL_ALGO: Ring}, slow: {nics: 8x200}}\n"
      "variants: {nodes: 2:8:x2}");
  REQUIRE(v.count() == 6);
  CHECK(v.name(1) == "fast, 4");
  const auto s = v.scenario(1);
  CHECK(s.root.get("nics")->text == "8x800");
  CHECK(s.root.get("env")->get("NCCL_ALGO")->text == "Ring");
  CHECK(v.scenario(3).root.get("env") == nullptr);
}

TEST_CASE("ranges of sizes and of whole numbers", "[variants]") {
  const auto v = variants("variants: {workload.collective.size: 1K:4K:x2, nodes: 2:8:3}");
  CHECK(v.axes()[0].choices[2].name == "4 KiB");
  REQUIRE(v.axes()[1].choices.size() == 3);
  CHECK(v.axes()[1].choices[2].name == "8");
}

TEST_CASE("a baseline that names some choices follows the others", "[variants]") {
  const auto v = variants("variants: {nodes: [1, 2], nccl: [\"2.18\", \"2.27\"]}\nbaseline: {nodes: 2}");
  CHECK(v.baseline_names({"1", "2.27"}) == std::vector<std::string>{"2", "2.27"});
  CHECK(variants("variants: {nodes: [1, 2]}").baseline_names({"2"}) == std::vector<std::string>{"1"});
}

TEST_CASE("what is wrong with variants is said at its place", "[variants]") {
  CHECK(refusal("variants: {nodes: []}").find("study.yaml:3:19: error: 'nodes' has no values: the grid is empty") !=
        std::string::npos);
  CHECK(refusal("variants: {}").find("the grid is empty") != std::string::npos);
  CHECK(refusal("variants: {nodes: 3}").find("must be a list or a range") != std::string::npos);
  CHECK(refusal("variants: {nodes: 8:2:x2}").find("is no range") != std::string::npos);
  CHECK(refusal("variants: {nodes: [1, 1]}").find("stands twice") != std::string::npos);
  CHECK(refusal("variants: {schema: [a]}").find("cannot vary") != std::string::npos);
  CHECK(refusal("options: 3").find("must be a map") != std::string::npos);
  CHECK(refusal("variants: {nodes: [1, 2]}\nbaseline: 3").find("is none of the variants") != std::string::npos);
}

TEST_CASE("a grid beyond counting is counted", "[variants]") {
  std::string text = "variants: {";
  for (int i = 0; i < 9; ++i) text += "params.p" + std::to_string(i) + ": 1:10:1, ";
  CHECK(variants(text + "}").count() == 1'000'000'000);
  for (int i = 9; i < 25; ++i) text += "params.p" + std::to_string(i) + ": 1:10:1, ";
  CHECK(variants(text + "}").count() == std::numeric_limits<std::int64_t>::max());
}
