// See goodput_trial.hpp.
#include "goodput_trial.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace linkcast::planning {
namespace {

constexpr auto never = std::numeric_limits<std::int64_t>::max();

std::int64_t later(std::int64_t at, std::int64_t by) { return at > never - by ? never : at + by; }

std::int64_t repair_of(const Reliability& r, const FailingPart& p) { return r.repair_time.value_or(p.repair).ps(); }

}  // namespace

Player::Player(const TrialPlan& plan) : plan_{plan} {}

void Player::reset() {
  now_ = phase_ = unsaved_ = saved_at_ = found_at_ = ready_at_ = stalled_until_ = 0;
  useful_ = checkpoint_ = lost_work_ = restart_ = waiting_ = degraded_ = 0;
  down_ = false;
  culprit_ = staller_ = nobody;
  weak_.clear();
  spares_.assign(static_cast<std::size_t>(plan_.reliability->spares.value_or(0)), 0);
  in_repair_.clear();
  blame_.assign(plan_.parts.size(), {});
  trial_ = {};
}

const Trial& Player::play(std::span<const Failure> failures) {
  reset();
  const auto every = plan_.reliability->planned_every.ps();
  auto maintenance = every > 0 ? every : never;
  std::size_t next = 0;
  while (true) {
    const auto failure = next < failures.size() ? failures[next].at.ps() : never;
    const auto at = std::min(failure, maintenance);
    if (at >= plan_.duration) break;
    advance(at);
    if (failure <= maintenance) {
      fail(failures[next++]);
    } else {
      maintain();
      maintenance = later(maintenance, every);
    }
  }
  advance(plan_.duration);
  const auto time = [](std::int64_t ps) { return sim::Time::picoseconds(ps); };
  trial_.useful = time(useful_), trial_.checkpoint = time(checkpoint_), trial_.lost_work = time(lost_work_);
  trial_.restart = time(restart_), trial_.spares = time(waiting_), trial_.degraded = time(degraded_);
  return trial_;
}

void Player::charge(std::int64_t& to, std::int64_t length, std::size_t part) {
  to += length;
  if (part != nobody) blame_[part].lost += length;
}

void Player::advance(std::int64_t to) {
  while (now_ < to) {
    if (down_) {
      pass_down(to);
    } else if (now_ < stalled_until_) {
      const auto end = std::min(to, stalled_until_);
      charge(degraded_, end - now_, staller_);
      now_ = end;
    } else {
      std::erase_if(weak_, [&](const Weakness& w) { return w.until <= now_; });
      auto end = to;
      for (const auto& w : weak_) end = std::min(end, w.until);
      run(end - now_);
      now_ = end;
    }
  }
}

void Player::pass_down(std::int64_t to) {
  const auto ready = std::max(found_at_, ready_at_), up = later(ready, plan_.restart);
  const auto stage = [&](std::int64_t until, std::int64_t& bucket) {
    const auto end = std::min(to, until);
    if (end <= now_) return;
    charge(bucket, end - now_, culprit_);
    now_ = end;
  };
  stage(saved_at_, checkpoint_);
  if (now_ >= saved_at_) unsaved_ = 0;
  stage(found_at_, restart_);
  stage(ready, waiting_);
  stage(up, restart_);
  if (now_ < up) return;
  down_ = false;
  phase_ = 0;
}

/// Training and checkpoints take turns, `interval` and `checkpoint` long. The job is as slow as its slowest part: the
/// others wait for it in every step.
void Player::run(std::int64_t length) {
  double slowdown = 1;
  std::size_t part = nobody;
  for (const auto& w : weak_) {
    if (w.slowdown > slowdown) slowdown = w.slowdown, part = w.part;
  }
  const auto cycle = later(plan_.interval, plan_.checkpoint);
  const auto trained = [&](std::int64_t x) { return x / cycle * plan_.interval + std::min(x % cycle, plan_.interval); };
  const auto work = [&](std::int64_t wall) {
    return slowdown == 1 ? wall : std::min<std::int64_t>(wall, std::llround(static_cast<double>(wall) / slowdown));
  };
  const auto end = phase_ + length;
  const auto saved_until = end / cycle * cycle;  // by the last checkpoint that is complete at the end
  const auto training = trained(end) - trained(phase_);
  std::int64_t done = 0;
  if (saved_until > 0) {
    done = work(trained(saved_until) - trained(phase_));
    unsaved_ = work(trained(end) - trained(saved_until));
    done += unsaved_;
  } else {
    done = work(training);
    unsaved_ += done;
  }
  useful_ += done;
  checkpoint_ += length - training;
  charge(degraded_, training - done, part);
  phase_ = end - saved_until;
}

void Player::go_down(std::size_t part, std::int64_t checkpoint, std::int64_t detection) {
  down_ = true;
  culprit_ = part;
  saved_at_ = later(now_, checkpoint);
  found_at_ = later(saved_at_, detection);
  phase_ = 0;
  if (checkpoint == 0) unsaved_ = 0;  // else when it is complete
}

void Player::take_spares(std::int64_t repaired, int nodes) {
  constexpr auto soonest = std::greater<>{};
  while (!in_repair_.empty() && in_repair_.front() <= now_) {
    std::ranges::pop_heap(in_repair_, soonest);
    in_repair_.pop_back();
  }
  for (int i = 0; i < nodes && repaired > now_; ++i) {
    in_repair_.push_back(repaired);
    std::ranges::push_heap(in_repair_, soonest);
  }
  trial_.in_repair = std::max(trial_.in_repair, static_cast<int>(in_repair_.size()));
  if (!plan_.reliability->spares) return;
  for (int i = 0; i < nodes; ++i) {
    spares_.push_back(repaired);
    std::ranges::push_heap(spares_, soonest);
  }
  for (int i = 0; i < nodes; ++i) {
    std::ranges::pop_heap(spares_, soonest);
    ready_at_ = std::max(ready_at_, spares_.back());
    spares_.pop_back();
  }
}

void Player::fail(const Failure& failure) {
  const auto& part = plan_.parts[failure.part];
  const auto& r = *plan_.reliability;
  ++blame_[failure.part].failures;
  const auto repaired = later(now_, repair_of(r, part));
  if (part.effect == Effect::stalls) {
    const auto until = later(now_, part.stall.ps());
    if (until > stalled_until_) stalled_until_ = until, staller_ = failure.part;
    return;
  }
  if (part.effect == Effect::degrades) {
    if (part.slowdown > 1) weak_.push_back({repaired, part.slowdown, failure.part});
    return;
  }
  ++trial_.interruptions;
  ++blame_[failure.part].interruptions;
  if (!failure.mended) {
    if (part.remedy == Remedy::spare) take_spares(repaired, part.nodes);
    if (part.remedy == Remedy::repair) ready_at_ = std::max(ready_at_, repaired);
    if (part.remedy == Remedy::restart && part.slowdown > 1) {
      weak_.push_back({repaired, part.slowdown, failure.part});
    }
  }
  if (failure.predicted && !down_) return go_down(failure.part, plan_.checkpoint, 0);
  // The checkpoint that is being written serves whatever else was seen coming.
  if (failure.predicted && now_ < saved_at_) return go_down(failure.part, saved_at_ - now_, 0);
  useful_ -= unsaved_;
  charge(lost_work_, unsaved_, failure.part);
  go_down(failure.part, 0, part.detection ? part.detection->ps() : plan_.detection);
}

void Player::maintain() {
  if (!down_) go_down(nobody, plan_.checkpoint, plan_.reliability->planned_time.ps());
}

}  // namespace linkcast::planning
