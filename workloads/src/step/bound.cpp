// See step_bound.hpp. Follows stage.cpp: what that writes in line adds up here, what it writes beside computing takes
// max(computing slowed by the channels that run beside it, communication).
//   A stage starts when the one before has passed on its first micro batch (1F1B, interleaved, zero bubble), and gives
//   its last gradients after the one behind has: both are chains of the slots' own bounds.
//   Gradients of ZeRO-0 to -2 are reduced one after the other, none before its layer's last backward pass; parameters
//   of ZeRO-1 and -2 are gathered in the order in which the first forward pass needs them.
#include "linkcast/workloads/step_bound.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "layout.hpp"
#include "schedule.hpp"
#include "work.hpp"

namespace linkcast::workloads {
namespace step {
namespace {

using models::nccl::Op;
using Mixer = LayerShape::Mixer;
using Mlp = LayerShape::Mlp;

// The recording rounds every duration to a picosecond; of the thousands in a step, less than this.
constexpr double rounding = 1 - 1e-6;
constexpr double least_pace = 1.0 / 3;  // as the replay's (engine.cpp)

struct Calls {
  double us = 0;      // one after the other
  double slowed = 0;  // what computing beside them loses: the sum of time x share of the SMs
};
Calls after(Calls a, const Calls& b) { return {a.us + b.us, a.slowed + b.slowed}; }
/// Computing beside calls, both of which have to end.
double beside(double us, const Calls& c) { return std::max(us + c.slowed, c.us); }

/// One kind of layer on one stage. `plain`: without what may have begun before the slot's message came.
struct LayerBound {
  LayerShape shape;
  Work mixer, mlp;
  Held held;
  double forward = 0, forward_plain = 0, backward = 0, backward_plain = 0, input = 0, input_plain = 0;
  Calls gather;        // ZeRO-3: of its weights
  double reduced = 0;  // ZeRO-3: of its gradients
  double tail = 0;     // of its backward pass: exchanges after its last computing, which its gradients do not wait for
};

struct Pass {
  double steady = 0;  // after the slot before
  double plain = 0;   // after the slot's message
};

class StageBound {
 public:
  StageBound(const ModelCard& card, const Plan& plan, const Roofline& roofline, const std::vector<Chunk>& chunks,
             std::vector<LayerBound> shapes, const Ranks& ranks, int stage, CallFloors& floors)
      : card_{card},
        plan_{plan},
        roofline_{roofline},
        chunks_{chunks},
        shapes_{std::move(shapes)},
        stage_{stage},
        floors_{floors} {
    full_ = plan.sharding == Sharding::full && plan.dp * plan.cp > 1;
    replicated_ = plan.dp * plan.cp > 1;
    tokens_ = static_cast<double>(plan.micro_batch) * plan.sequence / plan.cp;
    most_elements_gather_ = plan.bucket.count() > 0 ? static_cast<double>(plan.bucket.count()) / 2
                                                    : std::max(40e6, 1e6 * plan.dp * plan.cp);
    most_elements_reduce_ = plan.bucket.count() > 0 ? static_cast<double>(plan.bucket.count()) / plan.gradient_bytes
                                                    : std::max(40e6, 1e6 * plan.dp * plan.cp);
    if (plan.tp > 1) tensor_ = floors.group(ranks.tensor(stage));
    if (plan.cp > 1) context_ = floors.group(ranks.context(stage));
    if (card.experts > 0 && plan.ep > 1) expert_ = floors.group(ranks.expert(stage));
    if (card.experts > 0 && plan.etp > 1) expert_tensor_ = floors.group(ranks.expert_tensor(stage));
    const auto data = ranks.data(stage);
    if (data.size() > 1) {
      const auto shards = static_cast<std::size_t>(shards_of(plan));
      if (shards < data.size()) {
        if (shards > 1) data_ = floors.group(std::span{data}.first(shards));
        std::vector<int> replicas;
        for (std::size_t i = 0; i < data.size(); i += shards) replicas.push_back(data[i]);
        replicas_ = floors.group(replicas);
      } else {
        data_ = floors.group(data);
      }
      if (card.experts > 0)
        if (const auto alike = ranks.expert_data(stage); alike.size() > 1) expert_data_ = floors.group(alike);
    }
    slots_ = schedule_of(plan.schedule, stage, plan.pp, plan.vpp, micro_batches());
    for (auto& l : shapes_) {
      l.held = held_by(card, plan, l.shape);
      l.forward = layer_forward(l, false, false);
      l.forward_plain = layer_forward(l, false, true);
      l.backward = layer_backward(l, true, false);
      l.backward_plain = layer_backward(l, true, true);
      l.input = layer_backward(l, false, false);
      l.input_plain = layer_backward(l, false, true);
      // Alike for passes with and without the weights' gradients: the less computing, the longer the tail.
      const auto& last = l.shape.mixer != Mixer::none ? l.mixer : l.mlp;
      if (l.shape.mixer != Mixer::none || l.shape.mlp == Mlp::dense)
        l.tail = tail_of(last.input + (plan.recompute == Recompute::full ? 0 : last.again));
      if (context_ && plan.context == ContextExchange::ring && l.shape.mixer == Mixer::attention)
        l.tail += keys(true).us;
      if (!full_) continue;
      l.gather =
          after(call(data_, Op::all_gather, 2 * l.held.shared), call(expert_data_, Op::all_gather, 2 * l.held.expert));
      l.reduced = reduced(l.held.shared, l.held.expert);
    }
    for (int i = 0; i < static_cast<int>(card.layers.size()); ++i)
      layers_.push_back(static_cast<std::size_t>(
          std::ranges::find(shapes_, card.layers[static_cast<std::size_t>(i)], &LayerBound::shape) - shapes_.begin()));
    for (int v = 0; v < here(); ++v) {
      forward_.push_back(forward(v));
      backward_.push_back(backward(v, true));
      input_.push_back(backward(v, false));
      weights_.push_back(weights(v));
    }
    gather_parameters();
  }

