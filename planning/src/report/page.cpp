// See page.hpp and report.hpp: the parts of a page put together.
#include "page.hpp"

#include <fmt/format.h>

#include <cmath>

#include "../sha256.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::planning::report {
namespace {

constexpr std::string_view missing_charts =
    "Charts are missing from this report, tables are not: the linkcast that made it was built without the plotting "
    "library Vega. To have them, install Vega (Debian: libjs-vega), build linkcast again, and run the command below.";

std::string filled(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  std::string out;
  while (!text.empty()) {
    const auto at = text.find('@');
    out += text.substr(0, at);
    if (at == text.npos) break;
    text.remove_prefix(at);
    bool known = false;
    for (const auto& [name, value] : fields) {
      if (!text.starts_with(name)) continue;
      out += value;
      text.remove_prefix(name.size());
      known = true;
      break;
    }
    if (known) continue;
    out += '@';
    text.remove_prefix(1);
  }
  return out;
}

std::string verdict_html(const Page& page) {
  const auto& v = page.verdict;
  const auto mood = v.mood == Verdict::Mood::good ? "good" : v.mood == Verdict::Mood::bad ? "bad" : "neutral";
  auto out = fmt::format(
      "<section id=\"verdict\" class=\"{}\" tabindex=\"-1\">\n<h2>Verdict</h2>\n<p "
      "class=\"sentence\">{}</p>\n{}</section>\n",
      mood, escaped(v.sentence), list(v.more));
  if (page.facts.empty()) return out;
  out += "<dl class=\"facts\">\n";
  for (const auto& f : page.facts)
    out += fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>\n", escaped(f.name), escaped(f.value),
                       f.soft.empty() ? "" : "<small>" + escaped(f.soft) + "</small>");
  return out + "</dl>\n";
}

std::string contents(const Page& page) {
  if (page.sections().size() < 2) return {};
  std::string out = "<nav aria-label=\"Contents\"><ul>\n";
  for (const auto& s : page.sections())
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", s.id, escaped(s.heading));
  return out + "</ul></nav>\n";
}

Json parsed(std::string_view text) {
  auto out = Json::parse(text, nullptr, false);
  if (out.is_discarded() || !out.is_object())
    throw sim::InputError("a report is made of a study's JSON, and this is none",
                          "give what the command prints with --json");
  return out;
}

void add(Page& page, const Json& study, const ReportFacts& facts) {
  const auto schema = text_of(study, "schema");
  if (schema == "linkcast.sweep/1")
    add_options(page, study, false);
  else if (schema == "linkcast.plan/1")
    add_options(page, study, true);
  else if (schema == "linkcast.resilience/1")
    add_resilience(page, study);
  else if (schema == "linkcast.interference/1")
    add_interference(page, study);
  else if (schema == "linkcast.run/1" || schema == "linkcast.replay/1")
    add_run(page, study, facts);
  else if (schema == "linkcast.fault-run/1")
    add_fault_run(page, study);
  else if (schema == "linkcast.collective/1")
    add_collective(page, study);
  else
    throw sim::InputError(fmt::format("there is no report of schema '{}'", schema),
                          "there is one of linkcast.sweep/1, plan/1, resilience/1, interference/1, run/1, replay/1 and "
                          "collective/1");
}

}  // namespace

std::optional<double> number_of(const Json& object, std::string_view key) {
  if (!object.is_object()) return std::nullopt;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number()) return std::nullopt;
  const auto value = it->get<double>();
  return std::isfinite(value) ? std::optional{value} : std::nullopt;
}

std::optional<double> typical_of(const Json& object, std::string_view key) {
  const auto& band = part_of(object, key);
  return band.is_object() ? number_of(band, "typical") : number_of(object, key);
}

std::string text_of(const Json& object, std::string_view key) {
  if (!object.is_object()) return {};
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return {};
  return it->is_string() ? it->get<std::string>() : it->is_structured() ? std::string{} : it->dump();
}

bool flag_of(const Json& object, std::string_view key) {
  if (!object.is_object()) return false;
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

const Json& part_of(const Json& object, std::string_view key) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto it = object.find(key);
  return it == object.end() || !it->is_structured() ? nothing : *it;
}

void Page::section(std::string id, std::string heading, std::string html) {
  if (!html.empty()) sections_.push_back({std::move(id), std::move(heading), std::move(html)});
}

std::string Page::chart(const Chart& chart, std::string_view caption, const Table& table) const {
  if (chart.rows() == 0) return {};
  const auto rows = table.empty() ? std::string{} : table.html();
  if (!charts_) return rows;
  return chart.html(caption) + folded("The same as a table", rows);
}

std::string html_report(std::string_view json, const ReportFacts& facts, const std::vector<Asset>& library) {
  const auto study = parsed(json);
  auto script = plotting_library(library);
  Page page{!script.empty()};
  add(page, study, facts);
  add_links(page, study, facts);
  add_timeline(page, facts);
  add_evidence(page, study, facts);

  auto body = verdict_html(page);
  if (!page.charts()) body += paragraph(missing_charts, "note");
  bool drawn = false;
  for (const auto& s : page.sections()) {
    body += fmt::format("<section id=\"{}\" aria-labelledby=\"{}-h\">\n<h2 id=\"{}-h\">{}</h2>\n{}</section>\n", s.id,
                        s.id, s.id, escaped(s.heading), s.html);
    drawn |= s.html.find("<figure class=\"chart\">") != std::string::npos;
  }

  // Whatever a title says: only this one script runs, and nothing is fetched.
  std::string element, policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
  std::string licence;
  if (drawn) {
    script = "\n" + script + std::string{asset("charts.js")};
    policy += "; script-src 'sha256-" + base64(sha256(script)) + "'";
    element = "<script>" + script + "</script>";
    if (const auto text = plotting_licence(library); !text.empty())
      licence = fmt::format(
          "<details>\n<summary>Licence of the plotting library</summary>\n<pre>{}</pre>\n</details>\n", escaped(text));
  }
  const auto title = text_of(study, "title");
  const auto heading = title.empty() ? page.kind : title;
  const auto by = facts.version.empty() ? std::string{"linkcast"} : facts.version;
  const auto footer = fmt::format(
      "Made by {}. {}This file is complete in itself: it loads nothing and sends nothing. The same command on the same "
      "files writes the same bytes.",
      by, drawn ? "Charts are drawn by Vega (University of Washington Interactive Data Lab; BSD-3-Clause). " : "");
  return filled(asset("template.html"), {{"@POLICY@", policy},
                                         {"@GENERATOR@", escaped(by)},
                                         {"@TITLE@", escaped(heading)},
                                         {"@STYLE@", asset("style.css")},
                                         {"@KIND@", escaped(page.kind)},
                                         {"@HEADING@", escaped(heading)},
                                         {"@CONTENTS@", contents(page)},
                                         {"@BODY@", body},
                                         {"@FOOTER@", escaped(footer)},
                                         {"@LICENCE@", licence},
                                         {"@SCRIPT@", element}});
}

}  // namespace linkcast::planning::report

namespace linkcast::planning {

std::string html_report(std::string_view json, const ReportFacts& facts) {
  return report::html_report(json, facts, report::assets());
}

bool report_has_charts() { return !report::plotting_library(report::assets()).empty(); }

}  // namespace linkcast::planning
