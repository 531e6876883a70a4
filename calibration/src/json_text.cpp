// JSON in files and logs. See json_text.hpp.
#include "json_text.hpp"

namespace linkcast::calibration {
namespace {

using nlohmann::json;

/// Behind the brace that closes the one at `begin`; npos: it is never closed.
std::size_t end_of_object(std::string_view text, std::size_t begin) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

/// Whether a text that ends here ends in a list "env", which nccl-tests fills with its user's whole environment. A
/// damaged list has no certain end: only a key that nccl-tests writes behind it shows that it is over.
bool may_be_in_environment(std::string_view before) {
  const auto env = before.rfind("\"env\"");
  if (env == std::string_view::npos) return false;
  for (const std::string_view key : {"\"nccl_version\"", "\"config\"", "\"results\"", "\"out_of_place\""})
    if (before.find(key, env) != std::string_view::npos) return false;
  return true;
}

}  // namespace

std::optional<json> parse_json(std::string_view text, std::string_view part, Problems& problems, std::string cut_help) {
  const auto offset = static_cast<std::size_t>(part.data() - text.data());
  try {
    return json::parse(part.begin(), part.end());
  } catch (const json::parse_error& e) {
    const auto place = place_of(text, offset + (e.byte == 0 ? 0 : e.byte - 1));
    const bool cut = e.byte > trim(part).size();
    if (may_be_in_environment(part.substr(0, e.byte))) problems.quote_nothing();
    problems.at(place.line, place.column, 1, cut ? "the file ends in the middle" : "not valid JSON",
                cut ? std::move(cut_help) : std::string{});
  } catch (const json::out_of_range&) {
    problems.whole_file("not valid JSON: a number is too large", "times are microseconds, sizes are below 2^63");
  }
  return std::nullopt;
}

std::vector<JsonObject> json_objects(std::string_view text, std::string_view key, Problems& problems) {
  std::vector<JsonObject> out;
  for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at)) {
    const auto begin = at == 0 ? std::string_view::npos : text.find_last_not_of(" \t\r\n", at - 1);
    at += key.size();
    if (begin == std::string_view::npos || text[begin] != '{') continue;
    const auto end = end_of_object(text, begin);
    const auto part = text.substr(begin, end == std::string_view::npos ? end : end - begin);
    auto value = parse_json(text, part, problems, "was the run killed, or the file cut?");
    if (!value) return out;
    out.push_back({std::move(*value), place_of(text, begin)});
    at = end;
  }
  return out;
}

const json& json_member(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

const std::string& json_text(const json& value) {
  static const std::string none;
  const auto* text = value.get_ptr<const std::string*>();
  return text == nullptr ? none : *text;
}

int json_whole(const json& value, int otherwise) {
  if (!value.is_number_integer()) return otherwise;
  const auto n = value.get<std::int64_t>();
  return n < 0 || n > 10'000'000 ? otherwise : static_cast<int>(n);
}

}  // namespace linkcast::calibration
