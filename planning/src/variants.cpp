// See variants.hpp.
#include "linkcast/planning/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <unordered_set>

#include "linkcast/workloads/sizes.hpp"

namespace linkcast::planning {
namespace {

using workloads::trace::Problems;
using workloads::trace::Value;

constexpr std::size_t most_choices = 1'000'000;  // of one axis

std::string label(const Value& v) {
  if (v.is_scalar()) return v.text;
  return v.kind == Value::Kind::null ? "default" : workloads::written(v);  // `~` takes a value away
}

Value scalar(const Value& at, std::string text) {
  Value v;
  v.kind = Value::Kind::scalar;
  v.place = at.place;
  v.text = std::move(text);
  return v;
}

std::string size_text(sim::Bytes size) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto n = size.count();
  std::size_t u = 0;
  while (u + 1 < units.size() && n % 1024 == 0) n /= 1024, ++u;
  return fmt::format("{} {}", n, units[u]);
}

/// "1:64:x2" and "1:64:7": whole numbers; "8:16G:x2": sizes, where the key is one.
std::vector<Value> range(const Value& v, const std::string& key, Problems& problems) {
  std::vector<Value> out;
  const auto first = v.text.find(':');
  const auto second = v.text.find(':', first + 1);
  if (key == "size" || key.ends_with(".size")) {
    try {
      for (const auto bytes : workloads::parse_sizes(v.text)) out.push_back(scalar(v, size_text(bytes)));
    } catch (const sim::InputError& e) {
      workloads::trace::relocate(problems, v.place, e);
    }
    return out;
  }
  const auto whole = [](std::string_view text) -> std::int64_t {
    std::int64_t n = -1;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc{} && stop == text.data() + text.size() ? n : -1;
  };
  const auto text = std::string_view{v.text};
  const auto from = whole(text.substr(0, first));
  const auto to = whole(text.substr(first + 1, second == std::string::npos ? std::string::npos : second - first - 1));
  auto step_text = second == std::string::npos ? std::string_view{"1"} : text.substr(second + 1);
  const bool factor = step_text.starts_with('x');
  const auto step = whole(factor ? step_text.substr(1) : step_text);
  if (from < 0 || to < from || step < 1 || (factor && (step < 2 || from < 1))) {
    problems.add(v, fmt::format("'{}' is no range of '{}'", v.text, key),
                 "write FROM:TO:STEP or FROM:TO:xFACTOR with whole numbers, or a list");
    return out;
  }
  // Never beyond `to`, so never beyond what a number can be.
  for (auto n = from; n <= to && out.size() < most_choices;) {
    out.push_back(scalar(v, fmt::format("{}", n)));
    if (factor ? n > to / step : n > to - step) break;
    n = factor ? n * step : n + step;
  }
  return out;
}

bool looks_like_range(const Value& v) {
  return v.is_scalar() && !v.quoted && !v.text.empty() && v.text.find(':') != std::string::npos &&
         v.text.find_first_of("0123456789") == 0;
}

/// Puts `value` where the dotted key says. Lists are reached by number. What is not there is made.
void put(Value& root, const std::string& key, const Value& value, Problems& problems) {
  Value* at = &root;
  std::string_view rest = key;
  while (true) {
    const auto dot = rest.find('.');
    const std::string word{rest.substr(0, dot)};
    if (at->is_sequence()) {
      const auto index = workloads::trace::integer_of(problems, scalar(value, word), fmt::format("'{}'", key), 0,
                                                      static_cast<std::int64_t>(at->items.size()) - 1);
      if (!index) return;
      at = &at->items[static_cast<std::size_t>(*index)];
    } else {
      if (!at->is_map()) *at = Value{Value::Kind::map, false, value.place, {}, {}, {}};
      auto found = std::ranges::find_if(at->entries, [&](const auto& e) { return e.first.text == word; });
      if (found == at->entries.end()) {
        at->entries.push_back({scalar(value, word), {}});
        found = std::prev(at->entries.end());
        found->second.place = value.place;
      }
      at = &found->second;
    }
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  *at = value;
}

/// `~`: as if the key were not said.
void take_away(Value& root, std::string_view key) {
  Value* at = &root;
  while (at->is_map()) {
    const auto dot = key.find('.');
    const auto found =
        std::ranges::find_if(at->entries, [&](const auto& e) { return e.first.text == key.substr(0, dot); });
    if (found == at->entries.end()) return;
    if (dot == std::string_view::npos) {
      at->entries.erase(found);
      return;
    }
    at = &found->second;
    key.remove_prefix(dot + 1);
  }
}

/// Keys that cannot vary: what the study is, not what is studied.
bool fixed(std::string_view key) {
  for (const auto* k : {"schema", "variants", "options", "baseline", "goals", "search", "resilience", "jobs"})
    if (key == k || key.starts_with(std::string{k} + ".")) return true;
  return false;
}

}  // namespace

Variants::Variants(const workloads::ScenarioFile& scenario, Problems& problems) : scenario_{scenario} {
  const auto said = [&](std::string_view key) {  // `key: ~` takes it away, as --set may want to
    const auto* v = scenario.root.get(key);
    return v != nullptr && v->kind != Value::Kind::null ? v : nullptr;
  };
  const auto* options = said("options");
  const auto* grid = said("variants");
  if (options != nullptr) read_options(*options, problems);
  if (grid != nullptr) read_grid(*grid, problems);
  for (const auto& axis : axes_) {
    const auto n = static_cast<std::int64_t>(axis.choices.size());
    count_ = n > 0 && count_ > std::numeric_limits<std::int64_t>::max() / n ? std::numeric_limits<std::int64_t>::max()
                                                                            : count_ * n;
  }
  baseline_.resize(axes_.size());
  if (const auto* baseline = said("baseline"); baseline != nullptr && problems.empty())
    read_baseline(*baseline, problems);
  // Each variant copies what is left: with a long list in it, n variants would take n^2.
  std::erase_if(scenario_.root.entries, [](const auto& e) {
    return e.first.text == "variants" || e.first.text == "options" || e.first.text == "baseline";
  });
}

void Variants::read_grid(const Value& v, Problems& problems) {
  if (!v.is_map()) {
    problems.add(v, "'variants' must be a map",
                 "write `nodes: [16, 32, 64]` lines: a key of the scenario and its values");
    return;
  }
  if (v.entries.empty()) problems.add(v, "'variants' has no key: the grid is empty", "write `nodes: [16, 32, 64]`");
  for (const auto& [key, value] : v.entries) {
    Axis axis;
    axis.key = key.text;
    if (fixed(key.text)) {
      problems.add(key, fmt::format("'{}' cannot vary", key.text), "it is of the study, not of what is studied");
      continue;
    }
    auto values = value.is_sequence()       ? value.items
                  : looks_like_range(value) ? range(value, key.text, problems)
                                            : std::vector<Value>{};
    if (!value.is_sequence() && !looks_like_range(value)) {
      problems.add(value, fmt::format("the values of '{}' must be a list or a range", key.text),
                   "write [16, 32] or 8:64:x2");
      continue;
    }
    if (values.empty() && value.is_sequence())
      problems.add(value, fmt::format("'{}' has no values: the grid is empty", key.text), "name at least one");
    if (values.size() >= most_choices)
      problems.add(value, fmt::format("'{}' has more than {} values", key.text, most_choices - 1));
    std::unordered_set<std::string> names;
    for (auto& item : values) {
      const auto name = label(item);
      if (!names.insert(name).second) {
        problems.add(item, fmt::format("'{}' stands twice among the values of '{}'", name, key.text), "keep one");
        continue;
      }
      axis.choices.push_back({name, {{axis.key, std::move(item)}}});
    }
    axes_.push_back(std::move(axis));
  }
}

void Variants::read_options(const Value& v, Problems& problems) {
  if (!v.is_map() || v.entries.empty()) {
    problems.add(v, "'options' must be a map of names to settings",
                 "write `400G: {nics: 8x400}` lines: a name, and keys of the scenario with their values");
    return;
  }
  Axis axis;
  axis.key = "option";
  for (const auto& [name, settings] : v.entries) {
    Axis::Choice choice{name.text, {}};
    if (!settings.is_map()) {
      problems.add(settings, fmt::format("the option '{}' must be a map", name.text), "write `{nics: 8x400}`");
      continue;
    }
    for (const auto& [key, value] : settings.entries) {
      if (fixed(key.text))
        problems.add(key, fmt::format("'{}' cannot vary", key.text), "it is of the study, not of what is studied");
      choice.settings.emplace_back(key.text, value);
    }
    axis.choices.push_back(std::move(choice));
  }
  axes_.push_back(std::move(axis));
}

void Variants::read_baseline(const Value& v, Problems& problems) {
  const auto choose = [&](const Value& at, std::string_view key, const std::string& name) {
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (!key.empty() && axes_[a].key != key) continue;
      const auto found = std::ranges::find(axes_[a].choices, name, &Axis::Choice::name);
      if (found == axes_[a].choices.end()) continue;
      baseline_[a] = static_cast<std::size_t>(found - axes_[a].choices.begin());
      return;
    }
    std::vector<std::string> known;
    for (const auto& axis : axes_) known.push_back(axis.key);
    if (!key.empty() && std::ranges::find(known, key) == known.end()) {
      problems.add(at, fmt::format("the baseline names '{}', which does not vary", key),
                   workloads::trace::suggest(key, known));
      return;
    }
    known.clear();
    for (const auto& axis : axes_)
      if (key.empty() || axis.key == key)
        for (const auto& c : axis.choices) known.push_back(c.name);
    problems.add(at, fmt::format("the baseline '{}' is none of the variants", name),
                 workloads::trace::suggest(name, known));
  };
  if (v.is_map())
    for (const auto& [key, value] : v.entries) choose(value, key.text, label(value));
  else
    choose(v, {}, label(v));
}

