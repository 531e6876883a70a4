// What every report ends with: links, timeline, how far the figures are to be trusted, what was assumed, and how to get
// the same again.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "figures.hpp"
#include "page.hpp"

namespace linkcast::planning::report {
namespace {

void collect_texts(const Json& list, std::vector<std::string>& out, std::set<std::string>& known) {
  for (const auto& a : list) {
    std::string text;
    if (a.is_string()) {
      text = a.get<std::string>();
    } else if (a.is_object()) {
      // {what, value, source, date}: whatever of these is there, in this order.
      for (const auto* key : {"name", "what", "text", "value"})
        if (const auto t = text_of(a, key); !t.empty()) text += (text.empty() ? "" : ": ") + t;
      const auto source = text_of(a, "source"), date = text_of(a, "date");
      if (!source.empty()) text += fmt::format(" (source: {}{})", source, date.empty() ? "" : ", " + date);
    }
    if (!text.empty() && known.insert(text).second) out.push_back(text);
  }
}

struct Error {
  double median = 0, p90 = 0;
  bool extrapolated = false;
  std::string from;
};

/// Every expected error anywhere in the study, by where it is from.
void collect_errors(const Json& value, std::map<std::string, Error>& out) {
  if (value.is_object()) {
    if (const auto& e = part_of(value, "expected_error"); !e.empty()) {
      const auto from = text_of(e, "from");
      auto& x = out[from];
      x.median = std::max(x.median, number_of(e, "median_percent").value_or(0));
      x.p90 = std::max(x.p90, number_of(e, "p90_percent").value_or(0));
      x.extrapolated |= flag_of(e, "extrapolated");
      x.from = from;
    }
  }
  if (value.is_structured())
    for (const auto& child : value) collect_errors(child, out);
}

/// Links by kind, which is the first word of their names after the machine's.
std::vector<ReportTier> tiers_of(const Json& links) {
  std::vector<ReportTier> out;
  for (const auto& l : links) {
    const auto name = text_of(l, "name");
    const auto use = number_of(l, "utilisation");
    if (!use) continue;
    std::string kind = "links";
    for (const std::string_view k : {"nvlink", "pcie", "c2c", "cable", "nic"})
      if (name.starts_with(k) || name.find(" " + std::string{k} + " ") != name.npos) kind = k;
    if (kind == "links") kind = name.substr(0, name.find(' '));
    auto it = std::ranges::find(out, kind, &ReportTier::name);
    if (it == out.end()) it = out.insert(out.end(), ReportTier{kind, 0, 0, 0, {}});
    ++it->links;
    it->mean += 100 * *use;
    if (it->busiest_link.empty() || 100 * *use > it->busiest) it->busiest = 100 * *use, it->busiest_link = name;
  }
  for (auto& t : out) t.mean /= static_cast<double>(t.links);
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) { return a.busiest > b.busiest; });
  return out;
}

}  // namespace

Table goal_table(const Json& goals, std::string caption) {
  Table table{std::move(caption)};
  table.column("goal").column("verdict").column("margin", true).column("how sure", true);
  for (const auto& g : goals) {
    if (!g.is_object()) continue;
    const bool known = !g.contains("known") || flag_of(g, "known");
    Cell verdict{known ? text_of(g, "value_text") : "not known", Cell::Look::plain, known ? "" : text_of(g, "text")};
    if (known) verdict.look = flag_of(g, "met") ? Cell::Look::met : Cell::Look::missed;
    const auto margin = number_of(g, "margin_percent"), sure = number_of(g, "confidence");
    table.row({row_name(text_of(g, "goal")),
               verdict,
               {margin ? signed_percent_text(*margin) : ""},
               {sure ? fmt::format("{:.0f} %", 100 * *sure) : ""}});
  }
  return table;
}

std::string error_text(const Json& e) {
  const auto median = number_of(e, "median_percent"), p90 = number_of(e, "p90_percent");
  if (!median && !p90) return {};
  std::string out;
  if (median) out = fmt::format("\u00b1{} in half", percent_text(*median));
  if (p90 && *p90 > 0) out += fmt::format("{}\u00b1{} in nine of ten", out.empty() ? "" : ", ", percent_text(*p90));
  return out + (flag_of(e, "extrapolated") ? " (extrapolated)" : "");
}

