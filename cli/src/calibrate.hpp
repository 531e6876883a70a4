// The commands of the group `linkcast calibrate`.
#pragma once

#include "form.hpp"

namespace linkcast::cli {

void add_calibrate_measure(Form group);
void add_calibrate_fit(Form group);
void add_calibrate_check(Form group);

}  // namespace linkcast::cli
