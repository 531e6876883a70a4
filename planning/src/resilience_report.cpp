// A study of faults as text, CSV and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linkcast/planning/resilience.hpp"

namespace linkcast::planning {
namespace {

using Json = nlohmann::ordered_json;

double us(sim::Time t) { return static_cast<double>(t.ps()) / 1e6; }

std::string time_text(sim::Time t) {
  const double x = us(t);
  if (x >= 1e6) return fmt::format("{:.3f} s", x * 1e-6);
  if (x >= 1e3) return fmt::format("{:.3f} ms", x * 1e-3);
  return fmt::format("{:.2f} us", x);
}

std::string slowdown_text(double slowdown) {
  const double percent = (slowdown - 1) * 100;
  return std::abs(percent) < 0.005 ? "no change" : fmt::format("{:+.2f} %", percent);
}

/// Quoted where it must be (RFC 4180).
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string{"\"\""} : std::string{c};
  return out + "\"";
}

/// Outages of one kind of part are one row, whatever classes they are of.
std::vector<FaultRow> for_people(const std::vector<FaultRow>& rows) {
  std::vector<FaultRow> out;
  for (const auto& row : rows) {
    const auto same = std::ranges::find_if(out, [&](const FaultRow& x) {
      return x.outage && row.outage && x.kind == row.kind && x.fault == row.fault && x.jobs == row.jobs;
    });
    if (same == out.end())
      out.push_back(row);
    else
      same->count += row.count;
  }
  return out;
}

std::string verdict(const Resilience& r) {
  std::int64_t parts = 0, fatal = 0;
  double worst = 1;
  for (const auto& row : r.rows) {
    if (!row.outage) worst = std::max(worst, row.slowdown);
    if (row.fault != FaultKind::fail) continue;
    parts += row.count;
    if (row.outage) fatal += row.count;
  }
  if (parts == 0) return "nothing that can fail was looked at\n";
  return fmt::format("{} parts in {} classes: {} single fault costs {}\n", parts,
                     std::ranges::count(r.rows, FaultKind::fail, &FaultRow::fault),
                     fatal == 0 ? "no loss of one stops the job, and a"
                                : fmt::format("the loss of any of {} stops the job; every other", fatal),
                     worst < 1.00005 ? "nothing" : fmt::format("at most {:.2f} %", (worst - 1) * 100));
}

}  // namespace

std::string to_text(const Resilience& r, std::size_t most_rows) {
  std::string out = r.title + "\n";
  out += fmt::format("{}, {} GPUs; without faults {}{}\n\n", r.baseline.topology, r.baseline.ranks,
                     time_text(r.baseline.time),
                     r.baseline.bound_by.empty() ? "" : fmt::format(", bound by {}", r.baseline.bound_by));
  for (const auto& [name, time] : r.jobs) out += fmt::format("  job {}: {}\n", name, time_text(time));
  if (r.interrupted) out += "interrupted: only what was finished is below, and the rest may be worse\n";
  out += verdict(r) + "\n";
  const auto rows = for_people(r.rows);
  std::size_t width = 8, kind = 4, fault = 5;
  for (const auto& row : rows) {
    width = std::max(width, row.element.size());
    kind = std::max(kind, name_of(row.kind).size());
    fault = std::max(fault, row.fault_text.size());
  }
  const bool jobs = std::ranges::any_of(r.rows, [](const auto& x) { return !x.jobs.empty(); });
  out += fmt::format("{:<{}}  {:<{}}  {:>7}  {:<{}}  {:>10}  {:>12}  {}\n", "one such", width, "kind", kind, "parts",
                     "fault", fault, "slowdown", "time", jobs ? "bound by; jobs hit" : "bound by");
  std::size_t shown = 0;
  for (const auto& row : rows) {
    if (most_rows > 0 && shown++ == most_rows) {
      out += fmt::format("... and {} more rows (--all, --csv)\n", rows.size() - most_rows);
      break;
    }
    std::string why = row.outage ? row.outage_reason : row.bound_by;
    if (!row.jobs.empty()) why += fmt::format("; {}", fmt::join(row.jobs, ", "));
    out += fmt::format("{:<{}}  {:<{}}  {:>7}  {:<{}}  {:>10}  {:>12}  {}\n", row.element, width, name_of(row.kind),
                       kind, row.count, row.fault_text, fault, row.outage ? "outage" : slowdown_text(row.slowdown),
                       row.outage ? "-" : time_text(row.time), why);
  }
  if (r.pairs) {
    const auto& p = *r.pairs;
    out += fmt::format(
        "\n{} random pairs of parts fail together: {} outages; the others cost {:.2f} % (median), {:.2f} % "
        "(95th percentile), {:.2f} % (most)\n",
        p.sampled, p.outages, (p.median - 1) * 100, (p.p95 - 1) * 100, (p.most - 1) * 100);
    for (const auto& w : p.worst)
      if (w.outage || w.slowdown > 1.00005)
        out += fmt::format("  {} and {}: {}\n", w.first, w.second,
                           w.outage ? "outage: " + w.outage_reason : slowdown_text(w.slowdown));
  }
  if (r.goodput) out += "\n" + to_text(*r.goodput);
  out += goals_text(r.goals);
  for (const auto& a : r.assumptions) out += fmt::format("note: {}\n", a);
  return out;
}

