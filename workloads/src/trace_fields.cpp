// See trace_fields.hpp.
#include "linkcast/workloads/trace_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

namespace linkcast::workloads::trace {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t n = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return n;
}

std::optional<bool> truth(std::string_view text) {
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  return std::nullopt;
}

}  // namespace

std::string suggest(std::string_view name, std::span<const std::string> known) {
  if (const auto near = sim::nearest(name, known); !near.empty()) return fmt::format("did you mean '{}'?", near);
  if (known.empty() || known.size() > 12) return {};
  return fmt::format("there {} {}", known.size() == 1 ? "is" : "are", fmt::join(known, ", "));
}

Fields::Fields(Problems& problems, const Value& map, std::string what)
    : problems_{problems}, map_{map}, what_{std::move(what)} {
  if (!map.is_map()) problems.add(map, fmt::format("{} must be a map", what_), "write `key: value` lines");
}

const Value* Fields::find(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  return map_.get(key);
}

const Value* Fields::need(std::string_view key) {
  const auto* v = find(key);
  if (v == nullptr && sound()) problems_.add(map_, fmt::format("{} has no '{}'", what_, key));
  return v;
}

std::optional<std::string> Fields::word(std::string_view key) {
  const auto* v = find(key);
  if (v == nullptr) return std::nullopt;
  if (!v->is_scalar() || v->text.empty()) {
    problems_.add(*v, fmt::format("'{}' must be a word", key));
    return std::nullopt;
  }
  return v->text;
}

std::optional<bool> Fields::boolean(std::string_view key) {
  const auto* v = find(key);
  if (v == nullptr) return std::nullopt;
  if (v->is_scalar()) {
    if (const auto b = truth(v->text)) return b;
  }
  problems_.add(*v, fmt::format("'{}' must be true or false", key));
  return std::nullopt;
}

std::optional<std::int64_t> Fields::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  const auto* v = find(key);
  if (v == nullptr) return std::nullopt;
  return integer_of(problems_, *v, key, low, high);
}

std::optional<sim::Time> Fields::time(std::string_view key, bool zero_allowed) {
  const auto* v = find(key);
  if (v == nullptr) return std::nullopt;
  return time_of(problems_, *v, key, zero_allowed);
}

std::vector<std::string> Fields::words(std::string_view key) {
  const auto* v = find(key);
  std::vector<std::string> out;
  if (v == nullptr) return out;
  const auto take = [&](const Value& item) {
    if (item.is_scalar() && !item.text.empty()) {
      out.push_back(item.text);
    } else {
      problems_.add(item, fmt::format("'{}' must be a name or a list of names", key));
    }
  };
  if (v->is_sequence()) {
    for (const auto& item : v->items) take(item);
  } else {
    take(*v);
  }
  return out;
}

void Fields::done() {
  for (const auto& [key, value] : map_.entries) {
    if (std::ranges::find(known_, key.text) != known_.end()) continue;
    const auto near = sim::nearest(key.text, known_);
    auto help =
        near.empty() ? fmt::format("it has {}", fmt::join(known_, ", ")) : fmt::format("did you mean '{}'?", near);
    problems_.add(key, fmt::format("unknown key '{}' in {}", key.text, what_), std::move(help));
  }
}

std::optional<std::int64_t> integer_of(Problems& problems, const Value& v, std::string_view what, std::int64_t low,
                                       std::int64_t high) {
  const auto n = v.is_scalar() ? whole(v.text) : std::nullopt;
  if (!n) {
    problems.add(v, fmt::format("'{}' must be a whole number", what));
    return std::nullopt;
  }
  if (*n < low || *n > high) {
    problems.add(v, fmt::format("'{}' is {}: it must be from {} to {}", what, *n, low, high));
    return std::nullopt;
  }
  return n;
}

namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array time_units{Unit{"ps", 1},   Unit{"ns", 1e3}, Unit{"us", 1e6},
                                Unit{"µs", 1e6}, Unit{"ms", 1e9}, Unit{"s", 1e12}};
constexpr std::array size_units{Unit{"B", 1},           Unit{"KB", 1e3},           Unit{"MB", 1e6},
                                Unit{"GB", 1e9},        Unit{"TB", 1e12},          Unit{"KiB", 1024.0},
                                Unit{"MiB", 1048576.0}, Unit{"GiB", 1073741824.0}, Unit{"TiB", 1099511627776.0},
                                Unit{"K", 1024.0},      Unit{"M", 1048576.0},      Unit{"G", 1073741824.0}};
constexpr std::array rate_units{Unit{"b/s", 0.125},  Unit{"kb/s", 125}, Unit{"Mb/s", 125e3}, Unit{"Gb/s", 125e6},
                                Unit{"Tb/s", 125e9}, Unit{"B/s", 1},    Unit{"KB/s", 1e3},   Unit{"MB/s", 1e6},
                                Unit{"GB/s", 1e9},   Unit{"TB/s", 1e12}};

