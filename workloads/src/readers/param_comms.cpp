// See param_comms.hpp. Message sizes are in elements; splits too.
#include "param_comms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "issued.hpp"
#include "json_scan.hpp"
#include "json_value.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "torch_calls.hpp"

namespace linkcast::workloads::readers {
namespace {

using Verb = TorchCall::Verb;
using Json = nlohmann::json;

struct Record {
  std::uint64_t at = 0;
  TorchCall call;
  Issued compute;
  bool computes = false;
};

std::int64_t whole(const Json& o, const char* key, std::int64_t otherwise = -1) {
  const auto found = o.find(key);
  if (found == o.end() || !found->is_number()) return otherwise;
  if (found->is_number_integer()) return found->get<std::int64_t>();
  const auto d = found->get<double>();
  return d >= 0 && d < 1e15 ? static_cast<std::int64_t>(d) : otherwise;
}
std::int32_t small(std::int64_t n) { return n >= -1 && n <= (1 << 20) ? static_cast<std::int32_t>(n) : -1; }
std::string text(const Json& o, const char* key) {
  const auto found = o.find(key);
  return found == o.end()     ? ""
         : found->is_string() ? found->get<std::string>()
         : found->is_number() ? found->dump()
                              : "";
}

/// Square matrices, `count` times; tables of embeddings by the bytes that are looked up.
Issued computing(const Json& o, Names& names) {
  Issued out;
  const auto kind = text(o, "compute");
  out.name = names.add(kind);
  const auto count = static_cast<double>(std::max<std::int64_t>(1, whole(o, "count", 1)));
  const double element = std::max(1, element_size(text(o, "dtype")));
  if (kind == "gemm") {
    const auto d = static_cast<double>(std::max<std::int64_t>(0, whole(o, "mm_dim", 0)));
    out.work = Work::gemm;
    out.flops = count * 2 * d * d * d;
    out.touched = count * 3 * d * d * element;
  } else {
    out.work = Work::elementwise;
    const auto of = [&](const char* key) { return static_cast<double>(std::max<std::int64_t>(0, whole(o, key, 1))); };
    out.touched = count * of("emb_dim") * of("batch_size") * of("num_emb_tables_per_device") * of("num_emb_ops") *
                  of("bag_size") * element;
  }
  return out;
}

std::optional<Record> record_of(const Json& o, Names& names) {
  Record r;
  if (o.contains("compute")) {
    r.computes = true;
    r.compute = computing(o, names);
    return r;
  }
  const auto word = text(o, "comms");
  if (word.empty()) return std::nullopt;
  auto& c = r.call;
  c.name = names.add(word);
  c.in = whole(o, "in_msg_size"), c.out = whole(o, "out_msg_size");
  if (const auto dtype = text(o, "dtype"); !dtype.empty()) c.dtype = names.add(dtype);
  c.group = names.add(text(o, "pg_id"));
  if (o.contains("global_ranks") && o["global_ranks"].is_array() && !o["global_ranks"].empty())
    c.members = names.add(o["global_ranks"].dump());
  c.size = small(whole(o, "world_size"));
  c.request = o.contains("req") && o["req"].is_array() && !o["req"].empty() && o["req"][0].is_number_integer()
                  ? o["req"][0].get<std::int64_t>()
                  : whole(o, "req");
  c.source = small(whole(o, "src_rank")), c.destination = small(whole(o, "dst_rank"));
  c.rank = small(whole(o, "root"));
  c.claimed = o.contains("use_batch") && o["use_batch"].is_boolean() && o["use_batch"].get<bool>();
  return r;
}

}  // namespace

bool is_param_comms(const Probe& probe) {
  const auto first = probe.head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || probe.head[first] != '[') return false;
  const auto has = [&](std::string_view word) { return probe.head.find(word) != std::string::npos; };
  return has("\"comms\"") && (has("\"in_msg_size\"") || has("\"pg_id\"") || has("\"req\"") || has("\"startTime_ns\""));
}

