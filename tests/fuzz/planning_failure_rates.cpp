// Failure rates and `reliability`: whatever is in the text, the readers answer with rates or an InputError.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "linkcast/planning/goodput.hpp"
#include "linkcast/sim/diagnostic.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linkcast;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  try {
    planning::FailureRates::parse(text, "fuzz.yaml");
  } catch (const sim::InputError&) {  // NOLINT(bugprone-empty-catch): an answer too
  }
  try {
    auto source = std::make_shared<workloads::SourceText>();
    source->name = "fuzz.yaml";
    source->text = text;
    workloads::trace::Problems problems;
    const auto value = workloads::trace::parse_yaml(source, problems);
    planning::Reliability::read(&value, problems);
    if (value.is_map()) planning::FailureRates::of_scenario(value, "", problems);  // else a path
    problems.throw_if_any();
  } catch (const sim::InputError&) {  // NOLINT(bugprone-empty-catch)
  }
  return 0;
}
