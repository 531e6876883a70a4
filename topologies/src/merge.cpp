// See merge.hpp.
#include "merge.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::topologies {
namespace {

// Bounds that no honest file meets: they keep a hostile one from growing while it is expanded.
constexpr std::size_t max_parameter_length = 200;
constexpr std::size_t max_variants = 200;

struct Parameter {
  std::string name;
  std::string value;
  std::vector<std::string> choices;
};

void erase(Value& map, std::string_view key) {
  std::erase_if(map.entries, [&](const Value::Entry& e) { return e.key.text == key; });
}

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> out;
  for (const auto& p : parameters) out.push_back(p.name);
  return out;
}

std::vector<Parameter> read_parameters(ReadContext context, const Value& params) {
  std::vector<Parameter> out;
  if (!params.is_map()) {
    context.problems->add(params, "'params' must be a map of parameters",
                          "write `params: {gpus: {default: 8, choices: [2, 4, 8]}}`");
    return out;
  }
  for (const auto& e : params.entries) {
    MapReader r{context, e.value, fmt::format("parameter '{}'", e.key.text)};
    Parameter p;
    p.name = e.key.text;
    p.value = r.word("default", true).value_or("");
    if (const auto* choices = r.find("choices")) {
      if (!choices->is_sequence()) r.problem(*choices, "'choices' must be a list");
      for (const auto& c : choices->items) p.choices.push_back(c.text);
      if (!p.value.empty() && choices->is_sequence() && std::ranges::find(p.choices, p.value) == p.choices.end()) {
        r.problem(*choices, fmt::format("the default '{}' is not among the choices", p.value));
      }
    }
    r.word("help");
    if (p.value.size() > max_parameter_length) {
      r.problem(e.value, fmt::format("the default is longer than {} characters", max_parameter_length));
      p.value.clear();
    }
    r.done();
    out.push_back(std::move(p));
  }
  return out;
}

/// Values given by the user are not in a file: their mistakes are thrown at once.
void take_given(std::vector<Parameter>& parameters, const std::map<std::string, std::string>& given) {
  const auto names = names_of(parameters);
  for (const auto& [name, value] : given) {
    const auto p = std::ranges::find(parameters, name, &Parameter::name);
    if (p == parameters.end()) {
      throw sim::InputError(fmt::format("no parameter '{}' in this topology", name),
                            names.empty() ? "it has no parameters" : suggest(name, names));
    }
    if (!p->choices.empty() && std::ranges::find(p->choices, value) == p->choices.end()) {
      throw sim::InputError(fmt::format("parameter '{}' cannot be '{}'", name, value),
                            fmt::format("one of: {}", fmt::join(p->choices, ", ")));
    }
    if (value.size() > max_parameter_length) throw sim::InputError(fmt::format("parameter '{}' is too long", name));
    p->value = value;
  }
}

bool matches(ReadContext context, const Value& when, const std::vector<Parameter>& parameters) {
  if (!when.is_map()) {
    context.problems->add(when, "'when' must be a map of parameters and values");
    return false;
  }
  bool all = true;
  for (const auto& e : when.entries) {
    const auto p = std::ranges::find(parameters, e.key.text, &Parameter::name);
    if (p == parameters.end()) {
      context.problems->add(e.key, fmt::format("no parameter '{}'", e.key.text),
                            suggest(e.key.text, names_of(parameters)));
      all = false;
      continue;
    }
    const auto check = [&](const Value& v) {
      if (!p->choices.empty() && std::ranges::find(p->choices, v.text) == p->choices.end()) {
        context.problems->add(v, fmt::format("parameter '{}' is never '{}'", p->name, v.text),
                              suggest(v.text, p->choices));
      }
      return v.text == p->value;
    };
    bool any = false;
    if (e.value.is_sequence()) {
      for (const auto& v : e.value.items) any = check(v) || any;
    } else {
      any = check(e.value);
    }
    all = all && any;
  }
  return all;
}

void apply_variants(ReadContext context, Value& document, const Value& variants,
                    const std::vector<Parameter>& parameters) {
  if (!variants.is_sequence()) {
    context.problems->add(variants, "'variants' must be a list", "write `variants: [{when: {…}, node: {…}}]`");
    return;
  }
  if (variants.items.size() > max_variants) {
    context.problems->add(variants, fmt::format("more than {} variants", max_variants));
    return;
  }
  for (const auto& variant : variants.items) {
    MapReader r{context, variant, "variant"};
    const auto* when = r.need("when");
    for (const auto key : {"node", "nodes", "network", "overrides"}) r.find(key);
    r.done();
    if (!when || !matches(context, *when, parameters)) continue;
    Value over;
    over.kind = Value::Kind::map;
    for (const auto& e : variant.entries) {
      if (e.key.text != "when" && e.key.text != "source") over.entries.push_back(e);
    }
    document = merged(document, over);
  }
}

void substitute(ReadContext context, Value& v, const std::vector<Parameter>& parameters) {
  for (auto& item : v.items) substitute(context, item, parameters);
  for (auto& e : v.entries) substitute(context, e.value, parameters);
  if (!v.is_scalar()) return;
  std::size_t at = 0;
  while ((at = v.text.find("${", at)) != std::string::npos) {
    const auto end = v.text.find('}', at);
    if (end == std::string::npos) {
      context.problems->add(v, "'${' without '}'");
      return;
    }
    const auto name = v.text.substr(at + 2, end - at - 2);
    const auto p = std::ranges::find(parameters, name, &Parameter::name);
    if (p == parameters.end()) {
      context.problems->add(v, fmt::format("no parameter '{}'", name), suggest(name, names_of(parameters)));
      return;
    }
    v.text.replace(at, end - at + 1, p->value);
    at += p->value.size();
  }
}

}  // namespace

Value merged(const Value& base, const Value& over) {
  if (!base.is_map() || !over.is_map()) return over;
  Value out = base;
  if (over.source) {
    out.source = over.source;
    out.line = over.line;
    out.column = over.column;
  }
  for (const auto& e : over.entries) {
    auto* below = out.get(e.key.text);
    if (!below) {
      out.entries.push_back(e);
    } else if (e.key.text == "overrides" && below->is_sequence() && e.value.is_sequence()) {
      below->items.insert(below->items.end(), e.value.items.begin(), e.value.items.end());
    } else if (e.key.text == "variants" && below->is_sequence() && e.value.is_sequence()) {
      below->items.insert(below->items.end(), e.value.items.begin(), e.value.items.end());
    } else {
      *below = merged(*below, e.value);
      for (auto& o : out.entries) {
        if (o.key.text == e.key.text) o.key = e.key;
      }
    }
  }
  return out;
}

void apply_parameters(ReadContext context, Value& document, const std::map<std::string, std::string>& given,
                      std::vector<std::pair<std::string, std::string>>& chosen) {
  std::vector<Parameter> parameters;
  if (const auto* params = document.get("params")) parameters = read_parameters(context, *params);
  take_given(parameters, given);
  if (const auto* found = document.get("variants")) {
    const Value variants = *found;
    erase(document, "variants");
    apply_variants(context, document, variants, parameters);
  }
  erase(document, "params");
  substitute(context, document, parameters);
  for (const auto& p : parameters) chosen.emplace_back(p.name, p.value);
}

}  // namespace linkcast::topologies
