// Times, parts and studies for the tests of goodput.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linkcast/planning/goodput.hpp"

namespace linkcast::planning {

constexpr sim::Time seconds(std::int64_t n) { return sim::Time::picoseconds(n * 1'000'000'000'000); }
constexpr sim::Time minutes(std::int64_t n) { return seconds(60 * n); }
constexpr sim::Time hours(std::int64_t n) { return seconds(3600 * n); }
constexpr sim::Time days(std::int64_t n) { return hours(24 * n); }

inline sim::Time total(const Trial& t) {
  return t.useful + t.checkpoint + t.lost_work + t.restart + t.spares + t.degraded;
}

/// 10 hours; 50 minutes of training, 10 of checkpoint; 6 minutes until a failure is found, 24 until the job is back.
inline Reliability ten_hours() {
  Reliability r;
  r.duration = hours(10);
  r.checkpoint_interval = minutes(50);
  r.checkpoint_time = minutes(10);
  r.detection_time = minutes(6);
  r.restart_time = minutes(24);
  return r;
}

inline FailingPart part(Effect effect, Remedy remedy = Remedy::restart, sim::Time repair = {}, double slowdown = 1) {
  FailingPart p;
  p.cause = "part";
  p.part = "gpu";
  p.count = 1;
  p.effect = effect;
  p.remedy = remedy;
  p.repair = repair;
  p.slowdown = slowdown;
  return p;
}

/// 16,384 GPUs in 2,048 nodes with a NIC each, and leaf switches of two nodes: the machine of the Llama 3 report.
inline std::vector<PartCount> llama_parts() {
  return {{"gpu", 16384}, {"node", 2048}, {"nic", 16384}, {"nic cable", 16384}, {"leaf switch", 1024, 2}};
}

}  // namespace linkcast::planning
