// Measurements of a machine that never was, with noise from a seed: for the tests of `calibrate check`.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "linkcast/calibration/drift.hpp"

namespace linkcast::test {

/// Normal numbers that are the same with every standard library.
class Noise {
 public:
  explicit Noise(std::uint64_t seed, double sd) : random_{seed}, sd_{sd} {}
  /// exp of a normal number: a factor on a time or a bandwidth.
  double operator()() {
    const double u = (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0;
    const double v = (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0;
    return std::exp(sd_ * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
  }

 private:
  std::mt19937_64 random_;
  double sd_;
};

using SizeFactor = std::function<double(std::int64_t bytes)>;
using PairFactor = std::function<double(std::size_t from, std::size_t to)>;

/// 8 B to 8 GiB by powers of two: 20 us and 300 GB/s.
inline calibration::Series series(models::nccl::Op op, Noise& noise, const SizeFactor& factor = {}) {
  calibration::Series s;
  s.id = "run.log";
  s.op = op;
  s.ranks = s.gpus_per_node = 8;
  for (std::int64_t bytes = 8; bytes <= std::int64_t{8} << 30; bytes *= 2) {
    const double us = 20 + static_cast<double>(bytes) / 300e3;
    s.points.push_back({sim::Bytes{bytes}, sim::Time::from_us(us * noise() * (factor ? factor(bytes) : 1))});
  }
  return s;
}

/// 240 GB/s between any two GPUs.
inline calibration::PairMatrix matrix(std::size_t gpus, Noise& noise, const PairFactor& factor = {}) {
  calibration::PairMatrix m;
  m.id = "p2p.log";
  m.cells.assign(gpus, std::vector<std::optional<double>>(gpus));
  for (std::size_t i = 0; i < gpus; ++i)
    for (std::size_t j = 0; j < gpus; ++j)
      m.cells[i][j] = (i == j ? 2500 : 240) * noise() * (factor ? factor(i, j) : 1);
  return m;
}

/// 23.5 GB/s between any two of so many hosts.
inline std::vector<calibration::PairTest> pair_tests(std::size_t hosts, Noise& noise, const PairFactor& factor = {}) {
  std::vector<calibration::PairTest> tests;
  for (std::size_t i = 0; i < hosts; ++i) {
    for (std::size_t j = 0; j < hosts; ++j) {
      if (i == j) continue;
      calibration::PairTest t;
      t.tool = "ib_write_bw";
      t.from = "node" + std::to_string(i);
      t.to = "node" + std::to_string(j);
      for (const auto mib : {1, 2, 4, 8})
        t.rows.push_back({sim::mib(mib), 23.5 * noise() * (factor ? factor(i, j) : 1)});
      tests.push_back(std::move(t));
    }
  }
  return tests;
}

}  // namespace linkcast::test
