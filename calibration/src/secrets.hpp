// What people's environments hold and no output may repeat. Knows no format.
#pragma once

#include <string>
#include <string_view>

namespace linkcast::calibration {

/// Whether a variable of this name may hold a secret: TOKEN, SECRET, KEY, PASSWORD, CREDENTIAL in it.
bool is_secret_name(std::string_view name);

/// `value`, or where the name is that of a secret a word that says that it is hidden.
std::string shown_value_of(std::string_view name, std::string_view value);

/// The line with the value of every `NAME=value` and `"NAME": "value"` as stars, as many as it has bytes, so that
/// columns stay. NCCL's own variables are kept, and so are options (`--size=8`).
std::string without_values(std::string_view line);

}  // namespace linkcast::calibration