  struct Passed {
    double first_out = 0, last_out = 0, end = 0;
  };
  /// When the first forward pass has left; its message came at `head`.
  double first_out(double head) const { return walk(head, 0, true).first_out; }
  /// `tail`: when the message of the last backward pass came.
  Passed all(double head, double tail) const { return walk(head, tail, false); }

 private:
  int micro_batches() const { return plan_.global_batch / (plan_.micro_batch * plan_.dp); }
  int here() const { return plan_.schedule == Schedule::dual_pipe ? 2 : plan_.vpp; }
  const Chunk& chunk(int v) const {
    const int at =
        plan_.schedule == Schedule::dual_pipe ? (v == 0 ? stage_ : plan_.pp - 1 - stage_) : v * plan_.pp + stage_;
    return chunks_[static_cast<std::size_t>(at)];
  }
  const LayerBound& layer(int i) const { return shapes_[layers_[static_cast<std::size_t>(i)]]; }
  Calls call(const std::optional<std::size_t>& group, Op op, double bytes) const {
    if (!group || bytes <= 0) return {};
    const auto c = floors_.call(*group, op, std::max(1.0, std::round(bytes)));
    return {c.us, c.us * std::min(c.sms, 1 - least_pace)};
  }
  double tensor_bytes() const { return 2.0 * card_.hidden * tokens_; }

