// Sources: 1F1B and interleaved 1F1B: Narayanan et al., SC'21, as Megatron-LM's schedules.py orders them. Zero bubble
// (ZB-H1): Qi et al., ICLR 2024: gradients of weights fill the cool-down, with the memory of 1F1B. DualPipe:
// github.com/deepseek-ai/DualPipe, its eight steps.
#include "schedule.hpp"

#include <algorithm>
#include <deque>

namespace linkcast::workloads::step {
namespace {

using Kind = Slot::Kind;

std::vector<Slot> interleaved(int stage, int stages, int chunks, int micro_batches) {
  std::vector<std::pair<int, int>> order;  // chunk, micro batch, as they enter
  for (int first = 0; first < micro_batches; first += stages) {
    const int end = std::min(first + stages, micro_batches);
    for (int c = 0; c < chunks; ++c)
      for (int m = first; m < end; ++m) order.emplace_back(c, m);
  }
  const int total = static_cast<int>(order.size());
  int warm = chunks == 1 ? stages - stage - 1 : (stages - stage - 1) * 2 + (chunks - 1) * stages;
  warm = std::min(warm, total);
  std::vector<Slot> out;
  const auto forward = [&](int k) {
    const auto& [c, m] = order[static_cast<std::size_t>(k)];
    out.push_back({Kind::forward, c, m});
  };
  const auto backward = [&](int k) {
    const auto& [c, m] = order[static_cast<std::size_t>(k)];
    out.push_back({Kind::backward, chunks - 1 - c, m});
  };
  for (int k = 0; k < warm; ++k) forward(k);
  for (int k = 0; k < total - warm; ++k) {
    forward(warm + k);
    backward(k);
  }
  for (int k = total - warm; k < total; ++k) backward(k);
  return out;
}

std::vector<Slot> zero_bubble(int stage, int stages, int chunks, int micro_batches) {
  std::vector<Slot> out;
  std::deque<Slot> weights;
  const auto weight = [&] {
    out.push_back(weights.front());
    weights.pop_front();
  };
  for (auto slot : interleaved(stage, stages, chunks, micro_batches)) {
    const bool backward = slot.kind == Kind::backward;
    if (backward) slot.kind = Kind::input;
    out.push_back(slot);
    if (!backward) continue;
    weights.push_back({Kind::weight, slot.chunk, slot.micro_batch});
    if (static_cast<int>(weights.size()) > stage) weight();
  }
  while (!weights.empty()) weight();
  return out;
}

std::vector<Slot> dual_pipe(int stage, int stages, int micro_batches) {
  const bool second = stage >= stages / 2;
  const int half = stages / 2, rank = std::min(stage, stages - 1 - stage), each = micro_batches / 2;
  std::vector<Slot> out;
  std::deque<Slot> weights;
  int forwards[2] = {0, 0}, backwards[2] = {0, 0};
  const auto forward = [&](int phase, bool together = false) {
    const int c = phase ^ static_cast<int>(second);
    out.push_back({Kind::forward, c, forwards[phase]++, together});
  };
  const auto backward = [&](int phase, bool zero = false) {
    const int c = phase ^ static_cast<int>(second);
    out.push_back({zero ? Kind::input : Kind::backward, c, backwards[phase]});
    if (zero) weights.push_back({Kind::weight, c, backwards[phase]});
    ++backwards[phase];
  };
  const auto weight = [&] {
    if (weights.empty()) return;
    out.push_back(weights.front());
    weights.pop_front();
  };
  const auto both = [&](int f, int b) {
    forward(f, true);
    backward(b);
  };
  for (int i = 0; i < (half - rank - 1) * 2; ++i) forward(0);
  for (int i = 0; i < rank + 1; ++i) {
    forward(0);
    forward(1);
  }
  for (int i = 0; i < half - rank - 1; ++i) {
    backward(1, true);
    weight();
    forward(1);
  }
  for (int i = 0; i < each - stages + rank + 1; ++i) {
    if (i == 0 && !second) {
      forward(0);
      backward(1);
    } else {
      both(0, 1);
    }
    both(1, 0);
  }
  for (int i = 0; i < half - rank - 1; ++i) {
    backward(1);
    both(1, 0);
  }
  bool zero = false;
  const int six = rank + 1;
  for (int i = 0; i < six; ++i) {
    if (i == six / 2 && rank % 2 == 1) zero = true;
    backward(1, zero);
    if (i == six / 2 && rank % 2 == 0) zero = true;
    backward(0, zero);
  }
  for (int i = 0; i < half - rank - 1; ++i) {
    weight();
    backward(0, true);
  }
  while (!weights.empty()) weight();
  return out;
}

}  // namespace

std::vector<Slot> schedule_of(Schedule schedule, int stage, int stages, int chunks, int micro_batches) {
  if (schedule == Schedule::dual_pipe) return dual_pipe(stage, stages, micro_batches);
  if (schedule == Schedule::zero_bubble) return zero_bubble(stage, stages, chunks, micro_batches);
  return interleaved(stage, stages, chunks, micro_batches);
}

}  // namespace linkcast::workloads::step
