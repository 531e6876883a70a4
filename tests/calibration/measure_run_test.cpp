// Measuring from end to end without a GPU: the twin is asked, stopped, asked again.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <stop_token>

#include "linkcast/calibration/measure_run.hpp"
#include "linkcast/calibration/twin.hpp"
#include "linkcast/topologies/profile.hpp"
#include "linkcast/workloads/collective.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::calibration;

TwinOptions twin_of(const std::string& system, double noise = 0, std::uint64_t seed = 1) {
  TwinOptions options;
  options.system = system;
  options.noise = noise;
  options.seed = seed;
  return options;
}

MeasureOptions hour() {
  MeasureOptions options;
  options.budget_s = 3600;
  options.created = "2026-01-02T03:04:05Z";
  options.tool = "linkcast test";
  options.plan.sizes = {sim::kib(64), sim::mib(64)};
  options.plan.ops = {models::nccl::Op::all_gather};
  return options;
}

const Item& find(const MeasurementFile& file, const std::string& id) {
  const auto found = std::ranges::find(file.items, id, &Item::id);
  REQUIRE(found != file.items.end());
  return *found;
}

/// What one copy over NVLink cannot beat: the slower of the copy engine and the links that share its bytes.
sim::Rate rate_of_copy(const topologies::Fabric& fabric, int from, int to) {
  const auto gpus = fabric.gpus();
  const auto a = gpus[static_cast<std::size_t>(from)], b = gpus[static_cast<std::size_t>(to)];
  auto rate = fabric.gpu_model(a).copy_engine;
  const auto route = fabric.route(a, b, topologies::Transport::nvlink);
  REQUIRE(route.has_value());
  for (const auto& hop : route->hops)
    rate = std::min(rate, fabric.links()[static_cast<std::size_t>(hop.link)].payload * (1 / hop.weight));
  return rate;
}

TEST_CASE("the twin's times are the simulator's, and its copies keep to the catalog's numbers") {
  const auto twin = make_twin(twin_of("dgx-h100"));
  CollectiveRequest call;
  call.size = sim::mib(256);
  const auto result = twin->collective(call);
  workloads::CommunicatorOptions options;
  options.launch = models::LaunchMode::single_process;
  const workloads::CollectiveModel model(topologies::load("dgx-h100"), options);
  models::nccl::Call same;
  same.bytes = sim::mib(256);
  CHECK(result.wall.median == model.run(same).time);
  CHECK(result.events.median == result.wall.median);
  CHECK(result.wall.spread == sim::Time{});
  CHECK(result.algorithm == "NVLS");

  const auto fabric = topologies::load("dgx-h100");
  const auto& gpu = fabric.gpu_model(fabric.gpus()[0]);
  CopyRequest copy;
  copy.transfers = {{0, 1}};
  copy.size = sim::gib(1);
  // Beside its bytes a copy costs the engine's start and the way's latency, which is below 2 us.
  const auto ideal = sim::transfer_time(copy.size, rate_of_copy(fabric, 0, 1)).us() + gpu.copy_engine_start.us();
  CHECK(twin->copy(copy).each[0].median.us() >= ideal - 0.01);
  CHECK(twin->copy(copy).each[0].median.us() < ideal + 2);
  // Seven peers that write to one GPU share its port: each has less than a seventh of its bare 450 GB/s.
  copy.transfers.clear();
  for (int g = 1; g < 8; ++g) copy.transfers.push_back({g, 0});
  const auto shared = twin->copy(copy).each;
  REQUIRE(shared.size() == 7);
  for (const auto& t : shared) CHECK(t.median.us() > 7.0 * (1 << 30) / 450e3);
}

TEST_CASE("without an order of questions: the same request has the same answer, another seed another one") {
  const auto a = make_twin(twin_of("dgx-h100", 0.03, 7)), b = make_twin(twin_of("dgx-h100", 0.03, 7)),
             c = make_twin(twin_of("dgx-h100", 0.03, 8));
  LaunchRequest launch{LaunchKind::kernel, {0, 1}, {}};
  CollectiveRequest call;
  call.size = sim::mib(1);
  const auto first = a->collective(call).wall.median;
  b->launch(launch);
  b->copy({{{0, 1}}, Engine::copy_engine, true, false, false, 0, sim::mib(1), {}});
  CHECK(b->collective(call).wall.median == first);
  CHECK(c->collective(call).wall.median != first);
  CHECK(b->launch(launch).median == a->launch(launch).median);
}

