// The answer for people: what each job loses, by whom, and where it would lie better.
#include <fmt/format.h>

#include <algorithm>

#include "linkcast/planning/interference.hpp"

namespace linkcast::planning {
namespace {

std::string time_text(sim::Time t) {
  const double us = t.us();
  if (us >= 1e6) return fmt::format("{:.3f} s", us * 1e-6);
  if (us >= 1e3) return fmt::format("{:.3f} ms", us * 1e-3);
  return fmt::format("{:.2f} us", us);
}

/// --json has long lists whole.
std::string short_list(const std::string& hosts) {
  constexpr std::size_t most = 160;
  if (hosts.size() <= most) return hosts;
  const auto cut = hosts.rfind(',', most);
  return hosts.substr(0, cut == std::string::npos ? most : cut + 1) + " …";
}

std::string jobs_table(const Interference& r, std::size_t width) {
  auto out = fmt::format("\n{:<{}}  {:>5}{:>14}{:>14}{:>10}{:>12}  {}\n", "job", width, "nodes", "alone", "together",
                         "slower", "worst case", "held back by");
  for (const auto& j : r.jobs)
    out += fmt::format("{:<{}}  {:>5}{:>14}{:>14}{:>9.2f}x{:>11.2f}x  {}\n", j.name, width, j.nodes, time_text(j.alone),
                       time_text(j.together), j.slowdown, j.worst_slowdown, j.bound_by);
  for (const auto& j : r.jobs) {
    out += fmt::format("\n{}: {}\n  {} ({})\n", j.name, j.workload, short_list(j.hosts), j.placement);
    for (const auto& p : j.phases)
      out += fmt::format("  {:<28} sends {:>5.1f} % of the time, stretched {:.2f}x together, {:.2f}x at worst\n",
                         p.name, 100 * p.occupancy, p.stretch, p.worst_stretch);
    if (j.phases.empty()) out += "  sends nothing between nodes\n";
  }
  return out;
}

std::string matrix_table(const Interference& r, std::size_t width) {
  if (r.jobs.size() < 2) return {};
  const auto column = std::max<std::size_t>(width + 2, 8);
  auto out = fmt::format("\nslowdown of the row by the column\n{:<{}}", "", width);
  for (const auto& j : r.jobs) out += fmt::format("{:>{}}", j.name, column);
  out += '\n';
  for (std::size_t a = 0; a < r.jobs.size(); ++a) {
    out += fmt::format("{:<{}}", r.jobs[a].name, width);
    for (std::size_t b = 0; b < r.jobs.size(); ++b)
      out += a == b ? fmt::format("{:>{}}", "-", column) : fmt::format("{:>{}.2f}x", r.matrix[a][b], column - 1);
    out += '\n';
  }
  return out;
}

std::string placement_table(const Interference& r, std::size_t width) {
  if (r.placements.empty()) return {};
  auto out = fmt::format(
      "\nother placements of all jobs, against each job alone as given\n"
      "{:<{}}  {:<12}{:>14}{:>14}{:>10}  {}\n",
      "job", width, "placement", "alone", "together", "slower", "range over seeds");
  for (const auto& j : r.jobs) {
    for (const auto& p : r.placements) {
      if (p.job != j.name) continue;
      out +=
          fmt::format("{:<{}}  {:<12}{:>14}{:>14}{:>9.2f}x{}\n", p.job, width, p.placement, time_text(p.alone),
                      time_text(p.together), p.slowdown,
                      p.seeds > 1 ? fmt::format("  {} to {}, {} seeds", time_text(p.least), time_text(p.most), p.seeds)
                                  : std::string{});
    }
  }
  return out;
}

std::string suggestion_table(const Interference& r, std::size_t width) {
  if (r.suggested.empty()) return {};
  std::string out = "\nsuggested nodes (--nodelist of Slurm)\n";
  for (const auto& s : r.suggested) {
    const double change = s.given == sim::Time{} ? 0 : 100 * (s.time.us() / s.given.us() - 1);
    out += fmt::format("{:<{}}  {}\n{:<{}}  {} together, given {} ({:+.1f} %)\n", s.job, width, s.hosts, "", width,
                       time_text(s.time), time_text(s.given), change);
  }
  return out;
}

}  // namespace

std::string interference_text(const Interference& r) {
  std::size_t width = 3;
  for (const auto& j : r.jobs) width = std::max(width, j.name.size());
  const auto* most = r.jobs.empty() ? nullptr : &*std::ranges::max_element(r.jobs, {}, &JobOutcome::slowdown);
  auto out = fmt::format("{}\n{}, {} node{}, {} job{}\n\n", r.title, r.topology, r.nodes, r.nodes == 1 ? "" : "s",
                         r.jobs.size(), r.jobs.size() == 1 ? "" : "s");
  if (r.jobs.size() == 1)
    out += "one job: nothing slows it\n";
  else if (most == nullptr || most->worst_slowdown == 1)
    out += "the jobs do not slow each other\n";
  else
    out += fmt::format("'{}' loses most: it takes {:.2f} times as long as alone ({:.2f} at worst), held back by {}\n",
                       most->name, most->slowdown, most->worst_slowdown, most->bound_by);
  for (const auto& g : r.goals)
    out += fmt::format("  {} {}: {}\n", !g.known ? "?" : g.met ? "+" : "-", g.goal.text, verdict_text(g));
  out += jobs_table(r, width) + matrix_table(r, width) + placement_table(r, width) + suggestion_table(r, width);
  for (std::size_t i = 0; i < r.notes.size(); ++i) out += fmt::format("{}note: {}\n", i == 0 ? "\n" : "", r.notes[i]);
  if (r.interrupted) out += "interrupted: what was not yet simulated is missing\n";
  return out;
}

}  // namespace linkcast::planning
