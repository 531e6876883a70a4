// See trace_value.hpp.
#include "linkcast/workloads/trace_value.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>
#include <sstream>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace linkcast::workloads::trace {
namespace {

constexpr std::size_t max_problems = 50;
constexpr std::size_t max_values = 1'000'000;  // aliases may multiply: a "billion laughs" file is refused
constexpr int max_nesting = 64;

struct Refused {};

class Builder {
 public:
  Builder(const Source& file, Problems& problems, int line_offset)
      : file_{file}, problems_{problems}, offset_{line_offset} {}

  Value build(const YAML::Node& node, int depth = 0) {
    Value v;
    const auto mark = node.Mark();
    v.place = {file_, mark.line + 1 + offset_, mark.column + 1, 1};
    if (++count_ > max_values) refuse(v, fmt::format("more than {} values once aliases are written out", max_values));
    if (depth > max_nesting) refuse(v, fmt::format("nested more than {} levels deep", max_nesting));
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        v.kind = Value::Kind::scalar;
        v.text = node.Scalar();
        v.quoted = node.Tag() == "!";
        v.place.length = static_cast<int>(std::clamp<std::size_t>(v.text.size(), 1, 80)) + (v.quoted ? 2 : 0);
        break;
      case YAML::NodeType::Sequence:
        v.kind = Value::Kind::sequence;
        for (const auto& item : node) v.items.push_back(build(item, depth + 1));
        break;
      case YAML::NodeType::Map:
        v.kind = Value::Kind::map;
        for (const auto& entry : node) add_entry(v, build(entry.first, depth + 1), build(entry.second, depth + 1));
        break;
      case YAML::NodeType::Null:
      case YAML::NodeType::Undefined:
        break;
    }
    return v;
  }

 private:
  [[noreturn]] void refuse(const Value& at, std::string problem) {
    problems_.add(at, std::move(problem), "write long traces as JSON Lines");
    throw Refused{};
  }

  void add_entry(Value& map, Value key, Value value) {
    if (!key.is_scalar()) {
      problems_.add(key, "a key must be a word", "write `name: value`");
    } else if (const auto* first = map.get(key.text)) {
      problems_.add(key, fmt::format("duplicate key '{}'", key.text),
                    fmt::format("first written in line {}: keep one of them", first->place.line));
    } else {
      map.entries.emplace_back(std::move(key), std::move(value));
    }
  }

  const Source& file_;
  Problems& problems_;
  int offset_;
  std::size_t count_ = 0;
};

/// The line (from 0) of a `---` after the first content, or -1. YAML::LoadAll would tell too, but in yaml-cpp 0.7 it
/// never ends on a stray ']' after the first document.
int second_document(const std::string& text) {
  std::istringstream lines{text};
  std::string line;
  bool content = false;
  for (int number = 0; std::getline(lines, line); ++number) {
    const bool marker = line.rfind("---", 0) == 0 && (line.size() == 3 || line[3] == ' ' || line[3] == '\r');
    if (marker && content) return number;
    const auto first = line.find_first_not_of(" \t\r");
    if (marker ? line.size() > 4 : first != std::string::npos && line[first] != '#' && line[first] != '%')
      content = true;
  }
  return -1;
}

Value parse(const Source& file, const std::string& text, int line_offset, Problems& problems) {
  try {
    const auto document = YAML::Load(text);
    if (!document.IsDefined() || document.IsNull()) {
      problems.add(Place{file, line_offset + 1, 1, 1}, "nothing in it", "docs/trace.md has an example to start from");
      return {};
    }
    if (const int second = second_document(text); second >= 0) {
      problems.add(Place{file, second + 1 + line_offset, 1, 1}, "a second document in the file",
                   "one scenario to a file");
    }
    return Builder{file, problems, line_offset}.build(document);
  } catch (const YAML::Exception& e) {
    const auto mark = e.mark.is_null() ? YAML::Mark{} : e.mark;
    problems.add(Place{file, mark.line + 1 + line_offset, mark.column + 1, 1}, "not valid YAML: " + e.msg,
                 "check indentation, brackets, quotes and colons here");
  } catch (const Refused&) {
  }
  return {};
}

}  // namespace

const Value* Value::get(std::string_view key) const {
  for (const auto& [k, v] : entries) {
    if (k.text == key) return &v;
  }
  return nullptr;
}

void Problems::add(const Place& at, std::string problem, std::string help) {
  if (full()) return;
  const auto same = [&](const Found& f) {
    return f.source == at.source && f.diagnostic.at.line == at.line && f.diagnostic.at.column == at.column &&
           f.diagnostic.problem == problem;
  };
  if (std::ranges::any_of(found_, same)) return;
  found_.push_back({at.source,
                    {{at.source ? at.source->name : std::string{}, at.line, at.column, at.length},
                     std::move(problem),
                     std::move(help)}});
}

bool Problems::full() const { return found_.size() >= max_problems; }

void Problems::throw_if_any() const {
  if (found_.empty()) return;
  const Source& chosen = found_.front().source;
  std::vector<sim::Diagnostic> diagnostics;
  for (const auto& f : found_) {
    if (f.source == chosen) diagnostics.push_back(f.diagnostic);
  }
  throw sim::InputError(std::move(diagnostics), chosen ? std::string_view{chosen->text} : std::string_view{});
}

Source read_source(const std::string& path, std::string_view larger) {
  namespace fs = std::filesystem;
  const auto fail = [&](std::string problem, std::string help) {
    throw sim::InputError({{{path, 0, 0, 1}, std::move(problem), std::move(help)}}, {});
  };
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) fail("no such file", "");
  if (fs::is_directory(status)) fail("is a directory", "name a file inside it");
  if (!fs::is_regular_file(status)) fail("is not a regular file", "");
  const auto size = fs::file_size(path, error);
  if (error) fail("cannot be read: " + error.message(), "");
  if (size > max_yaml_bytes) {
    fail(fmt::format("has {} MiB; at most {} MiB of YAML are read", size >> 20, max_yaml_bytes >> 20),
         std::string{larger});
  }
  auto out = std::make_shared<SourceText>();
  out->name = path;
  out->text.resize(static_cast<std::size_t>(size));
  std::ifstream in{path, std::ios::binary};
  in.read(out->text.data(), static_cast<std::streamsize>(size));
  if (!in) fail("cannot be read", "check its permissions");
  return out;
}

Value parse_yaml(const Source& file, Problems& problems) { return parse(file, file->text, 0, problems); }

Value parse_yaml_line(const Source& file, const std::string& text, int line_number, Problems& problems) {
  return parse(file, text, line_number - 1, problems);
}

}  // namespace linkcast::workloads::trace
