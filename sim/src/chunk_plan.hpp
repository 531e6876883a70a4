// A chunk program made ready to run: either as it is, or folded to one agent for each class. Answers with plan
// indices what the run asks; keeps the mapping to the program's own indices to itself. Knows no time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "census.hpp"
#include "linkcast/sim/fold.hpp"
#include "linkcast/sim/program.hpp"

namespace linkcast::sim {

/// What the flow of a unit loads in the network that it runs in, and the bounds by which its time is booked:
/// the rates that the flow would have if the whole program, and nothing else, used its resources at once.
struct Route {
  std::vector<FixedUsage> usages;
  Rate wire, protocol;  // unlimited where there are no usages
};

class ChunkPlan {
 public:
  /// `program` and `resources` must outlive the plan.
  ChunkPlan(const ResourceTable& resources, const ChunkProgram& program, bool folded);

  const ChunkProgram& program() const { return program_; }
  /// The resources of the network that the plan's usages refer to.
  const ResourceTable& resources() const { return folding_ ? quotient_ : resources_; }
  bool folded() const { return folding_.has_value(); }

  std::uint32_t agents() const { return agents_; }
  std::uint32_t connections() const { return connections_; }
  const Agent& agent(std::uint32_t a) const { return program_.agents[original_agent(a)]; }
  const Connection& connection(std::uint32_t c) const {
    return program_.connections[folding_ ? folding_->connections.representative[c] : c];
  }
  std::uint32_t original_agent(std::uint32_t a) const { return folding_ ? folding_->agents.representative[a] : a; }
  std::uint32_t plan_agent(AgentId a) const { return member(a, folding_ ? &folding_->agents : nullptr); }
  std::uint32_t plan_connection(ConnectionId c) const { return member(c, folding_ ? &folding_->connections : nullptr); }

  /// The route of a unit of plan agent `a` that sends on `send` (the program's own connections).
  Route route(std::uint32_t a, const std::vector<ConnectionId>& send) const;

  /// Adds the bytes that the plan's resources carried to those of the program's own resources.
  void expand_carried(const std::vector<double>& of_plan, std::vector<double>& of_program) const;

 private:
  template <class Id>
  static std::uint32_t member(Id id, const Classes* classes) {
    const auto i = static_cast<std::uint32_t>(id);
    return classes ? classes->of[i] : i;
  }

  const ResourceTable& resources_;
  const ChunkProgram& program_;
  Census census_;
  std::optional<Folding> folding_;
  ResourceTable quotient_;
  std::uint32_t agents_ = 0, connections_ = 0;
};

}  // namespace linkcast::sim