TEST_CASE("noise is log-normal: half of the times above the truth, two thirds within sigma") {
  const double sigma = 0.03;
  const auto exact = make_twin(twin_of("dgx-h100")), noisy = make_twin(twin_of("dgx-h100", sigma, 5));
  int above = 0, within = 0;
  constexpr int n = 2000;
  double sum = 0, squares = 0;
  CopyRequest copy;
  copy.transfers = {{0, 1}};
  for (int i = 0; i < n; ++i) {
    copy.size = sim::mib(1) + sim::Bytes{16 * i};
    const double off = std::log(noisy->copy(copy).each[0].median.us() / exact->copy(copy).each[0].median.us());
    above += off > 0;
    within += std::abs(off) < sigma;
    sum += off;
    squares += off * off;
  }
  // Standard deviations of these counts: sqrt(2000 / 4) = 22, and sqrt(2000 * 0.683 * 0.317) = 21; four of them.
  CHECK(std::abs(above - 1000) < 90);
  CHECK(std::abs(within - 1365) < 84);
  CHECK(std::abs(sum / n) < 4 * sigma / std::sqrt(n));
  CHECK(std::sqrt(squares / n) == Approx(sigma).epsilon(0.07));
  // The spread of many samples is that of a normal distribution's quartiles: 1.349 sigma.
  copy.size = sim::mib(1);
  copy.repeat.rounds = 999;
  const auto t = noisy->copy(copy).each[0];
  CHECK(t.n == 999);
  CHECK(t.spread.us() / t.median.us() == Approx(1.349 * sigma).epsilon(0.15));
}

TEST_CASE("a hidden number shows in what depends on it, and in nothing else") {
  auto options = twin_of("dgx-h100");
  options.cluster.profile = hidden_numbers({{"gpus.h100-sxm.copy_engine", "x0.5"}});
  const auto changed = make_twin(options), plain = make_twin(twin_of("dgx-h100"));
  CopyRequest copy;
  copy.transfers = {{2, 3}};
  copy.size = sim::gib(1);
  // Half of the copy engine's rate is less than what the links carry.
  const auto fabric = topologies::load("dgx-h100");
  const auto& gpu = fabric.gpu_model(fabric.gpus()[0]);
  CHECK(changed->copy(copy).each[0].median.us() ==
        Approx(2 * sim::transfer_time(copy.size, gpu.copy_engine).us() + gpu.copy_engine_start.us()).epsilon(0.001));
  CHECK(plain->copy(copy).each[0].median < changed->copy(copy).each[0].median);
  copy.engine = Engine::sm;
  CHECK(changed->copy(copy).each[0].median == plain->copy(copy).each[0].median);

  const auto wrong = test::error_of([] {
    hidden_numbers({{"gpus.h100-sxm.copy_engine", "3 us"}, {"gpus.h100-sxm.simple.sent", "x2"}});
  });
  CHECK(wrong.find("gpus.h100-sxm.copy_engine: '3 us' is no value for it") != std::string::npos);
  CHECK(wrong.find("simple.sent") != std::string::npos);
}

TEST_CASE("an hour is enough for all of a twin; its clock says so, and nothing is dropped") {
  const auto twin = make_twin(twin_of("dgx-h100", 0.03));
  int saved = 0;
  auto options = hour();
  options.plan.ops = {};
  options.save = [&](const MeasurementFile& file) { saved = static_cast<int>(file.items.size()); };
  const auto file = measure(*twin, options);
  CHECK(saved == static_cast<int>(file.items.size()));
  CHECK(twin->elapsed_s() < 3600);
  for (const auto& p : file.plan) CHECK((p.state == "measured" || p.state == "failed"));
  // NVLS and trees exist on this machine; every item has all its cells.
  for (const auto& item : file.items) {
    INFO(item.id << ": " << item.problem);
    CHECK(item.problem.empty());
    CHECK(item.complete);
  }
  CHECK(find(file, "pairs/ce/write").cells.size() == 56);
  CHECK(file.machine.system == "dgx-h100");
}

TEST_CASE("a short budget keeps the most telling items, is not overdrawn, and names the others") {
  const auto twin = make_twin(twin_of("dgx-h100"));
  auto options = hour();
  options.budget_s = 10;
  const auto file = measure(*twin, options);
  // The first timings count too. What the last item really costs is only estimated.
  CHECK(twin->elapsed_s() < 12);
  int dropped = 0;
  for (const auto& p : file.plan) {
    if (p.state != "dropped") continue;
    ++dropped;
    CHECK(p.estimated_s > 0);
    CHECK_FALSE(p.tells.empty());
  }
  CHECK(dropped > 0);
  CHECK(dropped + static_cast<int>(file.items.size()) == static_cast<int>(file.plan.size()));
}

