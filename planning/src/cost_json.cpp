// A bill of materials as JSON of schema linkcast.bom/1 (docs/cost.md).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "linkcast/planning/cost.hpp"

namespace linkcast::planning {

using json = nlohmann::ordered_json;

namespace {

json of(const Band& b, bool known = true) {
  if (!known) return nullptr;
  return {{"low", b.low}, {"typical", b.typical}, {"high", b.high}};
}

}  // namespace

std::string json_report(const BillOfMaterials& bom, const Economics& e, std::string_view topology) {
  const auto capex = bom.capex(), network = bom.network_capex();
  json out{{"schema", "linkcast.bom/1"}, {"topology", topology}, {"nodes", bom.nodes}, {"gpus", bom.gpus}};
  out["lines"] = json::array();
  for (const auto& l : bom.lines)
    out["lines"].push_back({{"kind", name_of(l.kind)},
                            {"part", l.part},
                            {"tier", l.tier},
                            {"count", l.count},
                            {"share", l.share},
                            {"usd", of(l.usd, l.priced)},
                            {"total_usd", of(l.total_usd(), l.priced)},
                            {"watts", of(l.watts, l.metered)},
                            {"total_watts", of(l.total_watts(), l.metered)},
                            {"date", l.date},
                            {"source", l.source}});
  out["capex_usd"] = of(capex);
  out["capex_usd_per_gpu"] = of(capex * (1.0 / std::max(1, bom.gpus)));
  out["network_capex_usd"] = of(network);
  out["network_share"] = capex.typical > 0 ? network.typical / capex.typical : 0;
  out["power_w"] = of(bom.power());
  out["power_w_per_gpu"] = of(bom.power() * (1.0 / std::max(1, bom.gpus)));
  out["network_power_w"] = of(bom.network_power());
  out["facility_power_w"] = e.facility_watts;
  out["energy_kwh_per_year"] = e.kwh_per_year;
  out["energy_usd_per_year"] = of(e.energy_usd_per_year);
  out["usd_per_gpu_hour"] = of(e.usd_per_gpu_hour);
  if (e.usd_per_million_tokens) {
    out["tokens_per_second"] = e.tokens_per_second;
    out["usd_per_million_tokens"] = of(*e.usd_per_million_tokens);
  }
  out["unpriced"] = bom.unpriced;
  out["notes"] = bom.notes;
  out["assumptions"] = e.assumptions;
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace linkcast::planning
