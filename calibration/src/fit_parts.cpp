// Which numbers may move, and which points a fit sees. See fit_parts.hpp.
#include "fit_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

#include "fit_rules.hpp"

namespace linkcast::calibration {
namespace {

/// Counter-based: the n-th number of a seed, the same whatever was asked before (SplitMix64).
double uniform(std::uint64_t seed, std::uint64_t n) {
  auto z = seed * 0x9e3779b97f4a7c15ULL + (n + 1) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

// A number of a GPU, link or CPU that a fit to other machines of its kind told is known better than its rule says:
// sites of one configuration differ by 1.36 below 1 MiB (slowest over fastest, corpus README), ln(1.36) / 2 about the
// middle, and most of that is the host's and the network's software, which keep their rules. Without this a sweep of
// all_reduce alone moves numbers that only other collectives see.
constexpr double between_sites = 0.15;
// Of links and networks: what sites differ by where only links count (1.04 from 64 MiB on, corpus README).
constexpr double own_links = 0.03;

}  // namespace

std::vector<FreeNumber> free_numbers(const std::vector<std::unique_ptr<Observation>>& observations,
                                     const FitOptions& options) {
  std::set<std::string> parts;
  for (const auto& o : observations)
    for (auto& p : o->parts()) parts.insert(p);
  std::set<std::string> seen;
  std::vector<FreeNumber> out;
  for (const auto& part : parts) {
    for (const auto& rule : fit_rules()) {
      const auto dot = part.find('.');
      if (part.compare(0, dot, rule.kind) != 0 || part.compare(dot + 1, rule.parts.size(), rule.parts) != 0) continue;
      auto path = fmt::format("{}.{}", part, rule.key);
      const auto number = topologies::number_at(path, options.start.get());
      if (!number) continue;
      if (options.shared) path = topologies::origin_of(path, options.start.get());
      if (!seen.insert(path).second) continue;
      const auto starts = [&](const std::string& prefix) { return path.starts_with(prefix); };
      if (!options.only.empty() && std::none_of(options.only.begin(), options.only.end(), starts)) continue;
      FreeNumber n;
      n.path = path;
      n.unit = number->unit;
      n.low = std::log(rule.low);
      n.high = std::log(rule.high);
      // A prior of nothing at all (a hop of 0 ns) means: below what can be told. A few times the least that is
      // possible.
      n.prior = std::clamp(std::log(std::max(number->value, rule.low)), n.low, n.high);
      n.value = n.prior;
      n.spread = number->source.starts_with("fitted") && rule.kind != "hosts" && rule.kind != "networks" &&
                         rule.key != "kernel_start"
                     ? std::min(rule.spread, between_sites)
                     : rule.spread;
      if (!options.shared && rule.key == "residual") n.spread = std::max(n.spread, own_links);
      out.push_back(std::move(n));
    }
  }
  return out;
}

void check_only(const std::vector<std::unique_ptr<Observation>>& observations, const FitOptions& options) {
  if (options.only.empty()) return;
  auto all = options;
  all.only.clear();
  std::vector<std::string> known;
  for (const auto& n : free_numbers(observations, all)) known.push_back(n.path);
  std::vector<sim::Diagnostic> wrong;
  for (const auto& word : options.only) {
    if (std::any_of(known.begin(), known.end(), [&](const auto& path) { return path.starts_with(word); })) continue;
    // As much of a path as the word is long: "gpus.h100-sxm.simpel" is meant to be "gpus.h100-sxm.simple".
    std::set<std::string> begins(known.begin(), known.end());
    for (const auto& path : known)
      for (auto dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
        begins.insert(path.substr(0, dot));
    const std::vector<std::string> candidates(begins.begin(), begins.end());
    const auto near = sim::nearest(word, candidates);
    wrong.push_back({{},
                     fmt::format("--only {}: no number that these measurements touch begins so", word),
                     near.empty() ? (known.empty() ? std::string{} : "e.g. " + known.front())
                                  : fmt::format("did you mean '{}'?", near)});
  }
  if (!wrong.empty()) throw sim::InputError(std::move(wrong), {});
}

PointSplit split_points(const std::vector<std::unique_ptr<Observation>>& observations, const FitOptions& options) {
  PointSplit s;
  std::uint64_t n = 0;
  for (const auto& o : observations) {
    auto& used = s.used.emplace_back();
    auto& judged = s.judged.emplace_back();
    for (std::size_t i = 0; i < o->points().size(); ++i)
      (uniform(options.seed, n++) < options.hold_back ? judged : used).push_back(i);
    const auto most = static_cast<std::size_t>(std::max(1, options.points_per_series));
    if (used.size() > most) {
      std::vector<std::size_t> kept;
      const auto& points = o->points();
      const auto log_size = [&](std::size_t k) { return std::log2(static_cast<double>(points[used[k]].size.count())); };
      double next = -1;
      const double stride = (log_size(used.size() - 1) - log_size(0)) / static_cast<double>(most);
      for (std::size_t k = 0; k < used.size(); ++k) {
        if (log_size(k) < next) continue;
        kept.push_back(used[k]);
        next = log_size(k) + stride;
      }
      std::vector<std::size_t> rest;
      std::set_difference(used.begin(), used.end(), kept.begin(), kept.end(), std::back_inserter(rest));
      used = std::move(kept);
      if (options.hold_back > 0) judged.insert(judged.end(), rest.begin(), rest.end());
    }
    std::sort(judged.begin(), judged.end());
  }
  return s;
}

FittedParameter parameter_of(const FreeNumber& n) {
  FittedParameter p;
  p.path = n.path;
  p.unit = n.unit;
  p.status = FittedParameter::Status::fitted;
  p.prior = std::exp(n.prior);
  p.told = 1 - std::pow(std::min(1.0, n.deviation / n.spread), 2);
  p.value = std::exp(n.value);
  p.low = std::exp(std::max(n.low, n.value - 1.96 * n.deviation));
  p.high = std::exp(std::min(n.high, n.value + 1.96 * n.deviation));
  return p;
}

int threads_of(const FitOptions& options) {
  return options.threads > 0 ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace linkcast::calibration
