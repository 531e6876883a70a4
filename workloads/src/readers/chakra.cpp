// See chakra.hpp. Each file is gone through twice: when it is opened, for the numbers of its nodes, its process groups
// and its peers; and when it is replayed.
#include "chakra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "astra_inputs.hpp"
#include "chakra_json.hpp"
#include "chakra_order.hpp"
#include "chakra_translate.hpp"
#include "json_value.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {
namespace {

using namespace chakra;

constexpr int most_ranks = 1 << 22;
constexpr std::size_t most_members = std::size_t{1} << 25;  // of all communicators

struct ProcessGroup {
  std::string name, description;
  std::vector<int> ranks;  // empty: all
};

struct File {
  std::string path;
  int rank = 0;
  bool json = false;
  Schema schema = Schema::current;
  std::string version;
  std::shared_ptr<IdSet> ids = std::make_shared<IdSet>();
  std::shared_ptr<JsonTrace> trace;  // of JSON
  std::vector<ProcessGroup> groups;
  std::int64_t nodes = 0, furthest = -1;  // peer
  std::string damaged;                    // why the rest cannot be read
  std::map<std::string, std::uint32_t> communicators;
};

bool looks_json(const std::string& head) { return head.find("\"workload_graph\"") != std::string::npos; }

/// "trace.12.et", "trace.12.et.gz": 12.
std::optional<int> rank_of(const std::string& path) {
  auto name = path.substr(path.find_last_of('/') + 1);
  for (int parts = 0; parts < 4; ++parts) {
    const auto dot = name.find_last_of('.');
    if (dot == std::string::npos) return std::nullopt;
    const auto last = name.substr(dot + 1);
    if (!last.empty() && last.size() < 8 &&
        std::ranges::all_of(last, [](unsigned char c) { return std::isdigit(c) != 0; }))
      return std::stoi(last);
    name.resize(dot);
  }
  return std::nullopt;
}

/// IOInfo.values of "## process_group:init ##": a list in Python's notation with one string of JSON in it.
void read_groups(const std::string& values, File& file, ReadReport& report, const Node& n) {
  const auto where = [&] { return fmt::format("{}: byte {}", file.path, n.at); };
  const auto begin = values.find("[{"), end = values.rfind("}]");
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    report.skip("process groups that cannot be read", where());
    return;
  }
  std::string text;
  for (std::size_t i = begin; i < end + 2; ++i)
    if (values[i] != '\\' || values[i + 1] != '"') text += values[i];
  const auto all = json_value(text);
  if (!all.is_array()) {
    report.skip("process groups that cannot be read", where());
    return;
  }
  for (const auto& g : all) {
    if (!g.is_object() || !g.contains("pg_name")) continue;
    ProcessGroup out;
    const auto& name = g["pg_name"];
    if (!name.is_string() && !name.is_number()) {
      report.skip("a process group whose name is neither text nor a number", where());
      continue;
    }
    out.name = name.is_string() ? name.get<std::string>() : name.dump();
    if (g.contains("pg_desc") && g["pg_desc"].is_string()) out.description = g["pg_desc"].get<std::string>();
    bool good = true;
    if (g.contains("ranks") && g["ranks"].is_array())
      for (const auto& r : g["ranks"]) {
        const auto rank = r.is_number_integer() ? r.get<std::int64_t>() : -1;
        good = good && rank >= 0 && rank < most_ranks;
        if (good) out.ranks.push_back(static_cast<int>(rank));
      }
    if (!good || std::set<int>(out.ranks.begin(), out.ranks.end()).size() != out.ranks.size())
      report.skip("a process group with wrong ranks", fmt::format("{}: '{}'", where(), out.name));
    else
      file.groups.push_back(std::move(out));
  }
}

/// Nodes of a file as they lie there. Ends where the file is damaged.
class Nodes {
 public:
  Nodes(const File& file, std::shared_ptr<ReadReport> report) : file_{&file}, report_{std::move(report)} {
    if (!file.json) messages_.emplace(file.path);
  }
  bool operator()(Node& out) {
    if (file_->json) {
      if (next_ >= file_->trace->nodes.size()) return false;
      out = file_->trace->nodes[next_++];
      return true;
    }
    std::string_view message;
    while (!over_) {
      try {
        if (!messages_->next(message)) return false;
      } catch (const sim::InputError& e) {
        over_ = true;
        damage_ = e.diagnostics().front().problem;
        return false;
      }
      if (first_) {
        first_ = false;
        if (const auto version = metadata(message)) {
          version_ = *version;
          continue;
        }
        schema_ = Schema::first;
        if (!decode(message, Schema::first, out)) schema_ = Schema::current;
      }
      if (decode(message, schema_, out)) {
        out.at = messages_->at();
        return true;
      }
      if (report_)
        report_->skip("a message that is not a node", fmt::format("{}: byte {}", file_->path, messages_->at()));
    }
    return false;
  }
  Schema schema() const { return schema_; }
  const std::string& version() const { return version_; }
  const std::string& damage() const { return damage_; }

