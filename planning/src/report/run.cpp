// One run: a scenario, a replayed trace or step, or a table of one collective by size.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "figures.hpp"
#include "page.hpp"

namespace linkcast::planning::report {
namespace {

constexpr std::size_t most_ranks = 16, most_totals = 40;

using Parts = std::vector<std::pair<std::string, double>>;

/// Numbers of an object, the largest first; zeros left out.
Parts parts_of(const Json& object) {
  Parts out;
  for (const auto& [name, value] : object.items())
    if (value.is_number() && value.get<double>() > 0) out.emplace_back(name, value.get<double>());
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

struct Bar {
  std::string label;
  Parts parts;
};

/// Bars in parts, with the colours of `order`.
std::string stacks(const Page& page, const std::vector<Bar>& bars, const std::vector<std::string>& order,
                   std::string_view caption, std::string title, std::string first_column) {
  double largest = 0;
  for (const auto& b : bars) {
    double sum = 0;
    for (const auto& [name, us] : b.parts) sum += us;
    largest = std::max(largest, sum);
  }
  if (largest <= 0) return {};
  const bool rest = order.size() > palette_size;
  const auto named = rest ? palette_size - 1 : order.size();
  std::vector<std::string> domain(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(named));
  if (rest) domain.emplace_back("the rest");
  const auto unit = time_unit(largest);
  Chart chart{"stack.vega.json", title};
  chart.signal("axis_title", fmt::format("time ({})", unit.name));
  chart.domain("colour", domain);
  Table table{title};
  table.column(std::move(first_column));
  for (const auto& name : order) table.column(name, true);
  for (const auto& b : bars) {
    double at = 0, sum = 0, small = 0;
    for (const auto& [name, us] : b.parts) sum += us;
    std::vector<Cell> cells{row_name(b.label)};
    const auto add = [&](const std::string& part, std::size_t colour, double us) {
      if (us <= 0) return;
      const auto percent = 100 * us / sum;
      chart.row({{"label", b.label},
                 {"part", part},
                 {"x0", at / unit.divisor},
                 {"x1", (at + us) / unit.divisor},
                 {"text", fmt::format("{:.0f} %", percent)},
                 {"ink", ink_on(colour)},
                 {"tip", fmt::format("{}, {}: {} ({:.1f} %)", b.label, part, time_text(us), percent)}});
      at += us;
    };
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto it = std::ranges::find(b.parts, order[i], &Parts::value_type::first);
      const auto us = it == b.parts.end() ? 0 : it->second;
      cells.push_back({us > 0 ? time_text(us) : ""});
      if (i < named)
        add(order[i], i, us);
      else
        small += us;
    }
    if (rest) add("the rest", named, small);
    table.row(std::move(cells));
  }
  return page.chart(chart, caption, table);
}

std::string by_rank(const Page& page, const Json& ranks) {
  std::vector<Bar> bars;
  std::map<std::string, double> total;
  for (const auto& k : ranks) {
    if (bars.size() == most_ranks) break;
    Bar bar{"rank " + text_of(k, "rank"), {}};
    const auto add = [&](const std::string& name, std::optional<double> us) {
      if (!us || *us <= 0) return;
      bar.parts.emplace_back(name, *us);
      total[name] += *us;
    };
    add("compute", number_of(k, "compute_us"));
    add("exposed communication", number_of(k, "exposed_communication_us"));
    for (const auto& [group, us] : part_of(k, "exposed_us").items())
      if (us.is_number()) add("exposed " + group, us.get<double>());
    add("pipeline bubble", number_of(k, "bubble_us"));
    add("waiting for others", number_of(k, "wait_us"));
    add("launch", number_of(k, "launch_us"));
    add("idle", number_of(k, "idle_us"));
    bars.push_back(std::move(bar));
  }
  std::vector<std::string> order;
  for (const auto& [name, us] : total) order.push_back(name);
  std::ranges::stable_sort(order, [&](const auto& a, const auto& b) { return total[a] > total[b]; });
  return stacks(page, bars, order,
                fmt::format("What each rank does; the parts add up to the whole time.{}",
                            ranks.size() > most_ranks
                                ? fmt::format(" The first {} of {} ranks are shown.", most_ranks, ranks.size())
                                : ""),
                "Parts of each rank\u2019s time", "rank");
}

std::string totals_section(const Json& totals) {
  const auto shown = std::min(totals.size(), most_totals);
  Table table{shown < totals.size() ? fmt::format("The {} of {} kinds of calls that take longest", shown, totals.size())
                                    : "Calls by kind, the longest first"};
  table.column("operation")
      .column("communicator")
      .column("ranks", true)
      .column("size", true)
      .column("calls", true)
      .column("time", true);
  table.column("each", true).column("algorithm").column("bound by").column("expected error");
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& t = totals[i];
    const auto time = number_of(t, "time_us"), count = number_of(t, "count"), size = number_of(t, "size_bytes");
    table.row({row_name(text_of(t, "op")),
               {text_of(t, "communicator")},
               {text_of(t, "ranks")},
               {size ? bytes_text(*size) : ""},
               {count ? digits(*count) : ""},
               {time ? time_text(*time) : ""},
               {time && count && *count > 0 ? time_text(*time / *count) : ""},
               {text_of(t, "algorithm") + " " + text_of(t, "protocol")},
               {text_of(t, "bound_by")},
               {error_text(part_of(t, "expected_error"))}});
  }
  return table.empty() ? std::string{} : table.html();
}

}  // namespace

