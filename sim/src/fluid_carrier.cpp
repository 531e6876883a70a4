// See fluid_carrier.hpp.
#include "fluid_carrier.hpp"

namespace linkcast::sim {

class FluidCarrier::OfProgram final : public Ways {
 public:
  OfProgram(FluidCarrier& carrier, std::uint64_t tag) : carrier_{carrier}, tag_{tag} {}
  void start(Time now, const Move& m) override {
    carrier_.owned(carrier_.network_.start(now, m.route.usages, m.bytes, m.cap), tag_ | m.agent);
  }
  bool tells_arrivals() const override { return false; }

 private:
  FluidCarrier& carrier_;
  std::uint64_t tag_;
};

std::unique_ptr<Ways> FluidCarrier::ways(const ChunkPlan&, std::uint64_t tag) {
  return std::make_unique<OfProgram>(*this, tag);
}

void FluidCarrier::start(Time now, const PipelinedFlow& flow, std::uint64_t owner) {
  owned(network_.start(now, flow.usages, flow.bytes, flow.cap), owner);
}

void FluidCarrier::owned(FlowId flow, std::uint64_t owner) {
  const auto id = static_cast<std::size_t>(flow);
  if (id >= owner_.size()) owner_.resize(id + 1);
  owner_[id] = owner;
}

// Owners first: what is heard of one may start a flow that takes the place of another.
void FluidCarrier::take(Time now, std::vector<Moved>& moved) {
  moved.clear();
  if (network_.next_completion() != now) return;
  network_.complete(now, ended_);
  for (const auto f : ended_)
    moved.push_back({owner_[static_cast<std::size_t>(f)], Moved::What::left, 0, Time{}, std::nullopt});
}

}  // namespace linkcast::sim
