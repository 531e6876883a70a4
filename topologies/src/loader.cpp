// load(): decides what was named (catalog, YAML, NCCL XML), follows `extends`, and reads the machine.
#include "loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "build.hpp"
#include "catalog.hpp"
#include "cluster_overrides.hpp"
#include "linkcast/topologies/nccl_import.hpp"
#include "merge.hpp"
#include "source_file.hpp"

namespace linkcast::topologies {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view schema_name = "linkcast.topology/1";
constexpr std::size_t max_extends = 16;

Source catalog_source(const CatalogEntry& entry) {
  return std::make_shared<SourceText>(SourceText{entry.file, std::string{entry.text}, true});
}

/// The file that `extends` names: a catalog name, or a path beside the file that says so.
Source extended(const Source& from, const Value& at, Problems& problems) {
  if (const auto entry = catalog_entry(at.text)) return catalog_source(*entry);
  const auto path = (fs::path{from->name}.parent_path() / at.text).lexically_normal().string();
  std::error_code error;
  if (!fs::exists(path, error)) {
    problems.add(at, fmt::format("no topology '{}' to extend: neither in the catalog nor a file", at.text),
                 suggest(at.text, catalog_spellings()));
    return nullptr;
  }
  try {
    return read_source(path);
  } catch (const sim::InputError& e) {
    problems.add(at, fmt::format("'{}' cannot be extended: it {}", at.text, e.diagnostics().front().problem));
    return nullptr;
  }
}

/// The document with everything that it extends merged below it.
Value with_bases(const Source& file, Problems& problems, std::vector<std::string> chain) {
  chain.push_back(file->name);
  auto document = parse_yaml(file, problems);
  if (!document.is_map()) {
    if (problems.empty()) {
      problems.add(file, document.line, document.column, "a topology file must be a map of keys",
                   fmt::format("start with `schema: {}`", schema_name));
    }
    return document;
  }
  MapReader schema{{&problems}, document, "the topology"};
  const std::vector<std::string> schemas{std::string{schema_name}};
  if (!schema.find("schema")) {
    problems.add(document, "the topology has no 'schema'", fmt::format("start with `schema: {}`", schema_name));
  }
  schema.choice("schema", schemas);
  const auto* extends = document.get("extends");
  if (!extends) return document;
  if (!extends->is_scalar()) {
    problems.add(*extends, "'extends' must be a catalog name or a file name");
    return document;
  }
  const auto base = extended(file, *extends, problems);
  if (!base) return document;
  if (const auto again = std::ranges::find(chain, base->name); again != chain.end()) {
    std::vector<std::string> cycle{again, chain.end()};
    cycle.push_back(base->name);
    problems.add(*extends, fmt::format("'extends' goes round in a circle: {}", fmt::join(cycle, " -> ")),
                 "remove one of them");
    return document;
  }
  if (chain.size() >= max_extends) {
    problems.add(*extends, fmt::format("more than {} files extend each other", max_extends));
    return document;
  }
  problems.keep(base);  // before the files above it: mistakes there explain mistakes here
  auto below = with_bases(base, problems, chain);
  std::erase_if(below.entries, [](const Value::Entry& e) { return e.key.text == "aliases"; });
  return below.is_map() ? merged(below, document) : document;
}

void check_reachable(NodeBuild& b, const Value& document) {
  const Fabric fabric{std::make_shared<const Fabric::Data>(b.data)};
  if (b.gpus.size() < 2 || fabric.gpu_components() <= 1) return;
  const auto* node = document.get("node");
  const auto* gpus = node ? node->get("gpus") : nullptr;
  const auto* overrides = document.get("overrides");
  for (std::size_t i = 1; i < b.gpus.size(); ++i) {
    const std::vector<int> pair{0, static_cast<int>(i)};
    if (fabric.slice(pair).gpu_components() <= 1) continue;
    b.context.problems->add(overrides ? *overrides
                            : gpus    ? *gpus
                                      : document,
                            fmt::format("{} has no path to {}", b.name(b.gpus[i]), b.name(b.gpus[0])),
                            "join them by NVLink, or by PCIe and a link between their CPUs");
  }
}

}  // namespace

std::string TopologyFile::self_contained() const {
  Value out = document;
  std::erase_if(out.entries, [](const Value::Entry& e) { return e.key.text == "extends" || e.key.text == "aliases"; });
  if (!out.get("name")) {
    Value::Entry e;
    e.key.kind = e.value.kind = Value::Kind::scalar;
    e.key.text = "name";
    e.value.text = name;
    out.entries.insert(out.entries.begin() + (out.entries.empty() ? 0 : 1), std::move(e));
  }
  return emit_yaml(out);
}

