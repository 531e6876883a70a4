// Has it drifted? Matches, counts the tests, searches, and puts the findings in order. See drift.hpp, docs/drift.md.
#include "linkcast/calibration/drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "drift_block.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t kMostFindings = 200;  // of one matrix

/// Each level in use has the same share of the allowed chance, and each of its tests the same share of that
/// (Bonferroni): right however the tests depend on each other, and what is coarse does not pay for what is fine.
Corrections corrections_for(const std::vector<Block>& blocks) {
  Corrections tests;
  for (const auto& b : blocks)
    for (const auto& s : b.suspects) tests[s.level] += 1;
  const auto levels = static_cast<double>(tests.size());
  for (auto& [level, count] : tests) count *= levels;
  return tests;
}

double shown_value(const Block& block, const Block::Value& v, double value) {
  const bool as_busbw = block.collective && block.unit != "us";
  return as_busbw && v.size ? block.busbw * static_cast<double>(v.size->count()) / value / 1e3 : value;
}

DriftFinding finding_of(const Block& block, const Suspect& suspect, const std::string& place, const Found& found) {
  DriftFinding out;
  out.what = block.what;
  out.level = suspect.level;
  out.place = place;
  out.points = static_cast<int>(suspect.points.size());
  out.unit = block.unit;
  out.change = found.change;
  out.beyond = found.beyond;
  std::vector<double> before, after;
  for (std::size_t k = 0; k < suspect.points.size(); ++k) {
    const auto& v = block.values[suspect.points[k]];
    // What the new value is compared with: the baseline, and what was found before for this point.
    const double residual = found.residuals[k];
    const double expected = block.rate ? v.now * std::exp(residual) : v.now / std::exp(residual);
    before.push_back(shown_value(block, v, expected));
    after.push_back(shown_value(block, v, v.now));
    if (!v.size) continue;
    out.from = std::min(out.from.value_or(*v.size), *v.size);
    out.to = std::max(out.to.value_or(*v.size), *v.size);
  }
  out.launch = block.launch || (block.collective && out.to && *out.to < sim::mib(1));
  out.baseline = median(std::move(before));
  out.now = median(std::move(after));
  return out;
}

/// Whether most of these points went the other way against the baseline itself: "slower" than the rest, which gained.
bool against_baseline(const Block& block, const Suspect& suspect, const Change& change) {
  std::vector<double> raw;
  for (const auto i : suspect.points)
    raw.push_back(log_slowdown(block.rate, block.values[i].baseline, block.values[i].now));
  const double shift = median(std::move(raw));
  return change.slower() ? shift < 0 : shift > 0;
}

DriftCompared compared_of(const Block& block, const Corrections& corrections, const DriftOptions& options) {
  DriftCompared out;
  out.what = block.places.front().empty() ? block.what : fmt::format("{}, {}", block.what, block.places.front());
  out.sizes = block.sizes;
  out.points = static_cast<int>(block.values.size());
  out.runs_baseline = block.runs.baseline;
  out.runs_now = block.runs.now;
  const auto level = block.suspects.front().level;
  const auto variance = variance_of_location(block.values.size(), block.spread);
  const double shift = level == DriftLevel::whole ? median(block.log_ratios) : location(block.log_ratios);
  out.change = judge(shift, variance, corrections.at(level), options);
  out.noise = block.noise;
  out.noise_from = block.noise_from;
  out.would_be_seen = would_be_seen(variance, corrections.at(level), options);
  return out;
}

/// A host that takes longer to launch adds the same time to every size: by how much, from the sizes below 1 MiB.
double added_us(const Block& block) {
  std::vector<double> added;
  for (const auto& v : block.values) added.push_back(v.now - v.baseline);
  return median(std::move(added));
}

/// What is left of a change when a call takes `us` longer than it did. That a launch gained or lost never turns a gain
/// into a loss, or a loss into a gain.
double without_launch(const Block::Value& v, double us) {
  const double raw = log_slowdown(false, v.baseline, v.now);
  const double left = us > 0 ? std::log(v.now / (v.baseline + us)) : std::log((v.now - us) / v.baseline);
  return raw * left > 0 ? left : 0;
}

void take_off(Block& block, double us) {
  for (std::size_t i = 0; i < block.values.size(); ++i) block.log_ratios[i] = without_launch(block.values[i], us);
}

class Finder {
 public:
  Finder(std::vector<Block> blocks, const DriftOptions& options, Drift& out)
      : blocks_{std::move(blocks)}, options_{options}, corrections_{corrections_for(blocks_)}, out_{out} {}

  void find() {
    for (const auto& b : blocks_) {
      out_.tests += static_cast<int>(b.suspects.size());
      out_.compared.push_back(compared_of(b, corrections_, options_));
    }
    for (auto& b : blocks_) {
      const bool launches = b.collective && b.sizes == SizeClass::below_1M;
      if (b.collective && done_.contains(b.line)) continue;
      if (launches && whole_line(b)) continue;
      if (launches && whole_launch(b)) continue;
      if (b.collective && launched_.contains(b.line))
        search_on_top(b);
      else
        search_all(b);
    }
  }

