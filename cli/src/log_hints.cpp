// See log_hints.hpp.
#include "log_hints.hpp"

#include <fmt/format.h>

#include "linkcast/topologies/fabric.hpp"

namespace linkcast::cli {

void HintOptions::add_to(Form& form) {
  form.text("--system", system, "NAME", "the machine, where a log does not name it");
  form.text("--op", op, "OP", "the collective, where a log does not name it");
  form.text("--ranks", ranks, "N", "the number of ranks, where a log does not name it");
}

calibration::Hints HintOptions::read(Problems& problems) const {
  calibration::Hints hints;
  if (!ranks.empty()) hints.ranks = problems.collect([&] { return whole_number("--ranks", ranks, 1, 1'000'000); });
  if (!op.empty()) {
    hints.op = models::nccl::op_from(op);
    if (!hints.op)
      problems.add(fmt::format("--op: unknown collective '{}'", op), suggestion(op, models::nccl::op_names()));
  }
  if (!system.empty()) {
    const auto names = topologies::catalog_names();
    if (problems.collect([&] { return one_of("--system", system, names); })) hints.system = system;
  }
  return hints;
}

int thread_count(const std::string& text, Problems& problems) {
  if (text.empty()) return 0;
  return problems.collect([&] { return whole_number("--threads", text, 1, 1024); }).value_or(0);
}

}  // namespace linkcast::cli
