// The options that say what a log leaves out: the same in every command that reads measurements.
#pragma once

#include <string>

#include "linkcast/calibration/readers.hpp"
#include "words.hpp"

namespace linkcast::cli {

struct HintOptions {
  std::string system, op, ranks;

  void add_to(Form& form);
  calibration::Hints read(Problems& problems) const;
};

/// --threads; 0: all cores.
int thread_count(const std::string& text, Problems& problems);

}  // namespace linkcast::cli
