// A measured series as something that can be predicted again and again under different profiles: what is taken for
// granted about the run is worked out once. Knows no file format and no statistics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "linkcast/calibration/validate.hpp"
#include "linkcast/topologies/cluster.hpp"

namespace linkcast::calibration {

/// Why a series cannot be predicted, before anything is loaded; empty where it can.
std::string reason_to_skip(const Series& series);

class SeriesModel {
 public:
  /// `series` must outlive it. Throws sim::InputError where it cannot be predicted.
  explicit SeriesModel(const Series& series);

  /// The machines of the run. Throws sim::InputError.
  topologies::Cluster cluster(const std::shared_ptr<const topologies::Profile>& profile) const;
  /// Seconds for each of these points (indices into series.points), in order. May be called from several threads.
  std::vector<double> times(const std::shared_ptr<const topologies::Profile>& profile,
                            const std::vector<std::size_t>& points) const;

  const Series& series() const { return series_; }
  const Assumptions& assumed() const { return assumed_; }

 private:
  const Series& series_;
  Assumptions assumed_;
  std::shared_ptr<const models::nccl::Communicator> chosen_;  // NCCL's choices: no fitted number changes them
};

}  // namespace linkcast::calibration
