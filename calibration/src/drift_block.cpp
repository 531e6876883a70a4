// See drift_block.hpp.
#include "drift_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "drift_noise.hpp"

namespace linkcast::calibration {
namespace {

constexpr double kPriorDf = 8;     // what the prior of the noise weighs against data, in degrees of freedom
constexpr double kRunPriorDf = 4;  // and that of whole runs, which few repeats say little of
constexpr double kLoneDf = 30;
constexpr std::size_t kFewDevices = 5;
constexpr std::size_t kWidestWindow = 4;  // neighbouring sizes that change together, as where an algorithm is chosen

double square(double v) { return v * v; }

/// What measured data says of one point's variance, and where that is from.
struct Estimate {
  std::optional<Variance> variance;
  std::string from;
};

void set_spread(Block& block, const Estimate& estimate, const NoisePrior& prior) {
  const auto point = estimate.variance
                         ? moderated(estimate.variance, square(prior.point), kPriorDf, square(prior.floor))
                         : Variance{square(prior.lone), kLoneDf};
  const auto run = moderated(block.runs.apart, square(prior.run), kRunPriorDf, square(prior.run / 3));
  block.spread.point = {point.value * block.runs.factor(), point.df};
  block.spread.common = run.value * block.runs.factor();
  block.noise = std::sqrt(block.spread.point.value);
  block.noise_from = estimate.variance ? estimate.from : "published repeatability: too few points to tell";
  if (block.runs.apart) block.noise_from += ", and repeated runs";
}

/// Differences of neighbouring sizes, as of one measurement on each side.
std::vector<double> differences(const Block& block) {
  std::vector<double> out;
  for (std::size_t i = 1; i < block.log_ratios.size(); ++i)
    out.push_back((block.log_ratios[i] - block.log_ratios[i - 1]) / std::sqrt(block.runs.factor()));
  return out;
}

std::string unit_of(const Line& line, SizeClass c) {
  if (line.rate) return "GB/s";
  return line.collective && line.busbw > 0 && c != SizeClass::below_1M ? "GB/s busbw" : "us";
}

/// All sizes of a class, and every few neighbours among them.
void suspect_sizes(Block& block) {
  const auto n = block.values.size();
  std::vector<std::size_t> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = i;
  block.suspects.push_back({DriftLevel::size_class, all});
  for (std::size_t width = 1; width <= std::min(kWidestWindow, n - 1); ++width)
    for (std::size_t first = 0; first + width <= n; ++first)
      block.suspects.push_back({DriftLevel::sizes,
                                {all.begin() + static_cast<std::ptrdiff_t>(first),
                                 all.begin() + static_cast<std::ptrdiff_t>(first + width)}});
}

std::vector<Block> blocks_of(const Line& line, std::size_t index) {
  std::vector<Block> out;
  for (const auto c : {SizeClass::below_1M, SizeClass::from_1M_to_64M, SizeClass::from_64M}) {
    Block block;
    block.what = line.what;
    block.unit = unit_of(line, c);
    block.rate = line.rate;
    block.collective = line.collective;
    block.busbw = line.busbw;
    block.sizes = c;
    block.line = index;
    block.runs = line.runs[static_cast<std::size_t>(c)];
    for (const auto& p : line.points) {
      const bool stated = p.size.count() > 0;
      if ((stated ? size_class_of(p.size) : SizeClass::from_64M) != c) continue;
      block.values.push_back({stated ? std::optional{p.size} : std::nullopt, p.baseline, p.now});
      block.log_ratios.push_back(log_slowdown(line.rate, p.baseline, p.now));
    }
    if (block.values.empty()) continue;
    suspect_sizes(block);
    block.places.assign(block.suspects.size(), line.place);
    out.push_back(std::move(block));
  }
  return out;
}

/// Each class of sizes has its noise: what all its lines say together, and what each says of its own.
void estimate_lines(std::vector<Block>& blocks, const std::vector<Line>& lines) {
  for (const bool collective : {true, false}) {
    for (const auto c : {SizeClass::below_1M, SizeClass::from_1M_to_64M, SizeClass::from_64M}) {
      const auto counts = [&](const Block& b) { return b.collective == collective && b.sizes == c; };
      std::vector<double> pooled;
      for (const auto& b : blocks)
        if (counts(b))
          for (const double d : differences(b)) pooled.push_back(d);
      const auto together = variance_of_neighbours(pooled);
      for (auto& b : blocks) {
        if (!counts(b)) continue;
        const auto prior = collective ? prior_of(c) : prior_of_pairs(!lines[b.line].rate);
        auto own = together;
        if (together)
          own = moderated(variance_of_neighbours(differences(b)), together->value, together->df, square(prior.floor));
        set_spread(b, {own, "how smoothly it changes with size"}, prior);
      }
    }
  }
}

/// Adds groups of points, each set once.
class Suspects {
 public:
  explicit Suspects(Block& block) : block_{block} {}
  void add(DriftLevel level, std::vector<std::size_t> points, std::string place) {
    std::sort(points.begin(), points.end());
    if (points.empty() || !known_.insert(points).second) return;
    block_.suspects.push_back({level, std::move(points)});
    block_.places.push_back(std::move(place));
  }

