// See chakra_translate.hpp. ASTRA-sim's sizes are of what a rank puts in (its ring all-gather ends with size x ranks);
// PyTorch's converter sums the input tensors: nccl-tests' size is that times the ranks for gather and all-gather.
#include "chakra_translate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "work_by_name.hpp"

namespace linkcast::workloads::readers::chakra {
namespace {

using models::nccl::Op;

constexpr std::uint64_t longest_us = 4'000'000'000'000;  // of the range of sim::Time
constexpr std::int64_t largest = std::int64_t{1} << 50;  // bytes of one call
constexpr std::size_t most_buffered = std::size_t{1} << 16, most_slots = 32;

std::optional<Op> op_of(std::int64_t type) {
  constexpr Op ops[] = {Op::all_reduce, Op::reduce,   Op::all_gather,     Op::gather,         Op::scatter,
                        Op::broadcast,  Op::alltoall, Op::reduce_scatter, Op::reduce_scatter, Op::all_reduce};
  if (type < 0 || type >= static_cast<std::int64_t>(std::size(ops))) return std::nullopt;
  return ops[type];
}

constexpr std::int64_t barrier = 9;

}  // namespace

std::uint32_t Shared::name(const std::string& text, NodeType type) {
  if (const auto found = short_names.find(text); found != short_names.end()) return found->second;
  if (short_names.size() < most_names) return short_names[text] = names->add(text);
  switch (type) {
    case NodeType::collective:
      return names->add("collective");
    case NodeType::send:
      return names->add("send");
    case NodeType::receive:
      return names->add("receive");
    default:
      return names->add("compute");
  }
}

Translator::Translator(std::shared_ptr<Shared> shared, int rank, std::string path,
                       std::map<std::string, std::uint32_t> groups)
    : shared_{std::move(shared)}, rank_{rank}, path_{std::move(path)}, groups_{std::move(groups)} {
  for (const auto& c : *shared_->communicators) member_.push_back(std::ranges::find(c.ranks, rank) != c.ranks.end());
}

void Translator::skip(std::string_view why, const Node& n, std::string_view what) {
  shared_->report->skip(why,
                        fmt::format("{}: byte {}: node {}{}{}", path_, n.at, n.id, what.empty() ? "" : ": ", what));
}

void Translator::pass_on(std::uint64_t id, const std::vector<std::uint64_t>& after) {
  buffered_[id] = after;
  buffered_order_.push_back(id);
  if (buffered_order_.size() <= most_buffered) return;
  buffered_.erase(buffered_order_.front());
  buffered_order_.pop_front();
}

bool Translator::operator()(const Node& n, Operation& out) {
  auto& report = *shared_->report;
  ++report.records;
  if (n.type == NodeType::metadata) {
    ++report.used;
    return false;
  }
  out = Operation{};
  out.id = n.id + 1;  // 0 is nobody's; Chakra counts from 0
  out.name = shared_->name(n.name, n.type);
  for (const auto dep : n.deps) {
    const auto send = buffered_.find(dep);
    if (send == buffered_.end())
      out.after.push_back(dep + 1);
    else
      out.after.insert(out.after.end(), send->second.begin(), send->second.end());
  }
  if (out.after.size() > n.deps.size()) {
    std::ranges::sort(out.after);
    out.after.erase(std::ranges::unique(out.after).begin(), out.after.end());
  }
  auto duration = n.duration_us;
  if (duration > longest_us) {
    skip("a duration of more than a month", n);
    duration = 0;
  }
  out.duration = sim::Time::microseconds(static_cast<std::int64_t>(duration));
  const bool cpu = n.cpu.value_or(false);
  const auto nothing = [&] {  // keeps the dependencies
    if (!cpu) {
      pass_on(n.id, out.after);
      return false;
    }
    out.kind = Operation::Kind::compute;
    out.work = Work::gap;
    out.stream = shared_->streams(n.thread ? fmt::format("thread {}", *n.thread) : "host");
    return true;
  };
  switch (n.type) {
    case NodeType::compute:
    case NodeType::load:
    case NodeType::store:
      if (cpu) {
        ++report.used;
        return nothing();
      }
      out.work = n.type == NodeType::compute ? work_by_name(n.name) : Work::copy;
      if (n.thread)
        out.stream = shared_->streams(fmt::format("stream {}", *n.thread));
      else if (n.type != NodeType::compute)
        out.stream = shared_->streams("memory");
      if (duration == 0) {
        out.flops = static_cast<double>(std::max(n.num_ops.value_or(0), std::int64_t{}));
        out.touched = static_cast<double>(std::max(n.tensor_size.value_or(0), std::int64_t{}));
      }
      ++report.used;
      return true;
    case NodeType::collective:
      if (collective(n, out)) {
        ++report.used;
        return true;
      }
      return nothing();
    case NodeType::send:
    case NodeType::receive:
      if (message(n, out)) {
        ++report.used;
        return true;
      }
      return nothing();
    default:
      skip("a node of a type that says nothing of computing or communication", n);
      return nothing();
  }
}

bool Translator::collective(const Node& n, Operation& out) {
  if (!n.comm_type || !n.comm_size) {
    skip(n.cpu.value_or(false) ? "a collective without comm_type and comm_size: the call on the CPU"
                               : "a collective without comm_type and comm_size",
         n);
    return false;
  }
  const auto op = op_of(*n.comm_type);
  if (!op) {
    skip("a collective of unknown comm_type", n, fmt::format("comm_type {}", *n.comm_type));
    return false;
  }
  auto group = groups_.find(n.group);
  if (group == groups_.end()) {
    const bool world = n.group.empty() || n.group == "0";
    if (!world) {
      skip("a collective of a group that nothing describes", n, fmt::format("group '{}'", n.group));
      return false;
    }
    group = groups_.emplace(n.group, 0u).first;
  }
  const auto& communicator = (*shared_->communicators)[group->second];
  if (!member_[group->second]) {
    skip("a collective of a group in which this rank is not", n, fmt::format("group '{}'", n.group));
    return false;
  }
  const auto ranks = static_cast<std::int64_t>(communicator.ranks.size());
  const auto times = *op == Op::all_gather || *op == Op::gather ? ranks : 1;
  if (*n.comm_size < 0 || *n.comm_size > largest / times) {
    skip("a collective of a size that cannot be", n, fmt::format("{} bytes", *n.comm_size));
    return false;
  }
  out.kind = Operation::Kind::collective;
  out.op = *op;
  out.communicator = group->second;
  out.bytes = sim::Bytes{*n.comm_type == barrier ? 0 : *n.comm_size * times};
  if (n.root && *n.root >= 0 && *n.root < ranks) out.root = static_cast<std::int32_t>(*n.root);
  out.measured = out.duration;
  out.duration = {};
  out.stream = shared_->streams("communicator " + communicator.name);
  return true;
}

bool Translator::message(const Node& n, Operation& out) {
  const bool send = n.type == NodeType::send;
  const auto peer = send ? n.dst : n.src;
  if (!peer || !n.comm_size) {
    skip("a message without its peer or size", n);
    return false;
  }
  if (*peer < 0 || *peer >= shared_->world || *peer == rank_ || *n.comm_size < 0 || *n.comm_size > largest) {
    skip("a message of a size or with a rank that cannot be", n,
         fmt::format("{} bytes with rank {}", *n.comm_size, *peer));
    return false;
  }
  out.kind = send ? Operation::Kind::send : Operation::Kind::receive;
  out.communicator = 0;
  out.peer = static_cast<std::int32_t>(*peer);
  out.tag = n.tag.value_or(0);
  out.bytes = sim::Bytes{*n.comm_size};
  out.measured = out.duration;
  out.duration = {};
  // Messages that are ready do not wait for those before them on the stream: they are of one batch.
  out.batch = 1;
  auto& slots = send ? sends_ : receives_;
  const auto [slot, fresh] = slots.try_emplace(*peer, 0u);
  if (fresh)
    slot->second = shared_->streams(fmt::format("{} {}", send ? "send" : "receive", (slots.size() - 1) % most_slots));
  out.stream = slot->second;
  if (send) pass_on(n.id, out.after);
  return true;
}

}  // namespace linkcast::workloads::readers::chakra
