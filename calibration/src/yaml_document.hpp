// A YAML file of measurements as the corpus readers take it: one document, a mapping, each key once, and problems at
// their place. Knows no key.
#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "problems.hpp"

namespace linkcast::calibration {

class YamlDocument {
 public:
  YamlDocument(std::string_view text, const std::string& where) : problems{text, where} {}

  /// Parses `text`, which is the file or a part of it with the same line numbers. False: the problem is noted.
  bool load(const std::string& text);

  void problem(const YAML::Node& at, std::string text, std::string help = {});
  /// Calls `use(key, where it stands, value)` for each key of a mapping; a second time for none.
  void each(const YAML::Node& map,
            const std::function<void(const std::string&, const YAML::Node&, const YAML::Node&)>& use);
  /// A scalar, or nothing for null; anything else is a problem.
  std::optional<std::string> scalar(const std::string& key, const YAML::Node& value);
  /// The scalar as text; empty for null.
  std::string text(const std::string& key, const YAML::Node& value);
  /// A finite number, or nothing for null; anything else is a problem.
  std::optional<double> number(const std::string& key, const YAML::Node& value);
  /// A whole number from 1, or 0 for null; anything else is a problem.
  int whole(const std::string& key, const YAML::Node& value);

  YAML::Node root;
  Problems problems;
};

}  // namespace linkcast::calibration
