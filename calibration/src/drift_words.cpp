// See drift_words.hpp.
#include "drift_words.hpp"

#include <fmt/format.h>

#include <cmath>

namespace linkcast::calibration {

double percent_of(double log_ratio) { return std::expm1(log_ratio) * 100; }

std::string drift_size_text(sim::Bytes size) {
  const auto n = size.count();
  if (n >= (1 << 30) && n % (1 << 30) == 0) return fmt::format("{} GiB", n >> 30);
  if (n >= (1 << 20) && n % (1 << 20) == 0) return fmt::format("{} MiB", n >> 20);
  if (n >= (1 << 10) && n % (1 << 10) == 0) return fmt::format("{} KiB", n >> 10);
  return fmt::format("{} B", n);
}

std::string sizes_of(const DriftFinding& f) {
  if (!f.from || !f.to) return "-";
  if (*f.from == *f.to) return drift_size_text(*f.from);
  return fmt::format("{} to {}", drift_size_text(*f.from), drift_size_text(*f.to));
}

std::string_view verdict_of(const Drift& drift) {
  if (drift.broken()) return "broken";
  if (drift.compared.empty()) return "not compared";
  if (drift.slower()) return "drifted";
  return drift.faster() ? "improved" : "steady";
}

}  // namespace linkcast::calibration
