// Readers of measurements: nccl-tests' table and JSON, and the corpus format. Each answers with series or an
// InputError.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "linkcast/calibration/series.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace {

using namespace linkcast;

template <class Read>
void read(Read&& reader) {
  try {
    for (const auto& series : reader()) {
      for (const auto& point : series.points) {
        // A measurement without a size or a time would divide by zero in everything that follows.
        if (point.size <= sim::Bytes{} || point.time <= sim::Time{}) std::abort();
      }
    }
  } catch (const sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const calibration::Hints hints{models::nccl::Op::all_reduce, 8, "dgx-h100"};
  read([&] { return calibration::read_nccl_tests(text, "log.txt", hints); });
  read([&] { return calibration::read_nccl_tests_json(text, "log.json", hints); });
  read([&] { return calibration::read_corpus_yaml(text, "series.yaml"); });
  return 0;
}
