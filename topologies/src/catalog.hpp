// The catalog as the loader sees it: systems by name or alias, parts by kind and name. Knows no schema.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::topologies {

struct CatalogEntry {
  std::string name;  // "dgx-h100"
  std::string file;  // "catalog/dgx-h100.yaml", as messages say it
  std::string_view text;
};

/// By name or alias.
std::optional<CatalogEntry> catalog_entry(std::string_view name);
/// Names and aliases: what a wrong name is compared with.
std::vector<std::string> catalog_spellings();

/// A part's own lines of parts/<kind>.yaml: only what is needed is parsed.
struct CatalogPart {
  std::string file;
  std::string_view text;     // the whole file, for quoting
  std::string_view section;  // "h100-sxm:" and what is indented under it
  int lines_before = 0;
};
std::optional<CatalogPart> catalog_part(std::string_view kind, std::string_view name);

}  // namespace linkcast::topologies
