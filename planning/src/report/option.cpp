// See option.hpp.
#include "option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "figures.hpp"

namespace linkcast::planning::report {
namespace {

void read_goals(Option& o) {
  const auto& goals = part_of(*o.row, "goals");
  o.has_goals = !goals.empty();
  bool first = true;
  for (const auto& g : goals) {
    if (!g.is_object()) continue;
    const bool known = !g.contains("known") || flag_of(g, "known");
    if (!known || !flag_of(g, "met")) ++o.missed;
    if (!known) continue;
    const auto margin = number_of(g, "margin_percent").value_or(0);
    if (first || margin < o.worst_margin) o.worst_margin = margin, o.worst_goal = text_of(g, "goal");
    first = false;
    if (const auto c = number_of(g, "confidence")) o.confidence = std::min(o.confidence.value_or(1), *c);
  }
  o.meets_all = o.has_goals && (o.row->contains("meets_all") ? flag_of(*o.row, "meets_all") : o.missed == 0);
}

/// Dominated: another is as good in all that is known of both, and better in something.
void mark_front(std::vector<Option>& all) {
  const auto dominates = [](const Option& a, const Option& b) {
    bool better = false;
    for (const auto what : {&Option::time_us, &Option::capex, &Option::power}) {
      if (!(a.*what) || !(b.*what)) continue;
      if (*(a.*what) > *(b.*what)) return false;
      better |= *(a.*what) < *(b.*what);
    }
    return better;
  };
  for (auto& o : all) {
    if (!o.done || !o.time_us || !(o.capex || o.power)) continue;
    o.front = std::ranges::none_of(all, [&](const Option& x) { return x.done && x.time_us && dominates(x, o); });
  }
}

/// Do the variants have several sizes of a collective? Then the fastest is the smallest, which says nothing.
bool several_sizes(const std::vector<Option>& all) {
  std::set<std::string> sizes;
  for (const auto& o : all)
    for (const auto& [key, value] : part_of(*o.row, "variant").items())
      if (key.find("size") != key.npos) sizes.insert(value.dump());
  return sizes.size() > 1 && std::ranges::all_of(all, [](const Option& o) { return !o.done || o.busbw; });
}

}  // namespace

std::string Measure::text(double value) const { return busbw ? rate_text(value) : time_text(value); }

Options read_options(const Json& study, bool plan) {
  Options out;
  const auto& rows = part_of(study, plan ? "options" : "rows");
  const auto baseline = text_of(study, "baseline");
  bool pareto_given = false;
  for (const auto& row : rows) {
    if (!row.is_object()) continue;
    Option o;
    o.row = &row;
    o.number = out.all.size() + 1;
    o.name = text_of(row, "name");
    if (o.name.empty()) o.name = fmt::format("variant {}", o.number);
    const auto status = text_of(row, "status");
    o.outage = status == "outage";
    o.time_us = number_of(row, "step_time_us");
    if (!o.time_us) o.time_us = number_of(row, "time_us");
    o.done = status.empty() ? o.time_us.has_value() : status == "done";
    const auto key = text_of(row, "key");
    o.baseline = (!baseline.empty() && (key == baseline || o.name == baseline)) ||
                 (!key.empty() && text_of(row, "baseline") == key);
    o.busbw = number_of(row, "busbw_GBps");
    o.capex = typical_of(row, "capex_usd");
    o.power = typical_of(row, "power_w");
    o.front = flag_of(row, "pareto");
    pareto_given |= row.contains("pareto");
    read_goals(o);
    out.all.push_back(std::move(o));
  }
  if (!pareto_given) mark_front(out.all);
  out.sizes = several_sizes(out.all);
  out.measure.busbw = out.sizes;
  int baselines = 0;
  for (const auto& o : out.all) {
    out.goals |= o.has_goals;
    out.outages += o.outage;
    out.failed += !o.done && !o.outage;
    if (o.baseline) out.baseline = &o, ++baselines;
    if (o.done && out.measure.of(o)) out.ranked.push_back(&o);
  }
  if (baselines != 1) out.baseline = nullptr;  // of several each variant has its own
  std::ranges::stable_sort(out.ranked, [&](const Option* a, const Option* b) {
    if (a->meets_all != b->meets_all) return a->meets_all;
    if (!a->meets_all && out.goals && a->missed != b->missed) return a->missed < b->missed;
    return out.measure.better(*out.measure.of(*a), *out.measure.of(*b));
  });
  // A plan has chosen already.
  const auto best = text_of(part_of(study, "verdict"), "best");
  if (const auto it = std::ranges::find(out.ranked, best, &Option::name); it != out.ranked.end())
    std::rotate(out.ranked.begin(), it, it + 1);
  return out;
}

std::string short_name(const Option& o, std::size_t most) {
  return o.name.size() <= most ? o.name : fmt::format("#{}", o.number);
}

}  // namespace linkcast::planning::report