Recording open_param_comms(const std::vector<std::string>& paths, const RecordingOptions& options) {
  Recording out;
  auto& report = *out.report;
  TorchGroups groups{*out.names, options.world};
  std::vector<std::vector<Record>> files;
  std::vector<std::pair<int, std::size_t>> ranks;
  std::int32_t world = options.world;
  for (const auto& path : paths) {
    auto& records = files.emplace_back();
    JsonPieces pieces;
    pieces.anchor = "comms";
    pieces.member = [](std::string_view, std::string_view) {};
    pieces.element = [&](std::string_view piece, std::uint64_t at) {
      ++report.records;
      const auto o = json_value(piece);
      auto record = o.is_object() ? record_of(o, *out.names) : std::nullopt;
      if (!record) {
        report.skip("neither a call nor computing", fmt::format("{}: byte {}", path, at));
        return;
      }
      record->at = at;
      if (options.world == 0) world = std::max(world, record->call.size);
      for (const auto r : integers_of((*out.names)[record->call.members]))
        if (options.world == 0 && r < (1 << 20)) world = std::max(world, static_cast<std::int32_t>(r) + 1);
      records.push_back(*record);
    };
    const auto read = read_pieces(path, pieces);
    if (!read.whole || read.broken > 0 || !read.damage.empty())
      report.skip("the file ends too early", fmt::format("{}: byte {}", path, read.bytes));
    int rank = rank_by_file_name(path);
    if (rank < 0) {
      rank = static_cast<int>(ranks.size());
      report.notes.push_back(fmt::format("{}: no rank in its name: taken as rank {}", path, rank));
    }
    ranks.emplace_back(rank, ranks.size());
    if (options.world == 0) world = std::max(world, rank + 1);
  }
  groups.set_world(world);
  std::ranges::sort(ranks);
  std::vector<std::vector<Issued>> lists;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto [rank, at] = ranks[i];
    if (i > 0 && rank == ranks[i - 1].first)
      throw sim::InputError(fmt::format("{}: rank {} again", paths[at], rank), "give one file of each rank");
    auto& list = lists.emplace_back();
    out.ranks.push_back(rank);
    std::map<std::uint32_t, std::uint32_t> members;  // of groups, once said
    std::uint32_t batch = 0;
    for (auto& r : files[at]) {
      auto& c = r.call;
      const auto skip = [&](std::string_view why) { report.skip(why, fmt::format("{}: byte {}", paths[at], r.at)); };
      if (c.members != 0) members[c.group] = c.members;
      if (const auto known = members.find(c.group); known != members.end()) c.members = known->second;
      if (r.computes) {
        list.push_back(r.compute);
        ++report.used;
        continue;
      }
      const auto& word = (*out.names)[c.name];
      const auto verb = verb_of(word);
      Issued made;
      made.name = c.name;
      made.request = c.request;
      if (verb.verb == Verb::other) {  // init: it was to say the ranks
        ++report.used;
        continue;
      }
      if (verb.verb == Verb::wait) {
        made.what = Issued::What::wait;
        list.push_back(made);
        ++report.used;
        continue;
      }
      const int element = element_size((*out.names)[c.dtype]);
      const bool barrier = word.find("barrier") != word.npos;
      if (verb.verb == Verb::none) {
        skip("a call whose operation is not known");
        continue;
      }
      if (element == 0 && !barrier) {
        skip("a call whose data type is not known");
        continue;
      }
      const int communicator = groups.find(0, c);
      const auto size =
          communicator < 0 ? 0 : groups.communicators()[static_cast<std::size_t>(communicator)].ranks.size();
      const auto bytes = size_of(c, verb, element, static_cast<int>(size));
      if (communicator < 0 || (!bytes && !barrier)) {
        skip(communicator < 0 ? "a call whose process group is not known" : "a call whose size is not known");
        continue;
      }
      const auto& group = groups.communicators()[static_cast<std::size_t>(communicator)].ranks;
      if (std::ranges::find(group, rank) == group.end()) {
        skip("a call of a process group without this rank");
        continue;
      }
      made.communicator = static_cast<std::uint32_t>(communicator);
      made.op = verb.op;
      made.bytes = barrier ? sim::Bytes{4} : *bytes;
      made.what = Issued::What::collective;
      if (verb.verb == Verb::collective) {
        batch = 0;
        if (has_root(verb.op)) {
          const auto root = std::ranges::find(group, c.rank);
          made.root = root == group.end() ? 0 : static_cast<std::int32_t>(root - group.begin());
        }
      } else {
        made.what = verb.verb == Verb::send ? Issued::What::send : Issued::What::receive;
        const auto peer = std::ranges::find(group, verb.verb == Verb::send ? c.destination : c.source);
        if (peer == group.end() || *peer == rank) {
          skip("a message whose peer is not known");
          continue;
        }
        made.peer = static_cast<std::int32_t>(peer - group.begin());
        if (c.claimed && batch == 0) batch = static_cast<std::uint32_t>(list.size()) + 1;
        if (!c.claimed) batch = 0;
        made.batch = batch;
      }
      list.push_back(made);
      ++report.used;
    }
  }
  if (report.used == 0) throw sim::InputError(fmt::format("{}: no call that could be used", paths[0]));
  out.world = std::max(world, groups.greatest_rank() + 1);
  if (options.world > 0 && out.world > options.world)
    throw sim::InputError(
        fmt::format("{}: the trace has rank {}, the world {}", paths[0], out.world - 1, options.world));
  out.communicators = groups.communicators();
  report.notes.push_back("start times are the host's and are not used: computing is what the file says of it");
  if (paths.size() == 1) report.notes.push_back(fmt::format("rank {} alone is recorded", out.ranks[0]));
  out.source = fmt::format("a PARAM trace of {} rank{}", paths.size(), paths.size() == 1 ? "" : "s");
  give_issued(out, std::move(lists));
  return out;
}

}  // namespace linkcast::workloads::readers
