// A goodput for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "linkcast/planning/goodput.hpp"
#include "quantities.hpp"

namespace linkcast::planning {
namespace {

double percent(double share) { return 100 * share; }

/// Digits that mean something: six.
double rounded(double x) {
  if (x == 0 || !std::isfinite(x)) return 0;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(x))));
  return std::round(x * scale) / scale;
}

}  // namespace

std::string to_text(const Goodput& g) {
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("  {:<22}{}\n", name, value);
  };
  out += fmt::format("Goodput {:.1f} % of {} (5 % of trials below {:.1f} %, 5 % above {:.1f} %)\n",
                     percent(g.share.mean), span_text(g.duration), percent(g.share.p5), percent(g.share.p95));
  if (g.interruptions.mean > 0) {
    line("interruptions", fmt::format("{:.4g} ({:.4g} to {:.4g}), one every {:.3g} h", g.interruptions.mean,
                                      g.interruptions.p5, g.interruptions.p95, g.mtbf_hours));
  } else {
    line("interruptions", "none");
  }
  const bool some = g.daly_interval > sim::Time{};
  line("checkpoint every", fmt::format("{}{}", span_text(g.checkpoint_interval),
                                       some ? fmt::format(" (best: {} by Daly's formula, {} by Young's)",
                                                          span_text(g.daly_interval), span_text(g.young_interval))
                                            : ""));
  line("by Daly's equation", fmt::format("{:.1f} %, without waiting for parts and slow ones", percent(g.analytic)));
  line("spares", fmt::format("{}; {:g} nodes in repair at once at most ({:g} in 5 % of trials)",
                             g.spares ? fmt::format("{}", *g.spares) : "as many as it takes", g.spares_needed.p50,
                             g.spares_needed.p95));
  out += "Lost\n";
  const auto lost = [&](std::string_view name, double share) { line(name, fmt::format("{:.2f} %", percent(share))); };
  lost("writing checkpoints", g.lost.checkpoint);
  lost("work done again", g.lost.lost_work);
  lost("detection, restart", g.lost.restart);
  lost("waiting for repair", g.lost.spares);
  lost("slower or stalled", g.lost.degraded);
  std::size_t wide = 5;
  for (const auto& c : g.by_cause) wide = std::max(wide, c.cause.size());
  if (!g.by_cause.empty()) out += fmt::format("{:<{}}  failures  interruptions      share      lost\n", "Cause", wide);
  for (const auto& c : g.by_cause) {
    out += fmt::format("{:<{}}  {:>8.3g}  {:>13.3g}  {:>7.1f} %  {:>6.2f} %\n", c.cause, wide, c.failures,
                       c.interruptions, percent(c.share), percent(c.lost));
  }
  out += fmt::format("{} trials, seed {}\n", g.trials, g.seed);
  for (const auto& a : g.assumptions) out += fmt::format("assumed: {}\n", a);
  return out;
}

std::string json_report(const Goodput& g) {
  using Json = nlohmann::ordered_json;
  const auto share = [](double x) { return rounded(percent(x)); };
  Json j;
  j["mean"] = share(g.share.mean), j["p5"] = share(g.share.p5), j["p50"] = share(g.share.p50);
  j["p95"] = share(g.share.p95);
  j["interruptions"] = {
      {"mean", rounded(g.interruptions.mean)}, {"p5", g.interruptions.p5}, {"p95", g.interruptions.p95}};
  j["mtbf_hours"] = g.interruptions.mean > 0 ? Json(rounded(g.mtbf_hours)) : Json(nullptr);
  j["spares"] = g.spares ? Json(*g.spares) : Json(nullptr);
  j["spares_needed"] = {{"mean", rounded(g.spares_needed.mean)}, {"p95", g.spares_needed.p95}};
  j["lost_percent"] = {{"checkpoint", share(g.lost.checkpoint)},
                       {"lost_work", share(g.lost.lost_work)},
                       {"restart", share(g.lost.restart)},
                       {"spares", share(g.lost.spares)},
                       {"degraded", share(g.lost.degraded)}};
  j["checkpoint_interval_s"] = rounded(g.checkpoint_interval.seconds());
  const bool some = g.daly_interval > sim::Time{};
  j["daly_interval_s"] = some ? Json(rounded(g.daly_interval.seconds())) : Json(nullptr);
  j["young_interval_s"] = some ? Json(rounded(g.young_interval.seconds())) : Json(nullptr);
  j["analytic_percent"] = share(g.analytic);
  j["trials"] = g.trials, j["seed"] = g.seed, j["duration_s"] = rounded(g.duration.seconds());
  j["by_cause"] = Json::array();
  for (const auto& c : g.by_cause) {
    j["by_cause"].push_back({{"cause", c.cause},
                             {"part", c.part},
                             {"failures", rounded(c.failures)},
                             {"interruptions", rounded(c.interruptions)},
                             {"share_percent", share(c.share)},
                             {"lost_percent", share(c.lost)}});
  }
  j["assumptions"] = g.assumptions;
  return j.dump(2);
}

}  // namespace linkcast::planning
