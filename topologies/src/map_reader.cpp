// See map_reader.hpp.
#include "map_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace linkcast::topologies {
namespace {

std::string_view kind_name(const Value& v) {
  switch (v.kind) {
    case Value::Kind::null:
      return "nothing";
    case Value::Kind::scalar:
      return "one value";
    case Value::Kind::sequence:
      return "a list";
    case Value::Kind::map:
      return "a map";
  }
  return "";
}

std::string shorten(std::string_view text) {
  return text.size() <= 60 ? std::string{text} : fmt::format("{}…", text.substr(0, 60));
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t n = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return n;
}

std::string suggest(std::string_view name, std::span<const std::string> known) {
  if (auto near = sim::nearest(name, known); !near.empty()) return fmt::format("did you mean '{}'?", near);
  if (known.empty()) return {};
  constexpr std::size_t listed = 24;
  std::vector<std::string> names{known.begin(), known.end()};
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  const bool all = names.size() <= listed;
  if (!all) names.resize(listed);
  return fmt::format("one of: {}{}", fmt::join(names, ", "), all ? "" : ", …");
}

MapReader::MapReader(ReadContext context, const Value& map, std::string what, std::string inherited_source)
    : context_{context}, map_{map}, what_{std::move(what)}, source_{std::move(inherited_source)} {
  if (!map_.is_map()) problem(map_, fmt::format("{} must be a map of keys and values, not {}", what_, kind_name(map_)));
  if (const auto* s = map_.get("source"); s && s->is_scalar()) {
    known_.emplace_back("source");
    source_ = s->text;
  }
}

const Value* MapReader::find(std::string_view key) {
  known_.emplace_back(key);
  return map_.get(key);
}

const Value* MapReader::need(std::string_view key) {
  const auto* v = find(key);
  if (!v && sound()) problem(map_, fmt::format("{} has no '{}'", what_, key), fmt::format("add `{}: …`", key));
  return v;
}

Written MapReader::written(const Value& v, std::string_view key) const {
  if (v.is_scalar()) return {&v, {}};
  if (v.is_map() && v.get("value")) {
    MapReader inner{{context_.problems, nullptr}, v, fmt::format("'{}'", key)};
    const auto* scalar = inner.need("value");
    inner.find("source");
    inner.done();
    if (scalar->is_scalar()) return {scalar, inner.source()};
    problem(*scalar, fmt::format("'{}' must be one value, not {}", key, kind_name(*scalar)));
    return {};
  }
  problem(v, fmt::format("'{}' must be one value, not {}", key, kind_name(v)),
          "write it plainly or as {value: …, source: …}");
  return {};
}

void MapReader::note(std::string_view key, const Written& w) {
  if (!context_.numbers) return;
  std::string source = !w.source.empty() ? w.source : source_;
  if (source.empty() && w.value->source) source = fmt::format("{}:{}", w.value->source->name, w.value->line);
  context_.numbers->push_back({fmt::format("{}: {}", what_, key), w.value->text, std::move(source)});
}

std::optional<std::string> MapReader::word(std::string_view key, bool required) {
  const auto* v = required ? need(key) : find(key);
  if (!v) return std::nullopt;
  const auto w = written(*v, key);
  if (!w.value) return std::nullopt;
  if (w.value->text.empty()) {
    problem(*w.value, fmt::format("'{}' is empty", key));
    return std::nullopt;
  }
  return w.value->text;
}

std::optional<std::int64_t> MapReader::integer(std::string_view key, std::int64_t low, std::int64_t high,
                                               bool required) {
  const auto* v = required ? need(key) : find(key);
  if (!v) return std::nullopt;
  const auto w = written(*v, key);
  if (!w.value) return std::nullopt;
  const auto n = parse_integer(w.value->text);
  if (!n || *n < low || *n > high) {
    problem(*w.value,
            fmt::format("'{}' must be a whole number from {} to {}, not '{}'", key, low, high, shorten(w.value->text)));
    return std::nullopt;
  }
  return n;
}

std::optional<bool> MapReader::boolean(std::string_view key, bool required) {
  const auto* v = required ? need(key) : find(key);
  if (!v) return std::nullopt;
  const auto w = written(*v, key);
  if (!w.value) return std::nullopt;
  if (w.value->text == "true") return true;
  if (w.value->text == "false") return false;
  problem(*w.value, fmt::format("'{}' must be true or false, not '{}'", key, shorten(w.value->text)));
  return std::nullopt;
}

std::optional<double> MapReader::ratio(std::string_view key, double low, double high, bool required) {
  const auto* v = required ? need(key) : find(key);
  if (!v) return std::nullopt;
  const auto w = written(*v, key);
  if (!w.value) return std::nullopt;
  double x = 0;
  const auto& text = w.value->text;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || stop != text.data() + text.size() || !std::isfinite(x) || x < low || x > high) {
    problem(*w.value,
            fmt::format("'{}' must be a number from {} to {} without a unit, not '{}'", key, low, high, shorten(text)));
    return std::nullopt;
  }
  note(key, w);
  return x;
}

