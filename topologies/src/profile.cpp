// See profile.hpp. Reads a profile, checks each of its numbers by reading the part that it changes, and makes profiles
// from numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>

#include <set>

#include "catalog.hpp"
#include "embedded_catalog.hpp"
#include "fabric_data.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "merge.hpp"
#include "parts.hpp"
#include "profile_data.hpp"
#include "source_file.hpp"

namespace linkcast::topologies {
namespace {

constexpr std::string_view schema_name = "linkcast.profile/1";
const std::vector<std::string> kinds{"gpus", "links", "switches", "cpus", "hosts", "nics", "networks"};

Value scalar(std::string text) {
  Value v;
  v.kind = Value::Kind::scalar;
  v.text = std::move(text);
  return v;
}

Value& child(Value& map, std::string_view key) {
  map.kind = Value::Kind::map;
  if (auto* known = map.get(key)) return *known;
  Value::Entry e;
  e.key = scalar(std::string{key});
  map.entries.push_back(std::move(e));
  return map.entries.back().value;
}

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> out;
  while (true) {
    const auto dot = path.find('.');
    out.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return out;
    path.remove_prefix(dot + 1);
  }
}

std::optional<PartNumber> number_of(std::string_view text) {
  PartNumber n;
  n.text = text;
  double bare = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), bare);
  if (error == std::errc{} && stop == text.data() + text.size()) {
    n.value = bare;
    return n;
  }
  constexpr std::array dimensions{std::pair{Dimension::rate, Unit::rate}, std::pair{Dimension::time, Unit::time},
                                  std::pair{Dimension::size, Unit::size}};
  for (const auto& [dimension, unit] : dimensions) {
    const auto parsed = parse_quantity(text, dimension, "number", true);
    if (const auto* v = std::get_if<std::int64_t>(&parsed)) {
      n.unit = unit;
      n.value = static_cast<double>(*v) * (unit == Unit::time ? 1e-12 : 1.0);
      return n;
    }
  }
  return std::nullopt;
}

void check_part(Parts& parts, std::string_view kind, const std::string& name, const Value& at) {
  if (kind == "gpus") parts.gpu(name, at);
  if (kind == "links") parts.link(name, at);
  if (kind == "switches") parts.switch_chip(name, at);
  if (kind == "cpus") parts.cpu(name, at);
  if (kind == "hosts") parts.host(name, at);
  if (kind == "nics") parts.nic(name, at);
  if (kind == "networks") parts.network(name, at);
}

/// Reads every part that the profile changes, so that a wrong key or unit is found at its place.
void check(const Profile& profile, const std::vector<std::string>& own, Problems& problems) {
  Parts parts{{&problems, nullptr, &profile}, nullptr};
  for (const auto& kind : profile.data().parts.entries) {
    if (std::ranges::find(kinds, kind.key.text) == kinds.end()) {
      problems.add(kind.key, fmt::format("no kind of part '{}'", kind.key.text), suggest(kind.key.text, kinds));
      continue;
    }
    if (!kind.value.is_map()) {
      problems.add(kind.value, fmt::format("'{}' must be a map of part names", kind.key.text));
      continue;
    }
    const auto known = catalog_part_names(kind.key.text);
    for (const auto& part : kind.value.entries) {
      const auto& name = part.key.text;
      if (!part.value.is_map()) {
        problems.add(part.value, fmt::format("'{}' must be a map of numbers", name));
      } else if (part.value.get("extends")) {
        problems.add(*part.value.get("extends"), "a profile changes numbers, not what a part extends");
      } else if (std::ranges::find(known, name) != known.end()) {
        check_part(parts, kind.key.text, name, part.key);
      } else if (std::ranges::find(own, name) == own.end()) {
        problems.add(part.key, fmt::format("the catalog has no part '{}' among its {}", name, kind.key.text),
                     suggest(name, known));
      }
    }
  }
}