/// In units of 1 (ps, bytes). `example` says how to write it; `unit` is what a bare number probably meant.
std::optional<std::int64_t> quantity(Problems& problems, const Value& v, std::string_view what,
                                     std::span<const Unit> units, std::string_view example, std::string_view unit,
                                     bool zero_allowed) {
  const auto help = fmt::format("write a number and a unit, such as {}", example);
  if (!v.is_scalar()) {
    problems.add(v, fmt::format("'{}' must be a number with a unit", what), help);
    return std::nullopt;
  }
  const auto text = trim(v.text);
  double number = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  // from_chars reads "inf" and "nan" too; no digit, no number.
  if (error == std::errc::invalid_argument ||
      text.find_first_of("0123456789") >= text.size() - static_cast<std::size_t>(end - stop)) {
    problems.add(v, fmt::format("'{}' is not a number with a unit: '{}'", what, text), help);
    return std::nullopt;
  }
  const std::string_view digits{text.data(), static_cast<std::size_t>(stop - text.data())};
  const auto name = trim({stop, static_cast<std::size_t>(end - stop)});
  if (name.empty()) {
    problems.add(v, fmt::format("'{}' needs a unit: '{}'", what, text), fmt::format("write {} {}", digits, unit));
    return std::nullopt;
  }
  const auto found = std::ranges::find(units, name, &Unit::name);
  if (found == units.end()) {
    std::vector<std::string> names;
    for (const auto& u : units) names.emplace_back(u.name);
    const auto near = sim::nearest(name, names);
    problems.add(v, fmt::format("unknown unit '{}' in '{}'", name, what),
                 near.empty() ? help : fmt::format("did you mean '{}'?", near));
    return std::nullopt;
  }
  const double value = number * found->factor;
  if (error == std::errc::result_out_of_range || value >= 9223372036854775808.0) {
    problems.add(v, fmt::format("'{}' does not fit: '{}'", what, text), "the largest is 2^63 - 1 bytes or picoseconds");
    return std::nullopt;
  }
  if (value < 0) {
    problems.add(v, fmt::format("'{}' is negative: '{}'", what, text));
    return std::nullopt;
  }
  const auto rounded = static_cast<std::int64_t>(value + 0.5);
  if (rounded == 0 && !(zero_allowed && number == 0)) {
    problems.add(v, fmt::format("'{}' is zero: '{}'", what, text), "it must be positive");
    return std::nullopt;
  }
  return rounded;
}

}  // namespace

std::optional<sim::Time> time_of(Problems& problems, const Value& v, std::string_view what, bool zero_allowed) {
  const auto n = quantity(problems, v, what, time_units, "120 us or 1.5 ms", "us", zero_allowed);
  if (!n) return std::nullopt;
  // A run sums many of these: a day each leaves room in sim::Time's 106 days and shows the slip of a unit.
  constexpr std::int64_t day = 86'400'000'000'000'000;
  if (*n > day) {
    problems.add(v, fmt::format("'{}' is longer than a day: '{}'", what, v.text));
    return std::nullopt;
  }
  return sim::Time::picoseconds(*n);
}

std::optional<sim::Bytes> size_of(Problems& problems, const Value& v, std::string_view what, bool zero_allowed) {
  const auto n = quantity(problems, v, what, size_units, "64 MiB or 512 B", "B", zero_allowed);
  if (!n) return std::nullopt;
  return sim::Bytes{*n};
}

std::optional<sim::Rate> data_rate_of(Problems& problems, const Value& v, std::string_view what, bool zero_allowed) {
  const auto n = quantity(problems, v, what, rate_units, "400 Gb/s or 50 GB/s", "Gb/s", zero_allowed);
  if (!n) return std::nullopt;
  constexpr std::int64_t most = 1'000'000'000'000'000;
  if (*n > most) {
    problems.add(v, fmt::format("'{}' is more than 1000 TB/s: '{}'", what, v.text));
    return std::nullopt;
  }
  return sim::Rate::bytes_per_second(*n);
}

std::optional<double> number_of(Problems& problems, const Value& v, std::string_view what, double low, double high) {
  auto text = v.is_scalar() ? trim(v.text) : std::string_view{};
  const bool percent = text.ends_with('%');
  if (percent) text = trim(text.substr(0, text.size() - 1));
  double x = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size() || !std::isfinite(x)) {
    problems.add(v, fmt::format("'{}' must be a number", what));
    return std::nullopt;
  }
  if (percent) x /= 100;
  if (x < low || x > high) {
    problems.add(v, fmt::format("'{}' is {}: it must be from {} to {}", what, v.text, low, high));
    return std::nullopt;
  }
  return x;
}

