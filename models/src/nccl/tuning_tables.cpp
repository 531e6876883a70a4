// See tuning_tables.hpp. Starts from the newest numbers and goes back in time.
#include "nccl/tuning_tables.hpp"

namespace linkcast::models::nccl {

TuneTables tune_tables(const Version& v) {
  const auto before = [&](int minor, int patch = 0) { return v < Version{2, minor, patch}; };
  enum { tree, ring, direct, chain, nvls, nvls_tree, pat };
  constexpr auto nvlink = 0, pci = 1, net = 2;
  constexpr auto volta = 0, hopper = 2, blackwell = 3;
  (void)volta;

  TuneTables t{};
  t.base = {{{6.8, 14, 8.4}, {6.6, 14, 8.4}, {}, {}, {}, {}, {8, 8, 8}}};
  t.hw[nvlink] = {{{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}}};
  t.hw[pci] = {{{1, 1.9, 4}, {1, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {}, {}, {0, 0, 4}}};
  t.hw[net] = {{{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};
  t.ll_max = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
  t.ring_ll128 = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
  t.tree_ll128 = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
  t.tree = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
  t.nvls_tree = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};

  if (before(30)) t.nvls_tree[blackwell][2] = 43.8;
  if (before(29, 7)) t.ring_ll128[blackwell] = {34.5, 34.6, 34.5};
  if (before(29)) t.ring_ll128[blackwell] = {73.4, 34.6, 73.4};
  if (before(28, 7)) {
    t.ring_ll128[blackwell] = {73.4, 73.4, 73.4};
    t.nvls_tree[blackwell][2] = 43.1;
    t.hw[net][nvls_tree][2] = 14;
  }
  if (before(28)) {
    t.tree_ll128[blackwell] = {73.4, 73.4, 58};
    t.tree[blackwell] = {77.4, 82.8, 72};
  }
  if (before(23)) {
    t.base[tree][2] = 0;
    t.hw[nvlink][tree][2] = t.hw[pci][tree][2] = t.hw[net][tree][2] = 28;
  }
  if (before(21)) {
    t.ll_max[hopper] = t.ll_max[1];
    t.hw[nvlink][nvls][2] = t.hw[nvlink][nvls_tree][2] = 23;
  }
  if (before(19)) {
    t.base[direct] = t.base[chain] = {6.8, 14, 0};
    t.base[nvls] = t.base[nvls_tree] = {0, 0, 23};
    t.hw[nvlink][tree][2] = 4;
    t.hw[pci][tree][2] = 6;
    t.hw[net][tree][2] = 14;
    t.hw[nvlink][nvls] = t.hw[nvlink][nvls_tree] = {};
    t.hw[nvlink][direct][2] = 8;
    t.hw[nvlink][chain][2] = 4.75;
    t.hw[pci][direct][2] = t.hw[pci][chain][2] = 8;
    t.hw[net][direct][2] = 10.7;
    t.hw[net][chain][2] = 14;
    t.hw[net][nvls_tree][2] = 19;
  }
  if (before(18)) {
    t.base[tree] = t.base[direct] = t.base[chain] = {4.4, 4.4, 0};
    t.base[ring] = {3.6, 10, 8.4};
    t.base[nvls] = {0, 0, 40};
    t.hw[nvlink][tree] = {.52, 1.25, 28};
    t.hw[pci][tree] = {1, 1.9, 28};
    t.hw[net][tree] = {5, 8.5, 28};
    t.hw[nvlink][ring] = {.47, 1.9, 3.4};
    t.hw[net][ring][2] = 9.6;
    t.hw[nvlink][chain][2] = 8;
    t.hw[net][chain][2] = 10.7;
    t.hw[net][nvls] = {};
    t.tree_ll128[hopper] = {36.7, 36.7, 36.7};
    t.tree[hopper][2] = 33;
  }
  if (before(17)) {
    t.ring_ll128[hopper] = t.tree_ll128[hopper] = {20, 20, 20};
    t.tree[hopper] = t.tree[1];
  }
  if (before(16)) t.hw[net][ring][2] = 28;
  return t;
}

}  // namespace linkcast::models::nccl