 private:
  /// All sizes alike: one finding, where every class has changed the same way and one factor explains the line better
  /// than one time that each call takes longer.
  bool whole_line(Block& first) {
    std::vector<Block*> line;
    std::vector<double> ratios, added;
    Variance widest;
    const double us = added_us(first);
    const bool slower = us > 0;
    for (auto& b : blocks_) {
      if (!b.collective || b.line != first.line) continue;
      const Change& change = compared_of_block(b).change;
      if (!is_drift(change, options_) || change.slower() != slower) return false;
      const auto variance = variance_of_location(b.values.size(), b.spread);
      if (line.empty() || variance.value > widest.value) widest = variance;
      line.push_back(&b);
      for (std::size_t i = 0; i < b.values.size(); ++i) {
        ratios.push_back(b.log_ratios[i]);
        added.push_back(std::abs(without_launch(b.values[i], us)));
      }
    }
    if (line.size() < 2) return false;
    const double shift = median(ratios);
    std::vector<double> misses;
    for (const double r : ratios) misses.push_back(std::abs(r - shift));
    if (median(misses) >= median(std::move(added))) return false;
    const Change change = judge(shift, widest, corrections_.at(DriftLevel::size_class), options_);
    if (!is_drift(change, options_)) return false;

    Block all = first;
    all.values.clear();
    Suspect every{DriftLevel::whole, {}};
    for (const auto* b : line) all.values.insert(all.values.end(), b->values.begin(), b->values.end());
    for (std::size_t i = 0; i < all.values.size(); ++i) every.points.push_back(i);
    out_.findings.push_back(finding_of(all, every, first.places.front(), {0, change, false, ratios}));
    for (auto* b : line)
      for (auto& r : b->log_ratios) r -= shift;
    for (auto* b : line) search_on_top(*b);
    done_.insert(first.line);
    return true;
  }

  const DriftCompared& compared_of_block(const Block& block) const {
    return out_.compared[static_cast<std::size_t>(&block - blocks_.data())];
  }

  void search_on_top(const Block& b) {
    const auto first = out_.findings.size();
    search_all(b);
    for (std::size_t i = first; i < out_.findings.size(); ++i) out_.findings[i].beyond = true;
  }

  /// Below 1 MiB all sizes together come first; what a launch takes longer is then taken off every size.
  bool whole_launch(Block& block) {
    const Change change = compared_of_block(block).change;
    if (!is_drift(change, options_)) return false;
    out_.findings.push_back(
        finding_of(block, block.suspects.front(), block.places.front(), {0, change, false, block.log_ratios}));
    const double us = added_us(block);
    out_.notes.push_back(
        fmt::format("{}: below 1 MiB a call takes {:+.1f} us; that is taken off all sizes before the rest is judged",
                    block.what, us));
    for (auto& other : blocks_)
      if (other.collective && other.line == block.line) take_off(other, us);
    launched_.insert(block.line);
    block.suspects.erase(block.suspects.begin());
    block.places.erase(block.places.begin());
    search_on_top(block);
    return true;
  }

  void search_all(const Block& b) {
    const auto found = search(b.log_ratios, b.suspects, b.spread, corrections_, options_, kMostFindings);
    for (const auto& f : found)
      if (!against_baseline(b, b.suspects[f.suspect], f.change))
        out_.findings.push_back(finding_of(b, b.suspects[f.suspect], b.places[f.suspect], f));
    if (found.size() == kMostFindings)
      out_.notes.push_back(fmt::format(
          "{}: the search ended at {} findings, the clearest first; what else changed stands in no output, also not "
          "in --json",
          b.what, kMostFindings));
  }

  std::vector<Block> blocks_;
  const DriftOptions& options_;
  Corrections corrections_;
  Drift& out_;
  std::set<std::size_t> done_;      // lines that one finding holds
  std::set<std::size_t> launched_;  // lines that a launch was taken off
};

}  // namespace

SizeClass size_class_of(sim::Bytes size) {
  if (size < sim::mib(1)) return SizeClass::below_1M;
  return size < sim::mib(64) ? SizeClass::from_1M_to_64M : SizeClass::from_64M;
}

std::string_view name_of(SizeClass c) {
  constexpr std::string_view kNames[] = {"below 1 MiB", "1 to 64 MiB", "from 64 MiB"};
  return kNames[static_cast<std::size_t>(c)];
}

std::string_view name_of(DriftLevel l) {
  constexpr std::string_view kNames[] = {"size_class", "sizes", "all", "device", "pair", "figure"};
  return kNames[static_cast<std::size_t>(l)];
}

bool Drift::slower() const {
  return std::any_of(findings.begin(), findings.end(), [](const auto& f) { return f.change.slower(); });
}

bool Drift::faster() const {
  return std::any_of(findings.begin(), findings.end(), [](const auto& f) { return !f.change.slower(); });
}

bool Drift::only_launch() const {
  return slower() &&
         std::all_of(findings.begin(), findings.end(), [](const auto& f) { return !f.change.slower() || f.launch; });
}

Drift find_drift(const Measurements& baseline, const Measurements& now, const DriftOptions& options) {
  Drift out;
  out.options = options;
  auto matched = match(baseline, now);
  Finder{blocks_of(matched), options, out}.find();
  out.faults = std::move(matched.faults);
  out.not_compared = std::move(matched.not_compared);
  out.notes.insert(out.notes.end(), matched.notes.begin(), matched.notes.end());
  std::stable_partition(out.findings.begin(), out.findings.end(), [](const auto& f) { return f.change.slower(); });
  return out;
}

}  // namespace linkcast::calibration
