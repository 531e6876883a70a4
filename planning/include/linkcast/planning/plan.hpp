// Which machine, how many of them, and how to lay a training step out on them: a search over a space too large to try
// every layout, with a lower bound on each that spares most replays. docs/plan.md has the keys. Knows no printing but
// its own two forms, text and JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/planning/cost.hpp"
#include "linkcast/planning/evaluate.hpp"
#include "linkcast/planning/goals.hpp"
#include "linkcast/workloads/scenario_file.hpp"
#include "linkcast/workloads/step.hpp"

namespace linkcast::planning {

/// A scenario with `goals` and `search`, read and checked; nothing has run.
class PlanQuestion {
 public:
  /// Throws sim::InputError with everything that is wrong: goals, machines, sizes, keys of layouts, the scenario
  /// itself.
  explicit PlanQuestion(workloads::ScenarioFile scenario, std::shared_ptr<const topologies::Profile> profile = nullptr);
  ~PlanQuestion();
  PlanQuestion(PlanQuestion&&) noexcept;

  const std::string& title() const;
  const std::vector<Goal>& goals() const;
  /// Machines times sizes: each is searched on its own.
  std::size_t cells() const;

  struct Data;  // src/plan/question.hpp
  const Data& data() const { return *data_; }

 private:
  std::unique_ptr<Data> data_;
};

/// How many layouts there were, and what became of them. The last five add up to the first.
struct PlanCounts {
  std::int64_t layouts = 0;
  std::int64_t do_not_divide = 0;  // products, heads, batches that do not divide
  std::int64_t do_not_fit = 0;     // into the GPUs' memory
  std::int64_t pruned_by_bound = 0;
  std::int64_t left = 0;       // when the budget or the user ended the search
  std::int64_t evaluated = 0;  // replayed
  PlanCounts& operator+=(const PlanCounts& o);
};

/// One layout on one machine.
struct PlanOption {
  std::string name;     // "HGX H100, 400G, 512 GPUs: tp 4, pp 4, …"
  std::string machine;  // as `machines` calls it
  int gpus = 0, nodes = 0;
  workloads::Plan layout;
  sim::Time step_time, bound;  // bound: what it takes at least, as the search saw it
  double mfu = 0, tokens_per_second = 0, exposed_share = 0;
  std::string bound_by;  // "compute", "exposed tp", "bubble"
  double memory_bytes = 0;
  std::optional<Band> capex, power, usd_per_gpu_hour, usd_per_million_tokens;
  double network_share = 0;         // of capex
  std::optional<Measured> goodput;  // where the scenario has `reliability`
  Trust trust;
  std::vector<Judged> goals;
  bool meets_all = false;
  double confidence = 1;  // that it meets all goals: the least of theirs
  bool pareto = false;    // nothing else is known to be as good in step time, capex and power, and better in one
};

/// One machine in one size.
struct PlanCell {
  std::string machine;
  int gpus = 0, nodes = 0;
  PlanCounts counts;
  std::vector<std::size_t> options;  // of PlanAnswer, the fastest first
  bool complete = true;              // nothing left out is faster than its options
  std::string why;                   // there are none: "nothing fits: at least 91 GB of 85 GB are needed"; what failed
};

struct PlanAnswer {
  std::string title;
  std::vector<PlanOption> options;  // by cell, the fastest first
  std::vector<PlanCell> cells;
  PlanCounts counts;
  bool interrupted = false;
  std::optional<std::size_t> best;     // of those that meet all goals: the cheapest with a price, then the fastest
  std::optional<std::size_t> fastest;  // of those; without any that meet: of all
  std::string verdict;                 // one or two sentences
  std::vector<std::string> assumptions;
  bool met() const { return best.has_value(); }
};

struct PlanSearchOptions {
  int threads = 0;          // 0: all cores
  bool exhaustive = false;  // replays everything that fits: to check the search
  std::function<void(std::int64_t done, std::int64_t all)> progress;  // called by one thread at a time
  std::stop_token stop;
};
/// The same answer on any number of threads. Throws sim::InputError where no cell can be searched at all.
PlanAnswer search(const PlanQuestion& question, const PlanSearchOptions& options = {});

/// "tp 4, pp 4, vpp 5, dp 32, micro batch 1, selective, zero-1, bf16"
std::string layout_text(const workloads::Plan& plan);
std::string to_text(const PlanAnswer& answer, bool all = false);
std::string json_report(const PlanAnswer& answer);  // linkcast.plan/1
std::string to_csv(const PlanAnswer& answer);

}  // namespace linkcast::planning
