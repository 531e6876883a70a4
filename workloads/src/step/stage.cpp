#include "stage.hpp"

#include <algorithm>
#include <cmath>

#include "card.hpp"

namespace linkcast::workloads::step {

using models::nccl::Op;
using Mixer = LayerShape::Mixer;
using Mlp = LayerShape::Mlp;

StageWriter::StageWriter(const ModelCard& card, const Plan& plan, const Roofline& roofline,
                         const std::vector<Chunk>& chunks, int stage, const Groups& groups, Emitter& emit)
    : card_{card}, plan_{plan}, roofline_{roofline}, chunks_{chunks}, stage_{stage}, groups_{groups}, emit_{emit} {
  full_ = plan.sharding == Sharding::full && plan.dp * plan.cp > 1;
  tokens_ = static_cast<double>(plan.micro_batch) * plan.sequence / plan.cp;
  own_tokens_ = plan.tp > 1 && plan.sequence_parallel ? tokens_ / plan.tp : tokens_;
}

int StageWriter::virtual_of(int v) const {
  if (plan_.schedule == Schedule::dual_pipe) return v == 0 ? stage_ : plan_.pp - 1 - stage_;
  return v * plan_.pp + stage_;
}
const Chunk& StageWriter::chunk(int v) const { return chunks_[static_cast<std::size_t>(virtual_of(v))]; }
int StageWriter::chunks_here() const { return plan_.schedule == Schedule::dual_pipe ? 2 : plan_.vpp; }

const StageWriter::LayerTimes& StageWriter::times(const LayerShape& shape) {
  for (const auto& [known, t] : times_)
    if (known == shape) return t;
  times_.push_back({shape, {roofline_.mixer(shape), roofline_.mlp(shape)}});
  return times_.back().second;
}

double StageWriter::message_bytes() const {
  const bool cut = plan_.tp > 1 && !plan_.sequence_parallel && plan_.scatter_messages;
  return 2.0 * card_.hidden * own_tokens_ / (cut ? plan_.tp : 1);
}

/// What a gather of such weights leaves on every rank; of NCCL's size that is the whole buffer.
double StageWriter::gathered(const Held& h) const { return 2.0 * (h.shared + h.expert); }

/// The buffer of an exchange among experts. A token that goes to a machine once (DeepEP) goes to as many as the experts
/// of a random choice lie on: n (1 - (1 - 1/n)^k) of n machines.
double StageWriter::dispatched() const {
  double copies = card_.top_k;
  const double machines = std::max(1.0, plan_.ep / static_cast<double>(plan_.per_node));
  if (plan_.dispatch_once && machines > 1) {
    double hit = machines * (1 - std::pow(1 - 1 / machines, card_.top_k));
    if (plan_.node_limit > 0) hit = std::min(hit, static_cast<double>(plan_.node_limit));
    copies = std::min(copies, hit);
  }
  return 2.0 * card_.hidden * tokens_ / plan_.tp * copies;
}

// ---- Exchanges of a layer
// ---------------------------------------------------------------------------------------------

/// Forward through one half of a layer: with sequence parallelism its input is gathered and its output scattered, else
/// its output is reduced.
void StageWriter::half_forward(double us, bool tensor) {
  if (!tensor) {
    emit_.busy(us);
    return;
  }
  const double bytes = 2.0 * card_.hidden * tokens_;
  if (!plan_.sequence_parallel) {
    emit_.busy(us);
    emit_.collective(groups_.tensor, Op::all_reduce, bytes);
    return;
  }
  if (!plan_.overlap_tp) {
    emit_.collective(groups_.tensor, Op::all_gather, bytes);
    emit_.busy(us);
    emit_.collective(groups_.tensor, Op::reduce_scatter, bytes);
    return;
  }
  // Cut into tp pieces: the first gather and the last scatter have nothing to hide behind.
  const double exposed = bytes / plan_.tp;
  emit_.collective(groups_.tensor, Op::all_gather, exposed);
  const auto a = emit_.beside(tensor_stream, groups_.tensor, Op::all_gather, bytes - exposed);
  const auto b = emit_.beside(tensor_stream, groups_.tensor, Op::reduce_scatter, bytes - exposed);
  emit_.busy(us);
  emit_.flush();
  emit_.wait_for(a);
  emit_.wait_for(b);
}

void StageWriter::half_backward(double us, bool tensor) {
  if (!tensor) {
    emit_.busy(us);
    return;
  }
  const double bytes = 2.0 * card_.hidden * tokens_;
  if (!plan_.sequence_parallel) {
    if (!plan_.async_tp_backward) {
      emit_.busy(us);
      emit_.collective(groups_.tensor, Op::all_reduce, bytes);
      return;
    }
    // The gradient of the input is reduced while that of the first matrix's weights is computed: a quarter.
    emit_.busy(us * 0.75);
    const auto a = emit_.beside(tensor_stream, groups_.tensor, Op::all_reduce, bytes);
    emit_.busy(us * 0.25);
    emit_.flush();
    emit_.wait_for(a);
    return;
  }
  if (plan_.overlap_tp || plan_.async_tp_backward) {
    // The gradient of the output is gathered first; the input is gathered again and its gradient scattered beside.
    emit_.collective(groups_.tensor, Op::all_gather, plan_.overlap_tp ? bytes / plan_.tp : bytes);
    std::uint64_t more = 0;
    if (plan_.overlap_tp) more = emit_.beside(tensor_stream, groups_.tensor, Op::all_gather, bytes);
    emit_.busy(us * 0.5);
    const auto a = emit_.beside(tensor_stream, groups_.tensor, Op::all_gather, bytes);
    const auto b = emit_.beside(tensor_stream, groups_.tensor, Op::reduce_scatter, bytes);
    emit_.busy(us * 0.5);
    emit_.flush();
    emit_.wait_for(more);
    emit_.wait_for(a);
    emit_.wait_for(b);
    return;
  }
  emit_.collective(groups_.tensor, Op::all_gather, bytes);
  emit_.busy(us);
  emit_.collective(groups_.tensor, Op::reduce_scatter, bytes);
}

/// Dispatch, the experts, combine; backward the same the other way round.
void StageWriter::experts(double us) {
  if (plan_.ep == 1) {
    emit_.busy(us);
    return;
  }
  const double bytes = dispatched();
  if (plan_.overlap_ep) {
    hidden_.push_back(emit_.beside(expert_stream, groups_.expert, Op::alltoall, bytes));
    hidden_.push_back(emit_.beside(expert_stream, groups_.expert, Op::alltoall, bytes));
    emit_.busy(us);
    return;
  }
  emit_.collective(groups_.expert, Op::alltoall, bytes);
  if (plan_.etp > 1) emit_.collective(groups_.expert_tensor, Op::all_gather, bytes * plan_.etp);
  emit_.busy(us);
  if (plan_.etp > 1) emit_.collective(groups_.expert_tensor, Op::reduce_scatter, bytes * plan_.etp);
  emit_.collective(groups_.expert, Op::alltoall, bytes);
}

/// Keys and values of the other parts of the sequence.
void StageWriter::keys(bool backward, const LayerShape& shape) {
  if (plan_.cp == 1 || shape.mixer != Mixer::attention) return;
  const double width =
      card_.latent ? 2.0 * card_.heads * card_.latent->value_dim : 2.0 * card_.kv_heads * card_.head_dim;
  const double bytes =
      2.0 * width / std::min(plan_.tp, card_.latent ? card_.heads : card_.kv_heads) * tokens_ * plan_.cp;
  if (plan_.context == ContextExchange::all_gather) {
    emit_.collective(groups_.context, Op::all_gather, bytes);
    if (backward) emit_.collective(groups_.context, Op::reduce_scatter, bytes);
    return;
  }
  hidden_.push_back(emit_.beside(context_stream, groups_.context, Op::all_gather, bytes));
  if (backward) hidden_.push_back(emit_.beside(context_stream, groups_.context, Op::reduce_scatter, bytes));
}

void StageWriter::layer_forward(const LayerShape& shape, Pass pass) {
  const auto t = times(shape);
  const bool again = pass == Pass::again;
  const bool tensor = plan_.tp > 1;
  if (shape.mixer != Mixer::none) {
    keys(false, shape);
    half_forward(again ? t.mixer.again : t.mixer.forward, tensor);
    if (plan_.context == ContextExchange::ring && plan_.cp > 1) {
      emit_.flush();
      for (const auto id : hidden_) emit_.wait_for(id);
      hidden_.clear();
    }
  }
  const double mlp = again ? t.mlp.again : t.mlp.forward;
  if (shape.mlp == Mlp::moe)
    experts(mlp);
  else if (shape.mlp == Mlp::dense)
    half_forward(mlp, tensor);
}

void StageWriter::layer_backward(const LayerShape& shape, bool with_weights) {
  const bool whole = plan_.recompute == Recompute::full;
  if (whole) layer_forward(shape, Pass::again);
  const auto t = times(shape);
  const auto us = [&](const step::Work& w) { return w.input + (with_weights ? w.weight : 0) + (whole ? 0 : w.again); };
  const bool tensor = plan_.tp > 1;
  if (shape.mlp == Mlp::moe)
    experts(us(t.mlp));
  else if (shape.mlp == Mlp::dense)
    half_backward(us(t.mlp), tensor);
  if (shape.mixer != Mixer::none) {
    keys(true, shape);
    half_backward(us(t.mixer), tensor);
    if (plan_.context == ContextExchange::ring && plan_.cp > 1) {
      emit_.flush();
      for (const auto id : hidden_) emit_.wait_for(id);
      hidden_.clear();
    }
  }
}

// ---- Messages between stages
// --------------------------------------------------------------------------------------------

void StageWriter::messages_in(const Slot& slot) {
  const bool forward = slot.kind == Slot::Kind::forward;
  const int here = virtual_of(slot.chunk), from = forward ? here - 1 : here + 1;
  if (plan_.pp == 1 || from < 0 || from >= static_cast<int>(chunks_.size())) return;
  const bool dual = plan_.schedule == Schedule::dual_pipe;
  const bool reverse = dual && slot.chunk == 1;
  const int peer = dual ? (reverse ? plan_.pp - 1 - from : from) : from % plan_.pp;
  const auto id = emit_.receive(reversed(forward ? receive_forward_stream : receive_backward_stream, reverse),
                                groups_.pipeline, peer, message_bytes(), (forward ? 0 : 1) + 2 * (reverse ? 1 : 0));
  emit_.wait_for(id);
  if (plan_.tp > 1 && !plan_.sequence_parallel && plan_.scatter_messages)
    emit_.collective(groups_.tensor, Op::all_gather, 2.0 * card_.hidden * own_tokens_);
}

void StageWriter::message_out(const Slot& slot) {
  const bool forward = slot.kind == Slot::Kind::forward;
  const int here = virtual_of(slot.chunk), to = forward ? here + 1 : here - 1;
  if (plan_.pp == 1 || to < 0 || to >= static_cast<int>(chunks_.size())) return;
  const bool dual = plan_.schedule == Schedule::dual_pipe;
  const bool reverse = dual && slot.chunk == 1;
  const int peer = dual ? (reverse ? plan_.pp - 1 - to : to) : to % plan_.pp;
  const auto stream =
      !plan_.overlap_pp ? main_stream : reversed(forward ? send_forward_stream : send_backward_stream, reverse);
  emit_.send(stream, groups_.pipeline, peer, message_bytes(), (forward ? 0 : 1) + 2 * (reverse ? 1 : 0));
}

// ---- Weights and gradients
// ------------------------------------------------------------------------------------------------

/// ZeRO-3: the weights of layer layers[at + 1] are gathered while layers[at] computes.
void StageWriter::gather_ahead(const std::vector<int>& layers, std::size_t at) {
  const auto gather = [&](std::size_t i) {
    const auto h = held_by(card_, plan_, card_.layers[static_cast<std::size_t>(layers[i])]);
    std::uint64_t id = emit_.beside(data_stream, groups_.data, Op::all_gather, 2 * h.shared);
    if (h.expert > 0) id = emit_.beside(data_stream, groups_.expert_data, Op::all_gather, 2 * h.expert);
    return id;
  };
  const auto mine = at == 0 && ahead_ == 0 ? gather(0) : ahead_;
  ahead_ = at + 1 < layers.size() ? gather(at + 1) : 0;
  emit_.wait_for(mine);
}

/// ZeRO-1: after the optimizer every rank gathers the others' weights; the forward pass waits for its buckets.
void StageWriter::gather_parameters() {
  if (plan_.sharding != Sharding::optimizer && plan_.sharding != Sharding::gradients) return;
  if (plan_.dp * plan_.cp == 1) return;
  const double most = plan_.bucket.count() > 0 ? static_cast<double>(plan_.bucket.count()) / 2
                                               : std::max(40e6, 1e6 * plan_.dp * plan_.cp);
  for (int v = 0; v < chunks_here(); ++v) {
    const auto& c = chunk(v);
    double shared = held_by(card_, plan_, Chunk{c.first, 0, c.embedding, c.output}).shared, expert = 0;
    int first = 0;
    for (int i = 0; i < c.count; ++i) {
      const auto h = held_by(card_, plan_, card_.layers[static_cast<std::size_t>(c.first + i)]);
      shared += h.shared;
      expert += h.expert;
      if (shared + expert < most && i + 1 < c.count) continue;
      std::uint64_t id = 0;
      if (plan_.overlap_param_gather) {
        id = emit_.beside(data_stream, groups_.data, Op::all_gather, 2 * shared);
        if (expert > 0) id = emit_.beside(data_stream, groups_.expert_data, Op::all_gather, 2 * expert);
        gathers_[{v, first}] = id;
      } else {
        emit_.collective(groups_.data, Op::all_gather, 2 * shared);
        if (expert > 0) emit_.collective(groups_.expert_data, Op::all_gather, 2 * expert);
      }
      shared = expert = 0;
      first = i + 1;
    }
  }
}

void StageWriter::reduce(double shared, double expert) {
  const auto op = plan_.sharding == Sharding::none ? Op::all_reduce : Op::reduce_scatter;
  const auto one = [&](std::uint32_t group, Op what, double elements) {
    if (elements <= 0) return;
    if (plan_.overlap_grad_reduce)
      reductions_.push_back(emit_.beside(data_stream, group, what, plan_.gradient_bytes * elements));
    else
      emit_.collective(group, what, plan_.gradient_bytes * elements);
  };
  one(groups_.data, op, shared);
  if (groups_.replicas != groups_.data) one(groups_.replicas, Op::all_reduce, shared / shards_of(plan_));
  one(groups_.expert_data, op, expert);
}

// ---- Slots
// ------------------------------------------------------------------------------------------------------------

void StageWriter::forward(const Slot& slot, bool first) {
  const auto& c = chunk(slot.chunk);
  emit_.name("forward");
  messages_in(slot);
  if (c.embedding) emit_.busy(roofline_.embedding().forward);
  std::vector<int> layers;
  for (int i = 0; i < c.count; ++i) layers.push_back(c.first + i);
  for (int i = 0; i < c.count; ++i) {
    if (full_) gather_ahead(layers, static_cast<std::size_t>(i));
    if (first)
      if (const auto found = gathers_.find({slot.chunk, i}); found != gathers_.end()) emit_.wait_for(found->second);
    layer_forward(card_.layers[static_cast<std::size_t>(c.first + i)], Pass::forward);
  }
  if (c.output)
    for (int i = 0; i <= card_.mtp_layers; ++i) {
      emit_.busy(roofline_.output().forward);
      if (i > 0) layer_forward(card_.layers.back(), Pass::forward);
    }
  emit_.flush();
  message_out(slot);
}

void StageWriter::backward(const Slot& slot, bool last) {
  const auto& c = chunk(slot.chunk);
  const bool with_weights = slot.kind == Slot::Kind::backward;
  emit_.name("backward");
  messages_in(slot);
  if (c.output)
    for (int i = 0; i <= card_.mtp_layers; ++i) {
      const auto w = roofline_.output();
      emit_.busy(w.input + (with_weights ? w.weight : 0));
      if (i > 0) layer_backward(card_.layers.back(), with_weights);
    }
  const double most = plan_.bucket.count() > 0 ? static_cast<double>(plan_.bucket.count()) / plan_.gradient_bytes
                                               : std::max(40e6, 1e6 * plan_.dp * plan_.cp);
  if (last && c.output && !(card_.tied && plan_.pp == 1))
    bucket_shared_ += static_cast<double>(card_.vocab) * card_.hidden / plan_.tp;
  std::vector<int> layers;
  for (int i = c.count - 1; i >= 0; --i) layers.push_back(c.first + i);
  for (int i = 0; i < c.count; ++i) {
    const auto& shape = card_.layers[static_cast<std::size_t>(layers[static_cast<std::size_t>(i)])];
    if (full_ && plan_.reshard) gather_ahead(layers, static_cast<std::size_t>(i));
    layer_backward(shape, with_weights);
    if (plan_.dp * plan_.cp == 1) continue;
    const auto h = held_by(card_, plan_, shape);
    if (full_ && with_weights) {
      emit_.flush();
      reduce(h.shared, h.expert);
    } else if (!full_ && last) {
      bucket_shared_ += h.shared;
      bucket_expert_ += h.expert;
      if (with_weights && bucket_shared_ + bucket_expert_ >= most) {
        emit_.flush();
        reduce(bucket_shared_, bucket_expert_);
        bucket_shared_ = bucket_expert_ = 0;
      }
    }
  }
  if (c.embedding) emit_.busy(roofline_.embedding().input);
  emit_.flush();
  message_out(slot);
  if (last && c.embedding && !full_) bucket_shared_ += static_cast<double>(card_.vocab) * card_.hidden / plan_.tp;
  if (!with_weights) {  // the gradients are made later, by weights()
    ++open_weights_[slot.chunk];
    if (last) last_input_.insert(slot.chunk);
  } else if (last) {
    reduce_rest();
  }
}

void StageWriter::reduce_rest() {
  if (plan_.dp * plan_.cp > 1) reduce(bucket_shared_, bucket_expert_);
  bucket_shared_ = bucket_expert_ = 0;
}

void StageWriter::weights(const Slot& slot) {
  const auto& c = chunk(slot.chunk);
  emit_.name("weights");
  if (c.output) emit_.busy(roofline_.output().weight);
  for (int i = 0; i < c.count; ++i) {
    const auto& shape = card_.layers[static_cast<std::size_t>(c.first + i)];
    const auto& t = times(shape);
    emit_.busy(t.mixer.weight + t.mlp.weight);
    if (!full_ || plan_.dp * plan_.cp == 1) continue;
    const auto h = held_by(card_, plan_, shape);
    emit_.flush();
    reduce(h.shared, h.expert);
  }
  if (--open_weights_[slot.chunk] > 0 || !last_input_.contains(slot.chunk)) return;
  emit_.flush();
  reduce_rest();
}

void StageWriter::finish() {
  emit_.name("optimizer");
  emit_.flush();
  for (const auto id : reductions_) emit_.wait_for(id);
  double shared = 0, expert = 0;
  for (int v = 0; v < chunks_here(); ++v) {
    const auto h = held_by(card_, plan_, chunk(v));
    shared += h.shared;
    expert += h.expert;
  }
  if (groups_.tables != groups_.pipeline && (stage_ == 0 || stage_ == plan_.pp - 1))
    emit_.collective(groups_.tables, Op::all_reduce,
                     static_cast<double>(plan_.gradient_bytes) * card_.vocab * card_.hidden / plan_.tp);
  const double shards = plan_.sharding == Sharding::none ? 1 : shards_of(plan_);
  const double experts = plan_.sharding == Sharding::none
                             ? 1
                             : std::min(shards, std::max(1.0, static_cast<double>(plan_.tp) * plan_.cp * plan_.dp /
                                                                  (plan_.etp * plan_.ep)));
  emit_.busy(roofline_.optimizer(shared / shards + expert / experts));
  emit_.flush();
}

void StageWriter::write() {
  const int micro_batches = plan_.global_batch / (plan_.micro_batch * plan_.dp);
  const auto slots = schedule_of(plan_.schedule, stage_, plan_.pp, plan_.vpp, micro_batches);
  emit_.name("parameters");
  gather_parameters();
  const int last = plan_.schedule == Schedule::dual_pipe ? micro_batches / 2 - 1 : micro_batches - 1;
  std::vector<int> pending_weights(static_cast<std::size_t>(chunks_here()), 0);
  for (const auto& slot : slots) {
    switch (slot.kind) {
      case Slot::Kind::forward:
        forward(slot, slot.micro_batch == 0);
        break;
      case Slot::Kind::backward:
      case Slot::Kind::input:
        backward(slot, slot.micro_batch == last);
        break;
      case Slot::Kind::weight:
        weights(slot);
        break;
    }
    if (!slot.together) {
      emit_.flush();
      for (const auto id : hidden_) emit_.wait_for(id);
      hidden_.clear();
    }
  }
  finish();
}

}  // namespace linkcast::workloads::step
