// In which order a stage of a pipeline takes its micro batches forward and backward. Knows no time.
#pragma once

#include <vector>

#include "linkcast/workloads/step.hpp"

namespace linkcast::workloads::step {

struct Slot {
  enum class Kind : std::uint8_t {
    forward,
    backward,  // of inputs and weights
    input,     // of inputs only
    weight     // of weights, of an earlier `input`
  };
  Kind kind = Kind::forward;
  int chunk = 0;  // of this stage; DualPipe: 0 from the first stage to the last, 1 the other way
  int micro_batch = 0;
  bool together = false;  // with the next: DualPipe's pair of a forward and a backward pass, which hide each other's
                          // communication
};

std::vector<Slot> schedule_of(Schedule schedule, int stage, int stages, int chunks, int micro_batches);

}  // namespace linkcast::workloads::step
