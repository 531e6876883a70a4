// See chart.hpp.
#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "assets.hpp"
#include "html.hpp"

namespace linkcast::planning::report {
namespace {

Json& named(Json& list, std::string_view name) {
  const auto it = std::ranges::find_if(list, [&](const Json& x) { return x.at("name") == name; });
  if (it == list.end()) throw std::logic_error("a chart has no " + std::string{name});
  return *it;
}

}  // namespace

Chart::Chart(std::string_view spec, std::string description)
    : spec_(Json::parse(asset(spec))), description_{std::move(description)} {
  spec_["description"] = description_;
}

void Chart::signal(std::string_view name, Json value) { named(spec_["signals"], name)["value"] = std::move(value); }
void Chart::domain(std::string_view scale, const std::vector<std::string>& values) {
  named(spec_["scales"], scale)["domain"] = values;
}
void Chart::range(std::string_view scale, const std::vector<std::string>& values) {
  named(spec_["scales"], scale)["range"] = values;
}

std::string for_script(const Json& json) {
  const auto text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  for (const char c : text) {
    // Inside of JSON these stand in strings only. No end of the script, no comment, no entity can be among them.
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  }
  return out;
}

std::string Chart::html(std::string_view caption) const {
  auto spec = spec_;
  named(spec["data"], "rows")["values"] = rows_;
  return fmt::format(
      "<figure class=\"chart\">\n<figcaption>{}</figcaption>\n<div class=\"canvas\"></div>\n"
      "<script type=\"application/json\">{}</script>\n</figure>\n",
      escaped(caption), for_script(spec));
}

const char* ink_on(std::size_t i) {
  // Of the ranges in stack.vega.json and timeline.vega.json.
  static constexpr std::array inks{"#ffffff", "#1c2733", "#ffffff", "#1c2733",
                                   "#1c2733", "#ffffff", "#1c2733", "#1c2733"};
  static_assert(inks.size() == palette_size);
  return inks[i % inks.size()];
}

}  // namespace linkcast::planning::report