std::string to_csv(const Resilience& r) {
  std::string out = "element,kind,count,fault,outage,outage_reason,time_us,slowdown,bound_by,jobs\n";
  for (const auto& row : r.rows)
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", cell(row.element), name_of(row.kind), row.count,
                       cell(row.fault_text), row.outage, cell(row.outage_reason),
                       row.outage ? "" : fmt::format("{}", us(row.time)),
                       row.outage ? "" : fmt::format("{:.6g}", row.slowdown), cell(row.bound_by),
                       cell(fmt::format("{}", fmt::join(row.jobs, " "))));
  return out;
}

std::string to_json(const Resilience& r) {
  Json j;
  j["schema"] = "linkcast.resilience/1";
  j["title"] = r.title;
  j["scenario"] = r.scenario;
  j["topology"] = r.baseline.topology;
  j["ranks"] = r.baseline.ranks;
  j["baseline"] = {{"time_us", us(r.baseline.time)}, {"bound_by", r.baseline.bound_by}};
  if (r.baseline.mfu > 0) j["baseline"]["mfu"] = r.baseline.mfu;
  if (r.baseline.tokens_per_second > 0) j["baseline"]["tokens_per_s"] = r.baseline.tokens_per_second;
  j["baseline"]["expected_error"] = {{"median_percent", r.baseline.trust.median_percent},
                                     {"p90_percent", r.baseline.trust.p90_percent},
                                     {"from", r.baseline.trust.from}};
  j["jobs"] = Json::array();
  for (const auto& [name, time] : r.jobs) j["jobs"].push_back({{"name", name}, {"time_us", us(time)}});
  auto& elements = j["elements"] = Json::array();
  for (const auto& row : r.rows) {
    Json e;
    e["element"] = row.element;
    e["kind"] = name_of(row.kind);
    e["count"] = row.count;
    e["fault"] = row.fault_text;
    e["outage"] = row.outage;
    e["outage_reason"] = row.outage ? Json(row.outage_reason) : Json(nullptr);
    e["time_us"] = row.outage ? Json(nullptr) : Json(us(row.time));
    e["slowdown"] = row.outage ? Json(nullptr) : Json(row.slowdown);
    e["bound_by"] = row.bound_by;
    e["jobs"] = row.jobs;
    elements.push_back(std::move(e));
  }
  if (r.pairs) {
    const auto& p = *r.pairs;
    Json pairs;
    pairs["sampled"] = p.sampled;
    pairs["outages"] = p.outages;
    pairs["slowdown"] = {{"median", p.median}, {"p95", p.p95}, {"max", p.most}};
    pairs["worst"] = Json::array();
    for (const auto& w : p.worst)
      pairs["worst"].push_back({{"elements", {w.first, w.second}},
                                {"outage", w.outage},
                                {"outage_reason", w.outage ? Json(w.outage_reason) : Json(nullptr)},
                                {"slowdown", w.outage ? Json(nullptr) : Json(w.slowdown)}});
    j["pairs"] = std::move(pairs);
  } else {
    j["pairs"] = nullptr;
  }
  j["goodput"] = r.goodput ? Json::parse(json_report(*r.goodput)) : Json(nullptr);
  j["goals"] = Json::parse(goals_json(r.goals));
  j["assumptions"] = r.assumptions;
  j["interrupted"] = r.interrupted;
  return j.dump(2) + "\n";
}

}  // namespace linkcast::planning