std::shared_ptr<Profile::Data> read(const Source& file, Problems& problems) {
  auto data = std::make_shared<Profile::Data>();
  data->text = file->text;
  data->files.push_back(file);
  const auto document = parse_yaml(file, problems);
  problems.keep(file);
  if (!document.is_map()) {
    if (problems.empty())
      problems.add(file, document.line, document.column, "a profile must be a map of keys",
                   fmt::format("start with `schema: {}`", schema_name));
    return data;
  }
  MapReader r{{&problems}, document, "the profile"};
  const std::vector<std::string> schemas{std::string{schema_name}};
  r.choice("schema", schemas, true);
  data->name = r.word("name").value_or("");
  data->title = r.word("title").value_or("");
  data->system = r.word("system").value_or("");
  // Of other rooms: how it was found, and how far its predictions were off.
  for (const auto* key : {"made_by", "data", "fit", "errors", "own_parts"}) r.find(key);
  if (const auto* parts = r.need("parts")) {
    if (parts->is_map())
      data->parts = *parts;
    else if (parts->kind != Value::Kind::null)
      problems.add(*parts, "'parts' must be a map of kinds of parts");
  }
  r.done();
  std::vector<std::string> own;
  if (const auto* names = document.get("own_parts"))
    for (const auto& n : names->items) own.push_back(n.text);
  if (problems.empty()) check(Profile{data}, own, problems);
  return data;
}

/// What the build embedded as parts/fitted.yaml. Read without checks: a test reads it as a profile.
std::shared_ptr<const Profile::Data> read_shipped() {
  auto data = std::make_shared<Profile::Data>();
  for (const auto& f : embedded_catalog()) {
    if (f.path != "fitted/shipped.yaml") continue;
    data->text = f.text;
    data->files.push_back(std::make_shared<SourceText>(SourceText{"catalog/fitted/shipped.yaml", data->text, true}));
    Problems problems;
    const auto document = parse_yaml(data->files.back(), problems);
    problems.keep(data->files.back());
    problems.throw_if_any();
    if (const auto* parts = document.get("parts")) data->parts = *parts;
    if (const auto* name = document.get("name")) data->name = name->text;
  }
  return data;
}

/// Of a number of the catalog. Kept once known: a fit makes a profile of the same hundred numbers thousands of times.
Unit unit_of(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, Unit> known;
  {
    const std::lock_guard lock{mutex};
    if (const auto it = known.find(path); it != known.end()) return it->second;
  }
  const auto now = number_at(path);
  if (!now) throw sim::InputError(fmt::format("'{}' is no number of a part", path), "e.g. gpus.h100-sxm.simple.send");
  const std::lock_guard lock{mutex};
  return known.emplace(path, now->unit).first->second;
}

void collect(const Value& v, const std::string& path, std::vector<std::string>& out) {
  if (v.is_scalar() || v.get("value")) {
    if (!path.ends_with(".source")) out.push_back(path);
    return;
  }
  for (const auto& e : v.entries) collect(e.value, path.empty() ? e.key.text : path + "." + e.key.text, out);
}

}  // namespace

std::shared_ptr<const Profile> Profile::parse(std::string_view text, const std::string& where) {
  Problems problems;
  auto data = topologies::read(std::make_shared<SourceText>(SourceText{where, std::string{text}, false}), problems);
  problems.throw_if_any();
  return std::make_shared<const Profile>(std::move(data));
}

std::shared_ptr<const Profile> Profile::read(const std::string& path) {
  Problems problems;
  auto data = topologies::read(read_source(path), problems);
  problems.throw_if_any();
  return std::make_shared<const Profile>(std::move(data));
}

const Profile& Profile::shipped() {
  static const Profile shipped{read_shipped()};
  return shipped;
}

std::shared_ptr<const Profile> Profile::priors() {
  auto data = std::make_shared<Data>();
  data->instead_of_shipped = true;
  return std::make_shared<const Profile>(std::move(data));
}

std::shared_ptr<const Profile> Profile::with(const std::shared_ptr<const Profile>& base,
                                             const std::map<std::string, double>& numbers, const std::string& source) {
  auto data = base ? std::make_shared<Data>(base->data()) : std::make_shared<Data>();
  if (base) data->text.clear();
  static const auto given = std::make_shared<SourceText>(SourceText{"(given)", "", false});
  for (const auto& [path, value] : numbers) {
    const auto unit = unit_of(path);
    auto* at = &data->parts;
    for (const auto& key : split(path)) at = &child(*at, key);
    *at = Value{};
    child(*at, "value") = scalar(to_text(value, unit));
    child(*at, "source") = scalar(source);
    at->source = given.get();
    for (auto& e : at->entries) e.value.source = given.get();
  }
  return std::make_shared<const Profile>(std::move(data));
}