std::vector<int> ranks_of(Problems& problems, const Value& v, std::string_view what, int count) {
  constexpr int most = 1'000'000;
  std::vector<int> out;
  std::set<int> seen;
  const auto one = [&](const Value& at, std::int64_t n) {
    if (count >= 0 && n >= count) {
      problems.add(at, fmt::format("there is no rank {} for {}", n, what),
                   fmt::format("the ranks are 0 to {}", count - 1));
    } else if (!seen.insert(static_cast<int>(n)).second) {
      problems.add(at, fmt::format("rank {} is in {} twice", n, what));
    } else {
      out.push_back(static_cast<int>(n));
    }
  };
  const auto item = [&](const Value& at) {
    const std::string_view text = at.is_scalar() ? trim(at.text) : std::string_view{};
    if (const auto n = whole(text); n && *n >= 0 && *n < most) return one(at, *n);
    if (const auto dash = text.find('-'); dash != std::string_view::npos && dash > 0) {
      const auto a = whole(trim(text.substr(0, dash))), b = whole(trim(text.substr(dash + 1)));
      if (a && b && *a <= *b && *b < most) {
        for (auto n = *a; n <= *b; ++n) {
          if (count >= 0 && n >= count) return one(at, n);  // said once
          one(at, n);
        }
        return;
      }
    }
    problems.add(at, fmt::format("{} must be ranks", what), "write a rank (3), a range (0-7) or a list ([0, 2, 4-7])");
  };
  if (v.is_sequence()) {
    for (const auto& i : v.items) item(i);
  } else {
    item(v);
  }
  return out;
}

std::string list_ranks(std::span<const int> ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (!out.empty()) out += ", ";
    out += j < i + 2 ? fmt::format("{}", ranks[i]) : fmt::format("{} to {}", ranks[i], ranks[j]);
    i = j < i + 2 ? i + 1 : j + 1;
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", out);
}

void override_one(Value& root, const std::string& setting, Problems& problems) {
  const auto equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw sim::InputError(fmt::format("--set {}: no value", setting),
                          "write --set key=value, such as --set topology=dgx-a100");
  }
  auto source = std::make_shared<SourceText>();
  source->name = fmt::format("--set {}", setting);
  source->text = setting.substr(equals + 1);
  Value value;  // `key=~`, `key=`: as if it were not said
  value.place = {source, 1, 1, 1};
  if (source->text.find_first_not_of(" ~") != std::string::npos && source->text != "null")
    value = parse_yaml(source, problems);
  Value* at = &root;
  std::string path = setting.substr(0, equals);
  while (true) {
    const auto dot = path.find('.');
    const auto key = path.substr(0, dot);
    if (at->is_sequence()) {
      const auto index = integer_of(problems, Value{Value::Kind::scalar, false, {source, 1, 1, 1}, key, {}, {}}, path,
                                    0, static_cast<std::int64_t>(at->items.size()) - 1);
      if (!index) return;
      at = &at->items[static_cast<std::size_t>(*index)];
    } else {
      if (!at->is_map()) {
        at->kind = Value::Kind::map;
        at->text.clear();
      }
      auto found = std::ranges::find_if(at->entries, [&](const auto& e) { return e.first.text == key; });
      if (found == at->entries.end()) {
        at->entries.push_back({{Value::Kind::scalar, false, {source, 1, 1, 1}, key, {}, {}}, {}});
        found = std::prev(at->entries.end());
        found->second.place = {source, 1, 1, 1};
      }
      at = &found->second;
    }
    if (dot == std::string::npos) break;
    path.erase(0, dot + 1);
  }
  if (value.kind != Value::Kind::null) {
    *at = std::move(value);
    return;
  }
  Value* map = &root;
  const auto whole = setting.substr(0, equals);
  for (std::size_t from = 0;;) {
    const auto dot = whole.find('.', from);
    if (!map->is_map()) return;
    const auto found = std::ranges::find_if(
        map->entries, [&](const auto& e) { return e.first.text == whole.substr(from, dot - from); });
    if (found == map->entries.end()) return;
    if (dot == std::string::npos) {
      map->entries.erase(found);
      return;
    }
    map = &found->second;
    from = dot + 1;
  }
}

void relocate(Problems& problems, const Place& place, const sim::InputError& error) {
  for (const auto& d : error.diagnostics()) {
    if (!d.at.file.empty() && d.at.line > 0) throw error;  // of another file: its own places say more
    problems.add(place, d.at.file.empty() ? d.problem : fmt::format("{}: {}", d.at.file, d.problem), d.help);
  }
}

}  // namespace linkcast::workloads::trace