 private:
  const File* file_;
  std::shared_ptr<ReadReport> report_;
  std::optional<Messages> messages_;
  std::size_t next_ = 0;
  bool first_ = true, over_ = false;
  Schema schema_ = Schema::current;
  std::string version_, damage_;
};

void scan(File& file, ReadReport& report) {
  if (file.json) file.trace = std::make_shared<JsonTrace>(read_json(file.path, report));
  Nodes nodes{file, nullptr};
  Node n;
  while (nodes(n)) {
    ++file.nodes;
    file.ids->add(n.id);
    for (const auto& peer :
         {n.type == NodeType::send ? n.dst : std::nullopt, n.type == NodeType::receive ? n.src : std::nullopt})
      if (peer && *peer < most_ranks) file.furthest = std::max(file.furthest, *peer);
    if (n.type == NodeType::metadata && n.name.find("process_group:init") != std::string::npos)
      read_groups(n.inputs, file, report, n);
  }
  file.schema = nodes.schema();
  file.version = file.json ? "JSON" : file.schema == Schema::first ? "0.0.1" : nodes.version();
  file.damaged = nodes.damage();
  if (file.nodes == 0)
    throw sim::InputError(file.damaged.empty() ? fmt::format("{}: a Chakra trace without a node", file.path)
                                               : file.damaged);
}

class Reader final : public OperationReader {
 public:
  Reader(std::shared_ptr<const std::vector<File>> files, std::shared_ptr<Shared> shared)
      : files_{std::move(files)}, shared_{std::move(shared)}, ranks_(files_->size()) {}

  bool next(std::size_t r, Operation& out) override {
    auto& rank = ranks_[r];
    const auto& file = (*files_)[r];
    if (rank.over) return false;
    if (!rank.ordered) {
      rank.ordered = std::make_unique<Ordered>(
          [nodes = std::make_shared<Nodes>(file, shared_->report)](Node& n) { return (*nodes)(n); }, file.ids,
          shared_->report, file.path);
      rank.translate = std::make_unique<Translator>(shared_, file.rank, file.path, file.communicators);
    }
    while (rank.ordered->next(rank.node))
      if ((*rank.translate)(rank.node, out)) return true;
    if (!file.damaged.empty()) shared_->report->skip("the rest of a damaged file", file.damaged);
    rank.over = true;
    return false;
  }

 private:
  struct Rank {
    std::unique_ptr<Ordered> ordered;
    std::unique_ptr<Translator> translate;
    Node node;
    bool over = false;
  };
  std::shared_ptr<const std::vector<File>> files_;
  std::shared_ptr<Shared> shared_;
  std::vector<Rank> ranks_;
};

std::vector<File> files_of_trace(const std::vector<std::string>& paths, std::vector<std::string>& beside,
                                 ReadReport& report) {
  std::vector<File> files;
  for (const auto& path : paths) {
    const auto head = probe(path);
    if (is_comm_groups(head.head)) {
      beside.push_back(path);
      continue;
    }
    if (!is_chakra(head)) {
      report.skip("a file that is not a Chakra trace", path);
      continue;
    }
    File file;
    file.path = path;
    file.json = looks_json(head.head);
    const auto rank = rank_of(path);
    if (!rank && paths.size() > 1)
      throw sim::InputError(fmt::format("{}: of which rank is this?", path), "files of ranks are <prefix>.<rank>.et");
    file.rank = rank.value_or(0);
    files.push_back(std::move(file));
  }
  if (files.empty()) throw sim::InputError(fmt::format("{}: no Chakra trace", paths.front()));
  std::ranges::stable_sort(files, {}, &File::rank);
  for (std::size_t i = 1; i < files.size(); ++i)
    if (files[i].rank == files[i - 1].rank)
      throw sim::InputError(fmt::format("rank {} twice: {} and {}", files[i].rank, files[i - 1].path, files[i].path),
                            "give the files of one trace: <prefix>.<rank>.et");
  return files;
}

