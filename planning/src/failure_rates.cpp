// Reads failure rates: the shipped file, and a user's laid over it key by key. Knows no cluster.
#include "linkcast/planning/failure_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "embedded_data.hpp"
#include "failure_rates_data.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/scenario_machine.hpp"
#include "linkcast/workloads/trace_fields.hpp"
#include "quantities.hpp"

namespace linkcast::planning {
namespace {

using workloads::trace::Fields;
using workloads::trace::Problems;
using workloads::trace::Value;

constexpr std::string_view schema = "linkcast.failure-rates/1";
constexpr std::array part_kinds{"gpu",          "node",        "nic",          "nic cable",
                                "switch cable", "leaf switch", "spine switch", "core switch"};

template <class T>
void choose(Fields& f, std::string_view key, std::initializer_list<T> values, T& out) {
  const auto* v = f.find(key);
  if (v == nullptr) return;
  std::vector<std::string> known;
  for (const auto x : values) {
    if (v->is_scalar() && v->text == name_of(x)) {
      out = x;
      return;
    }
    known.emplace_back(name_of(x));
  }
  f.problems().add(*v, fmt::format("unknown {} '{}'", key, v->text), workloads::trace::suggest(v->text, known));
}

void time(Fields& f, std::string_view key, bool zero_allowed, sim::Time& out) {
  const auto* v = f.find(key);
  if (v == nullptr) return;
  if (const auto t = span_of(f.problems(), *v, key, zero_allowed)) out = *t;
}

std::optional<Band> band(Problems& problems, const Value& v, std::string_view of) {
  if (!v.is_map()) {
    const auto x = planning::rate_of(problems, v, of);
    if (!x) return std::nullopt;
    return Band{*x, *x, *x};
  }
  Fields f{problems, v, "the rate"};
  const auto one = [&](std::string_view key) -> std::optional<double> {
    const auto* x = f.find(key);
    return x == nullptr ? std::nullopt : planning::rate_of(problems, *x, of);
  };
  const auto* middle = f.need("typical");
  const auto typical = middle == nullptr ? std::nullopt : planning::rate_of(problems, *middle, of);
  const auto low = one("low"), high = one("high");
  f.done();
  if (!typical) return std::nullopt;
  const Band b{low.value_or(*typical), *typical, high.value_or(*typical)};
  if (b.low > b.typical || b.typical > b.high) {
    problems.add(v, "a rate must not fall from low to typical to high");
    return std::nullopt;
  }
  return b;
}

std::optional<RatedCause> cause(Problems& problems, const Value& name, const Value& v) {
  Fields f{problems, v, fmt::format("the cause '{}'", name.text)};
  if (!f.sound()) return std::nullopt;
  RatedCause c;
  c.part.cause = name.text;
  const auto* of = f.need("of");
  if (of != nullptr) {
    c.part.part = of->text;
    const std::vector<std::string> known{part_kinds.begin(), part_kinds.end()};
    const bool sound = std::ranges::any_of(known, [&](const auto& k) {
      return c.part.part == k || (k == "switch cable" && c.part.part.starts_with("switch cable "));
    });
    if (!sound)
      problems.add(*of, fmt::format("unknown part '{}'", of->text), workloads::trace::suggest(of->text, known));
  }
  if (const auto* rate = f.need("rate"); rate != nullptr && of != nullptr) {
    if (const auto b = band(problems, *rate, c.part.part)) c.per_part_year = *b;
  }
  choose(f, "effect", {Effect::interrupts, Effect::degrades, Effect::stalls}, c.part.effect);
  choose(f, "remedy", {Remedy::restart, Remedy::spare, Remedy::repair}, c.part.remedy);
  if (const auto* x = f.find("mended_by_restart")) {
    if (const auto s = share_of(problems, *x, "mended_by_restart")) c.part.mended_by_restart = *s;
  }
  time(f, "repair", true, c.part.repair);
  time(f, "stall", true, c.part.stall);
  if (const auto* x = f.find("detection")) c.part.detection = span_of(problems, *x, "detection", true);
  if (const auto* x = f.find("slowdown")) {
    const auto s = slowdown_of(problems, *x);
    if (s) c.part.slowdown = *s;
  }
  c.part.source = f.word("source").value_or("");
  f.done();
  const bool waits =
      c.part.effect == Effect::degrades || (c.part.effect == Effect::interrupts && c.part.remedy != Remedy::restart);
  if (waits && v.get("repair") == nullptr) problems.add(v, fmt::format("'{}' has no 'repair'", name.text));
  if (c.part.effect == Effect::stalls && v.get("stall") == nullptr) {
    problems.add(v, fmt::format("'{}' stalls but has no 'stall'", name.text), "write for how long: stall: 5.67 s");
  }
  return c;
}

/// Maps are laid over maps; anything else replaces what was there. A rate replaces a rate whole: the typical value of
/// one source does not go with the high value of another.
void lay_over(Value& base, const Value& over, bool rate) {
  if (rate || !base.is_map() || !over.is_map()) {
    base = over;
    return;
  }
  for (const auto& [key, value] : over.entries) {
    const auto found = std::ranges::find_if(base.entries, [&](const auto& e) { return e.first.text == key.text; });
    if (found == base.entries.end()) {
      base.entries.emplace_back(key, value);
    } else {
      found->first = key;
      lay_over(found->second, value, key.text == "rate");
    }
  }
}

std::shared_ptr<const FailureRates> read_rates(Problems& problems, const Value& rates) {
  auto data = std::make_shared<FailureRates::Data>();
  if (!rates.is_map()) {
    problems.add(rates, "'rates' must be a map of causes", "write `faulty GPU: {of: gpu, rate: …}`");
  } else {
    for (const auto& [name, value] : rates.entries) {
      if (auto c = cause(problems, name, value)) data->causes.push_back(std::move(*c));
    }
  }
  return std::make_shared<const FailureRates>(std::move(data));
}

/// The map `rates` of a file, after its heading was checked. Null where there is none.
const Value* rates_of(Problems& problems, const Value& root) {
  Fields f{problems, root, "the file"};
  if (!f.sound()) return nullptr;
  if (const auto* s = f.need("schema"); s != nullptr && s->text != schema) {
    problems.add(*s, fmt::format("unknown schema '{}'", s->text), fmt::format("this version reads {}", schema));
  }
  f.word("date");
  const auto* rates = f.need("rates");
  f.done();
  return rates;
}

const Value& shipped_rates() {
  static const Value value = [] {
    const auto& files = embedded_data();
    const auto file = std::ranges::find(files, std::string_view{"failure_rates.yaml"}, &EmbeddedFile::path);
    auto source = std::make_shared<workloads::SourceText>();
    source->name = "planning/data/failure_rates.yaml";
    if (file != files.end()) source->text = file->text;
    Problems problems;
    const auto root = workloads::trace::parse_yaml(source, problems);
    const auto* rates = rates_of(problems, root);
    problems.throw_if_any();
    return *rates;
  }();
  return value;
}

std::shared_ptr<const FailureRates> laid_over(const workloads::trace::Source& source) {
  Problems problems;
  const auto root = workloads::trace::parse_yaml(source, problems);
  problems.throw_if_any();
  const auto* over = rates_of(problems, root);
  auto rates = shipped_rates();
  if (over != nullptr && !over->is_map()) problems.add(*over, "'rates' must be a map of causes");
  if (over != nullptr && over->is_map()) lay_over(rates, *over, false);
  auto out = read_rates(problems, rates);
  problems.throw_if_any();
  return out;
}

}  // namespace

std::string_view name_of(Effect e) {
  constexpr std::string_view names[] = {"interrupts", "degrades", "stalls"};
  return names[static_cast<std::size_t>(e)];
}
std::string_view name_of(Remedy r) {
  constexpr std::string_view names[] = {"restart", "spare", "repair"};
  return names[static_cast<std::size_t>(r)];
}
std::string_view name_of(RateLevel l) {
  constexpr std::string_view names[] = {"low", "typical", "high"};
  return names[static_cast<std::size_t>(l)];
}

std::shared_ptr<const FailureRates> FailureRates::shipped() {
  static const auto rates = [] {
    Problems problems;
    auto out = read_rates(problems, shipped_rates());
    problems.throw_if_any();
    return out;
  }();
  return rates;
}

std::shared_ptr<const FailureRates> FailureRates::read(const std::string& path) {
  return laid_over(workloads::trace::read_source(path, "failure rates are a few kB"));
}

std::shared_ptr<const FailureRates> FailureRates::parse(std::string_view text, const std::string& where) {
  auto source = std::make_shared<workloads::SourceText>();
  source->name = where;
  source->text = text;
  return laid_over(source);
}

std::shared_ptr<const FailureRates> FailureRates::of_scenario(const Value& v, const std::string& folder,
                                                              Problems& problems) {
  if (v.is_map()) {
    auto rates = shipped_rates();
    lay_over(rates, v, false);
    return read_rates(problems, rates);
  }
  if (!v.is_scalar() || v.text.empty()) {
    problems.add(v, "'rates' must be a file or a map of causes", "write rates: my-rates.yaml");
    return shipped();
  }
  try {
    return read(workloads::beside(folder, v.text));
  } catch (const sim::InputError& e) {
    workloads::trace::relocate(problems, v.place, e);
    return shipped();
  }
}

}  // namespace linkcast::planning
