// What copies between two GPUs, and between a GPU and its host, reach on a healthy machine: from the links of the
// fabric and the copy engines of the GPU. Knows no measurement.
#pragma once

#include "linkcast/topologies/fabric.hpp"

namespace linkcast::calibration::diagnosis {

class PairRates {
 public:
  explicit PairRates(topologies::Fabric fabric);
  int gpus() const;
  bool nvlink() const { return nvlink_total_ > 0; }
  bool nvlink(int from, int to) const;
  double pair(int from, int to, bool bidirectional) const;  // GB/s; 0: no way
  double best_pair(bool bidirectional) const;
  /// Through host memory, as the driver does it without peer access.
  double staged(bool bidirectional) const;
  double host() const;        // one way
  double one_nvlink() const;  // of one NVLink with both directions busy

 private:
  topologies::Fabric fabric_;
  double nvlink_total_ = 0;  // bare, of the first GPU
  double nvlink_one_ = 0;    // payload of one link
  double pcie_ = 0;          // payload of the first GPU's slot
};

}  // namespace linkcast::calibration::diagnosis
