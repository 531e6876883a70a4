// Measurements as a fit sees them: numbers that can be predicted under any profile. Knows nothing of least squares.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "linkcast/calibration/fit.hpp"

namespace linkcast::calibration {

class Observation {
 public:
  virtual ~Observation() = default;
  /// As FitPoint; `predicted` and what is held back are not filled in.
  virtual const std::vector<FitPoint>& points() const = 0;
  /// For these of its points, in order. May be called from several threads.
  virtual std::vector<double> predict(const std::shared_ptr<const topologies::Profile>& profile,
                                      const std::vector<std::size_t>& points) const = 0;
  /// "gpus.h100-sxm", …: parts whose numbers may matter.
  virtual std::vector<std::string> parts() const = 0;
  /// Relative uncertainty of a point that the form of the data brings (rounding), beside that of the model.
  virtual double rounding(std::size_t) const { return 0; }
};

/// What of the measurements can be predicted; a sentence in `notes` for what cannot.
std::vector<std::unique_ptr<Observation>> observations(const Measurements& measurements,
                                                       const std::shared_ptr<const topologies::Profile>& profile,
                                                       std::vector<std::string>& notes);

}  // namespace linkcast::calibration
