// One training pass of rank 0 over the layers of a text workload. The order and what waits for what are those of
// Chakra's text converter (mlcommons/chakra src/converter/text_converter.py) and of SimAI's Workload.cc:
//   forward: compute, then the call, which the next layer waits for
//   backward, last layer first: input gradient and its call; weight gradient beside that call; its call runs beside all
//   that follows, the optimizer's update of the layer after it
// Pipelines: SimAI writes the layers of one stage. Its messages are those of the first stage; the time in which the
// stages fill and drain is a gap of (P - 1) / (V G) of the computing (Narayanan et al. 2021, "Efficient large-scale
// language model training on GPU clusters", section 2.2), since other stages are not in the file.
#include <fmt/format.h>

#include <algorithm>

#include "layers.hpp"
#include "listed.hpp"
#include "stream_names.hpp"
#include "work_by_name.hpp"

namespace linkcast::workloads::readers::layers {
namespace {

using models::nccl::Op;
constexpr std::size_t forward = 0, input = 1, weight = 2;

class Pass {
 public:
  Pass(const Workload& w, Recording& out) : w_{w}, out_{out}, streams_{out.streams} {
    update_ = streams_("update");
    pipeline_ = streams_("pipeline");
  }

  void write() {
    const auto n = w_.layers.size();
    if (w_.policy == Policy::micro) {
      std::uint64_t last = 0;
      for (const auto& layer : w_.layers) last = call(layer, weight, {last});
    } else {
      std::vector<std::uint64_t> before;
      std::uint64_t embedding = 0;  // of DLRM: the exchange that the top layers wait for
      for (std::size_t i = 0; i < n; ++i) {
        if (w_.policy == Policy::dlrm && static_cast<std::int64_t>(i) == w_.last_bottom + 1)
          before.push_back(embedding);
        const auto computed = compute(w_.layers[i], forward, before);
        const auto called = call(w_.layers[i], forward, {computed});
        if (w_.policy == Policy::dlrm && i == 0 && called != computed) {
          embedding = called;
          before = {computed};
        } else {
          before = {called};
        }
      }
      messages(true, before);
      gap(before);
      messages(false, before);
      for (std::size_t k = n; k > 0; --k) backward(k - 1, before);
    }
    rank_.give_to(out_);
  }

 private:
  std::uint64_t compute(const Layer& layer, std::size_t part, std::vector<std::uint64_t> after) {
    static constexpr const char* phase[] = {"forward", "input gradient", "weight gradient"};
    Operation o;
    o.work = work_by_name(layer.name);
    o.name = out_.names->add(fmt::format("{}: {}", layer.name, phase[part]));
    o.duration = sim::Time::nanoseconds(layer.parts[part].ns);
    o.after = std::move(after);
    return rank_.add(std::move(o));
  }

  /// The last id of `after` where there is no call.
  std::uint64_t call(const Layer& layer, std::size_t part, std::vector<std::uint64_t> after) {
    const auto& c = layer.parts[part].call;
    const auto last = after.empty() ? 0 : after.back();
    if (!c.any) return last;
    const auto group = group_of(c, part, layer);
    if (group.empty()) {
      out_.report->skip("a call that this policy does not make", layer.name);
      return last;
    }
    Operation o;
    o.kind = Operation::Kind::collective;
    o.op = c.op;
    o.communicator = communicator_of(out_, w_.plan, group);
    if (group == "inner" || group == "outer") out_.communicators[o.communicator].ranks = hybrid(group == "inner");
    const auto ranks = static_cast<std::int64_t>(out_.communicators[o.communicator].ranks.size());
    o.bytes = sim::Bytes{!w_.simai && c.op == Op::all_gather ? c.bytes * ranks : c.bytes};
    o.name = out_.names->add(layer.name);
    o.stream = streams_("communicator " + group);
    o.after = std::move(after);
    if (c.and_alltoall) {
      auto second = o;
      second.op = Op::alltoall;
      second.after = {rank_.add(std::move(o))};
      return rank_.add(std::move(second));
    }
    return rank_.add(std::move(o));
  }

  std::vector<int> hybrid(bool inner) const {
    std::vector<int> out;
    const int step = inner ? 1 : w_.inner;
    for (int r = 0; r < (inner ? w_.inner : w_.plan.world); r += step) out.push_back(r);
    return out;
  }