  double half_forward(double us) const {
    if (!tensor_) return us;
    const double b = tensor_bytes();
    if (!plan_.sequence_parallel) return us + call(tensor_, Op::all_reduce, b).us;
    if (!plan_.overlap_tp) return us + call(tensor_, Op::all_gather, b).us + call(tensor_, Op::reduce_scatter, b).us;
    const double first = b / plan_.tp;
    return call(tensor_, Op::all_gather, first).us +
           beside(us, after(call(tensor_, Op::all_gather, b - first), call(tensor_, Op::reduce_scatter, b - first)));
  }
  double half_backward(double us) const {
    if (!tensor_) return us;
    const double b = tensor_bytes();
    if (!plan_.sequence_parallel) {
      const auto reduce = call(tensor_, Op::all_reduce, b);
      return plan_.async_tp_backward ? 0.75 * us + beside(0.25 * us, reduce) : us + reduce.us;
    }
    const auto gather = call(tensor_, Op::all_gather, b), scatter = call(tensor_, Op::reduce_scatter, b);
    if (plan_.overlap_tp || plan_.async_tp_backward)
      return (plan_.overlap_tp ? call(tensor_, Op::all_gather, b / plan_.tp).us : gather.us) + 0.5 * us +
             beside(0.5 * us, after(gather, scatter));
    return gather.us + us + scatter.us;
  }
  /// What half_backward() takes after its computing.
  double tail_of(double us) const {
    if (!tensor_) return 0;
    const double b = tensor_bytes();
    if (!plan_.sequence_parallel)
      return plan_.async_tp_backward ? beside(0.25 * us, call(tensor_, Op::all_reduce, b)) - 0.25 * us : 0;
    if (!plan_.overlap_tp && !plan_.async_tp_backward) return 0;
    return beside(0.5 * us, after(call(tensor_, Op::all_gather, b), call(tensor_, Op::reduce_scatter, b))) - 0.5 * us;
  }
  /// The most that exchanges beside the last computing take beyond it: what is issued then does not wait for them.
  double unwaited() const {
    if (!tensor_) return 0;
    const double b = tensor_bytes();
    if (!plan_.sequence_parallel) return plan_.async_tp_backward ? call(tensor_, Op::all_reduce, b).us : 0;
    if (!plan_.overlap_tp && !plan_.async_tp_backward) return 0;
    return call(tensor_, Op::all_gather, b).us + call(tensor_, Op::reduce_scatter, b).us;
  }
  /// The same of a forward pass's last layer.
  double unwaited_forward() const {
    if (!tensor_ || !plan_.sequence_parallel || !plan_.overlap_tp) return 0;
    const double b = tensor_bytes() * (1 - 1.0 / plan_.tp);
    return call(tensor_, Op::all_gather, b).us + call(tensor_, Op::reduce_scatter, b).us;
  }
  double experts(double us) const {
    if (!expert_ || plan_.overlap_ep) return us;
    double copies = card_.top_k;
    const double machines = std::max(1.0, plan_.ep / static_cast<double>(plan_.per_node));
    if (plan_.dispatch_once && machines > 1) {
      double hit = machines * (1 - std::pow(1 - 1 / machines, card_.top_k));
      if (plan_.node_limit > 0) hit = std::min(hit, static_cast<double>(plan_.node_limit));
      copies = std::min(copies, hit);
    }
    const double b = 2.0 * card_.hidden * tokens_ / plan_.tp * copies;
    return us + 2 * call(expert_, Op::alltoall, b).us + call(expert_tensor_, Op::all_gather, b * plan_.etp).us +
           call(expert_tensor_, Op::reduce_scatter, b * plan_.etp).us;
  }
  Calls keys(bool backward) const {
    const double width =
        card_.latent ? 2.0 * card_.heads * card_.latent->value_dim : 2.0 * card_.kv_heads * card_.head_dim;
    const double b = 2.0 * width / std::min(plan_.tp, card_.latent ? card_.heads : card_.kv_heads) * tokens_ * plan_.cp;
    auto c = call(context_, Op::all_gather, b);
    if (backward) c = after(c, call(context_, Op::reduce_scatter, b));
    return c;
  }
  double attention(double half, bool backward, const LayerShape& s, bool plain) const {
    if (!context_ || s.mixer != Mixer::attention) return half;
    const bool ring = plan_.context == ContextExchange::ring;
    if (ring && plain) return half;
    const auto c = keys(backward);
    return ring ? std::max(half, c.us - unwaited()) : half + c.us;
  }