TEST_CASE("stopped and resumed, the file says what an uninterrupted run says") {
  const auto options = hour();
  const auto whole = measure(*make_twin(twin_of("dgx-a100", 0.02)), options);

  // Stopped while the third item is measured: the stop is seen before its next cell.
  std::stop_source stop;
  auto first = options;
  first.stop = stop.get_token();
  int begun = 0;
  first.progress = [&](const MeasureProgress& p) {
    if (!p.item.empty() && ++begun == 3) stop.request_stop();
  };
  auto part = measure(*make_twin(twin_of("dgx-a100", 0.02)), first);
  CHECK(part.items.size() == 2);
  CHECK(std::ranges::count(part.plan, "planned", &PlannedItem::state) > 10);

  // Through the file, as a user would.
  auto resumed =
      measure(*make_twin(twin_of("dgx-a100", 0.02)), options, parse_measurement_file(text_of(part), "part.json"));
  REQUIRE(resumed.items.size() == whole.items.size());
  for (const auto& item : whole.items) {
    const auto& same = find(resumed, item.id);
    REQUIRE(same.cells.size() == item.cells.size());
    for (std::size_t i = 0; i < item.cells.size(); ++i)
      CHECK(same.cells[i].times[0].median == item.cells[i].times[0].median);
  }
  CHECK(resumed.created == "2026-01-02T03:04:05Z");
}

/// A machine that does something of its own before it answers each request.
class Watched final : public Machine {
 public:
  Watched(std::unique_ptr<Machine> machine, std::function<void()> before_each)
      : machine_{std::move(machine)}, before_each_{std::move(before_each)} {}
  Discovery discover() override { return machine_->discover(); }
  CopyResult copy(const CopyRequest& r) override { return before_each_(), machine_->copy(r); }
  Timing chase(const ChaseRequest& r) override { return before_each_(), machine_->chase(r); }
  Timing launch(const LaunchRequest& r) override { return before_each_(), machine_->launch(r); }
  CollectiveResult collective(const CollectiveRequest& r) override { return before_each_(), machine_->collective(r); }
  double elapsed_s() const override { return machine_->elapsed_s(); }

 private:
  std::unique_ptr<Machine> machine_;
  std::function<void()> before_each_;
};

/// Only the pairs of a DGX A100 by copy engines, one way: 8 * 7 requests after the three copies and one launch of the
/// first timings and their two collectives.
MeasureOptions pairs_of_a100() {
  auto options = hour();
  options.plan.only = {ItemKind::pairs};
  return options;
}
constexpr int first_requests = 6;

TEST_CASE(
    "asked to stop in the middle of an item, its times are saved at once, and resuming asks for the others only") {
  std::stop_source stop;
  auto options = pairs_of_a100();
  options.stop = stop.get_token();
  std::string saved;
  options.save = [&](const MeasurementFile& file) { saved = text_of(file); };
  int asked = 0;
  std::string at_once;
  // The eleventh request of the first item may take long: what the ten before it told is safe before it has ended.
  Watched machine(make_twin(twin_of("dgx-a100")), [&] {
    if (++asked != first_requests + 11) return;
    stop.request_stop();
    at_once = saved;
  });
  const auto part = measure(machine, options);
  const auto cut_off = parse_measurement_file(at_once, "saved.json");
  REQUIRE(cut_off.items.size() == 1);
  CHECK(cut_off.items[0].cells.size() == 10);
  CHECK_FALSE(cut_off.items[0].complete);
  CHECK(std::ranges::count(cut_off.plan, "partly measured", &PlannedItem::state) == 1);
  // The request under way is kept too when it ends.
  REQUIRE(part.items.size() == 1);
  CHECK(part.items[0].cells.size() == 11);

  asked = 0;
  Watched again(make_twin(twin_of("dgx-a100")), [&] { ++asked; });
  const auto whole = measure(*make_twin(twin_of("dgx-a100")), pairs_of_a100());
  const auto resumed = measure(again, pairs_of_a100(), cut_off);
  int all = 0;
  for (const auto& item : whole.items) all += static_cast<int>(item.cells.size());
  CHECK(asked == first_requests + all - 10);
  REQUIRE(resumed.items.size() == whole.items.size());
  for (const auto& item : whole.items) {
    const auto& same = find(resumed, item.id);
    CHECK(same.complete);
    REQUIRE(same.cells.size() == item.cells.size());
    for (std::size_t i = 0; i < item.cells.size(); ++i)
      CHECK(same.cells[i].times[0].median == item.cells[i].times[0].median);
  }
}