 private:
  Block& block_;
  std::set<std::vector<std::size_t>> known_;
};

std::vector<std::size_t> both(std::vector<std::size_t> a, const std::vector<std::size_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void suspect_pairs(Block& block, const Grid& grid) {
  Suspects suspects{block};
  std::vector<std::size_t> all;
  std::vector<std::vector<std::size_t>> sent(grid.names.size()), received(grid.names.size());
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> cells;
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    all.push_back(i);
    if (!grid.one_row) sent[grid.cells[i].from].push_back(i);
    received[grid.cells[i].to].push_back(i);
    cells[{grid.cells[i].from, grid.cells[i].to}] = i;
  }
  suspects.add(DriftLevel::whole, all, "");
  for (std::size_t d = 0; d < grid.names.size(); ++d) {
    const auto& name = grid.names[d];
    const bool two_ways = !sent[d].empty() && !received[d].empty();
    // One link is no ground to blame the device at its end.
    if (grid.one_row || sent[d].size() + received[d].size() > 2)
      suspects.add(DriftLevel::device, both(sent[d], received[d]), name);
    if (!two_ways) continue;
    if (sent[d].size() > 1) suspects.add(DriftLevel::device, sent[d], name + ", sending");
    if (received[d].size() > 1) suspects.add(DriftLevel::device, received[d], name + ", receiving");
  }
  if (grid.one_row) return;
  for (const auto& [pair, i] : cells) {
    const auto back = cells.find({pair.second, pair.first});
    if (back != cells.end() && pair.first < pair.second)
      suspects.add(DriftLevel::pair, {i, back->second},
                   fmt::format("{} and {}", grid.names[pair.first], grid.names[pair.second]));
  }
  for (const auto& [pair, i] : cells)
    suspects.add(DriftLevel::pair, {i}, fmt::format("{} to {}", grid.names[pair.first], grid.names[pair.second]));
}

Estimate estimate_pairs(const Block& block, const Grid& grid) {
  const double scale = 1 / std::sqrt(block.runs.factor());
  auto ratios = block.log_ratios;
  for (auto& r : ratios) r *= scale;
  const auto around = variance_around_median(ratios);
  const Estimate simple{around, "how far pairs lie apart"};
  if (grid.one_row) return simple;
  const auto n = grid.names.size();
  std::vector cells(n, std::vector<double>(n, std::numeric_limits<double>::quiet_NaN()));
  for (std::size_t i = 0; i < grid.cells.size(); ++i) cells[grid.cells[i].from][grid.cells[i].to] = ratios[i];
  const auto contrasts = variance_of_contrasts(cells);
  if (!contrasts) return simple;
  // Among few, one changed pair is in most contrasts, and one changed device in half of the pairs: one of both holds.
  if (n <= kFewDevices && around && around->value < contrasts->value) return simple;
  return {contrasts, "what rows and columns do not explain"};
}

Block block_of(const Grid& grid) {
  Block block;
  block.what = grid.what;
  block.unit = grid.latency ? "us" : "GB/s";
  block.rate = !grid.latency;
  block.sizes = grid.sizes;
  block.runs = grid.runs;
  for (const auto& c : grid.cells) {
    block.values.push_back({std::nullopt, c.baseline, c.now});
    block.log_ratios.push_back(log_slowdown(block.rate, c.baseline, c.now));
  }
  suspect_pairs(block, grid);
  auto prior = prior_of_pairs(grid.latency);
  if (grid.names.size() <= kFewDevices) prior.point = prior.lone;
  set_spread(block, estimate_pairs(block, grid), prior);
  return block;
}

Block block_of(const Single& single) {
  Block block;
  block.what = single.what;
  block.unit = single.rate ? "GB/s" : "us";
  block.rate = single.rate;
  block.launch = single.launch;
  if (single.size) block.sizes = size_class_of(*single.size);
  block.values = {{single.size, single.baseline, single.now}};
  block.log_ratios = {log_slowdown(single.rate, single.baseline, single.now)};
  block.suspects = {{DriftLevel::figure, {0}}};
  block.places = {""};
  if (!single.spread) {
    set_spread(block, {}, prior_of(block.sizes.value_or(SizeClass::from_64M)));
    return block;
  }
  const auto prior = single.launch ? prior_of(SizeClass::below_1M) : prior_of_pairs(false);
  const double samples = square(std::max(*single.spread, prior.point));
  set_spread(block, {Variance{samples, kLoneDf}, "the spread of its samples"}, prior);
  return block;
}

}  // namespace

std::vector<Block> blocks_of(const Matched& matched) {
  std::vector<Block> out;
  for (std::size_t i = 0; i < matched.lines.size(); ++i)
    for (auto& block : blocks_of(matched.lines[i], i)) out.push_back(std::move(block));
  estimate_lines(out, matched.lines);
  for (const auto& grid : matched.grids) out.push_back(block_of(grid));
  for (const auto& single : matched.singles) out.push_back(block_of(single));
  return out;
}

}  // namespace linkcast::calibration