  double layer_forward(const LayerBound& s, bool again, bool plain) const {
    double us = 0;
    if (s.shape.mixer != Mixer::none)
      us += attention(half_forward(again ? s.mixer.again : s.mixer.forward), false, s.shape, plain);
    const double mlp = again ? s.mlp.again : s.mlp.forward;
    if (s.shape.mlp == Mlp::moe) us += experts(mlp);
    if (s.shape.mlp == Mlp::dense) us += half_forward(mlp);
    return us;
  }
  double layer_backward(const LayerBound& s, bool weights, bool plain) const {
    const bool whole = plan_.recompute == Recompute::full;
    const auto us_of = [&](const Work& w) { return w.input + (weights ? w.weight : 0) + (whole ? 0 : w.again); };
    double us = whole ? layer_forward(s, true, plain) : 0;
    if (s.shape.mlp == Mlp::moe) us += experts(us_of(s.mlp));
    if (s.shape.mlp == Mlp::dense) us += half_backward(us_of(s.mlp));
    if (s.shape.mixer != Mixer::none) us += attention(half_backward(us_of(s.mixer)), true, s.shape, plain);
    return us;
  }

  double reduced(double shared, double expert) const {
    const auto op = plan_.sharding == Sharding::none ? Op::all_reduce : Op::reduce_scatter;
    const double b = plan_.gradient_bytes;
    return call(data_, op, b * shared).us + call(replicas_, Op::all_reduce, b * shared / shards_of(plan_)).us +
           call(expert_data_, op, b * expert).us;
  }

  double embedding(const Chunk& c, bool backward) const {
    if (!c.embedding) return 0;
    const auto w = roofline_.embedding();
    return backward ? w.input : w.forward;
  }

  /// A pass through the layers of a chunk. ZeRO-3: each waits for its weights, which are gathered while the one before
  /// computes; the first one's before anything.
  Pass layers(const Chunk& c, bool backward, bool gathers, double LayerBound::*time, double LayerBound::*plain) const {
    Pass p;
    double early = unwaited();  // a gather may begin so much before the layer beside which it runs
    if (context_ && plan_.context == ContextExchange::ring) early += keys(true).us;
    const bool alone = !tensor_ && !expert_ && !context_;  // nothing but computing in line: all of it is slowed
    for (int i = 0; i < c.count; ++i) {
      const int at = backward ? c.first + c.count - 1 - i : c.first + i;
      p.plain += layer(at).*plain;
      if (!gathers) {
        p.steady += layer(at).*time;
        continue;
      }
      if (i == 0) p.steady += std::max(0.0, layer(at).gather.us - early);
      const auto next = i + 1 < c.count ? layer(backward ? at - 1 : at + 1).gather : Calls{};
      p.steady += std::max(layer(at).*time + (alone ? next.slowed : 0), next.us - early);
    }
    return p;
  }
  Pass forward(int v) const {
    const auto& c = chunk(v);
    auto p = layers(c, false, full_, &LayerBound::forward, &LayerBound::forward_plain);
    double more = embedding(c, false);
    if (c.output)
      more += (card_.mtp_layers + 1) * roofline_.output().forward +
              card_.mtp_layers * layer(static_cast<int>(card_.layers.size()) - 1).forward_plain;
    return {p.steady + more, p.plain + more};
  }
  Pass backward(int v, bool with_weights) const {
    const auto& c = chunk(v);
    auto p = layers(c, true, full_ && plan_.reshard, with_weights ? &LayerBound::backward : &LayerBound::input,
                    with_weights ? &LayerBound::backward_plain : &LayerBound::input_plain);
    const double more = embedding(c, true) + output_backward(c, with_weights);
    return {p.steady + more, p.plain + more};
  }
  double output_backward(const Chunk& c, bool with_weights) const {
    if (!c.output) return 0;
    const auto w = roofline_.output();
    const auto& last = layer(static_cast<int>(card_.layers.size()) - 1);
    return (card_.mtp_layers + 1) * (w.input + (with_weights ? w.weight : 0)) +
           card_.mtp_layers * (with_weights ? last.backward_plain : last.input_plain);
  }
  double weights(int v) const {
    const auto& c = chunk(v);
    double us = c.output ? roofline_.output().weight : 0;
    for (int i = 0; i < c.count; ++i) us += layer(c.first + i).mixer.weight + layer(c.first + i).mlp.weight;
    return us;
  }

