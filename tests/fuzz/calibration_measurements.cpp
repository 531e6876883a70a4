// Readers of measurements, every format: each answers with measurements that can be used or with an InputError.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/calibration/readers.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace {

using namespace linkcast;
using calibration::Measurements;

void require(bool fine) {
  if (!fine) std::abort();
}

/// What everything that follows relies on: sizes, times and rates above zero, tables that are square.
void check(const std::vector<calibration::Series>& all) {
  for (const auto& series : all) {
    require(series.ranks >= 1);
    for (const auto& p : series.points) require(p.size > sim::Bytes{} && p.time > sim::Time{});
  }
}

void check(const std::vector<calibration::PairMatrix>& all) {
  for (const auto& m : all) {
    require(!m.cells.empty());
    for (const auto& row : m.cells) {
      require(m.to_host || m.from_host || row.size() == m.cells.size());
      for (const auto& cell : row) require(!cell || (*cell > 0 && std::isfinite(*cell)));
    }
  }
}

void check(const std::vector<calibration::PairTest>& all) {
  for (const auto& t : all) {
    require(!t.rows.empty());
    for (const auto& r : t.rows) require(r.size >= sim::Bytes{} && r.value > 0 && std::isfinite(r.value));
  }
}

void check(const std::vector<calibration::Figure>& all) {
  for (const auto& f : all) require(f.GBps > 0 && std::isfinite(f.GBps) && f.ranks.value_or(1) >= 1);
}

void check(const Measurements& read) {
  check(read.series);
  check(read.matrices);
  check(read.tests);
  check(read.figures);
  for (const auto& c : read.cases) {
    check(c.series);
    check(c.matrices);
    check(c.tests);
    check(c.figures);
  }
}

template <class Read>
void read(Read&& reader) {
  try {
    check(reader());
  } catch (const sim::InputError& e) {
    require(!e.diagnostics().empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const calibration::Hints hints{models::nccl::Op::all_reduce, 8, "dgx-h100"};
  read([&] { return calibration::read_nccl_tests(text, "log.txt", hints); });
  read([&] { return calibration::read_nccl_tests_json(text, "log.json", hints); });
  read([&] { return calibration::read_corpus_yaml(text, "series.yaml"); });
  for (const auto reader :
       {calibration::read_corpus_matrices, calibration::read_corpus_pair_test, calibration::read_corpus_points,
        calibration::read_corpus_case, calibration::read_perftest, calibration::read_perftest_json,
        calibration::read_nvbandwidth, calibration::read_nvbandwidth_json, calibration::read_p2p_bandwidth_latency,
        calibration::read_osu}) {
    read([&] { return reader(text, "measurement"); });
  }
  const calibration::InspectorFile inspector{text, "host-pid1.log"};
  read([&] { return calibration::read_nccl_inspector({&inspector, 1}); });
  read([&] { return calibration::read_any(text, "measurement", hints); });
  return 0;
}
