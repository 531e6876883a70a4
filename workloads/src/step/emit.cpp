#include "emit.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::workloads::step {

std::vector<std::string> stream_names() {
  return {"compute",
          "tp",
          "cp",
          "ep",
          "dp",
          "send forward",
          "send backward",
          "receive forward",
          "receive backward",
          "send forward (reverse)",
          "send backward (reverse)",
          "receive forward (reverse)",
          "receive backward (reverse)"};
}

Operation& Emitter::add(Operation::Kind kind, std::uint32_t stream) {
  auto& o = out_.emplace_back();
  o.kind = kind;
  o.stream = stream;
  o.name = name_;
  o.id = ++made_;
  return o;
}

void Emitter::wait_for(std::uint64_t id) {
  if (id == 0) return;
  flush();
  waits_.push_back(id);
}

std::uint64_t Emitter::flush() {
  if (busy_ <= 0) return last_;
  auto& o = add(Operation::Kind::compute, main_stream);
  o.work = Work::gemm;
  o.duration = sim::Time::from_us(busy_);
  o.after = std::move(waits_);
  waits_.clear();
  busy_ = 0;
  return last_ = o.id;
}

void Emitter::collective(std::uint32_t communicator, models::nccl::Op op, double bytes) {
  flush();
  auto& o = add(Operation::Kind::collective, main_stream);
  o.communicator = communicator;
  o.op = op;
  o.bytes = sim::Bytes{static_cast<std::int64_t>(std::llround(std::max(1.0, bytes)))};
  o.after = std::move(waits_);
  waits_.clear();
  last_ = o.id;
}

std::uint64_t Emitter::beside(Stream stream, std::uint32_t communicator, models::nccl::Op op, double bytes,
                              std::uint64_t also) {
  flush();
  auto& o = add(Operation::Kind::collective, stream);
  o.communicator = communicator;
  o.op = op;
  o.bytes = sim::Bytes{static_cast<std::int64_t>(std::llround(std::max(1.0, bytes)))};
  if (last_ != 0) o.after.push_back(last_);
  if (also != 0) o.after.push_back(also);
  return o.id;
}

std::uint64_t Emitter::send(Stream stream, std::uint32_t communicator, int peer, double bytes, std::int64_t tag) {
  flush();
  auto& o = add(Operation::Kind::send, stream);
  o.communicator = communicator;
  o.peer = peer;
  o.tag = tag;
  o.bytes = sim::Bytes{static_cast<std::int64_t>(std::llround(std::max(1.0, bytes)))};
  if (stream != main_stream && last_ != 0) o.after.push_back(last_);
  if (stream == main_stream) last_ = o.id;
  return o.id;
}

std::uint64_t Emitter::receive(Stream stream, std::uint32_t communicator, int peer, double bytes, std::int64_t tag) {
  auto& o = add(Operation::Kind::receive, stream);
  o.communicator = communicator;
  o.peer = peer;
  o.tag = tag;
  o.bytes = sim::Bytes{static_cast<std::int64_t>(std::llround(std::max(1.0, bytes)))};
  return o.id;
}

}  // namespace linkcast::workloads::step
