#include "expected.hpp"

namespace linkcast::cli {

Expected::Expected(const std::string& profile) : profile_{!profile.empty()} {
  if (!profile.empty()) rows_ = calibration::errors_of(*topologies::Profile::read(profile), profile);
}

std::optional<calibration::ExpectedError> Expected::of(std::string_view family, std::string_view architecture,
                                                       models::nccl::Op op, sim::Bytes size) const {
  auto shipped = calibration::expected_error(family, architecture, op, size);
  auto own = calibration::expected_error(family, architecture, op, size, rows_);
  if (own && (!own->extrapolated || !shipped || own->p90_percent > shipped->p90_percent)) return own;
  if (shipped && profile_) shipped->extrapolated = true;
  return shipped;
}

}  // namespace linkcast::cli
