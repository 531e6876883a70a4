// What fits into a budget: by hand. And what is asked of which machine.
#include <algorithm>
#include <set>

#include "linkcast/calibration/measure_plan.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::calibration;

Item item(const std::string& id, double information) {
  Item i;
  i.id = id;
  i.information = information;
  return i;
}

Discovery machine(int gpus, bool peers = true) {
  Discovery d;
  d.kind = "real";
  d.gpus.resize(static_cast<std::size_t>(gpus));
  d.ranks = gpus > 1 ? gpus : 0;
  for (int a = 0; a < gpus; ++a) {
    d.peer_access.emplace_back();
    for (int b = 0; b < gpus; ++b) d.peer_access.back().push_back(a == b || peers);
  }
  return d;
}

std::set<std::string> ids(const std::vector<Item>& items) {
  std::set<std::string> out;
  for (const auto& i : items) out.insert(i.id);
  return out;
}

TEST_CASE("a budget goes to what tells most per second, and smaller items fill what is left") {
  const std::vector<Item> items{item("a", 10), item("b", 6), item("c", 2), item("d", 1)};
  const std::vector<double> costs{10, 3, 2, 4};
  // Per second: a 1, b 2, c 1, d 0.25. With 12 s: b (3), then a (10) no longer fits the 9 that are left; c (2), then
  // d (4): 9 s in all.
  auto p = plan(items, costs, 12);
  CHECK(p.order == std::vector<std::size_t>{1, 2, 3});
  CHECK(p.dropped == std::vector<std::size_t>{0});
  CHECK(p.total_s == 9);
  // With 13 s a fits exactly after b: 3 + 10. a and c tell as much per second, the first goes first.
  p = plan(items, costs, 13);
  CHECK(p.order == std::vector<std::size_t>{1, 0});
  CHECK(p.dropped == std::vector<std::size_t>{2, 3});
  CHECK(p.total_s == 13);
  CHECK(plan(items, costs, 1.9).order.empty());
  CHECK(plan(items, costs, 19).dropped.empty());
}

TEST_CASE("medians and quartiles") {
  const auto us = [](double v) { return sim::Time::from_us(v); };
  // 1 2 3 4 5: the median is 3, the quartiles 2 and 4.
  auto t = timing_of({us(5), us(1), us(3), us(2), us(4)});
  CHECK(t.median == us(3));
  CHECK(t.spread == us(2));
  CHECK(t.n == 5);
  // 10 20: in the middle 15; the quartiles 12.5 and 17.5.
  t = timing_of({us(20), us(10)});
  CHECK(t.median == us(15));
  CHECK(t.spread == us(5));
}

TEST_CASE("repetitions fill five milliseconds a sample, and the estimate counts them all") {
  Speeds speeds;
  speeds.copy_start_us = 10;
  speeds.copy_GBps = 64;
  speeds.cell_s = 0.002;
  speeds.communicator_s = 1;
  CopyRequest copy;
  copy.transfers = {{0, 1}};
  copy.size = sim::Bytes{64'000'000};  // 1000 us at 64 GB/s, and 10 to start
  std::vector<Item> items{item("copy", 1)};
  items[0].kind = ItemKind::pairs;
  items[0].cells.push_back({copy, {}, {}, {}});
  set_repetitions(items, speeds, 7);
  const auto& repeat = std::get<CopyRequest>(items[0].cells[0].request).repeat;
  CHECK(repeat.iterations == 4);  // 5000 / 1010
  CHECK(repeat.rounds == 7);
  CHECK(repeat.warmup == 4);
  // 2 ms + 1010 us * (4 + 7 * 4).
  CHECK(estimated_s(items[0], speeds) == Approx(0.002 + 1010e-6 * 32));

  CollectiveRequest call;
  call.size = sim::Bytes{5'000'000};  // 20 us + 1000 us at 5 GB/s
  items[0].kind = ItemKind::collective;
  items[0].cells[0].request = call;
  set_repetitions(items, speeds, 3);
  CHECK(estimated_s(items[0], speeds) == Approx(1 + 0.002 + 1020e-6 * (4 + 3 * 4)));
}