TEST_CASE("what was cut off stays in the file of a run that asks for something else") {
  std::stop_source stop;
  auto options = pairs_of_a100();
  options.stop = stop.get_token();
  int asked = 0;
  Watched machine(make_twin(twin_of("dgx-a100")), [&] {
    if (++asked == first_requests + 3) stop.request_stop();
  });
  const auto part = measure(machine, options);
  REQUIRE(part.items.size() == 1);
  auto launches = hour();
  launches.plan.only = {ItemKind::launch};
  const auto both = measure(*make_twin(twin_of("dgx-a100")), launches, part);
  CHECK(find(both, part.items[0].id).cells.size() == 3);
  CHECK(std::ranges::find(both.plan, part.items[0].id, &PlannedItem::id)->state == "partly measured");
  CHECK(find(both, "launch/kernel").complete);
}

TEST_CASE("what failed is asked again by a run that goes on, except for what the machine lacks") {
  auto options = hour();
  options.plan.only = {ItemKind::collective};
  options.plan.ops = {models::nccl::Op::all_reduce};
  int asked = 0;
  // The first collective after the two of the first timings (and their launch and copies) fails for no lasting reason.
  Watched unlucky(make_twin(twin_of("pcie-rtx4090")), [&] {
    if (++asked == first_requests + 1) throw sim::InputError("ncclAllReduce failed: unhandled system error");
  });
  const auto file = measure(unlucky, options);
  const auto failed = std::ranges::find(file.items, false, &Item::complete);
  REQUIRE(failed != file.items.end());
  CHECK(failed->problem == "ncclAllReduce failed: unhandled system error");
  CHECK(std::ranges::find(file.plan, failed->id, &PlannedItem::id)->state == "failed");
  const std::string nvls = "collective/all_reduce/NVLS/Simple/8-ranks";
  CHECK(find(file, nvls).complete);  // there is no NVSwitch, and there will be none
  CHECK_FALSE(find(file, nvls).problem.empty());

  std::vector<std::string> begun;
  options.progress = [&](const MeasureProgress& p) {
    if (!p.item.empty()) begun.push_back(p.item);
  };
  const auto resumed =
      measure(*make_twin(twin_of("pcie-rtx4090")), options, parse_measurement_file(text_of(file), "file.json"));
  CHECK(begun == std::vector<std::string>{failed->id});
  CHECK(resumed.items.size() == file.items.size());
  CHECK(find(resumed, failed->id).complete);
  CHECK(find(resumed, failed->id).problem.empty());
  CHECK(std::ranges::find(resumed.plan, failed->id, &PlannedItem::id)->state == "measured");
  CHECK_FALSE(find(resumed, nvls).problem.empty());
}

TEST_CASE("a file of another machine is not gone on with") {
  auto options = hour();
  options.plan.only = {ItemKind::launch};
  const auto file = measure(*make_twin(twin_of("dgx-a100")), options);
  const auto message = test::error_of([&] { measure(*make_twin(twin_of("dgx-h100")), options, file); });
  CHECK(message.find("the file is of another machine: system: 'dgx-a100' in the file, 'dgx-h100' here") !=
        std::string::npos);
}

TEST_CASE("what a machine cannot do is written down with its reason, and the rest goes on") {
  // GeForce: no peer access, no NVLS.
  auto options = hour();
  options.plan.ops = {models::nccl::Op::all_reduce};
  const auto file = measure(*make_twin(twin_of("pcie-rtx4090")), options);
  const auto& nvls = find(file, "collective/all_reduce/NVLS/Simple/8-ranks");
  CHECK_FALSE(nvls.problem.empty());
  CHECK(nvls.cells.empty());
  CHECK(std::ranges::find(file.plan, nvls.id, &PlannedItem::id)->state == "failed");
  CHECK(find(file, "pairs/staged/write").cells.size() == 56);
  CHECK(find(file, "collective/all_reduce/8-ranks").complete);
}

TEST_CASE("what measures nothing says so") {
  auto options = hour();
  options.plan.only = {ItemKind::collective};
  options.plan.sizes = {sim::gib(17)};  // above a quarter of the twin's 64 GiB
  const auto message = test::error_of([&] { measure(*make_twin(twin_of("dgx-h100")), options); });
  CHECK(message.find("nothing of what was asked for can be measured on this machine") != std::string::npos);
}

}  // namespace
