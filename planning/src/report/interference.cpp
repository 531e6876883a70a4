// Several jobs on one fabric: what they take from each other, and where they should lie.
#include <fmt/format.h>

#include <algorithm>

#include "figures.hpp"
#include "page.hpp"

namespace linkcast::planning::report {
namespace {

std::string extra_text(double slowdown) { return signed_percent_text(100 * (slowdown - 1)); }

std::string jobs_section(const Page& page, const Json& jobs) {
  Chart chart{"bars.vega.json", "Bars of the extra time that each job takes because of the others"};
  chart.signal("axis_title", "extra time (%)");
  Table table{"Jobs"};
  table.column("job")
      .column("workload")
      .column("nodes", true)
      .column("placement")
      .column("alone", true)
      .column("together", true);
  table.column("extra time", true).column("at worst", true).column("bound by");
  for (const auto& j : jobs) {
    const auto name = text_of(j, "name");
    const auto slowdown = number_of(j, "slowdown"), worst = number_of(j, "worst_case_slowdown");
    const auto alone = number_of(j, "alone_us"), together = number_of(j, "together_us");
    if (slowdown) {
      const auto extra = 100 * (*slowdown - 1);
      Json row{{"label", name},
               {"value", extra},
               {"text", extra_text(*slowdown)},
               {"group", "job"},
               {"tip", fmt::format("{}: {} because of the others", name, extra_text(*slowdown))}};
      if (worst && *worst > *slowdown * 1.0005) {
        row["low"] = extra;
        row["high"] = 100 * (*worst - 1);
        row["text"] = fmt::format("{}, at worst {}", extra_text(*slowdown), extra_text(*worst));
      }
      chart.row(std::move(row));
    }
    const auto nodes = number_of(j, "nodes");
    table.row({row_name(name),
               {text_of(j, "workload")},
               {nodes ? digits(*nodes) : std::to_string(part_of(j, "nodes").size())},
               {text_of(j, "placement")},
               {alone ? time_text(*alone) : ""},
               {together ? time_text(*together) : ""},
               {slowdown ? extra_text(*slowdown) : ""},
               {worst ? extra_text(*worst) : ""},
               {text_of(j, "bound_by")}});
  }
  chart.domain("colour", {"job"});
  chart.without_legend();
  return page.chart(chart,
                    "How much longer each job takes than alone. Lines reach to the worst case: all jobs communicate at "
                    "the same moment.",
                    table);
}

std::string matrix_section(const Json& jobs, const Json& matrix) {
  if (!matrix.is_array() || matrix.size() != jobs.size() || jobs.size() < 2) return {};
  Table table{"Extra time of the job of the row because of the job of the column"};
  table.column("job");
  for (const auto& j : jobs) table.column(text_of(j, "name"), true);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    std::vector<Cell> cells{row_name(text_of(jobs[i], "name"))};
    for (std::size_t k = 0; k < matrix[i].size(); ++k)
      cells.push_back({i == k ? "\u2013" : matrix[i][k].is_number() ? extra_text(matrix[i][k].get<double>()) : ""});
    table.row(std::move(cells));
  }
  return table.html();
}

std::string placement_section(const Json& study) {
  std::string out;
  Table table{"Each job under each placement, the others where they are"};
  table.column("job")
      .column("placement")
      .column("alone", true)
      .column("together", true)
      .column("extra time", true)
      .column("over seeds");
  for (const auto& p : part_of(study, "placements")) {
    const auto alone = number_of(p, "alone_us"), time = number_of(p, "time_us"), slowdown = number_of(p, "slowdown");
    const auto least = number_of(p, "least_us"), most = number_of(p, "most_us");
    table.row({row_name(text_of(p, "job")),
               {text_of(p, "placement")},
               {alone ? time_text(*alone) : ""},
               {time ? time_text(*time) : ""},
               {slowdown ? extra_text(*slowdown) : ""},
               {least && most ? fmt::format("{} to {}", time_text(*least), time_text(*most)) : ""}});
  }
  if (!table.empty()) out += table.html();
  Table suggested{"Suggested nodes"};
  suggested.column("job").column("hosts").column("time", true).column("as given", true);
  for (const auto& s : part_of(study, "suggested")) {
    const auto time = number_of(s, "time_us"), given = number_of(s, "given_us");
    suggested.row({row_name(text_of(s, "job")),
                   {text_of(s, "hosts")},
                   {time ? time_text(*time) : ""},
                   {given ? time_text(*given) : ""}});
  }
  if (!suggested.empty()) out += suggested.html();
  return out;
}

}  // namespace

void add_interference(Page& page, const Json& study) {
  page.kind = "Interference: several jobs on one fabric";
  const auto& jobs = part_of(study, "jobs");
  const Json* worst = nullptr;
  double most = 0;
  for (const auto& j : jobs)
    if (const auto s = number_of(j, "slowdown"); s && *s > most) most = *s, worst = &j;
  auto& v = page.verdict;
  if (worst == nullptr)
    v.sentence = "There are no jobs to compare.";
  else if (most < 1.005)
    v.sentence = "The jobs do not slow each other down by more than half a percent.";
  else
    v.sentence = fmt::format("The jobs share what one of them needs: \u201c{}\u201d takes {} longer than alone.",
                             text_of(*worst, "name"), percent_text(100 * (most - 1)));
  for (const auto& s : part_of(study, "suggested")) {
    const auto time = number_of(s, "time_us"), given = number_of(s, "given_us");
    if (time && given && *time < *given * 0.995)
      v.more.push_back(fmt::format("\u201c{}\u201d on {} would take {} instead of {}.", text_of(s, "job"),
                                   text_of(s, "hosts"), time_text(*time), time_text(*given)));
  }
  if (!jobs.empty()) page.section("jobs", "Jobs", jobs_section(page, jobs));
  page.section("matrix", "Who slows whom", matrix_section(jobs, part_of(study, "matrix")));
  page.section("placement", "Placements", placement_section(study));
}

}  // namespace linkcast::planning::report
