// Writes protobuf's wire format (https://protobuf.dev/programming-guides/encoding). Knows no message.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace linkcast::workloads::timelines {

class Message {
 public:
  void varint(std::uint32_t field, std::uint64_t value) {
    raw(std::uint64_t{field} << 3);
    raw(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    raw(std::uint64_t{field} << 3 | 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
  }
  void number(std::uint32_t field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }
  void text(std::uint32_t field, std::string_view value) {
    raw(std::uint64_t{field} << 3 | 2);
    raw(value.size());
    bytes_ += value;
  }
  void message(std::uint32_t field, const Message& m) { text(field, m.bytes_); }
  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }

 private:
  void raw(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) bytes_ += static_cast<char>((v & 0x7f) | 0x80);
    bytes_ += static_cast<char>(v);
  }
  std::string bytes_;
};

}  // namespace linkcast::workloads::timelines