  /// ZeRO-1 and -2: when the weights of each chunk's layers are there, gathered from the start of the step.
  void gather_parameters() {
    ready_.resize(static_cast<std::size_t>(here()));
    if ((plan_.sharding != Sharding::optimizer && plan_.sharding != Sharding::gradients) || !replicated_) return;
    double gathered = 0;
    for (int v = 0; v < here(); ++v) {
      const auto& c = chunk(v);
      auto& ready = ready_[static_cast<std::size_t>(v)];
      ready.assign(static_cast<std::size_t>(c.count), 0);
      double shared = held_by(card_, plan_, Chunk{c.first, 0, c.embedding, c.output}).shared, expert = 0;
      int first = 0;
      for (int i = 0; i < c.count; ++i) {
        shared += layer(c.first + i).held.shared;
        expert += layer(c.first + i).held.expert;
        if (shared + expert < most_elements_gather_ && i + 1 < c.count) continue;
        gathered += call(data_, Op::all_gather, 2 * shared).us + call(expert_data_, Op::all_gather, 2 * expert).us;
        ready[static_cast<std::size_t>(first)] = gathered;
        shared = expert = 0;
        first = i + 1;
      }
    }
  }
  double first_forward(int v, double at) const {
    const auto& c = chunk(v);
    const auto& ready = ready_[static_cast<std::size_t>(v)];
    const double whole = forward_[static_cast<std::size_t>(v)].plain;
    double inside = embedding(c, false);  // waits for no weights
    at += inside;
    for (int i = 0; i < c.count; ++i) {
      if (!ready.empty()) at = std::max(at, ready[static_cast<std::size_t>(i)]);
      inside += layer(c.first + i).forward_plain;
      at += layer(c.first + i).forward_plain;
    }
    return at + (whole - inside);
  }

  Passed walk(double head, double tail, bool until_first) const {
    Passed out;
    const bool dual = plan_.schedule == Schedule::dual_pipe;
    const int last = dual ? micro_batches() / 2 - 1 : micro_batches() - 1;
    double t = 0, reduced_at = 0, streamed = 0;  // streamed: all that ZeRO-3's stream carries
    double shared = 0, expert = 0;               // of gradients that wait for their bucket to fill
    const auto reduce = [&](double at) {
      reduced_at = std::max(reduced_at, at) + reduced(shared, expert);
      shared = expert = 0;
    };
    const auto of_stream = [&](int v, bool gathers, bool reduces) {
      if (!full_) return;
      const auto& c = chunk(v);
      for (int i = 0; i < c.count; ++i)
        streamed += (gathers ? layer(c.first + i).gather.us : 0) + (reduces ? layer(c.first + i).reduced : 0);
    };
    for (const auto& slot : slots_) {
      const int v = slot.chunk;
      const auto& c = chunk(v);
      if (slot.kind == Slot::Kind::forward) {
        const auto& pass = forward_[static_cast<std::size_t>(v)];
        double ends = t + pass.steady;
        if (out.first_out == 0) ends = std::max(ends, head + pass.plain);
        if (slot.micro_batch == 0) ends = std::max(ends, first_forward(v, out.first_out == 0 ? std::max(t, head) : t));
        t = ends;
        if (out.first_out == 0) out.first_out = t - unwaited_forward();
        if (until_first) return out;
        of_stream(v, true, false);
        continue;
      }
      if (slot.kind == Slot::Kind::weight) {
        t += weights_[static_cast<std::size_t>(v)];
        of_stream(v, false, true);
        continue;
      }
      const bool with_weights = slot.kind == Slot::Kind::backward;
      const bool ends = slot.micro_batch == last;
      const auto& pass = (with_weights ? backward_ : input_)[static_cast<std::size_t>(v)];
      const double begin = ends && v == 0 && !dual ? std::max(t, tail) : t;
      t = std::max(t + pass.steady, begin + pass.plain);
      of_stream(v, plan_.reshard, with_weights);
      if (ends && v == 0) out.last_out = t - (c.count > 0 ? layer(c.first).tail : 0);
      if (!ends || !with_weights || !replicated_) continue;
      if (full_) {
        if (c.count > 0)
          reduced_at = std::max(reduced_at, t - embedding(c, true) - layer(c.first).tail + layer(c.first).reduced);
        continue;
      }
      if (c.output && !(card_.tied && plan_.pp == 1))
        shared += static_cast<double>(card_.vocab) * card_.hidden / plan_.tp;
      double at = begin + output_backward(c, true);
      for (int i = c.count - 1; i >= 0; --i) {
        at += layer(c.first + i).backward_plain;
        shared += layer(c.first + i).held.shared;
        expert += layer(c.first + i).held.expert;
        if (shared + expert >= most_elements_reduce_) reduce(at - layer(c.first + i).tail);
      }
      if (c.embedding) shared += static_cast<double>(card_.vocab) * card_.hidden / plan_.tp;
      reduce(t - (c.embedding || c.count == 0 ? 0 : layer(c.first).tail));
    }
    double shared_here = 0, expert_here = 0;
    for (int v = 0; v < here(); ++v) {
      const auto h = held_by(card_, plan_, chunk(v));
      shared_here += h.shared;
      expert_here += h.expert;
    }
    const double shards = plan_.sharding == Sharding::none ? 1 : shards_of(plan_);
    const double experts = plan_.sharding == Sharding::none
                               ? 1
                               : std::min(shards, std::max(1.0, static_cast<double>(plan_.tp) * plan_.cp * plan_.dp /
                                                                    (plan_.etp * plan_.ep)));
    out.end = std::max({t, reduced_at, streamed}) + roofline_.optimizer(shared_here / shards + expert_here / experts);
    return out;
  }