TEST_CASE("eight GPUs with peer access are asked everything, one GPU what it can answer alone") {
  const auto all = items_for(machine(8), {});
  const auto names = ids(all);
  CHECK(names.size() == all.size());
  for (const auto* id :
       {"launch/kernel", "host/to", "pairs/ce/write", "pairs/sm/both", "pairs/staged/write", "pattern/ce", "chase",
        "sm-rate/reduce/peer", "collective/all_reduce/8-ranks", "collective/all_reduce/NVLS/Simple/8-ranks",
        "collective/all_reduce/Ring/Simple/4-channels/8-ranks", "collective/all_reduce/4-ranks",
        "collective/sendrecv/8-ranks"})
    CHECK(names.contains(id));
  const auto of = [&](const std::string& id) { return std::ranges::find(all, id, &Item::id)->cells.size(); };
  CHECK(of("pairs/ce/write") == 56);  // 8 * 7 ordered pairs
  CHECK(of("pairs/ce/both") == 28);
  CHECK(of("pattern/ce") == 5);                      // rings by 1 and by 4, to one, to all, halves
  CHECK(of("collective/all_reduce/8-ranks") == 21);  // 2^10 to 2^30
  CHECK(of("launch/kernel") == 4);                   // on 1, 2, 4, 8

  const auto alone = ids(items_for(machine(1), {}));
  CHECK(alone == std::set<std::string>{"launch/kernel", "launch/graph", "host/to", "host/from", "host/both", "chase",
                                       "sm-rate/copy/own", "sm-rate/reduce/own"});
}

TEST_CASE("over several nodes: NVLSTree in place of NVLS, and whole nodes") {
  auto there = machine(6);
  there.nodes = 4;
  there.ranks = 24;
  const auto names = ids(items_for(there, {}));
  CHECK(names.contains("collective/all_reduce/NVLSTree/Simple/24-ranks"));
  CHECK_FALSE(names.contains("collective/all_reduce/NVLS/Simple/24-ranks"));
  // Of 2, 4, 8 and 16 ranks on nodes of 6 the first two fit into one node; 8 and 16 would cut a node in two.
  CHECK(names.contains("collective/all_reduce/4-ranks"));
  CHECK_FALSE(names.contains("collective/all_reduce/8-ranks"));
}

TEST_CASE("without peer access only the way through host memory is asked for") {
  for (const auto& i : items_for(machine(4, false), {})) {
    for (const auto& cell : i.cells) {
      const auto* copy = std::get_if<CopyRequest>(&cell.request);
      if (copy == nullptr) continue;
      for (const auto& t : copy->transfers)
        if (t.from != host_memory && t.to != host_memory && t.from != t.to) CHECK_FALSE(copy->peer_access);
    }
    CHECK(i.id != "pairs/ce/write");
    CHECK(i.id != "sm-rate/copy/peer");
  }
}

TEST_CASE("sizes go into equal parts of whole floats, and those that leave nothing for a rank are not asked for") {
  PlanOptions options;
  options.only = {ItemKind::collective};
  options.sizes = {sim::Bytes{3}, sim::Bytes{16}, sim::Bytes{100}, sim::Bytes{110}, sim::kib(1)};
  const auto sizes_of = [&](const std::string& id) {
    std::vector<std::int64_t> out;
    const auto items = items_for(machine(6), options);
    for (const auto& cell : std::ranges::find(items, id, &Item::id)->cells)
      out.push_back(std::get<CollectiveRequest>(cell.request).size.count());
    return out;
  };
  // A float is 4 bytes: 110 = 27 * 4 + 2.
  CHECK(sizes_of("collective/all_reduce/6-ranks") == std::vector<std::int64_t>{16, 100, 108, 1024});
  // Six of them 24 bytes: 16 is less, 100 and 110 are 4 * 24 and more, 1024 is 42 * 24 + 16.
  CHECK(sizes_of("collective/alltoall/6-ranks") == std::vector<std::int64_t>{96, 1008});
  const auto items = items_for(machine(6), options);
  CHECK(std::ranges::find(items, "collective/alltoall/6-ranks", &Item::id)
            ->tells.ends_with("; without 3, 16 B: less than a float for each rank"));
  CHECK(std::ranges::find(items, "collective/all_reduce/6-ranks", &Item::id)
            ->tells.ends_with("; without 3 B: less than a float"));
}

TEST_CASE("what is asked for limits the items: kinds, collectives, sizes, and the GPU's memory") {
  PlanOptions options;
  options.only = {ItemKind::collective};
  options.ops = {models::nccl::Op::all_gather};
  options.sizes = {sim::mib(1), sim::gib(1), sim::gib(8)};
  auto there = machine(2);
  there.gpus[0].memory = sim::gib(16);  // a quarter of it is the largest buffer
  const auto items = items_for(there, options);
  CHECK(ids(items) == std::set<std::string>{"collective/all_gather/2-ranks", "collective/all_gather/Ring/LL/2-ranks",
                                            "collective/all_gather/Ring/LL128/2-ranks",
                                            "collective/all_gather/Ring/Simple/2-ranks"});
  for (const auto& i : items) CHECK(i.cells.size() == 2);
}

}  // namespace