std::optional<std::int64_t> MapReader::quantity(std::string_view key, Dimension d, bool required, bool zero_allowed) {
  const auto* v = required ? need(key) : find(key);
  if (!v) return std::nullopt;
  const auto w = written(*v, key);
  if (!w.value) return std::nullopt;
  auto parsed =
      parse_quantity(w.value->text.size() <= 60 ? w.value->text : shorten(w.value->text), d, key, zero_allowed);
  if (auto* e = std::get_if<QuantityError>(&parsed)) {
    problem(*w.value, std::move(e->problem), std::move(e->help));
    return std::nullopt;
  }
  // Sums and products of quantities must stay far from 2^63: 1 PB/s and 1000 s are beyond any hardware.
  constexpr std::int64_t ceiling = 1'000'000'000'000'000;
  if (d != Dimension::size && std::get<std::int64_t>(parsed) > ceiling) {
    problem(*w.value, fmt::format("'{}' is beyond any hardware: '{}'", key, w.value->text),
            d == Dimension::rate ? "at most 1000 TB/s" : "at most 1000 s");
    return std::nullopt;
  }
  note(key, w);
  return std::get<std::int64_t>(parsed);
}

std::optional<sim::Rate> MapReader::rate(std::string_view key, bool required) {
  const auto n = quantity(key, Dimension::rate, required, false);
  return n ? std::optional{sim::Rate::bytes_per_second(*n)} : std::nullopt;
}
std::optional<sim::Time> MapReader::time(std::string_view key, bool required) {
  const auto n = quantity(key, Dimension::time, required, true);
  return n ? std::optional{sim::Time::picoseconds(*n)} : std::nullopt;
}
std::optional<sim::Bytes> MapReader::size(std::string_view key, bool required, bool zero_allowed) {
  const auto n = quantity(key, Dimension::size, required, zero_allowed);
  return n ? std::optional{sim::Bytes{*n}} : std::nullopt;
}

std::optional<std::string> MapReader::choice(std::string_view key, std::span<const std::string> choices,
                                             bool required) {
  const auto* v = required ? need(key) : find(key);
  if (!v) return std::nullopt;
  const auto w = written(*v, key);
  if (!w.value) return std::nullopt;
  if (std::ranges::find(choices, w.value->text) == choices.end()) {
    problem(*w.value, fmt::format("'{}' cannot be '{}'", key, shorten(w.value->text)), suggest(w.value->text, choices));
    return std::nullopt;
  }
  return w.value->text;
}

std::optional<std::vector<int>> MapReader::integers(std::string_view key, int low, int high, bool required) {
  const auto* v = required ? need(key) : find(key);
  if (!v) return std::nullopt;
  std::vector<int> out;
  bool good = true;
  const auto one = [&](const Value& item) {
    const auto bad = [&] {
      problem(item, fmt::format("'{}' must hold whole numbers from {} to {}, not '{}'", key, low, high,
                                item.is_scalar() ? shorten(item.text) : std::string{kind_name(item)}));
      good = false;
    };
    if (!item.is_scalar()) return bad();
    const std::string_view text = item.text;
    const auto dash = text.find('-', 1);
    const auto first = parse_integer(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_integer(text.substr(dash + 1));
    if (!first || !last || *first < low || *last > high || *first > *last || out.size() > 10'000) return bad();
    for (auto i = *first; i <= *last; ++i) out.push_back(static_cast<int>(i));
  };
  if (v->is_sequence()) {
    for (const auto& item : v->items) one(item);
  } else {
    one(*v);
  }
  return good ? std::optional{std::move(out)} : std::nullopt;
}

void MapReader::done() {
  if (!sound()) return;
  for (const auto& e : map_.entries) {
    if (context_.problems->full()) return;
    if (std::ranges::find(known_, e.key.text) != known_.end()) continue;
    problem(e.key, fmt::format("unknown key '{}' in {}", shorten(e.key.text), what_), suggest(e.key.text, known_));
  }
}

}  // namespace linkcast::topologies
