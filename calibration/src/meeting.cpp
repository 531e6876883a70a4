// See meeting.hpp.
#include "meeting.hpp"

#include <fmt/format.h>

#include "process_group.hpp"

namespace linkcast::calibration {

std::optional<sim::InputError> problem_of(const Meeting& m) {
  if (!m.failed.empty()) {
    const auto& [rank, why] = *m.failed.begin();
    const auto others = m.failed.size() - 1;
    return sim::InputError(fmt::format("NCCL's communicator of {} ranks could not be made: rank {}: {}{}", m.ranks,
                                       rank, why, others == 0 ? "" : fmt::format("; {} more failed", others)));
  }
  const auto late = fmt::format("NCCL's communicator of {} ranks was not there after {:.0f} s", m.ranks, m.waited_s);
  if (!m.silent.empty())
    return sim::InputError(fmt::format("{}: {} did not arrive", late, ranks_in_words(m.silent)),
                           "see what these processes print, and whether their GPUs answer (nvidia-smi)");
  if (!m.waiting.empty())
    return sim::InputError(
        fmt::format("{}: all processes are there, but {} waited for a connection", late, ranks_in_words(m.waiting)),
        "NCCL does not reach from host to host: NCCL_SOCKET_IFNAME, NCCL_IB_HCA, a firewall; NCCL_DEBUG=INFO says "
        "more");
  return std::nullopt;
}

}  // namespace linkcast::calibration
