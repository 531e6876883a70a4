// The section `errors` of a profile: how far predictions with it were off, as profile_text.cpp writes it.
#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "linkcast/calibration/expected_error.hpp"
#include "yaml_document.hpp"

namespace linkcast::calibration {
namespace {

const std::array<std::string, 9> keys{"system",      "architecture", "collective", "sizes",  "median_percent",
                                      "p90_percent", "points",       "smallest",   "largest"};
const std::array<std::string, 3> classes{"below_1M", "from_1M_to_64M", "from_64M"};  // in the order of SizeClass

class ErrorsReader {
 public:
  ErrorsReader(std::string_view text, const std::string& where) : yaml_{text, where} {
    if (yaml_.load(std::string{text}))
      if (const auto errors = yaml_.root["errors"]) read(errors);
    yaml_.problems.throw_if_any();
  }
  std::vector<ErrorRow> rows;

 private:
  void read(const YAML::Node& errors) {
    if (errors.IsNull()) return;
    if (!errors.IsSequence())
      return yaml_.problem(errors, "'errors' must be a list of rows",
                           "keep it as `linkcast calibrate fit` wrote it, or leave it out");
    for (const auto& row : errors) {
      if (row.IsMap())
        rows.push_back(row_from(row));
      else
        yaml_.problem(row, "a row of 'errors' must be a mapping", fmt::format("of {}", fmt::join(keys, ", ")));
    }
  }

  ErrorRow row_from(const YAML::Node& map) {
    ErrorRow row{};
    std::string given;
    yaml_.each(map, [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      given += '\n' + key + '\n';
      if (key == "system")
        row.system = yaml_.text(key, value);
      else if (key == "architecture")
        row.architecture = yaml_.text(key, value);
      else if (key == "collective")
        row.op = op_from(key, value);
      else if (key == "sizes")
        row.sizes = class_from(key, value);
      else if (key == "median_percent")
        row.median_percent = positive(key, value);
      else if (key == "p90_percent")
        row.p90_percent = positive(key, value);
      else if (key == "points")
        row.points = yaml_.whole(key, value);
      else if (key == "smallest")
        row.smallest = static_cast<std::int64_t>(positive(key, value));
      else if (key == "largest")
        row.largest = static_cast<std::int64_t>(positive(key, value));
      else
        yaml_.problem(at, fmt::format("unknown key '{}' in a row of 'errors'", key), suggestion(key, keys));
    });
    for (const auto& key : keys)
      if (given.find('\n' + key + '\n') == std::string::npos)
        yaml_.problem(map, fmt::format("a row of 'errors' without '{}'", key));
    return row;
  }

  static std::string suggestion(const std::string& word, std::span<const std::string> known) {
    const auto near = sim::nearest(word, known);
    return near.empty() ? fmt::format("expected one of {}", fmt::join(known, ", "))
                        : fmt::format("did you mean '{}'?", near);
  }
  models::nccl::Op op_from(const std::string& key, const YAML::Node& value) {
    const auto word = yaml_.text(key, value);
    const auto op = models::nccl::op_from(word);
    if (!op)
      yaml_.problem(value, fmt::format("unknown collective '{}'", word), suggestion(word, models::nccl::op_names()));
    return op.value_or(models::nccl::Op::all_reduce);
  }
  SizeClass class_from(const std::string& key, const YAML::Node& value) {
    const auto word = yaml_.text(key, value);
    for (std::size_t c = 0; c < classes.size(); ++c)
      if (word == classes[c]) return static_cast<SizeClass>(c);
    yaml_.problem(value, fmt::format("unknown class of size '{}'", word), suggestion(word, classes));
    return SizeClass::below_1M;
  }
  /// Percent and bytes; a profile of our own stays far below the bound.
  double positive(const std::string& key, const YAML::Node& value) {
    const auto n = yaml_.number(key, value);
    if (n && *n >= 0 && *n <= 1e15) return *n;
    if (n) yaml_.problem(value, fmt::format("'{}' is not a value for '{}'", value.Scalar(), key), "from 0 to 1e15");
    if (value.IsNull()) yaml_.problem(value, fmt::format("'{}' has no value", key), "expected a number");
    return 0;
  }

  YamlDocument yaml_;
};

}  // namespace

std::vector<ErrorRow> errors_of(const topologies::Profile& profile, const std::string& where) {
  if (profile.text().empty()) return {};
  return ErrorsReader(profile.text(), where).rows;
}

}  // namespace linkcast::calibration
