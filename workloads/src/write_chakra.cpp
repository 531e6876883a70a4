// See chakra_file.hpp. A file is [varint length][message]…: GlobalMetadata, a METADATA node with the process groups as
// PyTorch's traces have them, then a node for each operation. Streams run in order, which Chakra says by dependencies.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/chakra_file.hpp"
#include "timelines/output.hpp"
#include "timelines/protobuf.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Op;
using timelines::Message;

enum NodeType : std::uint64_t { metadata = 1, comp = 4, send = 5, receive = 6, collective = 7 };

/// CollectiveCommType; -1: Chakra has none.
int collective_type(Op op) {
  switch (op) {
    case Op::all_reduce:
      return 0;
    case Op::reduce:
      return 1;
    case Op::all_gather:
      return 2;
    case Op::gather:
      return 3;
    case Op::scatter:
      return 4;
    case Op::broadcast:
      return 5;
    case Op::alltoall:
      return 6;
    case Op::reduce_scatter:
      return 7;
    default:
      return -1;
  }
}

/// comm_size is the sum of what one rank gives in.
std::int64_t given(const Operation& o, std::size_t ranks) {
  const auto n = std::max<std::int64_t>(1, static_cast<std::int64_t>(ranks));
  const bool gathers = o.kind == Operation::Kind::collective && (o.op == Op::all_gather || o.op == Op::gather);
  return gathers ? o.bytes.count() / n : o.bytes.count();
}

class Node {
 public:
  Node(std::uint64_t id, std::string_view name, NodeType type) {
    m_.varint(1, id);
    m_.text(2, name);
    m_.varint(3, type);
  }
  void after(const std::vector<std::uint64_t>& ids) {
    if (ids.empty()) return;
    std::string packed;
    for (auto v : ids) {
      for (; v >= 0x80; v >>= 7) packed += static_cast<char>((v & 0x7f) | 0x80);
      packed += static_cast<char>(v);
    }
    m_.text(5, packed);
  }
  void duration(std::int64_t us) { m_.varint(7, static_cast<std::uint64_t>(us)); }
  void whole(std::string_view name, std::uint32_t field, std::int64_t value) {
    Message a;
    a.text(1, name);
    a.varint(field, static_cast<std::uint64_t>(value));
    m_.message(10, a);
  }
  void text(std::string_view name, std::string_view value) {
    Message a;
    a.text(1, name);
    a.text(29, value);
    m_.message(10, a);
  }
  void inputs(std::string_view values) {
    Message io;
    io.text(1, values);
    m_.message(8, io);
  }
  const Message& message() const { return m_; }

 private:
  Message m_;
};

struct File {
  File(std::string path, std::size_t piece) : out{std::move(path), false, piece} {}
  timelines::Output out;
  std::uint64_t last_id = 1;
  std::map<std::uint32_t, std::uint64_t> streams;  // the last of each
  std::map<std::uint64_t, std::uint64_t> ids;      // of the recording -> of the file
  std::vector<std::uint64_t> order;                // of `ids`, as a ring
  std::size_t oldest = 0;

  void put(const Message& m) {
    std::string length;
    auto n = m.bytes().size();
    for (; n >= 0x80; n >>= 7) length += static_cast<char>((n & 0x7f) | 0x80);
    length += static_cast<char>(n);
    out.append(length);
    out.append(m.bytes());
  }
  void remember(std::uint64_t id, std::uint64_t mine) {
    constexpr std::size_t most = 1u << 16;
    if (order.size() < most) {
      order.push_back(id);
    } else {
      ids.erase(order[oldest]);
      order[oldest] = id;
      oldest = (oldest + 1) % most;
    }
    ids[id] = mine;
  }
};

/// Python's list of one JSON text, which is how PyTorch's execution traces carry it.
std::string groups_of(const Recording& r) {
  auto groups = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < r.communicators.size(); ++i) {
    const auto& c = r.communicators[i];
    groups.push_back({{"pg_name", fmt::format("{}", i)},
                      {"pg_desc", c.description.empty() ? c.name : c.description},
                      {"backend_config", "cuda:nccl"},
                      {"ranks", c.ranks},
                      {"group_size", c.ranks.size()},
                      {"group_count", r.communicators.size()}});
  }
  auto text = groups.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  std::string quoted;
  for (const char c : text) {
    if (c == '\\' || c == '\'') quoted += '\\';
    quoted += c;
  }
  return "['" + quoted + "']";
}

