// A sweep or a plan: which option is best, which goals each meets, what the options cost and where their time goes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "figures.hpp"
#include "option.hpp"

namespace linkcast::planning::report {
namespace {

constexpr std::size_t most_in_goals = 25, most_in_table = 400;

std::string quoted(const std::string& name) { return "\u201c" + name + "\u201d"; }

std::string costs(const Option& o) {
  std::string out;
  if (o.capex) out += ", " + usd_text(*o.capex);
  if (o.power) out += ", " + watts_text(*o.power);
  return out;
}

const Option* cheapest(const Options& options) {
  const Option* out = nullptr;
  for (const auto* o : options.ranked)
    if (o->meets_all && o->capex && (!out || *o->capex < *out->capex)) out = o;
  return out;
}

const Option* surest(const Options& options) {
  const Option* out = nullptr;
  for (const auto* o : options.ranked)
    if (o->meets_all && o->confidence && (!out || *o->confidence > *out->confidence)) out = o;
  return out;
}

std::string against_baseline(const Options& options, const Option& best) {
  if (!options.baseline || &best == options.baseline) return {};
  const auto percent = number_of(*best.row, "vs_baseline_percent");
  if (!percent || options.sizes) return {};
  auto out = fmt::format("{} {} than the baseline {}", percent_text(std::abs(*percent)),
                         *percent < 0 ? "faster" : "slower", quoted(options.baseline->name));
  if (const auto reason = text_of(*best.row, "reason"); !reason.empty()) out += ": " + reason;
  return out + ".";
}

Verdict verdict_of(const Options& options) {
  Verdict v;
  const auto& all = options.all;
  if (options.ranked.empty()) {
    v.mood = Verdict::Mood::bad;
    v.sentence = all.empty() ? "There is no variant to compare." : "None of the variants could be evaluated.";
    return v;
  }
  const auto& best = *options.ranked.front();
  const auto value = options.measure.text(*options.measure.of(best));
  const auto met = static_cast<std::size_t>(std::ranges::count_if(all, &Option::meets_all));
  const auto superlative = options.measure.busbw ? "the highest bus bandwidth" : "the shortest time";
  if (options.goals && met > 0) {
    v.mood = Verdict::Mood::good;
    v.sentence = all.size() == 1 ? fmt::format("All goals are met: {}{}.", value, costs(best))
                                 : fmt::format("{} meets every goal, with {} of those that do: {}{}.",
                                               quoted(best.name), superlative, value, costs(best));
    if (all.size() > 1) v.more.push_back(fmt::format("{} of {} options meet every goal.", met, all.size()));
    if (const auto* c = cheapest(options); c && c != &best)
      v.more.push_back(fmt::format("The cheapest of them is {}: {}{}.", quoted(c->name),
                                   options.measure.text(*options.measure.of(*c)), costs(*c)));
    if (best.confidence)
      v.more.push_back(
          fmt::format("With the expected error of the prediction, the least certain of its goals is met with "
                      "{:.0f} % confidence.",
                      100 * *best.confidence));
    if (const auto* s = surest(options);
        s != nullptr && s != &best && *s->confidence > best.confidence.value_or(1) + 0.05)
      v.more.push_back(fmt::format("The surest to meet them is {}, with {:.0f} % confidence: {}{}.", quoted(s->name),
                                   100 * *s->confidence, options.measure.text(*options.measure.of(*s)), costs(*s)));
  } else if (options.goals) {
    v.mood = Verdict::Mood::bad;
    v.sentence = all.size() == 1 ? "Not every goal is met." : "No option meets every goal.";
    v.more.push_back(fmt::format(
        "{} is nearest: it misses {} goal{}{}.", quoted(best.name), best.missed, best.missed == 1 ? "" : "s",
        best.worst_margin < 0 ? fmt::format(", {} by {}", best.worst_goal, percent_text(-best.worst_margin)) : ""));
  } else {
    v.sentence = all.size() == 1 ? fmt::format("{}: {}{}.", quoted(best.name), value, costs(best))
                                 : fmt::format("{} has {}: {}{}.", quoted(best.name), superlative, value, costs(best));
  }
  if (const auto text = against_baseline(options, best); !text.empty()) v.more.push_back(text);
  if (options.outages > 0)
    v.more.push_back(fmt::format("In {} of {} variants the job cannot run at all.", options.outages, all.size()));
  if (options.failed > 0)
    v.more.push_back(
        fmt::format("{} of {} variants could not be evaluated; the table says why.", options.failed, all.size()));
  return v;
}

void add_facts(Page& page, const Options& options) {
  if (options.ranked.empty()) return;
  const auto& best = *options.ranked.front();
  const auto& row = *best.row;
  const auto add = [&](std::string name, std::optional<double> value, std::string (*text)(double),
                       std::string soft = {}) {
    if (value) page.facts.push_back({std::move(name), text(*value), std::move(soft)});
  };
  const auto range = [&](std::string_view key, std::string (*text)(double)) {
    const auto& band = part_of(row, key);
    const auto low = number_of(band, "low"), high = number_of(band, "high");
    return low && high ? fmt::format("{} to {}", text(*low), text(*high)) : std::string{};
  };
  const auto error = part_of(row, "expected_error");
  const auto p90 = number_of(error, "p90_percent");
  add(options.measure.busbw ? "Time" : "Time of the best", best.time_us, time_text,
      p90 ? fmt::format("\u00b1{} in nine of ten", percent_text(*p90)) : "");
  add("Bus bandwidth", best.busbw, rate_text);
  add("Purchase", best.capex, usd_text, range("capex_usd", usd_text));
  add("Power", best.power, watts_text, range("power_w", watts_text));
  add("Network\u2019s share of the purchase", number_of(row, "network_share_percent"), percent_text);
  add("A GPU-hour", typical_of(row, "cost_per_gpu_hour_usd"), usd_text);
  add("A million tokens", typical_of(row, "cost_per_million_tokens_usd"), usd_text);
  add("Goodput", number_of(row, "goodput_percent"), percent_text, "time that failures leave");
  if (const auto mfu = number_of(row, "mfu"))
    page.facts.push_back({"MFU", percent_text(*mfu <= 1 ? 100 * *mfu : *mfu), {}});
  add("Tokens per second", number_of(row, "tokens_per_second"), digits);
}

std::string goals_section(const Options& options) {
  if (!options.goals) return {};
  std::vector<std::string> names;
  for (const auto& o : options.all)
    for (const auto& g : part_of(*o.row, "goals"))
      if (const auto name = text_of(g, "goal"); std::ranges::find(names, name) == names.end()) names.push_back(name);
  const auto shown = std::min(options.ranked.size(), most_in_goals);
  Table table{shown < options.ranked.size()
                  ? fmt::format("Goals of the best {} of {} options", shown, options.ranked.size())
                  : "Goals of each option, the best first"};
  table.column("option");
  for (const auto& n : names) table.column(n);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& o = *options.ranked[i];
    std::vector<Cell> cells(names.size() + 1);
    cells[0] = row_name(o.name);
    for (const auto& g : part_of(*o.row, "goals")) {
      const auto at = static_cast<std::size_t>(std::ranges::find(names, text_of(g, "goal")) - names.begin());
      auto& cell = cells[at + 1];
      if (g.contains("known") && !flag_of(g, "known")) {
        cell = {"not known", Cell::Look::plain, text_of(g, "text")};
        continue;
      }
      cell.look = flag_of(g, "met") ? Cell::Look::met : Cell::Look::missed;
      cell.text = text_of(g, "value_text");
      const auto margin = number_of(g, "margin_percent");
      const auto confidence = number_of(g, "confidence");
      cell.soft = fmt::format(
          "{}{}", margin ? "margin " + signed_percent_text(*margin) : "",
          confidence ? fmt::format("{}{:.0f} % likely to be met", margin ? ", " : "", 100 * *confidence) : "");
    }
    table.row(std::move(cells), o.meets_all);
  }
  return paragraph(
             "The margin is how far a value lies on the good side of its goal, in percent of the goal. How likely a "
             "goal is met follows from the error that such predictions have had.") +
         table.html();
}

Table all_options(const Json& study, const Options& options) {
  const auto shown = std::min(options.all.size(), most_in_table);
  Table table{shown < options.all.size()
                  ? fmt::format("The first {} of {} variants, in the order of the study", shown, options.all.size())
                  : "All variants, in the order of the study"};
  table.column("#", true).column("option").column("time", true).column("busbw", true).column("against baseline", true);
  table.column("reason").column("bound by").column("algorithm").column("exposed", true).column("MFU", true);
  table.column("tokens/s", true).column("purchase", true).column("power", true).column("GPU-hour", true);
  table.column("goodput", true).column("expected error");
  const auto text = [](std::optional<double> v, std::string (*f)(double)) { return v ? f(*v) : std::string{}; };
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& o = options.all[i];
    const auto& r = *o.row;
    const auto mfu = number_of(r, "mfu");
    auto time = text(o.time_us, time_text);
    if (o.outage)
      time = "outage";
    else if (!o.done)
      time = "error";
    auto reason = text_of(r, "reason");
    if (!o.done) reason = text_of(r, "error");
    auto algorithm = text_of(r, "algorithm");
    if (const auto protocol = text_of(r, "protocol"); !protocol.empty()) algorithm += " " + protocol;
    table.row({number(std::to_string(o.number)),
               row_name(o.name + (o.baseline ? " (baseline)" : "")),
               {time},
               {text(o.busbw, rate_text)},
               {text(number_of(r, "vs_baseline_percent"), signed_percent_text)},
               {reason},
               {text_of(r, "bound_by")},
               {algorithm},
               {text(number_of(r, "exposed_percent"), percent_text)},
               {mfu ? percent_text(*mfu <= 1 ? 100 * *mfu : *mfu) : ""},
               {text(number_of(r, "tokens_per_second"), digits)},
               {text(o.capex, usd_text)},
               {text(o.power, watts_text)},
               {text(typical_of(r, "cost_per_gpu_hour_usd"), usd_text)},
               {text(number_of(r, "goodput_percent"), percent_text)},
               {error_text(part_of(r, "expected_error"))}},
              o.meets_all);
  }
  (void)study;
  return table;
}

}  // namespace

