// The file of `calibrate measure`: any bytes give measurements or an InputError, and what was read can be written and
// read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "linkcast/calibration/measurement_file.hpp"
#include "linkcast/sim/diagnostic.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linkcast;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  try {
    const auto file = calibration::parse_measurement_file(text, "m.json");
    for (const auto& s : calibration::measurements_of(file, "m.json").series)
      for (const auto& point : s.points)
        if (point.size <= sim::Bytes{} || point.time <= sim::Time{}) std::abort();
    const auto written = calibration::text_of(file);
    if (calibration::text_of(calibration::parse_measurement_file(written, "m.json")) != written) std::abort();
  } catch (const sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
  return 0;
}
