// What planning reads of a scenario: variants, goals, faults, prices. Whatever is in the text, an answer or an
// InputError.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "linkcast/planning/faults.hpp"
#include "linkcast/planning/goals.hpp"
#include "linkcast/planning/sweep.hpp"
#include "linkcast/planning/variants.hpp"
#include "linkcast/sim/diagnostic.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linkcast;
  const std::string text{reinterpret_cast<const char*>(data), size};
  static const planning::Elements elements{topologies::load_cluster("dgx-h100", {2, {}, {}, {}, nullptr})};
  const auto attempt = [](auto what) {
    try {
      what();
    } catch (const sim::InputError&) {  // NOLINT(bugprone-empty-catch): an answer too
    }
  };
  attempt([&] { static_cast<void>(planning::Prices::parse(text, "fuzz.yaml")); });
  attempt([&] { static_cast<void>(planning::read_csv(text)); });
  attempt([&] {
    const auto scenario = workloads::open_scenario_text(text, "fuzz.yaml");
    if (!scenario.root.is_map()) return;
    attempt([&] { static_cast<void>(planning::faults_of(scenario, elements)); });
    workloads::trace::Problems problems;
    if (const auto* goals = scenario.root.get("goals")) static_cast<void>(planning::read_goals(problems, *goals));
    const planning::Variants variants{scenario, problems};
    problems.throw_if_any();
    for (const auto i : {std::int64_t{0}, variants.count() / 2, variants.count() - 1})
      attempt([&] {
        static_cast<void>(variants.baseline_names(variants.names(i))), static_cast<void>(variants.scenario(i));
      });
  });
  return 0;
}
