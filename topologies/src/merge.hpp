// What happens to a file before it is read as a machine: `extends`, parameters, variants, `${name}`. Works on values;
// knows the keys `extends`, `params`, `variants`, `overrides` and no others.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "map_reader.hpp"
#include "yaml_value.hpp"

namespace linkcast::topologies {

/// Maps are merged key by key, `over` wins; anything else of `over` replaces what is in `base`. Values keep their
/// places, so that a message names the file that wrote them.
Value merged(const Value& base, const Value& over);

/// Replaces the parameters of the document: checks `given`, applies `variants` in order, substitutes `${name}`.
/// Removes `params` and `variants`. `chosen` receives the values.
void apply_parameters(ReadContext context, Value& document, const std::map<std::string, std::string>& given,
                      std::vector<std::pair<std::string, std::string>>& chosen);

}  // namespace linkcast::topologies
