// What a plan asks for, read from the scenario: docs/plan.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout_space.hpp"
#include "linkcast/planning/failure_rates.hpp"
#include "linkcast/planning/goodput.hpp"
#include "linkcast/planning/plan.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/scenario_machine.hpp"

namespace linkcast::planning {

struct PlanMachine {
  std::string name;
  workloads::CommunicatorOptions library;
  workloads::ModelCard card;
  std::unique_ptr<LayoutSpace> space;
};

/// One machine in one size.
struct PlanPlace {
  std::size_t machine = 0;
  int gpus = 0;
  topologies::Cluster cluster;  // the job's
};

struct PlanQuestion::Data {
  std::string title;
  std::vector<Goal> goals;
  std::shared_ptr<const Prices> prices;
  std::optional<Reliability> reliability;
  std::shared_ptr<const FailureRates> rates;
  std::vector<PlanMachine> machines;
  std::vector<PlanPlace> places;
  std::int64_t evaluations = 2000;  // of each place
  std::size_t keep = 5;
};

}  // namespace linkcast::planning
