// `linkcast calibrate`: the group of commands that know a real cluster.
#include "calibrate.hpp"

namespace linkcast::cli {

void add_calibrate(Form root) {
  auto group = root.command("calibrate", "measure a machine, fit the model to it, compare it with its past");
  group.examples(
      "  linkcast calibrate measure --budget 5m -o before.json\n"
      "      on a machine with GPUs; or any log of nccl-tests, perftest, nvbandwidth in its place\n"
      "  linkcast calibrate fit before.json -o ours.yaml\n"
      "  linkcast collective all_reduce --topology dgx-h100 --profile ours.yaml\n"
      "  linkcast calibrate check before.json after.json\n");
  add_calibrate_measure(group);
  add_calibrate_fit(group);
  add_calibrate_check(group);
}

}  // namespace linkcast::cli
