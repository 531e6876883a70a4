// Writes operations of one rank: computing that adds up until something must know when it ends, collectives in line or
// beside it, messages. Knows no model.
#pragma once

#include <string_view>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::step {

/// Messages of each kind and direction of the pipeline have a stream: none waits behind one to another peer.
enum Stream : std::uint32_t {
  main_stream,
  tensor_stream,
  context_stream,
  expert_stream,
  data_stream,
  send_forward_stream,
  send_backward_stream,
  receive_forward_stream,
  receive_backward_stream,
  reverse_streams  // the same four of DualPipe's other direction
};
inline Stream reversed(Stream s, bool reverse) {
  return reverse ? static_cast<Stream>(s - send_forward_stream + reverse_streams) : s;
}
std::vector<std::string> stream_names();

class Emitter {
 public:
  Emitter(std::vector<Operation>& out, Names& names) : out_{out}, names_{names} {}

  void name(std::string_view text) { name_ = names_.add(text); }
  /// Computing of the main stream.
  void busy(double us) { busy_ += us; }
  /// The next on the main stream waits for that operation.
  void wait_for(std::uint64_t id);
  /// In line: before what computes next, after what computed before.
  void collective(std::uint32_t communicator, models::nccl::Op op, double bytes);
  /// Beside it: after what the main stream has done so far and after `also`.
  std::uint64_t beside(Stream stream, std::uint32_t communicator, models::nccl::Op op, double bytes,
                       std::uint64_t also = 0);
  std::uint64_t send(Stream stream, std::uint32_t communicator, int peer, double bytes, std::int64_t tag);
  std::uint64_t receive(Stream stream, std::uint32_t communicator, int peer, double bytes, std::int64_t tag);
  /// Ends the computing so far; the last operation of the main stream, 0: none yet.
  std::uint64_t flush();
  /// An operation after which a collective beside may start although it is written later: the last of the main stream.
  std::uint64_t last() const { return last_; }

 private:
  Operation& add(Operation::Kind kind, std::uint32_t stream);
  std::vector<Operation>& out_;
  Names& names_;
  std::uint32_t name_ = 0;
  double busy_ = 0;
  std::uint64_t last_ = 0, made_ = 0;
  std::vector<std::uint64_t> waits_;
};

}  // namespace linkcast::workloads::step
