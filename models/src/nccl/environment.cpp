// The values of NCCL_* variables: what they may be, and what is said about those that cannot be. Knows no topology.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "linkcast/models/nccl/types.hpp"
#include "nccl/environment_names.hpp"
#include "nccl/rules.hpp"

namespace linkcast::models::nccl {

namespace {

template <class Range>
bool has(const Range& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string quoted(std::string_view s) { return "'" + std::string{s} + "'"; }

std::optional<long long> to_integer(std::string_view s) {
  int base = 10;
  const bool negative = !s.empty() && s.front() == '-';
  if (negative) s.remove_prefix(1);
  if (s.starts_with("0x") || s.starts_with("0X")) {
    base = 16;
    s.remove_prefix(2);
  }
  long long v = 0;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v, base);
  if (s.empty() || r.ec != std::errc{} || r.ptr != s.data() + s.size()) return std::nullopt;
  return negative ? -v : v;
}

void check_level(std::string_view name, std::string_view value) {
  if (path_level(value)) return;
  static const std::vector<std::string> levels{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};
  const auto near = sim::nearest(value, levels);
  throw sim::InputError{std::string{name} + "=" + std::string{value} + " is not a path level",
                        near.empty() ? "one of LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS, or a number from 0 to 5"
                                     : "did you mean " + quoted(near) + "?"};
}

void check_policy(std::string_view name, std::string_view value) {
  if (to_integer(value)) return;
  static const std::vector<std::string> words{"DEFAULT", "EFFICIENCY", "ZERO"};
  for (std::size_t from = 0; from <= value.size();) {
    const auto bar = value.find('|', from);
    const auto word = value.substr(from, bar == std::string_view::npos ? bar : bar - from);
    if (!has(words, word)) {
      const auto near = sim::nearest(word, words);
      throw sim::InputError{std::string{name} + "=" + std::string{value} + " is not a CTA policy",
                            near.empty() ? "one of DEFAULT, EFFICIENCY, ZERO" : "did you mean " + quoted(near) + "?"};
    }
    if (bar == std::string_view::npos) break;
    from = bar + 1;
  }
}

}  // namespace

void Environment::set(std::string_view name, std::string_view value) {
  if (!is_known_variable(name)) {
    const auto near = sim::nearest(name, known_variables());
    throw sim::InputError{"NCCL has no variable " + quoted(name),
                          near.empty() ? "the variables begin with NCCL_" : "did you mean " + quoted(near) + "?"};
  }
  if (is_effective_variable(name)) {
    if (value.empty())
      throw sim::InputError{std::string{name} + " has no value", "write " + std::string{name} + "=VALUE"};
    if (name == "NCCL_ALGO" || name == "NCCL_PROTO") {
      check_list(name, value);
    } else if (name == "NCCL_P2P_LEVEL" || name == "NCCL_NET_GDR_LEVEL") {
      check_level(name, value);
    } else if (name == "NCCL_CTA_POLICY") {
      check_policy(name, value);
    } else if (name == "NCCL_NET_MERGE_LEVEL" && value != "PORT") {
      check_level(name, value);
    } else if (!is_textual_variable(name) && !to_integer(value)) {
      throw sim::InputError{std::string{name} + "=" + std::string{value} + " is not a whole number",
                            "NCCL reads this variable as an integer"};
    }
    if (name.ends_with("BUFFSIZE") && *to_integer(value) < 8 * 512) {
      throw sim::InputError{std::string{name} + "=" + std::string{value} + " is too small",
                            "eight steps of at least 512 bytes: 4096 or more"};
    }
    if ((name.ends_with("CHUNKSIZE")) && *to_integer(value) < 512) {
      throw sim::InputError{std::string{name} + "=" + std::string{value} + " is too small", "512 or more"};
    }
  }
  values_.insert_or_assign(std::string{name}, std::string{value});
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto it = values_.find(std::string{name});
  return it == values_.end() ? std::nullopt : std::optional{it->second};
}

std::optional<long long> Environment::integer(std::string_view name) const {
  const auto v = get(name);
  return v ? to_integer(*v) : std::nullopt;
}

std::vector<std::string> Environment::without_effect() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) {
    if (!is_effective_variable(name)) names.push_back(name);
  }
  return names;
}

}  // namespace linkcast::models::nccl
