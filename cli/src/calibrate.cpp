// `linkcast calibrate`: measures a cluster, fits the models to it, and watches it.
#include "form.hpp"

namespace linkcast::cli {

void add_calibrate_measure(Form calibrate);
void add_calibrate_check(Form calibrate);

void add_calibrate(Form root) {
  auto calibrate = root.command("calibrate", "measurements of your own cluster");
  add_calibrate_measure(calibrate);
  add_calibrate_check(calibrate);
}

}  // namespace linkcast::cli
