// Chakra traces for tests, in the wire format, from the field numbers of et_def.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::test::chakra {

inline std::string varint(std::uint64_t n) {
  std::string out;
  for (; n > 127; n >>= 7) out += static_cast<char>(n | 128);
  return out + static_cast<char>(n);
}
inline std::string number(std::uint32_t field, std::uint64_t n) { return varint(field << 3) + varint(n); }
inline std::string text(std::uint32_t field, std::string_view s) {
  return varint(field << 3 | 2) + varint(s.size()) + std::string{s};
}
inline std::string framed(const std::string& message) { return varint(message.size()) + message; }

inline std::string attribute(std::string_view name, std::int64_t n, std::uint32_t field = 9) {
  return text(10, text(1, name) + number(field, static_cast<std::uint64_t>(n)));
}
inline std::string attribute(std::string_view name, std::string_view s) {
  return text(10, text(1, name) + text(29, s));
}

inline std::string metadata(std::string_view version = "0.0.4") { return framed(text(1, version)); }

/// type: 4 compute, 5 send, 6 receive, 7 collective.
inline std::string node(std::uint64_t id, std::string_view name, int type, const std::vector<std::uint64_t>& deps = {},
                        std::uint64_t us = 0, const std::string& attributes = {}) {
  std::string packed;
  for (const auto d : deps) packed += varint(d);
  std::string out = number(1, id) + text(2, name) + number(3, static_cast<std::uint64_t>(type));
  if (!packed.empty()) out += text(5, packed);
  if (us != 0) out += number(7, us);
  return framed(out + attributes);
}
inline std::string collective(std::uint64_t id, int type, std::int64_t bytes,
                              const std::vector<std::uint64_t>& deps = {}, const std::string& more = {}) {
  return node(id, "call", 7, deps, 0, attribute("comm_type", type) + attribute("comm_size", bytes) + more);
}

}  // namespace linkcast::test::chakra