const std::string& Profile::name() const { return data_->name; }
const std::string& Profile::title() const { return data_->title; }
const std::string& Profile::system() const { return data_->system; }
const std::string& Profile::text() const { return data_->text; }

std::vector<std::string> Profile::paths() const {
  std::vector<std::string> out;
  collect(data_->parts, "", out);
  std::ranges::sort(out);
  return out;
}

std::optional<PartNumber> number_at(std::string_view path, const Profile* profile) {
  const auto keys = split(path);
  if (keys.size() < 3)
    throw sim::InputError(fmt::format("'{}' is no number of a part", path), "e.g. gpus.h100-sxm.simple.send");
  if (std::ranges::find(kinds, keys[0]) == kinds.end())
    throw sim::InputError(fmt::format("no kind of part '{}'", keys[0]), suggest(keys[0], kinds));
  Problems problems;
  Parts parts{{&problems, nullptr, profile}, nullptr};
  Value at;
  const auto* v = parts.values(keys[0], keys[1], at);
  problems.throw_if_any();
  std::string source;
  for (std::size_t i = 2; v && i < keys.size(); ++i) {
    if (const auto* s = v->get("source")) source = s->text;
    v = v->get(keys[i]);
  }
  if (!v) return std::nullopt;
  if (const auto* s = v->get("source")) source = s->text;
  if (const auto* inner = v->get("value")) v = inner;
  if (!v->is_scalar()) return std::nullopt;
  auto out = number_of(v->text);
  if (out) out->source = source;
  return out;
}

std::string origin_of(std::string_view path, const Profile* profile) {
  const auto keys = split(path);
  if (keys.size() < 3) return std::string{path};
  const auto says = [&](const Value* v) {
    for (std::size_t i = 2; v && i < keys.size(); ++i) v = v->get(keys[i]);
    return v != nullptr;
  };
  auto part = keys[1];
  for (int depth = 0; depth < 16; ++depth) {
    if (profile && says(profile->data().part(keys[0], part))) break;
    const bool shipped = !profile || !profile->data().instead_of_shipped;
    if (shipped && says(Profile::shipped().data().part(keys[0], part))) break;
    const auto* value = catalog_part_value(keys[0], part);
    if (!value) return std::string{path};
    if (says(value)) break;
    const auto* base = value->get("extends");
    if (!base) return std::string{path};
    part = base->text;
  }
  std::string out = keys[0] + "." + part;
  for (std::size_t i = 2; i < keys.size(); ++i) out += "." + keys[i];
  return out;
}

std::vector<std::string> parts_of(const Cluster& cluster) {
  std::set<std::string> out;
  for (int k = 0; k < cluster.kinds(); ++k) {
    const auto& machine = cluster.kind(k);
    for (const auto gpu : machine.gpus()) out.insert("gpus." + machine.gpu_model(gpu).name);
    for (const auto& d : machine.devices()) {
      if (d.kind == DeviceKind::cpu) out.insert("cpus." + d.model);
      if (d.kind == DeviceKind::nvswitch || d.kind == DeviceKind::pcie_switch) out.insert("switches." + d.model);
    }
    for (const auto& l : machine.links())
      if (catalog_part("links", l.model)) out.insert("links." + l.model);
    if (!machine.data().host_name.empty()) out.insert("hosts." + machine.data().host_name);
  }
  if (!cluster.network().empty()) out.insert("networks." + cluster.network().model().name);
  return {out.begin(), out.end()};
}

std::string to_text(double value, Unit unit) {
  switch (unit) {
    case Unit::rate:
      return fmt::format("{:.7g} GB/s", value * 1e-9);
    case Unit::time:
      return value < 1e-7 ? fmt::format("{:.7g} ns", value * 1e9) : fmt::format("{:.7g} us", value * 1e6);
    case Unit::size:
      return fmt::format("{:.0f} B", value);
    case Unit::none:
      break;
  }
  return fmt::format("{:.7g}", value);
}

}  // namespace linkcast::topologies
