// See chakra_node.hpp. Encoding: a tag is (field << 3 | wire type); types 0 varint, 1 eight bytes, 2 length-delimited,
// 5 four bytes (https://protobuf.dev/programming-guides/encoding/). Unknown fields are stepped over.
#include "chakra_node.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers::chakra {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 16, longest = std::size_t{1} << 26;

struct Field {
  std::uint32_t number = 0, wire = 0;
  std::uint64_t value = 0;  // varint, fixed
  std::string_view text;    // length-delimited
};

bool varint(std::string_view& s, std::uint64_t& out) {
  out = 0;
  for (unsigned shift = 0, i = 0; i < s.size() && shift < 70; ++i, shift += 7) {
    const auto byte = static_cast<unsigned char>(s[i]);
    if (shift < 64) out |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) {
      s.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

/// Of a message that is not empty. False: not a field.
bool take(std::string_view& s, Field& f) {
  std::uint64_t tag = 0;
  if (!varint(s, tag) || tag >> 32 != 0 || tag >> 3 == 0) return false;
  f.number = static_cast<std::uint32_t>(tag >> 3);
  f.wire = static_cast<std::uint32_t>(tag & 7);
  f.text = {};
  std::uint64_t n = 0;
  switch (f.wire) {
    case 0:
      return varint(s, f.value);
    case 1:
    case 5:
      n = f.wire == 1 ? 8 : 4;
      if (s.size() < n) return false;
      f.value = 0;
      for (std::size_t i = 0; i < n; ++i)
        f.value |= static_cast<std::uint64_t>(static_cast<unsigned char>(s[i])) << (8 * i);
      s.remove_prefix(n);
      return true;
    case 2:
      if (!varint(s, n) || n > s.size()) return false;
      f.text = s.substr(0, n);
      s.remove_prefix(n);
      return true;
    default:
      return false;
  }
}

bool numbers(const Field& f, std::vector<std::uint64_t>& out) {
  if (f.wire == 0) {
    out.push_back(f.value);
    return true;
  }
  if (f.wire != 2) return false;
  auto packed = f.text;
  std::uint64_t n = 0;
  while (!packed.empty()) {
    if (!varint(packed, n)) return false;
    out.push_back(n);
  }
  return true;
}

struct Attribute {
  std::string_view name, text;
  std::optional<std::int64_t> number;
};

std::optional<std::int64_t> whole(double x) {
  if (!(x > -9e18 && x < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(x);
}

bool attribute(std::string_view message, Attribute& a) {
  Field f;
  while (!message.empty()) {
    if (!take(message, f)) return false;
    switch (f.number) {
      case 1:
        a.name = f.text;
        break;
      case 3:
        a.number = whole(std::bit_cast<double>(f.value));
        break;
      case 5:
        a.number = whole(std::bit_cast<float>(static_cast<std::uint32_t>(f.value)));
        break;
      case 15:
      case 17:  // zigzag
        a.number = static_cast<std::int64_t>((f.value >> 1) ^ (~(f.value & 1) + 1));
        break;
      case 23:
        a.number = static_cast<std::int32_t>(static_cast<std::uint32_t>(f.value));
        break;
      case 7:
      case 9:
      case 11:
      case 13:
      case 19:
      case 21:
      case 25:
      case 27:
        if (f.wire == 2) return false;
        a.number = static_cast<std::int64_t>(f.value);
        break;
      case 29:
      case 31:
        a.text = f.text;
        break;
      default:
        break;
    }
  }
  return true;
}

bool current_attribute(std::string_view message, Node& out) {
  Attribute a;
  if (!attribute(message, a)) return false;
  if (a.name == "pg_name") {
    out.group = a.text;
    if (a.number) out.group = std::to_string(*a.number);
    return true;
  }
  if (!a.number) return true;
  if (a.name == "is_cpu_op") out.cpu = *a.number != 0;
  if (a.name == "comm_type") out.comm_type = a.number;
  if (a.name == "comm_size") out.comm_size = a.number;
  if (a.name == "comm_src") out.src = a.number;
  if (a.name == "comm_dst") out.dst = a.number;
  if (a.name == "comm_tag") out.tag = a.number;
  if (a.name == "tid") out.thread = a.number;
  if (a.name == "num_ops") out.num_ops = a.number;
  if (a.name == "tensor_size") out.tensor_size = a.number;
  if (a.name == "root" || a.name == "root_rank" || a.name == "comm_root") out.root = a.number;
  return true;
}

bool decode_current(std::string_view m, Node& out) {
  Field f;
  while (!m.empty()) {
    if (!take(m, f)) return false;
    switch (f.number) {
      case 1:
        if (f.wire != 0) return false;
        out.id = f.value;
        break;
      case 2:
        if (f.wire != 2) return false;
        out.name = f.text;
        break;
      case 3:
        if (f.wire != 0) return false;
        out.type = f.value <= 7 ? static_cast<NodeType>(f.value) : NodeType::other;
        break;
      case 4:
      case 5:
        if (!numbers(f, f.number == 4 ? out.control : out.deps)) return false;
        break;
      case 7:
        if (f.wire != 0) return false;
        out.duration_us = f.value;
        break;
      case 8: {
        if (f.wire != 2) return false;
        if (out.type != NodeType::metadata) break;
        auto info = f.text;
        Field inner;
        while (!info.empty()) {
          if (!take(info, inner)) return false;
          if (inner.number == 1) out.inputs = inner.text;
        }
        break;
      }
      case 10:
        if (f.wire != 2 || !current_attribute(f.text, out)) return false;
        break;
      default:
        break;
    }
  }
  return true;
}

/// 0.0.1: the attributes are fields; collectives are counted from 1 in another order.
bool decode_first(std::string_view m, Node& out) {
  constexpr NodeType types[] = {NodeType::invalid, NodeType::load,    NodeType::store,     NodeType::compute,
                                NodeType::send,    NodeType::receive, NodeType::collective};
  constexpr std::int64_t collectives[] = {-1, 0, 6, 2, 7};
  Field f;
  while (!m.empty()) {
    if (!take(m, f)) return false;
    if (f.number == 2 ? f.wire != 2 : f.number != 4 && f.number != 14 && f.wire != 0) return false;
    const auto value = static_cast<std::int64_t>(f.value);
    switch (f.number) {
      case 1:
        out.id = f.value;
        break;
      case 2:
        out.name = f.text;
        break;
      case 3:
        out.type = f.value < std::size(types) ? types[f.value] : NodeType::other;
        break;
      case 4:
        if (!numbers(f, out.deps)) return false;
        break;
      case 6:
        out.tensor_size = value;
        break;
      case 7:
        out.duration_us = f.value;
        break;
      case 12:
        out.num_ops = value;
        break;
      case 13:
        if (f.value > 0 && f.value < std::size(collectives)) out.comm_type = collectives[f.value];
        break;
      case 15:
        if (f.value != 0) out.group = std::to_string(f.value);
        break;
      case 16:
        out.src = value;
        break;
      case 17:
        out.dst = value;
        break;
      case 18:
        out.comm_size = value;
        break;
      case 19:
        out.tag = value;
        break;
      default:
        break;
    }
  }
  return true;
}

}  // namespace

bool decode(std::string_view message, Schema schema, Node& out) {
  out.id = out.duration_us = 0;
  out.type = NodeType::invalid;
  out.name.clear();
  out.group.clear();
  out.inputs.clear();
  out.deps.clear();
  out.control.clear();
  out.cpu.reset();
  for (auto* x : {&out.comm_type, &out.comm_size, &out.src, &out.dst, &out.tag, &out.thread, &out.num_ops,
                  &out.tensor_size, &out.root})
    x->reset();
  return schema == Schema::current ? decode_current(message, out) : decode_first(message, out);
}

std::optional<std::string> metadata(std::string_view message) {
  std::string version, schema;
  Field f;
  while (!message.empty()) {
    // `version` = 1 and `attr` = 2; before version existed, `attr` = 1. A node's first field is its number, its second
    // its name, and it has a type.
    if (!take(message, f) || f.wire != 2 || f.number > 2) return std::nullopt;
    Attribute a;
    const bool is_attribute = attribute(f.text, a) && !a.name.empty();
    if (is_attribute && a.name == "schema") schema = a.text;
    if (is_attribute) continue;
    if (f.number != 1) return std::nullopt;
    version = f.text;
  }
  return schema.empty() ? version : schema;
}

Messages::Messages(const std::string& path) : source_{path}, buffer_(chunk) {}

bool Messages::fill(std::size_t need) {
  if (end_ - begin_ >= need) return true;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    base_ += begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < need) buffer_.resize(need + chunk);
  while (end_ < need) {
    const auto n = source_.read(buffer_.data() + end_, buffer_.size() - end_);
    if (n == 0) return false;
    end_ += n;
  }
  return true;
}

bool Messages::next(std::string_view& message) {
  at_ = base_ + begin_;
  if (!fill(1)) return false;
  at_ = base_ + begin_;
  fill(10);
  std::string_view head{buffer_.data() + begin_, std::min<std::size_t>(10, end_ - begin_)};
  const auto before = head.size();
  std::uint64_t length = 0;
  if (!varint(head, length) || length > longest)
    throw sim::InputError(fmt::format("{}: byte {}: not the length of a message", source_.path(), at_),
                          "the file is damaged, or not a Chakra trace");
  begin_ += before - head.size();
  if (!fill(length))
    throw sim::InputError(
        fmt::format("{}: byte {}: the file ends inside a message of {} bytes", source_.path(), at_, length),
        "the file was cut off");
  message = {buffer_.data() + begin_, length};
  begin_ += length;
  return true;
}

}  // namespace linkcast::workloads::readers::chakra
