// Goals of a study: what must hold for an option to be good enough, and how surely it does. Knows no scenario and runs
// nothing: it is told the values.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/units.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::planning {

enum class Metric : unsigned char {
  step_time,          // s; of a collective its time
  busbw,              // bytes per second: busbw(all_reduce, 1 GiB)
  algbw,              // the same
  tokens_per_second,  // of the whole job
  mfu,                // share
  exposed,            // share of the time
  goodput,            // share of the time that is not lost to failures
  capex,              // USD
  power,              // W, of the IT equipment at typical load
  cost_per_gpu_hour,  // USD
  cost_per_token,     // USD for a million tokens
  network_share,      // of capex
  slowdown            // against the baseline: 1.1
};
std::string_view name_of(Metric m);
std::string_view unit_of(Metric m);  // of values: "s", "GB/s" is never used: base units

struct Goal {
  Metric metric = Metric::step_time;
  std::optional<models::nccl::Op> op;  // busbw, algbw
  sim::Bytes size;
  bool at_most = true;  // else at least
  double value = 0;     // base units
  std::string text;     // as written
};

/// `goals: ["step_time <= 2.1 s", "busbw(all_reduce, 1 GiB) >= 350 GB/s", "capex <= 40 M USD", "power <= 1.2 MW",
/// "goodput >= 92 %"]`. Problems (unknown metric, no or a wrong unit) go to `problems`.
std::vector<Goal> read_goals(workloads::trace::Problems& problems, const workloads::trace::Value& v);

/// One goal against one option.
struct Judged {
  Goal goal;
  bool known = false;  // the metric has a value here
  std::string why;     // where it has none: "no price for the GPU 'x'"; or why it is missed without one: an outage
  double value = 0;    // base units
  bool met = false;
  double margin_percent = 0;  // how far on the good side, of the goal's value; negative: missed by
  double confidence = 0;      // that it is met, given the expected error; 0.5 at the goal itself
};

/// A metric's value and the relative error to expect of it (90th percentile, percent; 0: exact).
struct Measured {
  double value = 0;
  double p90_percent = 0;
};
/// The value's logarithm is taken as normal with p90 = 1.645 standard deviations.
Judged judge(const Goal& goal, const Measured& value);

/// Every goal that has a value here is met, and at least one has. What has none says nothing.
bool all_met(std::span<const Judged> goals);
/// Some goal that has a value here is missed.
bool some_missed(std::span<const Judged> goals);

/// "2.1 s", "352 GB/s", "38.2 M USD", "1.1 MW", "93.1 %".
std::string to_text(Metric metric, double value);
/// "meets the goal with 97 % confidence", "misses by 4.2 %".
std::string verdict_text(const Judged& judged);
/// A line each, under a title: "  + step_time <= 1 s: met with …". Empty where there are none.
std::string goals_text(std::span<const Judged> goals);
/// A JSON list: goal, known, met, text, and where there is a value: value, unit, value_text, margin_percent,
/// confidence.
std::string goals_json(std::span<const Judged> goals);
/// Of a job that cannot run: what is about its time or its rate is missed, what the machine costs is not known here.
std::vector<Judged> judged_outage(std::span<const Goal> goals);

}  // namespace linkcast::planning
