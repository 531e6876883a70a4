// A bill of materials for people and for spreadsheets. See cost.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linkcast/planning/cost.hpp"

namespace linkcast::planning {
namespace {

std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string{text};
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

/// Three or four digits: "1.28 k", "40.1 M".
std::string compact(double x, std::string_view unit) {
  static constexpr std::pair<double, const char*> steps[] = {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& [step, name] : steps) {
    if (std::abs(x) < step * 0.9995) continue;
    const auto value = x / step;
    return fmt::format("{:.{}f}{}{}", value, value < 10 ? 2 : value < 100 ? 1 : 0, name, unit);
  }
  return fmt::format("{:.{}f} {}", x, x > 0 && x < 10 ? 2 : 0, unit);
}
std::string usd(double x) {
  auto text = compact(x, "USD");
  const auto at = text.rfind(" GUSD");
  if (at != std::string::npos) return text.replace(at, 5, " bn USD");
  for (const auto* prefix : {"k", "M"}) {
    const auto joined = std::string{" "} + prefix + "USD";
    if (const auto i = text.rfind(joined); i != std::string::npos)
      return text.replace(i, joined.size(), std::string{" "} + prefix + " USD");
  }
  return text;
}
std::string watts(double x) { return compact(x, "W"); }

template <typename F>
std::string band(const Band& b, F text) {
  return fmt::format("{} ({} to {})", text(b.typical), text(b.low), text(b.high));
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

}  // namespace

std::string to_csv(const BillOfMaterials& bom) {
  std::string out =
      "kind,part,tier,count,share,usd_low,usd_typical,usd_high,total_usd_low,total_usd_typical,total_usd_high,"
      "watts_low,watts_typical,watts_high,total_watts_low,total_watts_typical,total_watts_high,date,source\n";
  const auto three = [](const Band& b, bool known) {
    return known ? fmt::format(",{:.12g},{:.12g},{:.12g}", b.low, b.typical, b.high) : std::string{",,,"};
  };
  for (const auto& l : bom.lines) {
    out += fmt::format("{},{},{},{},{:.12g}", name_of(l.kind), field(l.part), field(l.tier), l.count, l.share);
    out += three(l.usd, l.priced) + three(l.total_usd(), l.priced) + three(l.watts, l.metered) +
           three(l.total_watts(), l.metered);
    out += fmt::format(",{},{}\n", field(l.date), field(l.source));
  }
  return out;
}

std::string to_text(const BillOfMaterials& bom, const Economics& e) {
  const auto capex = bom.capex(), power = bom.power(), network = bom.network_capex(),
             network_power = bom.network_power();
  const double gpus = std::max(1, bom.gpus);
  std::string out =
      fmt::format("{} machines, {} GPUs: {}, {}\n\n", bom.nodes, bom.gpus, usd(capex.typical), watts(power.typical));
  std::size_t part = 4, tier = 4;
  for (const auto& l : bom.lines) {
    part = std::max(part, l.part.size());
    tier = std::max(tier, l.tier.size());
  }
  out += fmt::format("  {:<7} {:<{}}  {:<{}} {:>8} {:>12} {:>12} {:>24} {:>10}\n", "kind", "part", part, "tier", tier,
                     "count", "each", "together", "low to high", "power");
  for (const auto& l : bom.lines) {
    const auto all = l.total_usd();
    out += fmt::format("  {:<7} {:<{}}  {:<{}} {:>8} {:>12} {:>12} {:>24} {:>10}\n", name_of(l.kind), l.part, part,
                       l.tier, tier, l.count, l.priced ? usd(l.usd.typical) : "?", l.priced ? usd(all.typical) : "?",
                       l.priced ? fmt::format("{} to {}", usd(all.low), usd(all.high)) : "?",
                       l.metered ? watts(l.total_watts().typical) : "?");
  }
  const auto line = [&](std::string_view what, const std::string& value) {
    out += fmt::format("  {:<26} {}\n", what, value);
  };
  out += '\n';
  line("capex", band(capex, usd));
  line("  per GPU", band(capex * (1 / gpus), usd));
  line("network without NICs",
       fmt::format("{}, {:.1f} % of capex", band(network, usd), percent(network.typical, capex.typical)));
  line("power of the equipment", band(power, watts));
  line("  per GPU",
       fmt::format("{}, {} of them network", band(power * (1 / gpus), watts), watts(network_power.typical / gpus)));
  line("power with the building", watts(e.facility_watts));
  line("energy", fmt::format("{:.3g} GWh a year, {} a year", e.kwh_per_year / 1e6, band(e.energy_usd_per_year, usd)));
  const auto cents = [](double x) { return fmt::format("{:.2f} USD", x); };
  line("a GPU-hour", band(e.usd_per_gpu_hour, cents));
  if (e.usd_per_million_tokens)
    line("a million tokens",
         fmt::format("{} at {:.0f} tokens/s",
                     band(*e.usd_per_million_tokens, [](double x) { return fmt::format("{:.3g} USD", x); }),
                     e.tokens_per_second));
  if (!bom.notes.empty()) out += '\n';
  for (const auto& note : bom.notes) out += "  note: " + note + "\n";
  if (!e.assumptions.empty()) out += '\n';
  for (const auto& a : e.assumptions) out += "  assumed: " + a + "\n";
  return out;
}

}  // namespace linkcast::planning
