// `linkcast calibrate`: the group of commands that know a real cluster.
#include "calibrate.hpp"

namespace linkcast::cli {

void add_calibrate(Form root) {
  auto group = root.command("calibrate", "measure a machine, fit the model to it, compare it with its past");
  add_calibrate_measure(group);
  add_calibrate_fit(group);
  add_calibrate_check(group);
}

}  // namespace linkcast::cli
