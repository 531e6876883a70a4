// The commands below `linkcast calibrate`.
#pragma once

#include "form.hpp"

namespace linkcast::cli {

void add_calibrate_measure(Form group);

}  // namespace linkcast::cli