std::vector<std::string> Variants::baseline_names(std::vector<std::string> names) const {
  const bool none = std::ranges::none_of(baseline_, [](const auto& b) { return b.has_value(); });
  for (std::size_t a = 0; a < axes_.size(); ++a)
    if (none || baseline_[a]) names[a] = axes_[a].choices[baseline_[a].value_or(0)].name;
  return names;
}

std::vector<std::size_t> Variants::choices(std::int64_t i) const {
  std::vector<std::size_t> out(axes_.size());
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const auto n = static_cast<std::int64_t>(axes_[a].choices.size());
    out[a] = static_cast<std::size_t>(i % n);
    i /= n;
  }
  return out;
}

std::vector<std::string> Variants::names(std::int64_t i) const {
  std::vector<std::string> out;
  const auto chosen = choices(i);
  for (std::size_t a = 0; a < axes_.size(); ++a) out.push_back(axes_[a].choices[chosen[a]].name);
  return out;
}

std::string Variants::name(std::int64_t i) const {
  if (axes_.empty()) {
    const auto* title = scenario_.root.get("title");
    return title != nullptr && title->is_scalar() ? title->text : "as it is";
  }
  return fmt::format("{}", fmt::join(names(i), ", "));
}

workloads::ScenarioFile Variants::scenario(const std::vector<std::size_t>& chosen) const {
  auto out = scenario_;
  Problems problems;
  for (std::size_t a = 0; a < axes_.size(); ++a)
    for (const auto& [key, value] : axes_[a].choices[chosen[a]].settings) {
      if (value.kind == Value::Kind::null)
        take_away(out.root, key);
      else
        put(out.root, key, value, problems);
    }
  problems.throw_if_any();
  return out;
}

}  // namespace linkcast::planning
