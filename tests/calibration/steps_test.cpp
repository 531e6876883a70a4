// Published step times: how rows are read, what is refused, and the rows that the project promises.
#include <cmath>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "linkcast/calibration/steps.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::calibration;

const std::string data = LINKCAST_SOURCE_DIR "/tests/data/";

std::vector<StepRow> rows_of(const std::string& file) {
  std::ifstream in(data + "steps/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return read_step_rows(text.str(), file);
}

TEST_CASE("rows of steps are read with their plans") {
  const auto rows = rows_of("llama3-01.yaml");
  REQUIRE(rows.size() == 3);
  CHECK(rows[2].file == "llama3-01");
  CHECK(rows[2].cp == 16);
  CHECK(rows[2].sequence == 131'072);
  CHECK(rows[2].model_tflops == 380);
  CHECK_THROWS_AS(read_step_rows("id: x\nrows:\n- row_id: a\n  tp: two\n", "x.yaml"), sim::InputError);
  CHECK_THROWS_AS(read_step_rows("id: x\nrows: 3\n", "x.yaml"), sim::InputError);
}

TEST_CASE("Llama 3 405B: published rates within 10 %, their ratios within 4 %") {
  const auto v = validate_steps(rows_of("llama3-01.yaml"), model_cards(data + "models"));
  REQUIRE(v.all.rows == 3);
  for (const auto& r : v.rows) CHECK(std::abs(r.error()) < 0.10);
  for (const auto i : {1u, 2u}) CHECK(std::abs((1 + v.rows[i].error()) / (1 + v.rows[0].error()) - 1) < 0.04);
}

TEST_CASE("rows that cannot be predicted say why") {
  StepRow r;
  r.model = "nobody's";
  r.gpu = "H100-80GB";
  r.gpus = 8;
  r.phase = "pretrain";
  const auto cards = model_cards(data + "models");
  CHECK(validate_steps({r}, cards).rows[0].skipped.find("dimensions") != std::string::npos);
  r.model = "llama3.1-8b";
  CHECK(validate_steps({r}, cards).rows[0].skipped == "the parallelism is not stated");
}

}  // namespace