int world_of(const std::vector<File>& files, const AstraBeside& beside, int said, ReadReport& report) {
  std::int64_t least = 0;
  bool told = files.size() > 1;
  for (const auto& f : files) {
    least = std::max({least, std::int64_t{f.rank} + 1, f.furthest + 1});
    told = told || f.furthest >= 0;
    if (f.trace && f.trace->world > 0) least = std::max<std::int64_t>(least, f.trace->world), told = true;
    for (const auto& g : f.groups)
      for (const int r : g.ranks) least = std::max<std::int64_t>(least, r + 1), told = true;
  }
  for (const auto& [name, ranks] : beside.groups)
    for (const int r : ranks) least = std::max<std::int64_t>(least, r + 1), told = true;
  if (beside.network) least = std::max<std::int64_t>(least, beside.network->world()), told = true;
  if (said > 0) {
    if (said < least)
      throw sim::InputError(fmt::format("a world of {} ranks, but the trace names rank {}", said, least - 1));
    return said;
  }
  if (told) return static_cast<int>(least);
  const auto world = std::max<int>(8, static_cast<int>(least));
  report.notes.push_back(fmt::format(
      "nothing says how many ranks there are: {} assumed; say it, or give ASTRA-sim's network file", world));
  return world;
}

}  // namespace

bool is_chakra(const Probe& probe) {
  if (looks_json(probe.head)) return true;
  std::string_view rest{probe.head};
  const auto framed = [&](std::string_view& message) {
    std::uint64_t length = 0;
    for (unsigned i = 0, shift = 0; i < std::min<std::size_t>(rest.size(), 9); ++i, shift += 7) {
      const auto byte = static_cast<unsigned char>(rest[i]);
      length |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte >= 128) continue;
      rest.remove_prefix(i + 1);
      if (length > rest.size()) return false;
      message = rest.substr(0, length);
      rest.remove_prefix(length);
      return true;
    }
    return false;
  };
  const bool named = probe.path.ends_with(".et") || probe.path.find(".et.") != std::string::npos;
  std::string_view first, second;
  if (probe.head.empty()) return false;
  if (!framed(first)) return named && metadata({}).has_value() && probe.head.find("schema") < 64;
  Node n;
  const auto node = [&](std::string_view message, Schema schema) {
    return decode(message, schema, n) && n.type != NodeType::other && (!n.name.empty() || n.type != NodeType::invalid);
  };
  if (!metadata(first)) return node(first, Schema::first);
  if (rest.empty()) return named;
  if (!framed(second)) return named;
  return node(second, Schema::current);
}

Recording open_chakra(const std::vector<std::string>& paths, const RecordingOptions& options) {
  Recording out;
  auto& report = *out.report;
  auto beside_paths = options.beside;
  auto files = std::make_shared<std::vector<File>>(files_of_trace(paths, beside_paths, report));
  const auto beside = read_astra_beside(beside_paths);
  std::set<std::string> versions;
  for (auto& f : *files) {
    scan(f, report);
    versions.insert(f.version);
  }
  report.generation = fmt::format("{}", fmt::join(versions, ", "));
  out.world = world_of(*files, beside, options.world, report);
  std::vector<int> all(static_cast<std::size_t>(out.world));
  std::iota(all.begin(), all.end(), 0);
  out.communicators.push_back({"world", "", all});
  std::map<std::pair<std::string, std::vector<int>>, std::uint32_t> known;
  std::size_t members = all.size();
  const auto add = [&](const std::string& name, const std::string& description, const std::vector<int>& ranks) {
    // All ranks: an empty key, for there may be many groups of all ranks.
    const auto [at, fresh] = known.try_emplace({name, ranks == all ? std::vector<int>{} : ranks},
                                               static_cast<std::uint32_t>(out.communicators.size()));
    if (!fresh) return at->second;
    members += ranks.size();
    if (members > most_members)
      throw sim::InputError(fmt::format("{}: the process groups have more than 33,554,432 members together", paths[0]));
    out.communicators.push_back({name, description, ranks});
    return at->second;
  };
  for (auto& f : *files) {
    for (const auto& g : f.groups)
      f.communicators[g.name] = add(g.name, g.description, g.ranks.empty() ? all : g.ranks);
    for (const auto& [name, ranks] : beside.groups) f.communicators[name] = add(name, "", ranks);
    out.ranks.push_back(f.rank);
  }
  if (out.ranks.size() < all.size())
    report.notes.push_back(
        fmt::format("{} of {} ranks are recorded; the others are taken to do alike", out.ranks.size(), out.world));
  out.source = out.ranks.size() == 1 ? fmt::format("a Chakra trace of rank {}", out.ranks[0])
                                     : fmt::format("a Chakra trace of {} ranks", out.ranks.size());
  const auto communicators = std::make_shared<const std::vector<RecordedCommunicator>>(out.communicators);
  out.open = [files, communicators, world = out.world, names = out.names, streams = out.streams,
              shared_report = out.report] {
    const std::shared_ptr<Shared> shared{
        new Shared{world, communicators.get(), names, shared_report, StreamNames{streams}, {}},
        [communicators](Shared* s) { delete s; }};
    return std::make_unique<Reader>(files, shared);
  };
  return out;
}

}  // namespace linkcast::workloads::readers