void add_run(Page& page, const Json& study, const ReportFacts&) {
  const bool replay = text_of(study, "schema") == "linkcast.replay/1";
  page.kind = replay ? "Replay of a trace or training step" : "Run of a scenario";
  if (flag_of(study, "outage")) {
    page.verdict.mood = Verdict::Mood::bad;
    page.verdict.sentence = "With these faults the job cannot run at all.";
    page.verdict.more.push_back(text_of(study, "outage_reason"));
    return;
  }
  const auto end = number_of(study, replay ? "end_us" : "time_us");
  const auto step = number_of(study, "step_us");
  const auto steps = number_of(study, "steps").value_or(1);
  const auto time = steps > 1 && step ? step : end;
  const auto account = parts_of(part_of(study, replay ? "critical_path_us" : "account"));

  auto& v = page.verdict;
  v.sentence = time ? fmt::format("{} takes {} on {}.", steps > 1 ? "A step" : "The run", time_text(*time),
                                  text_of(study, "topology"))
                    : "Nothing was run.";
  if (!account.empty() && end && *end > 0) {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(account.size(), 3); ++i)
      if (i == 0 || account[i].second > 0.005 * *end)
        text += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", account[i].first, 100 * account[i].second / *end);
    v.more.push_back("Along the critical path, the time goes into " + text + ".");
  }
  double exposed = 0, all = 0;
  for (const auto& k : part_of(study, "by_rank")) {
    exposed += number_of(k, "exposed_communication_us").value_or(0);
    for (const auto& [group, us] : part_of(k, "exposed_us").items()) exposed += us.is_number() ? us.get<double>() : 0;
    all += end.value_or(0);
  }
  if (const auto e = error_text(part_of(study, "expected_error")); !e.empty())
    v.more.push_back("Error to expect of the communication: " + e + ".");
  const auto& goals = part_of(study, "goals");
  if (!goals.empty()) {
    const auto missed = std::ranges::count_if(goals, [](const Json& g) { return !flag_of(g, "met"); });
    v.mood = missed > 0 ? Verdict::Mood::bad : Verdict::Mood::good;
    v.more.insert(v.more.begin(), missed > 0 ? fmt::format("{} of {} goals are missed.", missed, goals.size())
                                             : fmt::format("Every goal is met."));
    page.section("goals", "Goals met and missed", goal_table(goals, "Goals").html());
  }
  if (flag_of(study, "interrupted"))
    v.more.push_back("The replay was interrupted: this is of the part that was replayed.");

  if (time) page.facts.push_back({steps > 1 ? "Time of a step" : "Time", time_text(*time), {}});
  if (all > 0) page.facts.push_back({"Exposed communication", percent_text(100 * exposed / all), "mean of the ranks"});
  if (const auto mfu = number_of(study, "mfu")) page.facts.push_back({"MFU", percent_text(100 * *mfu), {}});
  if (const auto t = number_of(study, "tokens_per_s")) page.facts.push_back({"Tokens per second", digits(*t), {}});
  const auto& ranks = part_of(study, "ranks");
  if (const auto n = number_of(study, replay ? "world" : "ranks"))
    page.facts.push_back({"GPUs", digits(*n),
                          replay && !ranks.empty() && static_cast<double>(ranks.size()) < *n
                              ? fmt::format("{} of them recorded", ranks.size())
                              : ""});
  if (const auto n = text_of(study, "nccl"); !n.empty()) page.facts.push_back({"NCCL", n, {}});

  std::vector<std::string> order;
  for (const auto& [name, us] : account) order.push_back(name);
  auto where = stacks(page, {{"critical path", account}}, order, "What the time is spent on, along the critical path.",
                      "Parts of the time", "what");
  where += by_rank(page, part_of(study, "by_rank"));
  page.section("time", "Where the time goes", where);
  page.section("calls", "Communication", totals_section(part_of(study, "totals")));
}

