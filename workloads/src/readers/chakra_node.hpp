// A node of a Chakra execution trace as the replay needs it, and its decoding from the wire format of Protocol Buffers.
// Field numbers: mlcommons/chakra schema/protobuf/et_def.proto (1.0.1 to 1.1.1) and eg_def/eg_def.proto (0.0.1).
// Attributes are read by name, whatever their integer type: producers differ. Knows no recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "byte_source.hpp"

namespace linkcast::workloads::readers::chakra {

enum class NodeType : std::uint8_t { invalid, metadata, load, store, compute, send, receive, collective, other };

struct Node {
  std::uint64_t id = 0;
  NodeType type = NodeType::invalid;
  std::string name;
  std::vector<std::uint64_t> deps;     // data
  std::vector<std::uint64_t> control;  // of the call tree: PyTorch's converter makes circles of them
  std::uint64_t duration_us = 0;
  std::optional<bool> cpu;
  std::optional<std::int64_t> comm_type, comm_size, src, dst, tag, thread, num_ops, tensor_size, root;
  std::string group;     // pg_name
  std::string inputs;    // of metadata: IOInfo.values
  std::uint64_t at = 0;  // byte of the file, decompressed
};

enum class Schema : std::uint8_t { current, first };  // first: 0.0.1

/// False: not a node of this schema.
bool decode(std::string_view message, Schema schema, Node& out);

/// The first message of a file: `version` and "schema" of the metadata, or nothing where it is none.
std::optional<std::string> metadata(std::string_view message);

/// Length-delimited messages one after the other, in bounded memory.
class Messages {
 public:
  explicit Messages(const std::string& path);
  /// Valid until the next call. False at the end. Throws sim::InputError where the framing is broken.
  bool next(std::string_view& message);
  std::uint64_t at() const { return at_; }  // of the message given last

 private:
  bool fill(std::size_t need);

  ByteSource source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t base_ = 0, at_ = 0;  // of buffer_[0]
};

}  // namespace linkcast::workloads::readers::chakra
