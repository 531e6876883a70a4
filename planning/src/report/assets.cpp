// See assets.hpp.
#include "assets.hpp"

#include <algorithm>
#include <stdexcept>

namespace linkcast::planning::report {
namespace {

/// Browsers would look for the source map when their tools are open.
std::string_view without_source_map(std::string_view text) {
  const auto at = text.rfind("\n//# sourceMappingURL=");
  return at == text.npos ? text : text.substr(0, at);
}

bool is_part(std::string_view name) { return name.starts_with("vega-") && name.ends_with(".min.js"); }

}  // namespace

std::string_view asset(std::string_view name) {
  const auto it = std::ranges::find(assets(), name, &Asset::name);
  if (it == assets().end()) throw std::logic_error("the report's file " + std::string{name} + " was not embedded");
  return it->text;
}

std::string plotting_library(const std::vector<Asset>& from) {
  std::string out;
  for (const auto& a : from) {
    if (!is_part(a.name)) continue;
    if (out.empty()) out = asset("modules.js");
    const auto module = a.name.substr(0, a.name.size() - std::string_view{".min.js"}.size());
    // Their first question is for CommonJS, their second for AMD.
    out += "modules.part(\"" + std::string{module} + "\", function (define, exports, module) {\n";
    out += without_source_map(a.text);
    out += "\n});\n";
  }
  if (!out.empty()) out += "const vega = modules.joined();\n";
  return out;
}

std::string_view plotting_licence(const std::vector<Asset>& from) {
  const auto it = std::ranges::find(from, "copyright", &Asset::name);
  return it == from.end() ? std::string_view{} : it->text;
}

}  // namespace linkcast::planning::report
