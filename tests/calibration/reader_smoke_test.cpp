// Damaged files: whatever happened to them, a reader answers with series or with sim::InputError, never otherwise.
// Deterministic: the same damage on every run. A longer campaign belongs to tests/fuzz.
#include <array>
#include <cstdint>

#include "linkcast/calibration/series.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;

/// SplitMix64: small, and the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_{seed} {}
  std::size_t below(std::size_t n) {
    auto z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);
  }

 private:
  std::uint64_t state_;
};

std::string damaged(std::string text, Dice& dice) {
  constexpr std::array<std::string_view, 16> kBits = {
      "[", "]", "{", "}", "- ", "#", "\n", ": ", "\"", "&a ", "*a", "99999999999999999999", "-1", "|", "\t", "e+400"};
  const auto times = 1 + dice.below(4);
  for (std::size_t k = 0; k < times && !text.empty(); ++k) {
    const auto at = dice.below(text.size());
    switch (dice.below(6)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = static_cast<char>(dice.below(256));
        break;
      case 2:
        text.insert(at, kBits[dice.below(kBits.size())]);
        break;
      case 3:
        text.erase(at, 1 + dice.below(40));
        break;
      case 4:
        text.insert(at, text.substr(dice.below(text.size()), dice.below(200)));
        break;
      default:
        text[at] = kBits[dice.below(kBits.size())][0];
        break;
    }
  }
  return text;
}

template <class Read>
void survives(const std::string& sample, std::uint64_t seed, int rounds, Read&& read) {
  REQUIRE(!sample.empty());
  Dice dice(seed);
  int accepted = 0, refused = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto text = damaged(sample, dice);
    try {
      for (const calibration::Series& s : read(text)) {
        REQUIRE(s.ranks >= 1);
        for (const auto& p : s.points) {
          REQUIRE(p.size > sim::Bytes{});
          REQUIRE(p.time > sim::Time{});
        }
      }
      ++accepted;
    } catch (const sim::InputError& e) {
      REQUIRE(!e.diagnostics().empty());
      ++refused;
    }
  }
  // The damage is neither always fatal nor always harmless, or the test would see only one side of the readers.
  CHECK(accepted > 0);
  CHECK(refused > 0);
}

TEST_CASE("damaged corpus files give series or an InputError") {
  const auto folder = test::repository() / "tests/data/collectives";
  for (const auto* name : {"h100x4-allreduce-nccl2.29-plain-graph.yaml", "v100dgx2x12-allgather-01.yaml",
                           "a100x8x2-allreduce-ib-hdr200-02.yaml"}) {
    survives(test::text_of(folder / name), 1, 700,
             [](const std::string& text) { return calibration::read_corpus_yaml(text, "f.yaml"); });
  }
}

TEST_CASE("damaged nccl-tests logs give series or an InputError") {
  const auto folder = test::repository() / "tests/data/nccl_tests";
  for (const auto* name : {"h100_4gpu_all_reduce.v2.18.3.txt", "superbench_nccl_alltoall.log"}) {
    survives(test::text_of(folder / name), 2, 1500,
             [](const std::string& text) { return calibration::read_nccl_tests(text, "alltoall.log"); });
  }
}

TEST_CASE("damaged -J files give series or an InputError") {
  const auto sample = test::text_of(test::repository() / "tests/data/nccl_tests/schema_example_dash_J.json");
  survives(sample, 3, 1500, [](const std::string& text) { return calibration::read_nccl_tests_json(text, "f.json"); });
}

TEST_CASE("deep nesting is refused, not followed") {
  const std::string deep(100'000, '[');
  CHECK_THROWS_AS(calibration::read_corpus_yaml("kind: collective\nnotes: " + deep, "f.yaml"), sim::InputError);
  CHECK_THROWS_AS(calibration::read_nccl_tests_json("{\"results\":" + deep, "f.json"), sim::InputError);
}

}  // namespace
