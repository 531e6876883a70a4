// Amounts as price files write them: "310 k USD", "1.7 kW", "5-17 W", "0.078 USD/kWh", "1.21". Knows no part.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "linkcast/planning/cost.hpp"

namespace linkcast::planning {

enum class AmountKind : unsigned char { usd, watts, usd_per_kwh, usd_per_kw_month, years, metres, ratio };

struct AmountError {
  std::string problem, help;
};
/// A range "a-b" is low and high, with the middle as typical; a single number is all three.
std::variant<Band, AmountError> parse_amount(std::string_view text, AmountKind kind);

}  // namespace linkcast::planning
