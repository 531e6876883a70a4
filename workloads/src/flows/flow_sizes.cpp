// See flow_sizes.hpp.
#include "linkcast/workloads/flow_sizes.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::workloads {

std::uint64_t FlowRandom::mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
std::uint64_t FlowRandom::bits() { return mixed(state_ += 0x9e3779b97f4a7c15ULL); }
double FlowRandom::unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
std::uint64_t FlowRandom::below(std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits()) * n) >> 64);
}
double FlowRandom::exponential(double mean) { return -mean * std::log1p(-unit()); }

FlowSizes::FlowSizes(sim::Bytes size) : points_{{static_cast<double>(size.count()), 1}}, steps_{true} {}

FlowSizes FlowSizes::uniform(sim::Bytes least, sim::Bytes most) {
  FlowSizes s;
  s.points_ = {{static_cast<double>(least.count()), 0}, {static_cast<double>(most.count()), 1}};
  return s;
}

FlowSizes FlowSizes::list(std::vector<std::pair<sim::Bytes, double>> sizes) {
  FlowSizes s;
  s.steps_ = true;
  double all = 0, sum = 0;
  for (const auto& [size, weight] : sizes) all += weight;
  for (const auto& [size, weight] : sizes)
    s.points_.push_back({static_cast<double>(size.count()), (sum += weight) / all});
  s.points_.back().below = 1;
  return s;
}

std::optional<FlowSizes> FlowSizes::published(std::string_view name) {
  FlowSizes s;
  // As the authors of HPCC publish them with their simulator (alibaba-edu/High-Precision-Congestion-Control,
  // traffic_gen/WebSearch_distribution.txt and FbHdp_distribution.txt): bytes, percent of messages at most that large.
  if (name == "websearch") {
    // Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, figure 4: a cluster that serves web search.
    s.points_ = {{0, 0},    {1e4, 15}, {2e4, 20}, {3e4, 30}, {5e4, 40}, {8e4, 53},
                 {2e5, 60}, {1e6, 70}, {2e6, 80}, {5e6, 90}, {1e7, 97}, {3e7, 100}};
  } else if (name == "hadoop") {
    // Roy et al., Inside the social network's (datacenter) network, SIGCOMM 2015, figure 6: a Hadoop cluster.
    s.points_ = {{0, 0},    {100, 1},    {200, 2},  {300, 5},    {350, 15}, {400, 20}, {500, 30},
                 {600, 40}, {700, 50},   {1e3, 60}, {2e3, 67},   {7e3, 70}, {3e4, 72}, {5e4, 82},
                 {8e4, 87}, {1.2e5, 90}, {3e5, 95}, {1e6, 97.5}, {2e6, 99}, {1e7, 100}};
  } else {
    return std::nullopt;
  }
  for (auto& p : s.points_) p.below /= 100;
  return s;
}

const std::vector<std::string>& FlowSizes::published_names() {
  static const std::vector<std::string> names{"websearch", "hadoop"};
  return names;
}

sim::Bytes FlowSizes::draw(FlowRandom& random) const {
  if (points_.size() == 1) return largest();
  const double u = random.unit();
  const auto at = std::min<std::size_t>(
      static_cast<std::size_t>(std::ranges::upper_bound(points_, u, {}, &Point::below) - points_.begin()),
      points_.size() - 1);
  double size = points_[at].size;
  if (!steps_ && at > 0) {
    const auto& a = points_[at - 1];
    const auto& b = points_[at];
    size = a.size + (b.size - a.size) * (u - a.below) / (b.below - a.below);
  }
  return sim::Bytes{std::max<std::int64_t>(1, std::llround(size))};
}

double FlowSizes::mean() const {
  double sum = 0, before = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const double middle = steps_ || i == 0 ? points_[i].size : (points_[i].size + points_[i - 1].size) / 2;
    sum += middle * (points_[i].below - before);
    before = points_[i].below;
  }
  return sum;
}

sim::Bytes FlowSizes::largest() const {
  double most = 0;
  for (const auto& p : points_) most = std::max(most, p.size);
  return sim::Bytes{std::llround(most)};
}

}  // namespace linkcast::workloads
