// See flight_entry.hpp. Names, keys and their meaning: PyTorch, torch/csrc/distributed/c10d/FlightRecorder.hpp and
// ProcessGroupNCCL.cpp (versions 1.x to 2.10 of the dump).
#include "flight_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace linkcast::workloads::readers {
namespace {

using models::nccl::Op;
using Kind = Datum::Kind;

constexpr std::int64_t most_bytes = std::int64_t{1} << 60;

int bytes_of(std::string_view type) {
  if (type.starts_with("Float8") || type.starts_with("Float4") || type.starts_with("UInt8") || type.starts_with("Q"))
    return 1;
  if (type == "Byte" || type == "Char" || type == "Bool" || type == "uint8" || type == "int8") return 1;
  if (type == "Half" || type == "BFloat16" || type == "Short" || type == "UInt16") return 2;
  if (type == "Float" || type == "Int" || type == "UInt32" || type == "ComplexHalf") return 4;
  if (type == "Double" || type == "Long" || type == "UInt64" || type == "ComplexFloat") return 8;
  if (type == "ComplexDouble") return 16;
  return 4;
}

/// Of all tensors of one side; -1: not a list of sizes.
std::int64_t bytes_of(const Datum* sizes, const Datum* types, bool& typed) {
  if (sizes == nullptr || !sizes->is(Kind::list)) return -1;
  std::int64_t total = 0;
  const auto one = [&](const Datum* shape, std::size_t i) {
    double n = 1;
    for (const auto* d : shape->items) {
      if (!d->is(Kind::integer) || d->integer < 0) return -1.0;
      n *= static_cast<double>(d->integer);
    }
    const Datum* type = nullptr;
    if (types != nullptr && types->is(Kind::list) && !types->items.empty())
      type = types->items[std::min(i, types->items.size() - 1)];
    else if (types != nullptr && types->is(Kind::text))
      type = types;
    if (type == nullptr || !type->is(Kind::text)) {
      typed = false;
      return n * 4;
    }
    return n * bytes_of(type->text);
  };
  // A list of shapes; old dumps have a single shape.
  const bool shapes = sizes->items.empty() || sizes->items[0]->is(Kind::list);
  for (std::size_t i = 0; i < (shapes ? sizes->items.size() : 1); ++i) {
    const auto n = one(shapes ? sizes->items[i] : sizes, i);
    if (n < 0 || n > static_cast<double>(most_bytes) || total > most_bytes - static_cast<std::int64_t>(n)) return -1;
    total += static_cast<std::int64_t>(n);
  }
  return total;
}

struct Named {
  std::string_view word;
  Op op;
};
// The longest first where one begins as another does.
constexpr Named collectives[] = {{"all_reduce", Op::all_reduce},
                                 {"allreduce", Op::all_reduce},
                                 {"_all_gather_base", Op::all_gather},
                                 {"all_gather", Op::all_gather},
                                 {"allgather", Op::all_gather},
                                 {"_reduce_scatter_base", Op::reduce_scatter},
                                 {"reduce_scatter", Op::reduce_scatter},
                                 {"all_to_all", Op::alltoall},
                                 {"alltoall", Op::alltoall},
                                 {"_broadcast_oop", Op::broadcast},
                                 {"broadcast", Op::broadcast},
                                 {"_reduce_oop", Op::reduce},
                                 {"reduce", Op::reduce},
                                 {"gather", Op::gather},
                                 {"scatter", Op::scatter}};

bool two_ranks(std::string_view text, std::string_view between, int& first, int& second) {
  const auto at = text.find(between);
  if (at == std::string_view::npos) return false;
  const auto a = text.substr(0, at), b = text.substr(at + between.size());
  const auto one = std::from_chars(a.data(), a.data() + a.size(), first);
  const auto two = std::from_chars(b.data(), b.data() + b.size(), second);
  return one.ec == std::errc{} && one.ptr == a.data() + a.size() && two.ec == std::errc{};
}

}  // namespace

