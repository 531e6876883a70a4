// Lists of message sizes: what nccl-tests' users write, and what is said when it is wrong.
#include "catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/sizes.hpp"

namespace {

using linkcast::sim::InputError;
using linkcast::workloads::parse_size;
using linkcast::workloads::parse_sizes;

std::vector<std::int64_t> counts(std::string_view text) {
  std::vector<std::int64_t> out;
  for (const auto b : parse_sizes(text)) out.push_back(b.count());
  return out;
}

/// "column: problem", one a line.
std::string problems(std::string_view text) {
  try {
    parse_sizes(text);
  } catch (const InputError& e) {
    std::string out;
    for (const auto& d : e.diagnostics()) out += std::to_string(d.at.column) + ": " + d.problem + "\n";
    return out;
  }
  return "accepted";
}

using Counts = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a size is a number of bytes with a suffix of 1024", "[workloads][sizes]") {
  CHECK(parse_size("8").count() == 8);
  CHECK(parse_size("8B").count() == 8);
  CHECK(parse_size("1K").count() == 1024);
  CHECK(parse_size("4m").count() == 4 * 1024 * 1024);
  CHECK(parse_size("4MiB").count() == 4 * 1024 * 1024);
  CHECK(parse_size(" 2 GiB ").count() == std::int64_t{1} << 31);
  CHECK(parse_size("1T").count() == std::int64_t{1} << 40);
  CHECK(parse_size("1.5M").count() == 1572864);  // 1.5 * 2^20
  CHECK(parse_size("0.5K").count() == 512);
  CHECK(parse_size("9223372036854775807").count() == INT64_MAX);
}

TEST_CASE("a range doubles from its beginning and takes its end when it hits it", "[workloads][sizes]") {
  CHECK(counts("8:64") == Counts{8, 16, 32, 64});
  CHECK(counts("8:64:x2") == Counts{8, 16, 32, 64});
  CHECK(counts("8:100:x2") == Counts{8, 16, 32, 64});
  CHECK(counts("1:30:x3") == Counts{1, 3, 9, 27});
  CHECK(counts("8:8:x2") == Counts{8});
  CHECK(counts("1M:3M:+1M") == Counts{1 << 20, 2 << 20, 3 << 20});
  CHECK(counts("4:10:x1.5") == Counts{4, 6, 9});
  CHECK(counts("1:3:x1.01") == Counts{1, 2, 3});  // it never stands still
  // 8 = 2^3 up to 16G = 2^34: 32 sizes.
  const auto sweep = counts("8:16G:x2");
  REQUIRE(sweep.size() == 32);
  CHECK(sweep.back() == std::int64_t{1} << 34);
}

TEST_CASE("a doubling range ends below 2^63 without overflow", "[workloads][sizes]") {
  const auto all = counts("1:9223372036854775807:x2");
  REQUIRE(all.size() == 63);
  CHECK(all.back() == std::int64_t{1} << 62);
}

TEST_CASE("lists keep the order in which they were written", "[workloads][sizes]") {
  CHECK(counts("1M,4K, 1G") == Counts{1 << 20, 1 << 12, 1 << 30});
  CHECK(counts("8:32:x2,1K") == Counts{8, 16, 32, 1024});
}

TEST_CASE("what is wrong with a size is said at its place", "[workloads][sizes][errors]") {
  CHECK(problems("0") == "1: a size of zero\n");
  CHECK(problems("-8") == "1: '-8' is negative\n");
  CHECK(problems("") == "1: a size is missing here\n");
  CHECK(problems("8,,16") == "3: a size is missing here\n");
  CHECK(problems("12X") == "3: unknown suffix 'X'\n");
  CHECK(problems("4MB") == "2: 'MB' is not a suffix of sizes\n");
  CHECK(problems("1.3") == "1: '1.3' is not a whole number of bytes\n");
  CHECK(problems("big") == "1: 'big' is not a size\n");
  CHECK(problems("1.") == "1: '1.' is not a size\n");
  CHECK(problems("9223372036854775808") == "1: '9223372036854775808' is too large\n");
  CHECK(problems("8388608T") == "1: '8388608T' is too large\n");
  CHECK(problems(std::string(400, '9')).find("is too large") != std::string::npos);
}

TEST_CASE("what is wrong with a range is said at its place", "[workloads][sizes][errors]") {
  CHECK(problems("1G:8:x2") == "1: the range ends below its beginning\n");
  CHECK(problems("8:64:2") == "6: '2' is not a step\n");
  CHECK(problems("8:64:x1") == "6: 'x1' is not a factor that grows\n");
  CHECK(problems("8:64:x0.5") == "6: 'x0.5' is not a factor that grows\n");
  CHECK(problems("8:64:x") == "6: 'x' is not a factor that grows\n");
  CHECK(problems("8:64:+0") == "7: a size of zero\n");
  CHECK(problems("8:") == "3: a size is missing here\n");
  CHECK(problems("8:16:x2:x2") == "9: a range has at most three parts\n");
  CHECK(problems("1:1G:+1") == "1: more than 100000 sizes\n");
}

TEST_CASE("all mistakes of a list are reported together", "[workloads][sizes][errors]") {
  CHECK(problems("0,8,4MB,1G:8") ==
        "1: a size of zero\n"
        "6: 'MB' is not a suffix of sizes\n"
        "9: the range ends below its beginning\n");
}
