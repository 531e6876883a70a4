// See pytorch_et.hpp.
#include "pytorch_et.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>

#include "issued.hpp"
#include "kineto.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "pytorch_et_node.hpp"

namespace linkcast::workloads::readers {
namespace {

using Verb = TorchCall::Verb;

struct Head {
  std::string schema;
  bool flat = false;  // 1.0.1
};

Head each_node(const std::string& path, ReadReport& report, const std::function<void(const EtNode&)>& f) {
  Head head;
  JsonPieces pieces;
  pieces.array = "nodes";
  pieces.anchor = probe(path).head.find("{\"name\"") != std::string::npos ? "name" : "id";
  pieces.member = [&](std::string_view key, std::string_view value) {
    if (key == "schema") head.schema = text_of(value);
  };
  pieces.element = [&](std::string_view text, std::uint64_t at) {
    ++report.records;
    const auto node = node_of(text);
    if (node)
      f(*node);
    else
      report.skip("a node that is no JSON", fmt::format("{}: byte {}", path, at));
  };
  const auto read = read_pieces(path, pieces);
  const auto where = fmt::format("{}: byte {}", path, read.broken > 0 ? read.first : read.bytes);
  if (!read.damage.empty())
    report.skip(fmt::format("the rest of a damaged file ({})", read.damage), where);
  else if (!read.whole && read.broken == 0)
    report.skip("the file ends too early", where);
  for (std::int64_t i = 0; i < read.broken; ++i) report.skip("a node without an end", where);
  return head;
}

/// One node that does something, in the order of ids: that is the order in which the host came to them.
struct Doing {
  std::int64_t id = 0, thread = 0;
  bool call = false;
  TorchCall said;
  std::uint32_t name = 0;
  EtWork work;
};

struct File {
  std::string path, schema;
  int rank = -1, at = 0;
  std::vector<Doing> doing;
  int steps = 0;
};

File read_file(const std::string& path, int at, Names& names, TorchGroups& groups, ReadReport& report) {
  File out;
  out.path = path;
  out.at = at;
  out.rank = rank_by_file_name(path);
  std::unordered_set<std::int64_t> parents;
  std::set<std::string> steps;
  std::int64_t others = 0;
  const auto head = each_node(path, report, [&](const EtNode& node) {
    parents.insert(node.parent);
    Doing d;
    d.id = node.id;
    d.thread = node.thread;
    if (node.name == "record_param_comms") {
      d.call = true;
      d.said = call_of(node, names);
      out.doing.push_back(d);
    } else if (const auto list = groups_of(node); !list.empty()) {
      groups.configure(at, list);
    } else if (const auto work = work_of(node)) {
      d.name = names.add(node.name);
      d.work = *work;
      out.doing.push_back(d);
    } else {
      if (node.name.starts_with("ProfilerStep#")) steps.insert(node.name);
      ++others;
    }
  });
  // What has children is done by them.
  std::erase_if(out.doing, [&](const Doing& d) { return !d.call && parents.contains(d.id); });
  std::ranges::stable_sort(out.doing, {}, &Doing::id);
  out.schema = head.schema;
  out.steps = static_cast<int>(steps.size());
  if (others > 0)
    report.skipped.push_back({"nodes that do nothing on a GPU: views, ranges, the host's own", others, path});
  return out;
}

/// A call without splits does not say the size of its group; another of the same group may.
void share_sizes(File& file) {
  std::map<std::uint32_t, std::int32_t> sizes;
  const auto is_call = [](const Doing& d) { return d.call && d.said.group != 0; };
  for (const auto& d : file.doing)
    if (is_call(d)) sizes[d.said.group] = std::max(sizes[d.said.group], d.said.size);
  for (auto& d : file.doing)
    if (is_call(d) && d.said.size <= 0 && sizes[d.said.group] > 0) d.said.size = sizes[d.said.group];
}

std::vector<Issued> issue(const File& file, const Names& names, TorchGroups& groups, ReadReport& report) {
  std::vector<Issued> out;
  std::map<std::int64_t, std::uint32_t> batch;  // by thread: between startCoalescing and endCoalescing
  std::uint32_t batches = 0;
  const auto call = [&](const Doing& d, Issued& made) -> std::string_view {
    const auto& word = names[d.said.name];
    const auto verb = verb_of(word);
    made.request = d.said.request;
    if (verb.verb == Verb::wait) {
      made.what = Issued::What::wait;
      return {};
    }
    const int element = d.said.dtype != 0 ? element_size(names[d.said.dtype]) : 0;
    const bool barrier = word.find("barrier") != word.npos;
    if (verb.verb == Verb::none) return "a call whose operation is not known";
    if (element == 0 && !barrier) return "a call whose data type is not known";
    const int c = groups.find(file.at, d.said);
    if (c < 0) return "a call whose process group is not known";
    const auto& members = groups.communicators()[static_cast<std::size_t>(c)].ranks;
    const auto size = static_cast<int>(members.size());
    const auto bytes = size_of(d.said, verb, element, size);
    if (!bytes && !barrier) return "a call whose size is not known";
    if (std::ranges::find(members, file.rank) == members.end()) return "a call of a process group without this rank";
    made.bytes = barrier ? sim::Bytes{4} : *bytes;
    made.communicator = static_cast<std::uint32_t>(c);
    made.op = verb.op;
    made.name = d.said.name;
    if (verb.verb == Verb::collective) {
      made.what = Issued::What::collective;
      if (has_root(verb.op) && d.said.rank >= 0 && d.said.rank < size) made.root = d.said.rank;
      return {};
    }
    made.what = verb.verb == Verb::send ? Issued::What::send : Issued::What::receive;
    if (d.said.rank < 0 || d.said.rank >= size || members[static_cast<std::size_t>(d.said.rank)] == file.rank)
      return "a message whose peer is not known";
    made.peer = d.said.rank;
    if (const auto b = batch.find(d.thread); b != batch.end()) made.batch = b->second;
    return {};
  };
  for (const auto& d : file.doing) {
    Issued made;
    if (!d.call) {
      made.work = d.work.work, made.flops = d.work.flops, made.touched = d.work.touched;
      made.name = d.name;
    } else {
      const auto& word = names[d.said.name];
      if (word.starts_with("startCoalescing")) batch[d.thread] = ++batches;
      if (word.starts_with("endCoalescing")) batch.erase(d.thread);
      if (verb_of(word).verb == Verb::other) continue;
      if (const auto why = call(d, made); !why.empty()) {
        report.skip(why, fmt::format("{}: node {}", file.path, d.id));
        continue;
      }
    }
    ++report.used;
    out.push_back(made);
  }
  return out;
}

}  // namespace

bool is_pytorch_et(const Probe& probe) {
  const auto has = [&](std::string_view word) { return probe.head.find(word) != std::string::npos; };
  return has("\"schema\"") && has("\"nodes\"") && !has("\"traceEvents\"") &&
         (has("\"rf_id\"") || has("[pytorch|profiler|"));
}

void read_calls_of_execution_trace(const std::string& path, Names& names, CallsByRecord& calls, TorchGroups& groups,
                                   ReadReport& report) {
  ReadReport own;
  each_node(path, own, [&](const EtNode& node) {
    if (node.name == "record_param_comms" && node.record != 0)
      calls.try_emplace(node.record, call_of(node, names));
    else if (const auto list = groups_of(node); !list.empty())
      groups.configure(-1, list);
  });
  for (auto& s : own.skipped) report.skipped.push_back(std::move(s));
}

Recording open_pytorch_et(const std::vector<std::string>& paths, const RecordingOptions& options) {
  const auto kineto = [](const std::string& path) { return is_kineto(probe(path)); };
  if (std::ranges::any_of(paths, kineto)) return open_kineto(paths, options);
  std::vector<std::string> besides;
  for (const auto& path : options.beside)
    for (auto& file : files_of(path)) besides.push_back(std::move(file));
  if (std::ranges::any_of(besides, kineto)) {
    auto turned = options;
    turned.beside = paths;
    return open_kineto(besides, turned);
  }
  Recording out;
  auto& report = *out.report;
  TorchGroups groups{*out.names, options.world};
  std::vector<File> files;
  for (const auto& path : paths)
    files.push_back(read_file(path, static_cast<int>(files.size()), *out.names, groups, report));
  std::int32_t world = options.world;
  bool calls = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto& f = files[i];
    if (f.rank < 0) {
      f.rank = static_cast<int>(i);
      report.notes.push_back(fmt::format("{}: an execution trace does not say its rank: taken as {}", f.path, f.rank));
    }
    share_sizes(f);
    for (const auto& d : f.doing) {
      calls |= d.call && verb_of((*out.names)[d.said.name]).verb != Verb::wait;
      if (options.world == 0 && d.call) world = std::max(world, d.said.size);
    }
    world = options.world > 0 ? options.world : std::max(world, f.rank + 1);
  }
  world = options.world > 0 ? options.world : std::max(world, groups.greatest_rank() + 1);
  if (world > (1 << 20)) throw sim::InputError(fmt::format("{}: a group of {} ranks", paths[0], world));
  if (world == 1 && calls && options.world == 0 && groups.greatest_rank() < 0)
    report.notes.push_back("nothing says how many ranks there are: taken as 1");
  groups.set_world(world);
  std::ranges::stable_sort(files, {}, &File::rank);
  std::vector<std::vector<Issued>> lists;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& f = files[i];
    if (i > 0 && f.rank == files[i - 1].rank)
      throw sim::InputError(fmt::format("{}: rank {} again", f.path, f.rank), "give one file of each rank");
    lists.push_back(issue(f, *out.names, groups, report));
    out.ranks.push_back(f.rank);
    out.steps = std::max(out.steps, f.steps);
  }
  if (report.used == 0)
    throw sim::InputError(
        fmt::format("{}: nothing to replay: no call of communication and no operation on a GPU", paths[0]));
  out.world = std::max(world, groups.greatest_rank() + 1);
  if (options.world > 0 && out.world > options.world)
    throw sim::InputError(
        fmt::format("{}: the trace has rank {}, the world {}", paths[0], out.world - 1, options.world));
  out.communicators = groups.communicators();
  report.generation = "schema " + files[0].schema;
  report.notes.push_back(
      "an execution trace has no times: computing is by its operations' sizes; give the Kineto trace "
      "of the same step beside it to have times");
  if (files.size() == 1) report.notes.push_back(fmt::format("rank {} alone is recorded", files[0].rank));
  out.source = files.size() == 1 ? fmt::format("a PyTorch execution trace of rank {}", out.ranks[0])
                                 : fmt::format("PyTorch execution traces of {} ranks", files.size());
  give_issued(out, std::move(lists));
  return out;
}

}  // namespace linkcast::workloads::readers