std::optional<FlightEntry> flight_entry(const Datum& entry, int ranks, std::string& why) {
  FlightEntry out;
  out.name = entry.word("profiling_name");
  out.state = entry.word("state");
  if (out.name.empty()) {
    why = "an entry without profiling_name";
    return std::nullopt;
  }
  auto name = out.name;
  if (const auto colon = name.find(':'); colon != std::string_view::npos) name.remove_prefix(colon + 1);
  const double ms = entry.number("duration_ms", 0);
  out.milliseconds = std::isfinite(ms) && ms > 0 && ms < 1e9 ? ms : 0;
  const auto* p2p = entry.get("is_p2p");
  const bool message = p2p != nullptr && p2p->integer != 0;
  out.sequence = entry.whole(message ? "p2p_seq_id" : "collective_seq_id", entry.whole("seq_id", -1));
  if (name == "coalesced") {
    out.coalesced = true;
    return out;
  }
  const auto* in = entry.get("input_sizes");
  const auto* result = entry.get("output_sizes");
  const auto input = bytes_of(in, entry.get("input_dtypes"), out.typed);
  const auto output = bytes_of(result, entry.get("output_dtypes"), out.typed);
  if (name.starts_with("send ") || name.starts_with("recv ")) {
    const bool sends = name.starts_with("send");
    out.kind = sends ? Operation::Kind::send : Operation::Kind::receive;
    out.op = Op::sendrecv;
    const auto pair = name.substr(5);
    const bool good =
        sends ? two_ranks(pair, "->", out.source, out.destination) : two_ranks(pair, "<-", out.destination, out.source);
    if (!good || out.source < 0 || out.destination < 0 || out.source >= ranks || out.destination >= ranks) {
      why = "a message whose ranks cannot be read";
      return std::nullopt;
    }
    out.bytes = std::max(input, output);
  } else {
    const auto* found = std::ranges::find_if(collectives, [&](const Named& n) { return name.starts_with(n.word); });
    if (name == "barrier") {
      out.barrier = true;
      return out;
    }
    if (found == std::end(collectives)) {
      why = fmt::format("'{}': no model for it", out.name.substr(0, 60));
      return std::nullopt;
    }
    out.op = found->op;
    out.barrier = name.find("barrier") != std::string_view::npos;
    const auto times = [&](std::int64_t n) { return n < 0 || n > most_bytes / std::max(1, ranks) ? n : n * ranks; };
    switch (out.op) {
      case Op::all_gather:
        out.bytes = output > 0 ? output : times(input);
        break;
      case Op::reduce_scatter:
      case Op::alltoall:
        out.bytes = input > 0 ? input : out.op == Op::alltoall ? output : times(output);
        break;
      case Op::gather:
        out.bytes = input > 0 ? times(input) : output;
        break;
      case Op::scatter:
        out.bytes = output > 0 ? times(output) : input;
        break;
      default:
        out.bytes = std::max(input, output);
    }
  }
  if (out.bytes < 0) {
    why = "an entry without sizes";
    return std::nullopt;
  }
  return out;
}

std::vector<int> rank_list(const Datum* ranks) {
  std::vector<int> out;
  if (ranks == nullptr) return out;
  if (ranks->is(Kind::list)) {
    for (const auto* d : ranks->items)
      if (d->is(Kind::integer) && d->integer >= 0 && d->integer < (1 << 20))
        out.push_back(static_cast<int>(d->integer));
  } else if (ranks->is(Kind::text)) {
    const auto& t = ranks->text;
    for (std::size_t i = 0; i < t.size();) {
      if (t[i] < '0' || t[i] > '9') {
        ++i;
        continue;
      }
      int n = 0;
      const auto end = std::from_chars(t.data() + i, t.data() + t.size(), n);
      if (end.ec == std::errc{} && n < (1 << 20)) out.push_back(n);
      i = static_cast<std::size_t>(end.ptr - t.data());
    }
  }
  // Each once, or it names nobody.
  auto sorted = out;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) out.clear();
  return out;
}

}  // namespace linkcast::workloads::readers