void add_fault_run(Page& page, const Json& study) {
  page.kind = "A run during which parts fail";
  const auto speed = number_of(study, "effective_speed"), duration = number_of(study, "duration_s");
  auto& v = page.verdict;
  v.sentence = speed ? fmt::format("The job makes {} of the steps that it would make without faults.",
                                   percent_text(100 * *speed))
                     : "Nothing was run.";
  if (!flag_of(study, "finished")) v.more.push_back("At the end of the time the job stands still.");
  if (duration) page.facts.push_back({"Time looked at", time_text(*duration * 1e6), {}});
  if (const auto n = number_of(study, "steps")) page.facts.push_back({"Steps", digits(*n), {}});
  if (const auto t = number_of(study, "step_us_without_faults"))
    page.facts.push_back({"A step without faults", time_text(*t), {}});
  Parts lost;
  std::vector<std::string> order;
  for (const auto& [name, s] : parts_of(part_of(study, "lost_s"))) {
    lost.emplace_back(name, s * 1e6);
    order.push_back(name);
  }
  page.section(
      "time", "What is lost",
      stacks(page, {{"lost", lost}}, order, "The time that is not work, by what takes it.", "Time lost", "what"));
  Table table{"What happened when"};
  table.column("from", true).column("to", true).column("a step", true).column("what");
  for (const auto& s : part_of(study, "spans")) {
    const auto from = number_of(s, "from_s"), to = number_of(s, "to_s"), step = number_of(s, "step_us");
    table.row({number(from ? digits(*from) + " s" : ""),
               number(to ? digits(*to) + " s" : ""),
               {step ? time_text(*step) : "stands still"},
               {text_of(s, "what")}});
  }
  if (!table.empty()) page.section("spans", "What happened", table.html());
}

void add_collective(Page& page, const Json& study) {
  page.kind = "One collective by size";
  const auto& rows = part_of(study, "rows");
  const Json* best = nullptr;
  double most = 0;
  Chart chart{"lines.vega.json", "A curve of the bus bandwidth over the size"};
  chart.signal("x_title", "size");
  chart.signal("y_title", "bus bandwidth (GB/s)");
  Table table{"By size"};
  table.column("size", true)
      .column("time", true)
      .column("algbw", true)
      .column("busbw", true)
      .column("algorithm")
      .column("channels", true);
  table.column("bound by").column("expected error");
  std::vector<Bar> bars;
  std::map<std::string, double> total;
  for (const auto& r : rows) {
    const auto size = number_of(r, "size_bytes"), time = number_of(r, "time_us"), alg = number_of(r, "algbw_GBps"),
               bus = number_of(r, "busbw_GBps");
    const auto name = size ? bytes_text(*size) : "";
    if (bus) {
      if (best == nullptr || *bus > most) most = *bus, best = &r;
      chart.row({{"x", name}, {"series", "busbw"}, {"y", *bus}, {"tip", fmt::format("{}: {}", name, rate_text(*bus))}});
    }
    table.row({row_name(name),
               {time ? time_text(*time) : ""},
               {alg ? rate_text(*alg) : ""},
               {bus ? rate_text(*bus) : ""},
               {text_of(r, "algorithm") + " " + text_of(r, "protocol")},
               {text_of(r, "channels")},
               {text_of(r, "bound_by")},
               {error_text(part_of(r, "expected_error"))}});
    Bar bar{name, parts_of(part_of(r, "account"))};
    for (const auto& [part, us] : bar.parts) total[part] += us;
    bars.push_back(std::move(bar));
  }
  chart.domain("colour", {"busbw"});
  chart.domain("shape", {"busbw"});
  chart.domain("dash", {"busbw"});
  chart.without_legend();
  const auto op = text_of(study, "op");
  page.verdict.sentence = best == nullptr
                              ? "Nothing was run."
                              : fmt::format("{} on {} reaches {} of bus bandwidth at {}.",
                                            op.empty() ? "The collective" : op, text_of(study, "topology"),
                                            rate_text(most), bytes_text(number_of(*best, "size_bytes").value_or(0)));
  if (best != nullptr) {
    if (const auto by = text_of(*best, "bound_by"); !by.empty())
      page.verdict.more.push_back("There it is bound by " + by + ".");
    if (const auto e = error_text(part_of(*best, "expected_error")); !e.empty())
      page.verdict.more.push_back("Error to expect there: " + e + ".");
  }
  page.section("curve", "Bus bandwidth", page.chart(chart, "Higher is better.", table));
  if (bars.size() > 12) bars.erase(bars.begin(), bars.end() - 12);
  std::vector<std::string> order;
  for (const auto& [name, us] : total) order.push_back(name);
  std::ranges::stable_sort(order, [&](const auto& a, const auto& b) { return total[a] > total[b]; });
  page.section("time", "Where the time goes",
               stacks(page, bars, order, "The parts of each call\u2019s time; of many sizes the largest.",
                      "Parts of the time", "size"));
}

}  // namespace linkcast::planning::report
