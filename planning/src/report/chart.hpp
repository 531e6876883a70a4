// A chart: one of the Vega specifications of planning/report with rows put into it. Knows no study.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::planning::report {

using Json = nlohmann::ordered_json;

class Chart {
 public:
  /// `spec`: "bars.vega.json". `description`: what it shows, for who does not see it.
  Chart(std::string_view spec, std::string description);
  void row(Json row) { rows_.push_back(std::move(row)); }
  std::size_t rows() const { return rows_.size(); }
  void signal(std::string_view name, Json value);
  void domain(std::string_view scale, const std::vector<std::string>& values);
  void range(std::string_view scale, const std::vector<std::string>& values);
  void without_legend() { spec_.erase("legends"); }

  /// A figure, with the specification inside. `caption`: a sentence that says how to read it.
  std::string html(std::string_view caption) const;

 private:
  Json spec_, rows_ = Json::array();
  std::string description_;
};

/// JSON that may stand inside a <script>.
std::string for_script(const Json& json);

/// Black or white, whichever is read better on the i-th colour of stacks and timelines.
const char* ink_on(std::size_t i);
inline constexpr std::size_t palette_size = 8;

}  // namespace linkcast::planning::report