void add_links(Page& page, const Json& study, const ReportFacts& facts) {
  auto tiers = facts.tiers;
  if (tiers.empty()) tiers = tiers_of(part_of(study, "links"));
  std::string out;
  if (!facts.topology_svg.empty()) {
    const std::string_view how =
        tiers.empty() ? "" : " Darker and wider links were busier, measured against their rate over the whole time.";
    out += fmt::format(
        "<figure>\n<figcaption>The machines and their network.{}</figcaption>\n<div class=\"drawing\" tabindex=\"0\" "
        "role=\"region\" aria-label=\"Drawing of the topology\">{}</div>\n</figure>\n",
        how, facts.topology_svg);
  }
  if (!tiers.empty()) {
    Table table{"How busy links were, over the whole time"};
    table.column("links").column("in use", true).column("busiest", true).column("mean", true).column("the busiest one");
    for (const auto& t : tiers)
      table.row({row_name(t.name),
                 {digits(static_cast<double>(t.links))},
                 {percent_text(t.busiest)},
                 {percent_text(t.mean)},
                 {t.busiest_link}});
    out += table.html();
  }
  page.section("links", tiers.empty() ? "Topology" : "How busy the links were", out);
}

void add_timeline(Page& page, const ReportFacts& facts) {
  if (facts.timeline.empty()) return;
  double first = facts.timeline.front().start_us, last = facts.timeline.front().end_us;
  std::vector<std::string> kinds;
  std::map<std::string, double> total;
  for (const auto& s : facts.timeline) {
    first = std::min(first, s.start_us);
    last = std::max(last, s.end_us);
    if (!total.contains(s.kind)) kinds.push_back(s.kind);
    total[s.kind] += s.end_us - s.start_us;
  }
  std::ranges::stable_sort(kinds, [&](const auto& a, const auto& b) { return total[a] > total[b]; });
  auto domain = kinds;
  if (domain.size() > palette_size) {
    domain.resize(palette_size - 1);
    domain.emplace_back("others");
  }
  const auto unit = time_unit(last - first);
  Chart chart{"timeline.vega.json", "What each lane does, from left to right"};
  chart.signal("axis_title", fmt::format("time ({})", unit.name));
  chart.domain("colour", domain);
  Table table{"The same in words"};
  table.column("lane").column("what").column("kind").column("start", true).column("takes", true);
  for (const auto& s : facts.timeline) {
    const auto at = std::ranges::find(domain, s.kind);
    const auto colour = at == domain.end() ? domain.size() - 1 : static_cast<std::size_t>(at - domain.begin());
    chart.row({{"lane", s.lane},
               {"name", s.name},
               {"kind", domain[colour]},
               {"x0", s.start_us / unit.divisor},
               {"x1", s.end_us / unit.divisor},
               {"ink", ink_on(colour)},
               {"tip", fmt::format("{}: {} ({}), {} from {}", s.lane, s.name, s.kind, time_text(s.end_us - s.start_us),
                                   time_text(s.start_us))}});
    if (table.size() < 300)
      table.row({row_name(s.lane), {s.name}, {s.kind}, {time_text(s.start_us)}, {time_text(s.end_us - s.start_us)}});
  }
  page.section("timeline", "Timeline", page.chart(chart, facts.timeline_note, table));
}

void add_evidence(Page& page, const Json& study, const ReportFacts& facts) {
  std::map<std::string, Error> errors;
  collect_errors(study, errors);
  if (!errors.empty()) {
    Table table{"Expected errors of the predictions, the largest of each kind"};
    table.column("measured on").column("half within", true).column("nine of ten within", true).column("");
    for (const auto& [from, e] : errors)
      table.row({row_name(from.empty() ? "all measurements that are known" : from),
                 {"\u00b1" + percent_text(e.median)},
                 {e.p90 > 0 ? "\u00b1" + percent_text(e.p90) : ""},
                 {e.extrapolated ? "extrapolated: no measurement of such a system is known" : ""}});
    page.section("errors", "How far the figures are to be trusted",
                 paragraph("Each prediction carries the error that predictions of the nearest measured systems have "
                           "had, on measurements that "
                           "the model was not fitted to.") +
                     table.html());
  }

  std::vector<std::string> assumed;
  std::set<std::string> known;
  collect_texts(part_of(study, "assumptions"), assumed, known);
  collect_texts(part_of(part_of(study, "goodput"), "assumptions"), assumed, known);
  for (const auto& a : facts.assumptions)
    if (known.insert(a).second) assumed.push_back(a);
  collect_texts(part_of(study, "notes"), assumed, known);
  page.section("assumptions", "Assumptions and their sources", list(assumed));

  const auto command = facts.command.empty() ? text_of(study, "command") : facts.command;
  std::string again;
  if (!command.empty()) again += fmt::format("<pre tabindex=\"0\" aria-label=\"Command\">{}</pre>\n", escaped(command));
  Table table{"What it depends on"};
  table.column("what").column("value");
  if (!facts.version.empty()) table.row({row_name("version"), {facts.version}});
  if (facts.seed) table.row({row_name("seed"), {std::to_string(*facts.seed)}});
  for (const auto& i : facts.inputs)
    table.row({row_name(i.path), {i.hash.empty() ? "could not be read again" : i.hash}});
  if (!table.empty()) again += table.html();
  page.section("again", "How to get the same again", again);
}

}  // namespace linkcast::planning::report
