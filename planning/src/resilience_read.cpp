// The key `resilience` of a scenario.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "linkcast/planning/resilience.hpp"

namespace linkcast::planning {

ResilienceStudy ResilienceStudy::read(const workloads::trace::Value* v, workloads::trace::Problems& problems) {
  ResilienceStudy out;
  if (v == nullptr || v->kind == workloads::trace::Value::Kind::null) return out;
  workloads::trace::Fields f{problems, *v, "'resilience'"};
  if (!f.sound()) return out;
  const auto number = [&](std::string_view key, double above, double below, double& into, std::string_view example) {
    const auto* x = f.find(key);
    if (x == nullptr) return;
    double n = 0;
    const auto* end = x->text.data() + x->text.size();
    const auto [stop, error] = std::from_chars(x->text.data(), end, n);
    if (!x->is_scalar() || error != std::errc{} || stop != end || !(n > above && n < below))
      problems.add(*x, fmt::format("'{}' must be a number between {:g} and {:g}", key, above, below),
                   fmt::format("such as {}", example));
    else
      into = n;
  };
  const auto names = element_kind_names();
  const auto* kinds = f.value().get("kinds");
  const auto words = f.words("kinds");
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& at = kinds->is_sequence() ? kinds->items[i] : *kinds;
    if (const auto k = element_kind_from(words[i])) {
      if (std::ranges::find(out.kinds, *k) == out.kinds.end()) out.kinds.push_back(*k);
    } else {
      problems.add(at, fmt::format("there is no kind of part '{}'", words[i]),
                   workloads::trace::suggest(words[i], names));
    }
  }
  if (kinds != nullptr && kinds->is_sequence() && kinds->items.empty())
    problems.add(*kinds, "'kinds' is empty", "leave it out for all");
  if (const auto b = f.boolean("degraded")) out.degraded = *b;
  number("width", 0, 1, out.width, "0.5");
  number("ber", 0, 1e-3, out.bit_error_rate, "1e-6");
  number("slow", 1, 1000, out.slow, "1.3");
  if (const auto n = f.integer("pairs", 0, 1'000'000)) out.pairs = static_cast<int>(*n);
  if (const auto n = f.integer("seed", 0, 1'000'000'000)) out.seed = static_cast<std::uint64_t>(*n);
  f.done();
  return out;
}

}  // namespace linkcast::planning
