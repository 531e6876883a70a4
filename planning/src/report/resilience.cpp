// A study of faults: what each part's loss costs, worst first, pairs of them, and how much of the time is left for
// work.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "figures.hpp"
#include "page.hpp"

namespace linkcast::planning::report {
namespace {

constexpr std::size_t most_bars = 25, most_in_table = 400;

struct Fault {
  std::string name, element, kind, fault, why, jobs;
  std::int64_t count = 0;
  bool outage = false;
  std::optional<double> time_us, slowdown;
};

std::vector<Fault> read_faults(const Json& study) {
  std::vector<Fault> out;
  for (const auto& e : part_of(study, "elements")) {
    if (!e.is_object()) continue;
    Fault f;
    f.element = text_of(e, "element");
    f.kind = text_of(e, "kind");
    f.fault = text_of(e, "fault");
    f.count = static_cast<std::int64_t>(number_of(e, "count").value_or(1));
    f.outage = flag_of(e, "outage");
    f.time_us = number_of(e, "time_us");
    f.slowdown = number_of(e, "slowdown");
    f.why = f.outage ? text_of(e, "outage_reason") : text_of(e, "bound_by");
    for (const auto& j : part_of(e, "jobs"))
      if (j.is_string()) f.jobs += (f.jobs.empty() ? "" : ", ") + j.get<std::string>();
    f.name =
        f.element + (f.fault.empty() ? "" : ": " + f.fault) + (f.count > 1 ? fmt::format(" ({} alike)", f.count) : "");
    out.push_back(std::move(f));
  }
  // Outages first, then the slowest.
  std::ranges::stable_sort(out, [](const Fault& a, const Fault& b) {
    if (a.outage != b.outage) return a.outage;
    return a.slowdown.value_or(0) > b.slowdown.value_or(0);
  });
  return out;
}

std::string extra_text(double slowdown) { return signed_percent_text(100 * (slowdown - 1)); }
std::string result_text(const Fault& f) { return f.outage ? "outage" : f.slowdown ? extra_text(*f.slowdown) : ""; }

bool is_loss(const Fault& f) { return f.fault.empty() || f.fault == "fail" || f.fault == "down" || f.fault == "fails"; }

void judge(Page& page, const Json& study, const std::vector<Fault>& faults) {
  auto& v = page.verdict;
  std::int64_t parts = 0, fatal = 0;
  const Fault* worst = nullptr;
  for (const auto& f : faults) {
    if (is_loss(f)) {
      parts += f.count;
      if (f.outage) fatal += f.count;
    }
    if (!f.outage && f.slowdown && (!worst || *f.slowdown > *worst->slowdown)) worst = &f;
  }
  const auto& goodput = part_of(study, "goodput");
  const auto mean = number_of(goodput, "mean");
  const bool slows = worst != nullptr && *worst->slowdown > 1.0005;
  if (mean)
    v.sentence = fmt::format("{} of the time goes into work; failures and what is done about them take the rest.",
                             percent_text(*mean));
  else if (worst != nullptr)
    v.sentence = slows ? fmt::format("A single fault that leaves the job running costs at most {} of speed.",
                                     extra_text(*worst->slowdown))
                       : "No single fault that leaves the job running slows it down.";
  else
    v.sentence = faults.empty() ? "No fault was looked at." : "Every fault that was looked at stops the job.";

  const auto low = number_of(goodput, "p5"), high = number_of(goodput, "p95");
  if (low && high)
    v.more.push_back(fmt::format("In nine of ten simulated periods it is between {} and {}.", percent_text(*low),
                                 percent_text(*high)));
  if (parts > 0)
    v.more.push_back(
        fatal == 0
            ? fmt::format("None of {} parts stops the job by its loss alone.", digits(static_cast<double>(parts)))
            : fmt::format("Of {} parts, the loss of any one of {} stops the job until it restarts without it.",
                          digits(static_cast<double>(parts)), digits(static_cast<double>(fatal))));
  if (slows)
    v.more.push_back(fmt::format("The worst fault that it survives: {}, {} time{}.", worst->name,
                                 extra_text(*worst->slowdown), worst->why.empty() ? "" : ", bound by " + worst->why));
  if (flag_of(study, "interrupted")) v.more.push_back("The study was interrupted: not every fault was looked at.");

  bool missed = false, any = false;
  for (const auto& g : part_of(study, "goals"))
    any = true, missed |= g.is_object() && flag_of(g, "known") && !flag_of(g, "met");
  if (any) v.mood = missed ? Verdict::Mood::bad : Verdict::Mood::good;

  const auto& baseline = part_of(study, "baseline");
  if (const auto t = number_of(baseline, "time_us"))
    page.facts.push_back({"Time without faults", time_text(*t), error_text(part_of(baseline, "expected_error"))});
  if (mean)
    page.facts.push_back({"Goodput", percent_text(*mean),
                          low && high ? fmt::format("{} to {}", percent_text(*low), percent_text(*high)) : ""});
  if (slows) page.facts.push_back({"Worst slowdown", extra_text(*worst->slowdown), worst->element});
  if (const auto n = number_of(part_of(goodput, "interruptions"), "mean")) {
    const auto days = number_of(goodput, "duration_s");
    page.facts.push_back({"Interruptions", digits(*n), days ? fmt::format("in {} days", digits(*days / 86400)) : ""});
  }
  if (const auto h = number_of(goodput, "mtbf_hours")) page.facts.push_back({"One every", digits(*h) + " h", {}});
}

std::string worst_first(const Page& page, const std::vector<Fault>& faults) {
  std::vector<const Fault*> list;
  for (const auto& f : faults)
    if (f.outage || (f.slowdown && *f.slowdown > 1.0005)) list.push_back(&f);
  const auto all = list.size();
  // Outages have no bar; a few stand for them.
  std::size_t outages = 0;
  std::erase_if(list, [&](const Fault* f) { return f->outage && ++outages > 8; });
  list.resize(std::min(list.size(), most_bars));
  if (list.empty())
    return faults.empty() ? std::string{}
                          : paragraph("No fault that was looked at changes the time by more than 0.05 %.");
  Chart chart{"bars.vega.json", "Bars of the extra time that each fault costs, worst first"};
  chart.signal("axis_title", "extra time (%)");
  Table table{"Faults, worst first"};
  table.column("fault")
      .column("kind")
      .column("parts alike", true)
      .column("extra time", true)
      .column("why")
      .column("jobs hit");
  for (const auto* f : list) {
    Json row{{"label", f->name},
             {"text", f->outage ? "outage" : result_text(*f)},
             {"group", f->outage ? "stops the job" : "slows it down"},
             {"tip", fmt::format("{}: {}{}", f->name, result_text(*f), f->why.empty() ? "" : ", " + f->why)}};
    row["value"] = f->outage ? Json(nullptr) : Json(100 * (*f->slowdown - 1));
    chart.row(std::move(row));
    table.row({row_name(f->name), {f->kind}, {std::to_string(f->count)}, {result_text(*f)}, {f->why}, {f->jobs}});
  }
  chart.domain("colour", {"slows it down"});
  chart.range("colour", {"#d55e00"});
  chart.without_legend();
  return page.chart(
      chart,
      fmt::format("How much longer the job takes with this one part lost or degraded.{}",
                  all > list.size() ? fmt::format(" The worst {} of {} are shown.", list.size(), all) : ""),
      table);
}

std::string goodput_section(const Page& page, const Json& goodput) {
  if (goodput.empty()) return {};
  const auto mean = number_of(goodput, "mean");
  if (!mean) return {};
  static constexpr std::pair<const char*, const char*> causes[] = {{"lost_work", "work done again"},
                                                                   {"restart", "detection and restart"},
                                                                   {"checkpoint", "writing checkpoints"},
                                                                   {"spares", "waiting for repair"},
                                                                   {"degraded", "slower or stalled"}};
  Chart chart{"stack.vega.json", "A stacked bar: where the time goes that failures cost"};
  chart.signal("axis_title", "share of the time (%)");
  Table table{"What failures cost"};
  table.column("what").column("share of the time", true);
  std::vector<std::string> domain;
  double at = 0;
  const auto& lost = part_of(goodput, "lost_percent");
  const auto add = [&](const std::string& name, double percent) {
    table.row({row_name(name), {percent_text(percent)}});
    if (percent <= 0) return;
    chart.row({{"label", "lost"},
               {"part", name},
               {"x0", at},
               {"x1", at + percent},
               {"text", percent_text(percent)},
               {"ink", ink_on(domain.size())},
               {"tip", fmt::format("{}: {}", name, percent_text(percent))}});
    domain.push_back(name);
    at += percent;
  };
  for (const auto& [key, name] : causes)
    if (const auto p = number_of(lost, key)) add(name, *p);
  for (const auto& [key, value] : lost.items())
    if (value.is_number() && std::ranges::none_of(causes, [&](const auto& c) { return key == c.first; }))
      add(key, value.get<double>());
  chart.domain("colour", domain);
  auto out = page.chart(
      chart, fmt::format("The {} of the time that is not work, by what takes it.", percent_text(100 - *mean)), table);

  std::vector<std::string> lines;
  const auto span = [](double s) {
    return s >= 2 * 86400 ? digits(s / 86400) + " days"
           : s >= 7200    ? digits(s / 3600) + " h"
           : s >= 120     ? digits(s / 60) + " min"
                          : digits(s) + " s";
  };
  if (const auto s = number_of(goodput, "checkpoint_interval_s")) {
    auto line = "A checkpoint every " + span(*s);
    if (const auto best = number_of(goodput, "daly_interval_s"))
      line += fmt::format("; Daly\u2019s formula gives {} as the best", span(*best));
    lines.push_back(line + ".");
  }
  if (const auto a = number_of(goodput, "analytic_percent"))
    lines.push_back(
        fmt::format("Daly\u2019s equation, without waiting for parts and slow ones, gives {}.", percent_text(*a)));
  if (const auto n = number_of(goodput, "trials")) {
    auto line = fmt::format("{} simulated periods", digits(*n));
    if (const auto s = number_of(goodput, "duration_s")) line += " of " + span(*s);
    if (const auto seed = text_of(goodput, "seed"); !seed.empty()) line += ", seed " + seed;
    lines.push_back(line + ".");
  }
  out += list(lines);

  Table by{"Failures by cause"};
  by.column("cause")
      .column("failures", true)
      .column("interruptions", true)
      .column("share of them", true)
      .column("time lost", true);
  for (const auto& c : part_of(goodput, "by_cause")) {
    const auto figure = [&](std::string_view key, std::string (*f)(double)) {
      const auto v = number_of(c, key);
      return Cell{v ? f(*v) : "", Cell::Look::plain, {}};
    };
    by.row({row_name(text_of(c, "cause")), figure("failures", digits), figure("interruptions", digits),
            figure("share_percent", percent_text), figure("lost_percent", percent_text)});
  }
  if (!by.empty()) out += by.html();
  return out;
}

std::string pairs_section(const Json& pairs) {
  const auto sampled = number_of(pairs, "sampled");
  if (!sampled) return {};
  const auto& slow = part_of(pairs, "slowdown");
  auto text = fmt::format("{} random pairs of parts that fail together: {} stop the job", digits(*sampled),
                          digits(number_of(pairs, "outages").value_or(0)));
  const auto median = number_of(slow, "median"), p95 = number_of(slow, "p95"), most = number_of(slow, "max");
  if (median && p95 && most)
    text += fmt::format("; the others cost {} in the middle, {} in one of twenty, {} at most", extra_text(*median),
                        extra_text(*p95), extra_text(*most));
  Table table{"The worst pairs"};
  table.column("first").column("second").column("extra time", true).column("why");
  for (const auto& w : part_of(pairs, "worst")) {
    const auto& e = part_of(w, "elements");
    if (e.size() < 2 || !e[0].is_string() || !e[1].is_string()) continue;
    const auto slowdown = number_of(w, "slowdown");
    table.row({row_name(e[0].get<std::string>()),
               {e[1].get<std::string>()},
               {flag_of(w, "outage") ? "outage"
                : slowdown           ? extra_text(*slowdown)
                                     : ""},
               {text_of(w, "outage_reason")}});
  }
  return paragraph(text + ".") + (table.empty() ? "" : table.html());
}

}  // namespace

void add_resilience(Page& page, const Json& study) {
  page.kind = "Resilience: what happens when parts fail";
  const auto faults = read_faults(study);
  judge(page, study, faults);
  if (const auto& goals = part_of(study, "goals"); !goals.empty())
    page.section("goals", "Goals met and missed", goal_table(goals, "Goals of the study").html());
  page.section("faults", "Single faults, worst first", worst_first(page, faults));
  page.section("pairs", "Two faults at once", pairs_section(part_of(study, "pairs")));
  page.section("goodput", "Where the time goes", goodput_section(page, part_of(study, "goodput")));
  if (!faults.empty()) {
    const auto shown = std::min(faults.size(), most_in_table);
    Table table{shown < faults.size() ? fmt::format("The worst {} of {} faults", shown, faults.size())
                                      : "Every fault that was looked at"};
    table.column("part")
        .column("kind")
        .column("parts alike", true)
        .column("fault")
        .column("extra time", true)
        .column("time", true);
    table.column("why").column("jobs hit");
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& f = faults[i];
      table.row({row_name(f.element),
                 {f.kind},
                 {std::to_string(f.count)},
                 {f.fault},
                 {result_text(f)},
                 {f.time_us ? time_text(*f.time_us) : ""},
                 {f.why},
                 {f.jobs}});
    }
    page.section("all", "All faults", table.html());
  }
}

}  // namespace linkcast::planning::report
