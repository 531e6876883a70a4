// See catalog.hpp. Aliases are read from a line `aliases: [a, b]` of the entry without parsing the file: the catalog is
// ours, a test reads every entry in full.
#include "catalog.hpp"

#include <algorithm>

#include "embedded_catalog.hpp"
#include "linkcast/topologies/fabric.hpp"
#include "parts.hpp"

namespace linkcast::topologies {
namespace {

constexpr std::string_view suffix = ".yaml";

bool is_system(const EmbeddedFile& f) { return f.path.find('/') == std::string_view::npos && f.path.ends_with(suffix); }

std::string_view system_name(const EmbeddedFile& f) { return f.path.substr(0, f.path.size() - suffix.size()); }

std::vector<std::string_view> aliases(std::string_view text) {
  constexpr std::string_view key = "\naliases: [";
  std::vector<std::string_view> out;
  auto at = text.find(key);
  if (at == std::string_view::npos) return out;
  at += key.size();
  const auto end = text.find(']', at);
  while (at < end) {
    auto stop = std::min(text.find(',', at), end);
    auto word = text.substr(at, stop - at);
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    out.push_back(word);
    at = stop + 1;
  }
  return out;
}

const EmbeddedFile* part_file(std::string_view kind) {
  const auto path = "parts/" + std::string{kind} + ".yaml";
  for (const auto& f : embedded_catalog()) {
    if (f.path == path) return &f;
  }
  return nullptr;
}

/// Calls `f(name, section, lines before)` for each key in the first column until it returns true.
template <typename F>
void each_section(std::string_view text, F f) {
  std::size_t begin = 0;
  int line = 0, begin_line = 0;
  std::string_view name;
  std::size_t at = 0;
  while (at <= text.size()) {
    const auto eol = std::min(text.find('\n', at), text.size());
    const auto row = text.substr(at, eol - at);
    const bool starts = at < text.size() && !row.empty() && row[0] != ' ' && row[0] != '#' && row[0] != '-';
    if (starts || at == text.size()) {
      if (!name.empty() && f(name, text.substr(begin, at - begin), begin_line)) return;
      if (at == text.size()) return;
      name = row.substr(0, row.find(':'));
      begin = at;
      begin_line = line;
    }
    at = std::min(eol + 1, text.size());
    ++line;
  }
}

CatalogEntry entry_of(const EmbeddedFile& f) {
  return {std::string{system_name(f)}, "catalog/" + std::string{f.path}, f.text};
}

}  // namespace

std::optional<CatalogEntry> catalog_entry(std::string_view name) {
  const auto& files = embedded_catalog();
  for (const auto& f : files) {
    if (is_system(f) && system_name(f) == name) return entry_of(f);
  }
  for (const auto& f : files) {
    if (!is_system(f)) continue;
    const auto others = aliases(f.text);
    if (std::ranges::find(others, name) != others.end()) return entry_of(f);
  }
  return std::nullopt;
}

std::vector<std::string> catalog_spellings() {
  auto out = catalog_names();
  for (const auto& f : embedded_catalog()) {
    if (!is_system(f)) continue;
    for (auto a : aliases(f.text)) out.emplace_back(a);
  }
  return out;
}

std::vector<std::string> catalog_names() {
  std::vector<std::string> out;
  for (const auto& f : embedded_catalog()) {
    if (is_system(f)) out.emplace_back(system_name(f));
  }
  std::ranges::sort(out);
  return out;
}

std::string_view catalog_text(std::string_view name) {
  if (const auto e = catalog_entry(name)) return e->text;
  throw sim::InputError("no topology '" + std::string{name} + "' in the catalog", suggest(name, catalog_spellings()));
}

std::optional<CatalogPart> catalog_part(std::string_view kind, std::string_view name) {
  const auto* file = part_file(kind);
  if (!file) return std::nullopt;
  std::optional<CatalogPart> found;
  each_section(file->text, [&](std::string_view section_name, std::string_view section, int before) {
    if (section_name != name) return false;
    found = CatalogPart{"catalog/" + std::string{file->path}, file->text, section, before};
    return true;
  });
  return found;
}

std::vector<std::string> catalog_part_names(std::string_view kind) {
  std::vector<std::string> out;
  if (const auto* file = part_file(kind)) {
    each_section(file->text, [&](std::string_view name, std::string_view, int) {
      out.emplace_back(name);
      return false;
    });
  }
  return out;
}

}  // namespace linkcast::topologies
