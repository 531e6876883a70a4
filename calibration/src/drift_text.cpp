// The answer for people: the verdict, what changed, what was looked at, what could not be compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "drift_words.hpp"

namespace linkcast::calibration {
namespace {

/// Columns as wide as their widest cell; the first are text, the others numbers.
class Table {
 public:
  Table(std::vector<std::string> heads, std::size_t texts) : rows_{std::move(heads)}, texts_{texts} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string str() const {
    std::vector<std::size_t> widths(rows_.front().size(), 0);
    for (const auto& row : rows_)
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    std::string out;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (c > 0) line += "  ";
        line += c < texts_ ? fmt::format("{:<{}}", row[c], widths[c]) : fmt::format("{:>{}}", row[c], widths[c]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::size_t texts_;
};

std::string signed_percent(double log_ratio) { return fmt::format("{:+.1f} %", percent_of(log_ratio)); }

std::string interval(const Change& c) {
  return fmt::format("{:+.1f} to {:+.1f} %", percent_of(c.low), percent_of(c.high));
}

std::string sure(const Change& c) {
  return c.probability > 0.999 ? "> 99.9 %" : fmt::format("{:.1f} %", c.probability * 100);
}

std::string value(double v, const std::string& unit) {
  const int digits = v >= 1000 ? 0 : v >= 100 ? 1 : 2;
  return fmt::format("{:.{}f} {}", v, digits, unit);
}

/// "GPU 3 (GPU to GPU bandwidth, 8 GPUs)", "all_reduce, 8 ranks from 64 MiB".
std::string headline(const DriftFinding& f) {
  if (!f.place.empty()) return fmt::format("{} ({})", f.place, f.what);
  const auto sizes = sizes_of(f);
  return sizes == "-" ? f.what : fmt::format("{}, {}", f.what, sizes);
}

std::string names_of(const Drift& d, bool slower) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names;
  std::size_t all = 0;
  for (const auto& f : d.findings) {
    if (f.change.slower() != slower) continue;
    if (++all <= kNamed) names.push_back(headline(f));
  }
  auto out = fmt::format("{}", fmt::join(names, "; "));
  if (all > kNamed) out += fmt::format("; and {} more in the table below", all - kNamed);
  return out;
}

std::string verdict(const Drift& d) {
  const auto tolerance = fmt::format("{:g} %", d.options.tolerance * 100);
  std::string out;
  if (d.compared.empty()) return out;
  if (d.slower()) {
    out = fmt::format("drifted: slower by more than {}: {}\n", tolerance, names_of(d, true));
    if (d.only_launch()) {
      const bool nodes = std::any_of(d.findings.begin(), d.findings.end(), [](const auto& f) {
        return f.change.slower() && f.what.find(" nodes") != std::string::npos;
      });
      out += fmt::format("only below 1 MiB, where the time is that of the launch: the host, not the links{}\n",
                         nodes ? " (between nodes perhaps the latency of the network; not its rate)" : "");
    }
  } else if (d.faster()) {
    out = fmt::format("improved: nothing is slower by more than {}\n", tolerance);
  } else {
    out = fmt::format("steady: nothing has changed by more than {}\n", tolerance);
  }
  if (d.faster()) out += fmt::format("faster than the baseline: {}\n", names_of(d, false));
  return out;
}

/// What no time makes up for, before all else.
std::string broken(const Drift& d) {
  std::string out;
  for (const auto& f : d.faults) out += fmt::format("broken: {} ({})\n", f.reason, f.what);
  return out;
}

std::string findings_table(const Drift& d) {
  if (d.findings.empty()) return {};
  Table table{{"what", "where", "sizes", "points", "baseline", "new", "time",
               fmt::format("{:g} % interval", d.options.confidence * 100), "sure"},
              3};
  bool beyond = false;
  for (const auto& f : d.findings) {
    beyond = beyond || f.beyond;
    table.add({f.what, (f.place.empty() ? std::string{"all"} : f.place) + (f.beyond ? " +" : ""), sizes_of(f),
               std::to_string(f.points), value(f.baseline, f.unit), value(f.now, f.unit),
               signed_percent(f.change.log_ratio), interval(f.change), sure(f.change)});
  }
  auto out = '\n' + table.str();
  out += "\ntime: how much longer the same takes (a bandwidth 1 / 1.111 as high is +11.1 %)\n";
  out += fmt::format("sure: probability that the true change exceeds {:g} %\n", d.options.tolerance * 100);
  if (beyond)
    out += "+: on top of what is listed for more of the same points, or of the launch; its baseline has that in it\n";
  return out;
}

std::string compared_table(const Drift& d) {
  if (d.compared.empty()) return {};
  Table table{{"compared", "sizes", "points", "runs", "time",
               fmt::format("{:g} % interval", d.options.confidence * 100), "noise", "seen from"},
              2};
  for (const auto& c : d.compared) {
    table.add({c.what, c.sizes ? std::string(name_of(*c.sizes)) : "-", std::to_string(c.points),
               fmt::format("{}:{}", c.runs_baseline, c.runs_now), signed_percent(c.change.log_ratio),
               interval(c.change), fmt::format("{:.1f} %", c.noise * 100), signed_percent(c.would_be_seen)});
  }
  return '\n' + table.str() +
         "\nnoise: of one point's change where nothing changed; seen from: a slowdown of all points together by so "
         "much\n"
         "is found nine times in ten\n" +
         fmt::format("{} tests; the chance that an unchanged cluster has any finding at all is below {:g} %\n", d.tests,
                     d.options.false_alarms * 100);
}

std::string remarks(const Drift& d) {
  std::string out;
  if (!d.not_compared.empty()) {
    out += "\nnot compared\n";
    for (const auto& n : d.not_compared) out += fmt::format("  {}: {}\n", n.what, n.reason);
  }
  if (!d.notes.empty()) {
    out += "\nnotes\n";
    for (const auto& n : d.notes) out += fmt::format("  {}\n", n);
  }
  return out;
}

}  // namespace

std::string drift_text(const Drift& d) {
  return broken(d) + verdict(d) + findings_table(d) + compared_table(d) + remarks(d);
}

}  // namespace linkcast::calibration
