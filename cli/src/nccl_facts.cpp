// See nccl_facts.hpp. Asks the communicator; decides nothing.
#include "nccl_facts.hpp"

#include <array>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::cli {
namespace {

using models::nccl::Op;

// The operations that NCCL's tuner decides about; send/recv has no choice of algorithm.
constexpr std::array tuned{Op::all_reduce, Op::all_gather, Op::reduce_scatter, Op::broadcast, Op::reduce};
constexpr std::int64_t smallest = 256, largest = std::int64_t{8} << 30;

std::vector<Pick> picks_of(const models::nccl::Communicator& communicator, Op op) {
  std::vector<Pick> picks;
  for (auto bytes = smallest; bytes <= largest; bytes *= 2) {
    models::nccl::Call call;
    call.op = op;
    call.bytes = sim::Bytes{bytes};
    const auto choice = communicator.choose(call);
    auto name = choice_name(choice);
    if (picks.empty() || picks.back().choice != name) picks.push_back({bytes, std::move(name), choice.model_time_us});
  }
  return picks;
}

}  // namespace

std::string choice_name(const models::nccl::Choice& choice) {
  return std::string{name_of(choice.algorithm)} + "/" + std::string{name_of(choice.protocol)};
}

NcclFacts nccl_facts(std::string topology, const models::nccl::Communicator& communicator) {
  NcclFacts facts{std::move(topology), &communicator, {}, {}};
  for (const auto op : tuned) {
    const std::string name{nccl_name_of(op)};
    facts.tune.emplace_back(name, communicator.tune(op));
    // NCCL_ALGO may leave an operation without any algorithm; NCCL complains when it is called, not before.
    try {
      facts.picks.emplace_back(name, picks_of(communicator, op));
    } catch (const sim::InputError&) {
      facts.picks.emplace_back(name, std::vector<Pick>{});
    }
  }
  return facts;
}

}  // namespace linkcast::cli
