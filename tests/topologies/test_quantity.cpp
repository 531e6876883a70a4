// Units as people write them.
#include "../../topologies/src/quantity.hpp"
#include "catch.hpp"

using namespace linkcast::topologies;

namespace {

std::int64_t value(std::string_view text, Dimension d) {
  const auto r = parse_quantity(text, d, "x", true);
  INFO(text);
  REQUIRE(std::holds_alternative<std::int64_t>(r));
  return std::get<std::int64_t>(r);
}

std::string problem(std::string_view text, Dimension d) {
  const auto r = parse_quantity(text, d, "x", false);
  INFO(text);
  REQUIRE(std::holds_alternative<QuantityError>(r));
  return std::get<QuantityError>(r).problem;
}

}  // namespace

TEST_CASE("rates: bytes are capital, bits are small, 1 GB = 10^9 B", "[topologies][units]") {
  CHECK(value("450 GB/s", Dimension::rate) == 450'000'000'000);
  CHECK(value("400 Gb/s", Dimension::rate) == 50'000'000'000);  // 400e9 / 8
  CHECK(value("400Gb/s", Dimension::rate) == 50'000'000'000);
  CHECK(value("1 GiB/s", Dimension::rate) == 1'073'741'824);
  CHECK(value("984.6 MB/s", Dimension::rate) == 984'600'000);
}

TEST_CASE("times and sizes", "[topologies][units]") {
  CHECK(value("1.2 us", Dimension::time) == 1'200'000);  // picoseconds
  CHECK(value("105 ns", Dimension::time) == 105'000);
  CHECK(value("0 ns", Dimension::time) == 0);
  CHECK(value("4 MiB", Dimension::size) == 4'194'304);
  CHECK(value("9223372036854774784 B", Dimension::size) == 9'223'372'036'854'774'784);  // largest double below 2^63
}

TEST_CASE("what is not a quantity", "[topologies][units]") {
  CHECK(problem("450", Dimension::rate) == "'x' needs a unit: '450'");
  CHECK(problem("450 us", Dimension::rate) == "'x' is a rate, not a time: '450 us'");
  CHECK(problem("fast", Dimension::rate) == "'x' is not a rate: 'fast'");
  CHECK(problem("nan GB/s", Dimension::rate) == "'x' is not a rate: 'nan GB/s'");
  CHECK(problem("-1 GB/s", Dimension::rate) == "'x' is negative: '-1 GB/s'");
  CHECK(problem("0 GB/s", Dimension::rate) == "'x' is zero: '0 GB/s'");
  CHECK(problem("9223372036854775808 B", Dimension::size) == "'x' does not fit: '9223372036854775808 B'");
  CHECK(problem("25 GBps", Dimension::rate) == "unknown unit 'GBps' in 'x'");
  CHECK(problem("", Dimension::size) == "'x' is not a size: ''");
}

TEST_CASE("a formatted quantity reads back as the same number", "[topologies][units][property]") {
  const auto n = GENERATE(take(200, random(1, 1 << 30)));
  for (auto d : {Dimension::rate, Dimension::time, Dimension::size}) {
    CHECK(value(format_quantity(n, d), d) == n);
    CHECK(value(format_quantity(n * std::int64_t{1000}, d), d) == n * std::int64_t{1000});
  }
}