void begin(File& file, const std::string& groups) {
  Message head;
  head.text(1, "1.1.1-chakra.0.0.4");
  file.put(head);
  Node node{1, "## process_group:init ##", metadata};
  node.inputs(groups);
  file.put(node.message());
}

void add(File& file, const Recording& recording, const Operation& o) {
  using Kind = Operation::Kind;
  const auto id = ++file.last_id;
  const auto& own = (*recording.names)[o.name];
  const bool computes = o.kind == Kind::compute;
  const auto type = computes ? comp : o.kind == Kind::send ? send : o.kind == Kind::receive ? receive : collective;
  const auto word = computes                  ? name_of(o.work)
                    : o.kind == Kind::send    ? std::string_view{"send"}
                    : o.kind == Kind::receive ? std::string_view{"receive"}
                                              : models::nccl::name_of(o.op);
  Node node{id, own.empty() ? std::string{word} : own, type};
  std::vector<std::uint64_t> after;
  if (const auto s = file.streams.find(o.stream); s != file.streams.end()) after.push_back(s->second);
  for (const auto a : o.after)
    if (const auto found = file.ids.find(a); found != file.ids.end()) after.push_back(found->second);
  std::ranges::sort(after);
  after.erase(std::unique(after.begin(), after.end()), after.end());
  node.after(after);
  const auto duration = computes ? o.duration : o.measured;
  node.duration((duration.ps() + 500'000) / 1'000'000);
  node.whole("is_cpu_op", 27, 0);
  if (computes) {
    if (o.flops > 0) node.whole("num_ops", 9, static_cast<std::int64_t>(o.flops));
    if (o.touched > 0) node.whole("tensor_size", 13, static_cast<std::int64_t>(o.touched));
  } else {
    const auto& c = recording.communicators[o.communicator];
    if (type == collective) node.whole("comm_type", 9, collective_type(o.op));
    node.whole("comm_size", 9, given(o, c.ranks.size()));
    node.text("pg_name", fmt::format("{}", o.communicator));
    const auto world = [&](std::int32_t m) {
      return m >= 0 && static_cast<std::size_t>(m) < c.ranks.size() ? c.ranks[static_cast<std::size_t>(m)] : 0;
    };
    if (type != collective) {
      node.whole(type == send ? "comm_dst" : "comm_src", 7, world(o.peer));
      node.whole("comm_tag", 7, o.tag);
    } else if (o.root != 0) {
      node.whole("comm_root", 7, o.root);
    }
  }
  file.streams[o.stream] = id;
  if (o.id != 0) file.remember(o.id, id);
  file.put(node.message());
}

}  // namespace

bool write_chakra(const Recording& recording, const std::string& path, std::vector<std::string>& files,
                  const WalkOptions& options) {
  const bool split = path.find("%r") != path.npos;
  if (!split && recording.ranks.size() > 1)
    throw sim::InputError(fmt::format("{}: Chakra has one file for each of the {} ranks", path, recording.ranks.size()),
                          "write %r where the rank belongs: -o 'step.%r.et'");
  timelines::make_folders(path);
  const auto piece = std::clamp<std::size_t>((std::size_t{64} << 20) / std::max<std::size_t>(recording.ranks.size(), 1),
                                             std::size_t{1} << 12, std::size_t{1} << 20);
  const auto groups = groups_of(recording);
  std::vector<File> out;
  for (const int r : recording.ranks) {
    begin(out.emplace_back(split ? timelines::path_of_rank(path, r) : path, piece), groups);
    files.push_back(out.back().out.path());
  }
  std::string refused;
  const bool whole = walk(
      recording,
      [&](std::size_t r, const Operation& o, const RecordedClock::Span&) {
        if (o.kind == Operation::Kind::collective && collective_type(o.op) < 0) {
          if (refused.empty())
            recording.report->notes.push_back(
                fmt::format("Chakra has no {}: such calls are left out", models::nccl::name_of(o.op)));
          refused = models::nccl::name_of(o.op);
          return;
        }
        add(out[r], recording, o);
      },
      options);
  for (auto& f : out) f.out.flush();
  return whole;
}

}  // namespace linkcast::workloads
