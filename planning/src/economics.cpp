// What a cluster costs while it runs: capex over its years, energy, rent of the building. See cost.hpp.
#include <fmt/format.h>

#include "linkcast/planning/cost.hpp"
#include "prices_data.hpp"

namespace linkcast::planning {
namespace {

constexpr double hours_per_year = 8760;

}  // namespace

Economics economics(const BillOfMaterials& bom, const Prices& prices, double tokens_per_second, double goodput) {
  const auto& p = prices.data();
  const auto known = [](const std::optional<Figure>& f, double otherwise) {
    return f ? f->band : Band{otherwise, otherwise, otherwise};
  };
  const auto years = known(p.years, 5), pue = known(p.pue, 1), electricity = known(p.electricity, 0);
  const auto hosting = known(p.hosting, 0);
  const auto capex = bom.capex(), watts = bom.power();

  Economics out;
  // A long life is the cheap end, a short one the dear end.
  const Band per_year{capex.low / years.high, capex.typical / years.typical, capex.high / years.low};
  const auto energy = [](double w, double building, double usd) { return w / 1e3 * building * hours_per_year * usd; };
  out.energy_usd_per_year = {energy(watts.low, pue.low, electricity.low),
                             energy(watts.typical, pue.typical, electricity.typical),
                             energy(watts.high, pue.high, electricity.high)};
  out.facility_watts = watts.typical * pue.typical;
  out.kwh_per_year = out.facility_watts / 1e3 * hours_per_year;
  const Band rent{hosting.low * 12 * watts.low / 1e3, hosting.typical * 12 * watts.typical / 1e3,
                  hosting.high * 12 * watts.high / 1e3};
  Band all = per_year;
  all += out.energy_usd_per_year;
  all += rent;
  if (bom.gpus > 0) out.usd_per_gpu_hour = all * (1 / hours_per_year / bom.gpus);
  if (tokens_per_second > 0 && goodput > 0) {
    out.tokens_per_second = tokens_per_second * goodput;
    out.usd_per_million_tokens = all * (1 / (hours_per_year * 3600) / out.tokens_per_second * 1e6);
  }

  const auto say = [&](std::string_view what, const std::optional<Figure>& f, std::string_view unit) {
    if (f)
      out.assumptions.push_back(fmt::format("{}: {:g}{} ({:g} to {:g}); {}", what, f->band.typical, unit, f->band.low,
                                            f->band.high, f->source));
  };
  say("written off over", p.years, " years");
  say("PUE", p.pue, "");
  say("electricity", p.electricity, " USD/kWh");
  say("hosting", p.hosting, " USD/kW/month");
  out.assumptions.push_back("every part draws its watts all year: an upper bound of the energy where machines idle");
  if (!p.hosting) out.assumptions.push_back("the building, its staff and the cost of capital are not counted");
  return out;
}

}  // namespace linkcast::planning