  /// Empty: of no ranks.
  std::string group_of(const Call& c, std::size_t part, const Layer& layer) const {
    if (!c.group.empty()) return c.group;
    const bool first = &layer == &w_.layers.front();
    switch (w_.policy) {
      case Policy::micro:
        return "world";
      case Policy::data:
        return part == weight ? "world" : "";
      case Policy::dlrm:
        return part == weight || first ? "world" : "";
      case Policy::model:
        return part == weight ? "" : "world";
      case Policy::data_model:
        return part == weight ? "outer" : "inner";
      case Policy::model_data:
        return part == weight ? "inner" : "outer";
      case Policy::transformer:
      case Policy::recompute:
        return part == weight ? "dp" : "tp";
    }
    return {};
  }

  void backward(std::size_t i, std::vector<std::uint64_t>& before) {
    const auto& layer = w_.layers[i];
    if (w_.policy == Policy::recompute && i < w_.initiates.size() && w_.initiates[i]) {
      auto from = i;
      while (from > 0 && !w_.checkpoint[from]) --from;
      for (auto k = from; k <= i; ++k) before = {call(w_.layers[k], forward, {compute(w_.layers[k], forward, before)})};
    }
    if (w_.policy == Policy::data || w_.policy == Policy::dlrm) {
      if (w_.policy == Policy::dlrm && i == 0 && embedding_gradient_ != 0) before.push_back(embedding_gradient_);
      const auto computed = compute(layer, weight, before);
      update(layer, call(layer, weight, {computed}), computed);
      before = {i == 0 ? computed : compute(layer, input, {computed})};
      if (w_.policy == Policy::dlrm && static_cast<std::int64_t>(i) == w_.last_bottom + 1 && i > 0)
        embedding_gradient_ = call(w_.layers[0], input, {before.front()});
      return;
    }
    const auto computed = compute(layer, input, before);
    const auto called = i == 0 && !w_.simai ? computed : call(layer, input, {computed});
    const auto weights = compute(layer, weight, {computed});
    update(layer, call(layer, weight, {weights}), weights);
    before = {weights, called};
  }

  void update(const Layer& layer, std::uint64_t called, std::uint64_t computed) {
    if (layer.update_ns == 0 || called == computed) return;
    Operation o;
    o.work = Work::elementwise;
    o.name = out_.names->add(layer.name + ": update");
    o.duration = sim::Time::nanoseconds(layer.update_ns);
    o.stream = update_;
    o.after = {called};
    rank_.add(std::move(o));
  }

  void messages(bool sends, std::vector<std::uint64_t>& before) {
    if (w_.plan.pipeline < 2 || w_.pp_bytes == 0) return;
    const auto count = w_.virtual_stages * w_.microbatches;
    for (int i = 0; i < count; ++i) {
      Operation o;
      o.kind = sends ? Operation::Kind::send : Operation::Kind::receive;
      o.communicator = communicator_of(out_, w_.plan, "pp");
      o.peer = 1;
      o.bytes = sim::Bytes{w_.pp_bytes};
      o.stream = pipeline_;
      o.name = out_.names->add(sends ? "activations" : "gradients");
      o.after = before;
      const auto id = rank_.add(std::move(o));
      if (i + 1 == count) before = {id};
    }
  }

  void gap(std::vector<std::uint64_t>& before) {
    if (w_.plan.pipeline < 2) return;
    std::int64_t all = 0;
    for (const auto& layer : w_.layers)
      for (const auto& p : layer.parts) all += p.ns;
    Operation o;
    o.work = Work::gap;
    o.name = out_.names->add("pipeline fills and drains");
    o.duration = sim::Time::nanoseconds(all / (static_cast<std::int64_t>(w_.virtual_stages) * w_.microbatches) *
                                        (w_.plan.pipeline - 1));
    o.after = before;
    before = {rank_.add(std::move(o))};
  }

  const Workload& w_;
  Recording& out_;
  StreamNames streams_;
  OneRank rank_;
  std::uint32_t update_ = 0, pipeline_ = 0;
  std::uint64_t embedding_gradient_ = 0;
};

}  // namespace

void write_pass(const Workload& w, Recording& out) { Pass{w, out}.write(); }

}  // namespace linkcast::workloads::readers::layers
