// The error to expect of a prediction, with or without a profile: the same in every command.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/calibration/expected_error.hpp"

namespace linkcast::cli {

class Expected {
 public:
  /// `profile`: as --profile named it; empty: none.
  explicit Expected(const std::string& profile);
  /// The profile's own held-back points where they are of this machine, collective and size; elsewhere the less
  /// favourable of those and of the tables that ship, which say nothing of this profile: extrapolated.
  std::optional<calibration::ExpectedError> of(std::string_view family, std::string_view architecture,
                                               models::nccl::Op op, sim::Bytes size) const;

 private:
  std::vector<calibration::ErrorRow> rows_;
  bool profile_ = false;
};

}  // namespace linkcast::cli