  const ModelCard& card_;
  const Plan& plan_;
  const Roofline& roofline_;
  const std::vector<Chunk>& chunks_;
  std::vector<LayerBound> shapes_;
  std::vector<std::size_t> layers_;  // of the model: their kind
  const int stage_;
  CallFloors& floors_;
  bool full_ = false, replicated_ = false;
  double tokens_ = 0, most_elements_gather_ = 0, most_elements_reduce_ = 0;
  std::optional<std::size_t> tensor_, context_, data_, replicas_, expert_, expert_tensor_, expert_data_;
  std::vector<Slot> slots_;
  std::vector<Pass> forward_, backward_, input_;
  std::vector<double> weights_;
  std::vector<std::vector<double>> ready_;  // by chunk and layer of it; empty: nothing is gathered
};

}  // namespace
}  // namespace step

sim::Time step_bound(const ModelCard& card, const Plan& plan, const models::GpuModel& gpu,
                     const ComputeEfficiency& efficiency, CallFloors& floors) {
  const bool dual = plan.schedule == Schedule::dual_pipe;
  const auto chunks = step::chunks_of(card, plan.pp, dual ? 1 : plan.vpp);
  const step::Ranks ranks{plan};
  const step::Roofline roofline{card, plan, gpu, efficiency};
  std::vector<step::LayerBound> shapes;
  for (const auto& s : card.layers)
    if (std::ranges::find(shapes, s, &step::LayerBound::shape) == shapes.end()) {
      auto& l = shapes.emplace_back();
      l.shape = s;
      l.mixer = roofline.mixer(s);
      l.mlp = roofline.mlp(s);
    }
  std::vector<step::StageBound> stages;
  stages.reserve(static_cast<std::size_t>(plan.pp));
  std::vector<double> heads(static_cast<std::size_t>(plan.pp), 0);
  for (int s = 0; s < plan.pp; ++s) {
    stages.emplace_back(card, plan, roofline, chunks, shapes, ranks, s, floors);
    if (s > 0 && !dual)
      heads[static_cast<std::size_t>(s)] =
          stages[static_cast<std::size_t>(s - 1)].first_out(heads[static_cast<std::size_t>(s - 1)]);
  }
  double end = 0, tail = 0;
  for (int s = plan.pp - 1; s >= 0; --s) {
    const auto passed = stages[static_cast<std::size_t>(s)].all(heads[static_cast<std::size_t>(s)], tail);
    end = std::max(end, passed.end);
    if (!dual) tail = passed.last_out;
  }
  return sim::Time::from_us(end * step::rounding);
}

}  // namespace linkcast::workloads
