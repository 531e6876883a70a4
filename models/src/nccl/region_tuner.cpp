// See region_tuner.hpp. The corners are Amazon's measurements: aws-ofi-nccl 2daf7d3, src/tuner/nccl_ofi_regions.cpp,
// with its extrapolated corners computed. Corners are compared as logarithms, edges belong to a region.
#include "nccl/region_tuner.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::models::nccl {

namespace {

constexpr double most_bytes = 107374182400, most_ranks = 1048576;  // 100 GiB and 2^20 ranks: where the tuner ends

struct Corner {
  double bytes, ranks;
};
struct Region {
  std::string_view tuner;
  Op op;
  Algorithm algorithm;
  Protocol protocol;
  std::vector<Corner> corners;
};

const std::vector<Region>& regions() {
  static const std::vector<Region> table{
      {"p5",
       Op::all_reduce,
       Algorithm::tree,
       Protocol::ll128,
       {{0, 16},
        {31457280, 16},
        {37748736, 32},
        {117440512, 64},
        {301989888, 128},
        {301989888, 256},
        {335544320, 512},
        {536870912, 1024},
        {402653184, 2048},
        {402653184, 4096},
        {402653184, most_ranks},
        {0, most_ranks}}},
      {"p5",
       Op::all_reduce,
       Algorithm::nvls_tree,
       Protocol::simple,
       {{31457281, 16}, {most_bytes, 16}, {31457281, 16}}},
      {"p5",
       Op::all_reduce,
       Algorithm::ring,
       Protocol::ll128,
       {{31457280, 17},
        {1073741824, 17},
        {2147483648, 64},
        {2147483648, 128},
        {1342177280, 160},
        {2147483648, 256},
        {1074790400, 256},
        {444596224, 160},
        {301989888, 128},
        {117440512, 64},
        {37748736, 32}}},
      {"p5",
       Op::all_reduce,
       Algorithm::nvls_tree,
       Protocol::simple,
       {{2147483648, 128},
        {6442450944, 128},
        {8053063680, 160},
        {9663676416, 192},
        {most_bytes, 2133.33333},
        {402653184, most_ranks},
        {402653184, 4096},
        {402653184, 2048},
        {536870912, 1024},
        {335544320, 512},
        {301989888, 256},
        {310378496, 160},
        {444596224, 160},
        {1074790400, 256},
        {2684354560, 256},
        {2147483648, 224},
        {1342177280, 160}}},
      {"p5",
       Op::all_reduce,
       Algorithm::ring,
       Protocol::simple,
       {{1073741824, 17},
        {most_bytes, 17},
        {most_bytes, 2133.33333},
        {9663676416, 192},
        {8053063680, 160},
        {2684354560, 64},
        {1610612736, 32}}},
      {"p5en",
       Op::all_reduce,
       Algorithm::tree,
       Protocol::ll,
       {{0, 16}, {196608, 16}, {196608, 1024}, {196608, most_ranks}, {0, most_ranks}}},
      {"p5en",
       Op::all_reduce,
       Algorithm::tree,
       Protocol::ll128,
       {{196608, most_ranks},
        {196608, 1024},
        {196608, 16},
        {13107200, 16},
        {129499136, 127},
        {218103808, 1024},
        {1.23163536e+09, most_ranks}}},
      {"p5en",
       Op::all_reduce,
       Algorithm::ring,
       Protocol::ll128,
       {{129499136, 127}, {13107200, 16}, {29884416, 16}, {293601280, 32}, {589299712, 64}, {549453824, 128}}},
      {"p5en",
       Op::all_reduce,
       Algorithm::nvls_tree,
       Protocol::simple,
       {{1.23163536e+09, most_ranks},
        {218103808, 1024},
        {129499136, 127},
        {549453824, 128},
        {589299712, 64},
        {293601280, 32},
        {29884416, 16},
        {most_bytes, 16},
        {509607936, 32},
        {7516192768, 256},
        {17179869184, 448},
        {most_bytes, 1548.97668}}},
      {"p5en",
       Op::all_reduce,
       Algorithm::ring,
       Protocol::simple,
       {{most_bytes, 1548.97668}, {17179869184, 448}, {7516192768, 256}, {509607936, 32}, {most_bytes, 16}}},
      {"p5en",
       Op::all_gather,
       Algorithm::ring,
       Protocol::ll,
       {{0, 16},
        {786432, 16},
        {4718592, 128},
        {13630464, 384},
        {19922944, 512},
        {28305408, 768},
        {33554432, 1024},
        {2.02228047e+09, most_ranks},
        {0, most_ranks}}},
      {"p5en",
       Op::all_gather,
       Algorithm::ring,
       Protocol::ll128,
       {{2.02228047e+09, most_ranks},
        {33554432, 1024},
        {28305408, 768},
        {19922944, 512},
        {13630464, 384},
        {4718592, 128},
        {786432, 16},
        {236978176, 16},
        {956301312, 64},
        {7247754240, 384},
        {17179865088, 896},
        {most_bytes, 5415.83236}}},
      {"p5en",
       Op::all_gather,
       Algorithm::ring,
       Protocol::simple,
       {{most_bytes, 5415.83236},
        {17179865088, 896},
        {7247754240, 384},
        {956301312, 64},
        {494927872, 32},
        {236978176, 16},
        {most_bytes, 16}}},
      {"p5en",
       Op::reduce_scatter,
       Algorithm::ring,
       Protocol::ll,
       {{0, 16},
        {786432, 16},
        {4718592, 128},
        {7340032, 256},
        {18874368, 512},
        {most_bytes, 291817.724},
        {0, most_ranks}}},
      {"p5en",
       Op::reduce_scatter,
       Algorithm::ring,
       Protocol::ll128,
       {{most_bytes, 291817.724},
        {18874368, 512},
        {7340032, 256},
        {4718592, 128},
        {786432, 16},
        {291504128, 16},
        {589299712, 32},
        {2415919104, 128},
        {7247757312, 256},
        {17179869184, 640},
        {most_bytes, 4478.79077}}},
      {"p5en",
       Op::reduce_scatter,
       Algorithm::ring,
       Protocol::simple,
       {{most_bytes, 4478.79077},
        {17179869184, 640},
        {7247757312, 256},
        {2415919104, 128},
        {589299712, 32},
        {291504128, 16},
        {most_bytes, 16}}},
  };
  return table;
}

struct Point {
  double x, y;
};
Point logarithms(const Corner& c) { return {std::log2(std::max(c.bytes, 1e-6)), std::log2(std::max(c.ranks, 1e-6))}; }

bool contains(const std::vector<Corner>& corners, const Point& p) {
  constexpr double near = 1e-9;
  bool inside = false;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Point a = logarithms(corners[i]), b = logarithms(corners[(i + 1) % corners.size()]);
    const double dx = b.x - a.x, dy = b.y - a.y, length = std::hypot(dx, dy);
    if (length > 0) {
      const double along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / length;
      const double across = std::abs((p.x - a.x) * dy - (p.y - a.y) * dx) / length;
      if (across < near && along > -near && along < length + near) return true;
    }
    // Even-odd: does the ray to the right cross this edge?
    if ((a.y > p.y) != (b.y > p.y) && p.x < a.x + (p.y - a.y) / dy * dx) inside = !inside;
  }
  return inside;
}

}  // namespace

std::vector<TunerPick> region_tuner(std::string_view tuner, Op op, std::int64_t bytes, int ranks, int nodes) {
  std::vector<TunerPick> picks;
  if (tuner.empty() || nodes <= 2 || ranks != 8 * nodes) return picks;
  const Point p = logarithms({static_cast<double>(bytes), static_cast<double>(ranks)});
  for (const auto& r : regions()) {
    if (r.tuner == tuner && r.op == op && contains(r.corners, p)) picks.push_back({r.algorithm, r.protocol});
  }
  return picks;
}

}  // namespace linkcast::models::nccl
