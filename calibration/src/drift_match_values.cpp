// See drift_match_values.hpp.
#include "drift_match_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "drift_facets.hpp"
#include "drift_runs.hpp"
#include "drift_words.hpp"
#include "linkcast/workloads/collective.hpp"

namespace linkcast::calibration {
namespace {

/// A busbw of two decimals is off by up to 0.005 GB/s: beyond this share of it the time says nothing about drift.
constexpr double kMostRounding = 0.01;

bool usable(double v) { return std::isfinite(v) && v > 0; }

/// The places that both sides have, and what is said of the others.
template <class Place, class Name>
std::vector<Place> common(const std::string& what, const Run<Place>& baseline, const Run<Place>& now,
                          std::string_view plural, Name name_of_place, Matched& out) {
  std::vector<Place> both, before, after;
  for (const auto& [place, value] : baseline) (now.contains(place) ? both : before).push_back(place);
  for (const auto& [place, value] : now)
    if (!baseline.contains(place)) after.push_back(place);
  const auto missing = [&](const std::vector<Place>& places, const char* side) {
    if (places.empty()) return;
    std::vector<std::string> names;
    for (const auto& place : places) {
      if (names.size() == 4 && places.size() > 5) {
        names.push_back(fmt::format("and {} more", places.size() - 4));
        break;
      }
      names.push_back(name_of_place(place));
    }
    out.not_compared.push_back({what, fmt::format("{} only in the {}: {}", plural, side, fmt::join(names, ", "))});
  };
  missing(before, "baseline");
  missing(after, "new measurements");
  return both;
}

/// A run from values that may be there several times.
template <class Place>
Run<Place> run_of(const std::map<Place, std::vector<double>>& values) {
  Run<Place> out;
  for (const auto& [place, several] : values) out[place] = median(several);
  return out;
}

std::string size_text(sim::Bytes size) { return size.count() == 0 ? "size not stated" : drift_size_text(size); }

void left_out(const std::string& what, int count, std::string_view why, Matched& out) {
  if (count > 0)
    out.not_compared.push_back({what, fmt::format("{} value{} left out: {}", count, count == 1 ? "" : "s", why)});
}

std::vector<Run<sim::Bytes>> runs_of(const std::string& what, const std::vector<const Series*>& side, Matched& out) {
  std::vector<Run<sim::Bytes>> runs;
  int rounded = 0, unusable = 0;
  for (const auto* s : side) {
    std::map<sim::Bytes, std::vector<double>> values;
    for (const auto& p : s->points) {
      if (!usable(p.time.us()) || p.size.count() <= 0) {
        ++unusable;
        continue;
      }
      if (s->time_derived_from_busbw) {
        const double busbw =
            workloads::busbw_factor(s->op, s->ranks) * static_cast<double>(p.size.count()) / p.time.us() / 1e3;
        if (0.005 > kMostRounding * busbw) {
          ++rounded;
          continue;
        }
      }
      values[p.size].push_back(std::log(p.time.us()));
    }
    if (!values.empty()) runs.push_back(run_of(values));
  }
  left_out(what, unusable, "a time must be above zero", out);
  left_out(what, rounded, "computed from a busbw that is rounded to more than 1 % of it", out);
  return runs;
}

Line line_of(const std::string& what, const std::vector<Run<sim::Bytes>>& baseline,
             const std::vector<Run<sim::Bytes>>& now, Matched& out) {
  Line line;
  line.what = what;
  const auto before = middle_of(baseline), after = middle_of(now);
  for (const auto size : common(what, before, after, "sizes", size_text, out))
    line.points.push_back({size, std::exp(before.at(size)), std::exp(after.at(size))});
  for (std::size_t c = 0; c < line.runs.size(); ++c) {
    line.runs[c] = {static_cast<int>(baseline.size()), static_cast<int>(now.size()),
                    apart<sim::Bytes>({&baseline, &now}, [&](sim::Bytes size) {
                      return static_cast<std::size_t>(size_class_of(size)) == c;
                    })};
  }
  return line;
}

/// Facts of a run that may differ without making it another measurement, but may be why it changed.
void note_differences(const std::string& what, const std::vector<const Series*>& baseline,
                      const std::vector<const Series*>& now, Matched& out) {
  const auto compare = [&](const char* name, auto fact) {
    std::set<std::string> before, after;
    for (const auto* s : baseline) before.insert(fact(*s));
    for (const auto* s : now) after.insert(fact(*s));
    before.erase("");
    after.erase("");
    if (before.empty() || after.empty() || before == after) return;
    out.notes.push_back(fmt::format("{}: {} {} in the baseline, {} now: a change may come from that", what, name,
                                    fmt::join(before, " and "), fmt::join(after, " and ")));
  };
  compare("NCCL", [](const Series& s) { return s.nccl ? s.nccl->str() : std::string{}; });
  compare("CUDA", [](const Series& s) { return s.cuda; });
  compare("GPU", [](const Series& s) { return s.devices.empty() ? std::string{} : s.devices.front(); });
  compare("launch", [](const Series& s) {
    if (s.cuda_graph) return std::string{"CUDA graph"};
    if (!s.launch) return std::string{};
    constexpr const char* kModes[] = {"one process for all GPUs", "one process per GPU", "CUDA graph"};
    return std::string{kModes[static_cast<std::size_t>(*s.launch)]};
  });
}

using Cell = std::pair<std::size_t, std::size_t>;

std::vector<Run<Cell>> runs_of(const std::string& what, const std::vector<const PairMatrix*>& side, Matched& out) {
  std::vector<Run<Cell>> runs;
  int unusable = 0;
  for (const auto* m : side) {
    const bool one_row = m->to_host || m->from_host;
    Run<Cell> run;
    for (std::size_t i = 0; i < m->cells.size(); ++i) {
      for (std::size_t j = 0; j < m->cells[i].size(); ++j) {
        if ((i == j && !one_row) || !m->cells[i][j]) continue;
        if (usable(*m->cells[i][j]))
          run[{i, j}] = std::log(*m->cells[i][j]);
        else
          ++unusable;
      }
    }
    if (!run.empty()) runs.push_back(std::move(run));
  }
  left_out(what, unusable, "a value must be above zero", out);
  return runs;
}

std::string gpu_name(std::size_t i) { return fmt::format("GPU {}", i); }

/// Pairs that carried data in the baseline, and of which every new value is zero or none: by the GPU that most share.
void find_dead_pairs(const std::string& what, const std::vector<const PairMatrix*>& now,
                     const std::vector<Run<Cell>>& baseline, const std::vector<Run<Cell>>& good, bool one_row,
                     Matched& out) {
  const auto before = middle_of(baseline), after = middle_of(good);
  std::set<Cell> dead;
  for (const auto* m : now)
    for (std::size_t i = 0; i < m->cells.size(); ++i)
      for (std::size_t j = 0; j < m->cells[i].size(); ++j)
        if (m->cells[i][j] && !usable(*m->cells[i][j]) && before.contains({i, j}) && !after.contains({i, j}))
          dead.insert({i, j});
  std::map<std::string, std::vector<std::string>> by_sender;
  for (const auto& [from, to] : dead) by_sender[one_row ? "" : gpu_name(from)].push_back(gpu_name(to));
  for (const auto& [from, to] : by_sender)
    out.faults.push_back({what, fmt::format("{}{}: nothing gets through, which did in the baseline",
                                            from.empty() ? "" : from + " to ", fmt::join(to, ", "))});
}

Grid grid_of(const std::string& what, const std::vector<Run<Cell>>& baseline, const std::vector<Run<Cell>>& now,
             bool one_row, Matched& out) {
  Grid grid;
  grid.what = what;
  grid.one_row = one_row;
  const auto before = middle_of(baseline), after = middle_of(now);
  const auto cell_name = [&](const Cell& c) {
    return one_row ? gpu_name(c.second) : fmt::format("{} to {}", gpu_name(c.first), gpu_name(c.second));
  };
  for (const auto& cell : common(what, before, after, "pairs", cell_name, out))
    grid.cells.push_back({cell.first, cell.second, std::exp(before.at(cell)), std::exp(after.at(cell))});
  grid.runs = {static_cast<int>(baseline.size()), static_cast<int>(now.size()),
               apart<Cell>({&baseline, &now}, [](const Cell&) { return true; })};
  return grid;
}

/// Which pair of hosts a test is of. Tests that name no host are told apart by their files, if there are several.
using Hosts = std::pair<std::string, std::string>;

bool one_unnamed_file(const std::vector<const PairTest*>& side) {
  std::set<std::string> files;
  for (const auto* t : side)
    if (t->from.empty() && t->to.empty()) files.insert(file_of(t->id));
  return files.size() < 2;
}

std::map<Hosts, std::vector<Run<sim::Bytes>>> by_hosts(const std::string& what,
                                                       const std::vector<const PairTest*>& side, bool by_file,
                                                       Matched& out) {
  std::map<Hosts, std::vector<Run<sim::Bytes>>> runs;
  int unusable = 0;
  for (const auto* t : side) {
    const bool unnamed = t->from.empty() && t->to.empty();
    std::map<sim::Bytes, std::vector<double>> values;
    for (const auto& row : t->rows) {
      if (usable(row.value))
        values[row.size].push_back(std::log(row.value));
      else
        ++unusable;
    }
    if (values.empty()) continue;
    runs[unnamed && by_file ? Hosts{file_of(t->id), ""} : Hosts{t->from, t->to}].push_back(run_of(values));
  }
  left_out(what, unusable, "a value must be above zero", out);
  return runs;
}

std::string name_of(const Hosts& hosts) {
  if (hosts.first.empty() && hosts.second.empty()) return {};
  if (hosts.second.empty()) return hosts.first;
  return fmt::format("{} to {}", hosts.first.empty() ? "?" : hosts.first, hosts.second);
}

constexpr std::size_t kFewestPairs = 3;  // below, each pair is looked at by itself, size by size

/// The class of a test's size; one that is not stated is what the tool measures best.
SizeClass class_of(sim::Bytes size, bool latency) {
  if (size.count() == 0) return latency ? SizeClass::below_1M : SizeClass::from_64M;
  return size_class_of(size);
}

/// The lines of many pairs as one grid for each size class: a cell is the median over the sizes.
void add_host_grids(const std::string& what, const std::vector<std::pair<Hosts, Line>>& lines, bool latency,
                    Matched& out) {
  std::set<std::string> hosts;
  for (const auto& [pair, line] : lines) hosts.insert({pair.first, pair.second});
  const std::vector<std::string> names(hosts.begin(), hosts.end());
  const auto index = [&](const std::string& host) {
    return static_cast<std::size_t>(std::lower_bound(names.begin(), names.end(), host) - names.begin());
  };
  for (const auto c : {SizeClass::below_1M, SizeClass::from_1M_to_64M, SizeClass::from_64M}) {
    Grid grid;
    grid.what = what;
    grid.names = names;
    grid.latency = latency;
    grid.sizes = c;
    double squares = 0, df = 0;
    for (const auto& [pair, line] : lines) {
      std::vector<double> before, after;
      for (const auto& p : line.points) {
        if (class_of(p.size, latency) != c) continue;
        before.push_back(std::log(p.baseline));
        after.push_back(std::log(p.now));
      }
      if (before.empty()) continue;
      const double middle = median(before);
      std::vector<double> ratios;
      for (std::size_t i = 0; i < before.size(); ++i) ratios.push_back(after[i] - before[i]);
      grid.cells.push_back(
          {index(pair.first), index(pair.second), std::exp(middle), std::exp(middle + median(ratios))});
      const auto& runs = line.runs[static_cast<std::size_t>(c)];
      grid.runs.baseline = grid.cells.size() == 1 ? runs.baseline : std::min(grid.runs.baseline, runs.baseline);
      grid.runs.now = grid.cells.size() == 1 ? runs.now : std::min(grid.runs.now, runs.now);
      if (runs.apart) squares += runs.apart->value * runs.apart->df, df += runs.apart->df;
    }
    if (df > 0) grid.runs.apart = Variance{squares / df, df};
    if (!grid.cells.empty()) out.grids.push_back(std::move(grid));
  }
}

}  // namespace

void add_series(const std::string& what, const std::vector<const Series*>& baseline,
                const std::vector<const Series*>& now, Matched& out) {
  auto line = line_of(what, runs_of(what, baseline, out), runs_of(what, now, out), out);
  if (line.points.empty()) {
    out.not_compared.push_back({what, "no size in common"});
    return;
  }
  line.collective = true;
  line.busbw = workloads::busbw_factor(baseline.front()->op, std::max(1, baseline.front()->ranks));
  note_differences(what, baseline, now, out);
  out.lines.push_back(std::move(line));
}

void add_matrix(const std::string& what, const std::vector<const PairMatrix*>& baseline,
                const std::vector<const PairMatrix*>& now, Matched& out) {
  const auto& first = *baseline.front();
  const bool one_row = first.to_host || first.from_host;
  const auto before = runs_of(what, baseline, out), after = runs_of(what, now, out);
  find_dead_pairs(what, now, before, after, one_row, out);
  auto grid = grid_of(what, before, after, one_row, out);
  if (grid.cells.empty()) {
    out.not_compared.push_back({what, "no pair in common"});
    return;
  }
  grid.latency = first.latency;
  for (std::size_t i = 0; i < first.cells.front().size(); ++i) grid.names.push_back(gpu_name(i));
  out.grids.push_back(std::move(grid));
}

void add_tests(const std::string& what, const std::vector<const PairTest*>& baseline,
               const std::vector<const PairTest*>& now, Matched& out) {
  const bool by_file = !(one_unnamed_file(baseline) && one_unnamed_file(now));
  const bool latency = baseline.front()->latency;
  const auto before = by_hosts(what, baseline, by_file, out), after = by_hosts(what, now, by_file, out);
  for (const auto* t : now) {
    const auto carried =
        before.find(t->from.empty() && t->to.empty() && by_file ? Hosts{file_of(t->id), ""} : Hosts{t->from, t->to});
    const bool nothing = !t->rows.empty() && std::none_of(t->rows.begin(), t->rows.end(),
                                                          [](const auto& row) { return usable(row.value); });
    if (carried == before.end() || !nothing || after.contains(carried->first)) continue;
    const auto name = name_of(carried->first);
    out.faults.push_back(
        {what, fmt::format("{}{}nothing gets through, which did in the baseline", name, name.empty() ? "" : ": ")});
  }
  std::vector<std::pair<Hosts, Line>> lines;
  for (const auto& [hosts, runs] : before) {
    const auto other = after.find(hosts);
    if (other == after.end()) {
      out.not_compared.push_back({what, fmt::format("{} only in the baseline", name_of(hosts))});
      continue;
    }
    auto line = line_of(what, runs, other->second, out);
    line.rate = !latency;
    line.place = name_of(hosts);
    if (line.points.empty())
      out.not_compared.push_back({what, fmt::format("{}: no size in common", line.place)});
    else
      lines.emplace_back(hosts, std::move(line));
  }
  for (const auto& [hosts, runs] : after)
    if (!before.contains(hosts))
      out.not_compared.push_back({what, fmt::format("{} only in the new measurements", name_of(hosts))});

  const bool named = std::all_of(lines.begin(), lines.end(), [](const auto& l) {
    return !l.first.first.empty() && !l.first.second.empty() && l.first.first != l.first.second;
  });
  if (lines.size() >= kFewestPairs && named) {
    add_host_grids(what, lines, latency, out);
  } else {
    for (auto& [hosts, line] : lines) out.lines.push_back(std::move(line));
  }
}

void add_figures(const std::string& what, const std::vector<const Figure*>& baseline,
                 const std::vector<const Figure*>& now, Matched& out) {
  const auto middle = [](const std::vector<const Figure*>& side) {
    std::vector<double> values;
    for (const auto* f : side)
      if (usable(f->GBps)) values.push_back(std::log(f->GBps));
    return values.empty() ? std::optional<double>{} : median(std::move(values));
  };
  const auto before = middle(baseline), after = middle(now);
  if (before && !after) out.faults.push_back({what, "zero or no number now, and a value in the baseline"});
  if (!before || !after)
    out.not_compared.push_back({what, "a value must be above zero"});
  else
    out.singles.push_back({what, true, false, baseline.front()->size, std::exp(*before), std::exp(*after), {}});
}

}  // namespace linkcast::calibration