std::unique_ptr<TopologyFile> read_topology_file(const Source& file, const std::string& name,
                                                 const std::map<std::string, std::string>& params,
                                                 const Profile* profile) {
  auto out = std::make_unique<TopologyFile>();
  auto& f = *out;
  f.profile = profile;
  f.document = with_bases(file, f.problems, {});
  f.problems.keep(file);
  if (!f.document.is_map()) f.problems.throw_if_any();
  apply_parameters(f.context(), f.document, params, f.params);

  MapReader r{f.context(), f.document, "the topology"};
  for (const auto key : {"schema", "extends", "aliases"}) r.find(key);
  f.name = r.word("name").value_or(name);
  f.title = r.word("title").value_or("");
  f.parts = r.find("parts");
  f.node = f.problems.empty() ? r.need("node") : r.find("node");
  f.overrides = r.find("overrides");
  f.nodes = r.find("nodes");
  f.network = r.find("network");
  r.done();
  return out;
}

std::shared_ptr<Fabric::Data> build_machine(TopologyFile& file, const Value* overrides) {
  auto data = std::make_shared<Fabric::Data>();
  data->name = file.name;
  data->title = file.title;
  data->text = file.self_contained();
  data->params = file.params;
  const ReadContext context{&file.problems, &data->numbers, file.profile};
  Parts parts{context, file.parts};
  NodeBuild build{context, parts, *data};
  if (file.node) build_node(build, *file.node);
  parts.check_own();
  if (overrides) apply_overrides(build, *overrides);
  if (file.problems.empty()) check_reachable(build, file.document);
  return data;
}

std::shared_ptr<Fabric::Data> changed_machine(TopologyFile& file, const Fabric::Data& machine, const Value& overrides) {
  auto data = std::make_shared<Fabric::Data>(machine);
  data->cache = std::make_shared<Fabric::Data::RouteCache>();
  const ReadContext context{&file.problems, nullptr, file.profile};
  Parts parts{context, file.parts};
  NodeBuild build{context, parts, *data};
  build.gpus = data->gpus;
  apply_overrides(build, overrides);
  if (file.problems.empty()) check_reachable(build, file.document);
  return data;
}

Fabric load_yaml(const Source& file, const std::string& name, const LoadOptions& options) {
  const auto read = read_topology_file(file, name, options.params, options.profile.get());
  Value of_machine;
  const Value* overrides = read->overrides;
  if (overrides && read->cluster()) {
    of_machine = split_overrides(*overrides).machine;
    overrides = &of_machine;
  }
  auto data = build_machine(*read, overrides);
  read->problems.throw_if_any();
  return Fabric{std::move(data)};
}

NamedTopology find_topology(std::string_view name_or_path) {
  const std::string name{name_or_path};
  if (name.empty()) throw sim::InputError("no topology named", "a catalog name or a file");
  if (const auto entry = catalog_entry(name)) return {catalog_source(*entry), entry->name, false};
  std::error_code error;
  if (!fs::exists(name, error)) {
    throw sim::InputError(fmt::format("no topology '{}': neither in the catalog nor a file", name),
                          suggest(name, catalog_spellings()));
  }
  auto file = read_source(name);
  const auto first = file->text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const bool xml = first != std::string::npos && file->text[first] == '<';
  return {std::move(file), fs::path{name}.stem().string(), xml};
}

Fabric load(std::string_view name_or_path, const LoadOptions& options) {
  if (options.nodes < 1) throw sim::InputError(fmt::format("{} nodes", options.nodes), "at least 1");
  if (options.nodes > 1)
    throw sim::InputError(fmt::format("{} nodes of '{}' are a cluster, not one machine", options.nodes, name_or_path),
                          "load it with 1 node, or as a cluster");
  const auto found = find_topology(name_or_path);
  if (!found.xml) return load_yaml(found.file, found.name, options);
  NcclImportOptions import;
  import.profile = options.profile;
  for (const auto& [key, value] : options.params) {
    if (key != "machine")
      throw sim::InputError(fmt::format("no parameter '{}' in '{}'", key, name_or_path),
                            "an NCCL topology has one: machine, the catalog's name of what it was taken on");
    import.machine = value;
  }
  return fabric_from_nccl_xml(found.file->text, found.file->name, found.name, import);
}

}  // namespace linkcast::topologies
