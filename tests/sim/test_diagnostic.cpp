// Diagnostics as a user sees them, and the guess at what was meant.
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "linkcast/sim/account.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "print.hpp"

using namespace linkcast::sim;
using namespace linkcast::sim::literals;

namespace {
Diagnostic at(std::string file, int line, int column, int length, std::string problem, std::string help = {}) {
  Diagnostic d;
  d.at.file = std::move(file);
  d.at.line = line;
  d.at.column = column;
  d.at.length = length;
  d.problem = std::move(problem);
  d.help = std::move(help);
  return d;
}
const std::string yaml = "links:\n  - kind: nvlink\n    rate: 450\n    latancy: 300 ns\n";
}  // namespace

TEST_CASE("a diagnostic quotes its line and points at the token", "[sim][diagnostic]") {
  CHECK(render(at("dgx.yaml", 4, 5, 7, "unknown key 'latancy'", "did you mean 'latency'?"), yaml) ==
        "dgx.yaml:4:5: error: unknown key 'latancy'\n"
        "  4 |     latancy: 300 ns\n"
        "    |     ^^^^^^^  did you mean 'latency'?");
}

TEST_CASE("without a text, a line or a file there is less to show, and nothing to crash on", "[sim][diagnostic]") {
  CHECK(render(at("a.yaml", 3, 11, 3, "no unit", "write 450 GB/s"), "") ==
        "a.yaml:3:11: error: no unit\n  help: write 450 GB/s");
  CHECK(render(at("a.yaml", 0, 0, 1, "is a directory"), "") == "a.yaml: error: is a directory");
  CHECK(render(at("", 0, 0, 1, "no such operation 'allreduse'"), "") == "error: no such operation 'allreduse'");
  CHECK(render(at("a.yaml", 99, 1, 1, "ends too early"), yaml) == "a.yaml:99:1: error: ends too early");
  CHECK(render(at("a.yaml", 1, 500, 9, "far out"), yaml) == "a.yaml:1:500: error: far out");
}

TEST_CASE("the caret stands right behind tabs, wide lines and at the end of a line", "[sim][diagnostic]") {
  CHECK(render(at("t", 1, 2, 1, "p"), "\tx: 1\r\n") == "t:1:2: error: p\n  1 | \tx: 1\n    | \t^");
  // "µ" has two bytes and one column of print: columns count bytes, the caret is set by characters.
  CHECK(render(at("t", 1, 7, 1, "p"), "a: 1\xC2\xB5s") == "t:1:7: error: p\n  1 | a: 1\xC2\xB5s\n    |      ^");
  CHECK(render(at("t", 1, 3, 5, "p", "h"), "a:") == "t:1:3: error: p\n  1 | a:\n    |   ^  h");
  CHECK(render(at("t", 1, 1, 1, "p"), std::string(100'000, 'x')).size() < 100);
}

TEST_CASE("all problems of a file come at once, by position", "[sim][diagnostic]") {
  const InputError e{{at("f", 4, 5, 7, "second"), at("f", 3, 11, 3, "first")}, yaml};
  CHECK(e.diagnostics()[0].problem == "first");
  CHECK(std::string{e.what()} ==
        "f:3:11: error: first\n  3 |     rate: 450\n    |           ^^^\n"
        "f:4:5: error: second\n  4 |     latancy: 300 ns\n    |     ^^^^^^^");
  CHECK(std::string{InputError("bad option", "try --help").what()} == "error: bad option\n  help: try --help");
}

TEST_CASE("the nearest name is the one meant, or none", "[sim][diagnostic]") {
  const std::vector<std::string> known{"latency", "rate", "state", "dgx-h100", "dgx-h200", "all_reduce"};
  CHECK(nearest("latancy", known) == "latency");
  CHECK(nearest("Rate", known) == "rate");
  CHECK(nearest("raet", known) == "rate");  // a swap is one edit
  CHECK(nearest("allreduce", known) == "all_reduce");
  CHECK(nearest("dgxh100", known) == "dgx-h100");
  CHECK(nearest("bandwidth", known).empty());
  CHECK(nearest("", known).empty());
  CHECK(nearest("x", {}).empty());
}

TEST_CASE("a transfer is booked by what each bound adds", "[sim][account]") {
  Account a;
  book_transfer(a, 20_us, 10_us, 12_us, 15_us, Cause::sm);
  CHECK(a[Cause::wire] == 10_us);
  CHECK(a[Cause::protocol] == 2_us);
  CHECK(a[Cause::sm] == 3_us);
  CHECK(a[Cause::congestion] == 5_us);
  CHECK(a.total() == 20_us);
}

TEST_CASE("a booking adds up also where a bound is beyond what elapsed", "[sim][account]") {
  for (std::int64_t elapsed = 0; elapsed < 20; ++elapsed) {
    Account a;
    book_transfer(a, Time::picoseconds(elapsed), 10_ps, 12_ps, 15_ps, Cause::nic);
    CHECK(a.total() == Time::picoseconds(elapsed));
    CHECK(a[Cause::wire] == std::min(Time::picoseconds(elapsed), 10_ps));
  }
}

TEST_CASE("causes are called as in JSON", "[sim][account]") {
  CHECK(name_of(Cause::launch) == "launch");
  CHECK(name_of(Cause::sm) == "sm");
  CHECK(name_of(Cause::compute) == "compute");
}
