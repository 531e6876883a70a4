// YAML of measurements. See yaml_document.hpp.
#include "yaml_document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

constexpr int kMostRanks = 10'000'000;

/// Where a second document begins. YAML::LoadAll would tell too, but yaml-cpp 0.7 never ends it on a stray ']'.
std::optional<Place> second_document(const std::string& text) {
  struct Events : YAML::EventHandler {
    YAML::Mark start;
    void OnDocumentStart(const YAML::Mark& mark) override { start = mark; }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
    void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
    void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
    void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
    void OnMapEnd() override {}
  } events;
  std::istringstream in(text);
  YAML::Parser parser(in);
  if (!parser.HandleNextDocument(events) || !parser.HandleNextDocument(events)) return std::nullopt;
  return Place{std::max(0, events.start.line) + 1, std::max(0, events.start.column) + 1};
}

}  // namespace

bool YamlDocument::load(const std::string& text) {
  try {
    if (const auto more = second_document(text)) {
      problems.at(more->line, more->column, 1, "the file goes on after the end of its document",
                  "one measurement in one file");
      return false;
    }
    root = YAML::Load(text);
    if (!root.IsMap()) {
      problems.at(1, 1, 1, "expected a mapping of keys", "as in 'collective: all_reduce'");
      return false;
    }
    return true;
  } catch (const YAML::Exception& e) {
    const bool placed = e.mark.line >= 0;
    problems.at(placed ? e.mark.line + 1 : 0, placed ? e.mark.column + 1 : 0, 1, "not valid YAML: " + e.msg);
    return false;
  }
}

void YamlDocument::problem(const YAML::Node& at, std::string text, std::string help) {
  const auto mark = at.Mark();
  const auto length = at.IsScalar() ? at.Scalar().size() : 1;
  if (mark.line < 0) return problems.whole_file(std::move(text), std::move(help));
  problems.at(mark.line + 1, mark.column + 1, length, std::move(text), std::move(help));
}

void YamlDocument::each(const YAML::Node& map,
                        const std::function<void(const std::string&, const YAML::Node&, const YAML::Node&)>& use) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) {
      problem(entry.first, "a key that is not a name");
      continue;
    }
    const auto& key = entry.first.Scalar();
    if (!seen.insert(key).second) {
      problem(entry.first, fmt::format("duplicate key '{}'", key));
      continue;
    }
    use(key, entry.first, entry.second);
  }
}

std::optional<std::string> YamlDocument::scalar(const std::string& key, const YAML::Node& value) {
  if (value.IsNull()) return std::nullopt;
  if (value.IsScalar()) return value.Scalar();
  problem(value, fmt::format("'{}' is a {}, expected a single value", key, value.IsMap() ? "mapping" : "list"));
  return std::nullopt;
}

std::string YamlDocument::text(const std::string& key, const YAML::Node& value) {
  return scalar(key, value).value_or("");
}

std::optional<double> YamlDocument::number(const std::string& key, const YAML::Node& value) {
  const auto s = scalar(key, value);
  if (!s) return std::nullopt;
  const auto n = number_in(*s);
  if (n && std::isfinite(*n)) return n;
  problem(value, fmt::format("'{}' is not a value for '{}'", *s, key), "expected a number");
  return std::nullopt;
}

int YamlDocument::whole(const std::string& key, const YAML::Node& value) {
  const auto s = scalar(key, value);
  if (!s) return 0;
  int n = 0;
  const auto [stop, error] = std::from_chars(s->data(), s->data() + s->size(), n);
  if (error == std::errc{} && stop == s->data() + s->size() && n >= 1 && n <= kMostRanks) return n;
  problem(value, fmt::format("'{}' is not a value for '{}'", *s, key), "expected a whole number from 1");
  return 0;
}

}  // namespace linkcast::calibration