void add_options(Page& page, const Json& study, bool plan) {
  const auto options = read_options(study, plan);
  page.kind = plan                      ? "Plan: options under goals"
              : options.all.size() == 1 ? "Evaluation of one scenario"
                                        : "Comparison of variants";
  page.verdict = verdict_of(options);
  if (const auto& v = part_of(study, "verdict"); !text_of(v, "text").empty()) {
    // The plan's own words: the first sentence large, the others below it.
    auto text = text_of(v, "text");
    std::vector<std::string> more;
    for (auto at = text.find(". "); at != text.npos; at = text.find(". ")) {
      more.push_back(text.substr(0, at + 1));
      text.erase(0, at + 2);
    }
    more.push_back(text);
    page.verdict.sentence = more.front();
    more.erase(more.begin());
    std::erase_if(page.verdict.more, [](const std::string& m) { return m.ends_with("options meet every goal."); });
    page.verdict.more.insert(page.verdict.more.begin(), more.begin(), more.end());
    page.verdict.mood = flag_of(v, "met") ? Verdict::Mood::good : Verdict::Mood::bad;
  }
  if (study.contains("complete") && !flag_of(study, "complete"))
    page.verdict.more.insert(page.verdict.more.begin(),
                             "It was stopped before its end: what is missing may be better.");
  add_facts(page, options);
  page.section("goals", "Goals met and missed", goals_section(options));
  page.section("comparison", options.sizes ? "Curves" : "Comparison",
               options.sizes ? curves(page, study, options) : comparison(page, options));
  if (!options.sizes) page.section("curves", "Curves", curves(page, study, options));
  page.section("pareto", "Time against cost and power", pareto(page, options));
  page.section("time", "Where the time goes", breakdown(page, options));
  if (const auto& searched = part_of(study, "searched"); !searched.empty()) {
    Table table{"What was searched"};
    table.column("layouts").column("number", true);
    for (const auto& [key, value] : searched.items()) {
      if (!value.is_number()) continue;
      auto name = key;
      std::ranges::replace(name, '_', ' ');
      table.row({row_name(name), {digits(value.get<double>())}});
    }
    if (!table.empty()) page.section("searched", "What was searched", table.html());
  }
  if (!options.all.empty()) page.section("options", "All options", all_options(study, options).html());
}

}  // namespace linkcast::planning::report
