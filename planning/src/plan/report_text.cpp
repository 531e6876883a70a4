// The answer for people: the verdict, the front, then each machine's best layouts.
#include <fmt/format.h>

#include <algorithm>

#include "../row_facts.hpp"
#include "linkcast/planning/plan.hpp"

namespace linkcast::planning {
namespace {

std::string money(const std::optional<Band>& b, Metric m) { return b ? to_text(m, b->typical) : "-"; }

std::string goals_of(const PlanOption& o) {
  if (o.goals.empty()) return "";
  if (o.meets_all)
    return o.confidence >= 0.995 ? "meets all" : fmt::format("meets all, {:.0f} % sure", 100 * o.confidence);
  std::string text;
  for (const auto& g : o.goals) {
    if (g.known && g.met) continue;
    const auto word = name_of(g.goal.metric);
    text += fmt::format(
        "{}{}", text.empty() ? "" : ", ",
        g.known ? fmt::format("misses {} by {:.1f} %", word, -g.margin_percent) : fmt::format("{} not known", word));
  }
  return text;
}

using Table = std::vector<std::vector<std::string>>;

Table head(const PlanAnswer& a, bool named) {
  std::vector<std::string> h;
  if (named) h.insert(h.end(), {"machine", "GPUs"});
  h.insert(h.end(), {"step time", "MFU", "bound by", "capex", "power", "USD/M tokens"});
  if (!a.options.empty() && !a.options.front().goals.empty()) h.emplace_back("goals");
  h.emplace_back("layout");
  return {h};
}

void add(Table& t, const PlanOption& o, bool named) {
  std::vector<std::string> row;
  if (named) row.insert(row.end(), {o.machine, fmt::format("{}", o.gpus)});
  row.push_back(to_text(Metric::step_time, o.step_time.seconds()));
  row.push_back(fmt::format("{:.1f} %", 100 * o.mfu));
  row.push_back(o.bound_by);
  row.push_back(money(o.capex, Metric::capex));
  row.push_back(money(o.power, Metric::power));
  row.push_back(o.usd_per_million_tokens ? fmt::format("{:.3f}", o.usd_per_million_tokens->typical) : "-");
  if (!o.goals.empty()) row.push_back(goals_of(o));
  row.push_back(layout_text(o.layout));
  t.push_back(std::move(row));
}

std::string indented(const Table& t) {
  std::string text = "  " + aligned(t);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at)
    if (at + 1 < text.size()) text.insert(at + 1, "  ");
  return text;
}

/// `separator`: behind the first number, what the others add up to.
std::string counted(const PlanCounts& c, std::string_view separator = ",") {
  return fmt::format("{} layouts{} {} do not divide, {} do not fit, {} pruned by their bound, {}{} replayed", c.layouts,
                     separator, c.do_not_divide, c.do_not_fit, c.pruned_by_bound,
                     c.left > 0 ? fmt::format("{} left, ", c.left) : "", c.evaluated);
}

}  // namespace

std::string to_text(const PlanAnswer& a, bool all) {
  std::string out = fmt::format("{}\n\n{}\n", a.title, a.verdict);
  if (a.best)
    for (const auto& g : a.options[*a.best].goals) out += fmt::format("  {}: {}\n", g.goal.text, verdict_text(g));
  std::vector<const PlanOption*> front;
  for (const auto& o : a.options)
    if (o.pareto) front.push_back(&o);
  if (!front.empty()) {
    std::ranges::stable_sort(front, {}, [](const PlanOption* o) { return o->step_time; });
    auto table = head(a, true);
    for (const auto* o : front) add(table, *o, true);
    out += fmt::format("\nPareto front of step time, capex and power: {} of {} options\n{}", front.size(),
                       a.options.size(), indented(table));
  }
  std::string machine;
  for (const auto& cell : a.cells) {
    if (cell.machine != machine) out += fmt::format("\n{}\n", machine = cell.machine);
    out += fmt::format("  {} GPUs in {} machine{}: {}{}\n", cell.gpus, cell.nodes, cell.nodes == 1 ? "" : "s",
                       counted(cell.counts), cell.complete ? "" : "; not searched to the end");
    if (cell.options.empty()) {
      out += fmt::format("    {}\n", cell.why);
      continue;
    }
    auto table = head(a, false);
    const auto shown = all ? cell.options.size() : std::min<std::size_t>(3, cell.options.size());
    for (std::size_t i = 0; i < shown; ++i) add(table, a.options[cell.options[i]], false);
    auto text = indented(table);
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at)
      if (at + 1 < text.size()) text.insert(at + 1, "  ");
    out += "  " + text;
  }
  out += fmt::format("\nsearched: {}\n", counted(a.counts, ";"));
  if (!a.assumptions.empty()) {
    out += "assumed:\n";
    for (const auto& text : a.assumptions) out += fmt::format("  {}\n", text);
  }
  return out;
}

}  // namespace linkcast::planning
