// Which measured machine stands for one that was not measured.
#include "linkcast/calibration/expected_error.hpp"
#include "catch.hpp"

using namespace linkcast;
using calibration::ErrorRow;
using calibration::expected_error;
using calibration::Widening;
using models::nccl::Op;
using enum calibration::SizeClass;

namespace {

const ErrorRow table[] = {
    {"dgx-a100", "Ampere", Op::all_reduce, from_64M, 3, 9, 30, 64 << 20, 1 << 30},
    {"dgx-h100", "Hopper", Op::all_reduce, below_1M, 20, 40, 30, 8, 1 << 19},
    {"dgx-h100", "Hopper", Op::all_reduce, from_64M, 4, 8, 30, 64 << 20, 1 << 30},
    {"dgx-h100", "Hopper", Op::all_gather, from_64M, 6, 12, 30, 64 << 20, 1 << 30},
    {"hgx-h800", "Hopper", Op::all_gather, from_64M, 7, 14, 30, 64 << 20, 1 << 30},
};

}  // namespace

TEST_CASE("what was measured is taken as it is") {
  const auto e = expected_error("dgx-h100", "Hopper", Op::all_reduce, sim::mib(256), table, Widening::none());
  REQUIRE(e);
  CHECK(e->percent == 4);
  CHECK(e->p90_percent == 8);
  CHECK_FALSE(e->extrapolated);
  CHECK(e->from == "dgx-h100 all_reduce, 30 points");
}

TEST_CASE("beyond the sizes that were measured it is an extrapolation") {
  CHECK(expected_error("dgx-h100", "Hopper", Op::all_reduce, sim::gib(16), table)->extrapolated);
  CHECK(expected_error("dgx-h100", "Hopper", Op::all_reduce, sim::Bytes{4}, table)->extrapolated);
}

TEST_CASE("the class of size matters most, then the architecture, then the machine, then the collective") {
  // Small calls are the host's business: a large call of the same machine says less than a small one of another.
  CHECK(expected_error("dgx-a100", "Ampere", Op::all_reduce, sim::kib(8), table)->percent == 20);
  CHECK(expected_error("dgx-h100", "Hopper", Op::broadcast, sim::mib(256), table)->percent == 6);
  CHECK(expected_error("dgx-h200", "Hopper", Op::all_reduce, sim::mib(256), table)->percent == 4);
  CHECK(expected_error("dgx-h200", "Hopper", Op::all_reduce, sim::mib(256), table)->extrapolated);
}

TEST_CASE("of equals the least favourable") {
  // dgx-h100 and hgx-h800 are as near to an unmeasured Hopper machine.
  CHECK(expected_error("gh200-x4", "Hopper", Op::all_gather, sim::mib(256), table)->percent == 7);
}

TEST_CASE("without a table there is no expectation") {
  CHECK_FALSE(expected_error("dgx-h100", "Hopper", Op::all_reduce, sim::mib(1), {}));
}

TEST_CASE("the farther the question, the wider the interval") {
  Widening w = Widening::none();
  w.factor[2] = {1.1, 1.3, 1.5, 2};  // from 64 MiB
  const auto p90 = [&](const char* system, const char* architecture, Op op) {
    return expected_error(system, architecture, op, sim::mib(256), table, w)->p90_percent;
  };
  CHECK(p90("dgx-h100", "Hopper", Op::all_reduce) == Approx(1.1 * 8));
  CHECK(p90("dgx-h100", "Hopper", Op::broadcast) == Approx(1.3 * 12));  // of equals the least favourable
  CHECK(p90("dgx-h200", "Hopper", Op::all_reduce) == Approx(1.5 * 8));
  CHECK(p90("hgx-b200", "Blackwell", Op::all_gather) == Approx(2 * 14));
}

TEST_CASE("the tables that ship are the tool's, and widen what was not measured") {
  const auto& w = calibration::calibrated_widening();
  for (const auto& of_class : w.factor)
    for (std::size_t n = 1; n < of_class.size(); ++n) CHECK(of_class[n] >= of_class[n - 1]);
  CHECK(w.factor[2][3] > w.factor[2][0]);
  CHECK(calibration::calibrated_errors().size() > 60);
}
