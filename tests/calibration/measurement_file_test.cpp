// The file of `calibrate measure`: what is written is read again, and becomes series, matrices and probes.
#include <algorithm>
#include <cstdlib>

#include "linkcast/calibration/measure_run.hpp"
#include "linkcast/calibration/twin.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::calibration;
namespace fs = std::filesystem;

Timing timing(double us, double spread = 0) { return {sim::Time::from_us(us), sim::Time::from_us(spread), 7}; }

Item item(const std::string& id, ItemKind kind, std::vector<Cell> cells) {
  Item out;
  out.id = id;
  out.tells = "what it tells";
  out.kind = kind;
  out.cells = std::move(cells);
  out.complete = true;
  out.took_s = 1.5;
  return out;
}

/// Two GPUs, with a measurement of each kind.
MeasurementFile small_file() {
  MeasurementFile file;
  file.created = "2026-01-02T03:04:05Z";
  file.tool = "linkcast test";
  file.budget_s = 60;
  auto& m = file.machine;
  m.kind = "real";
  m.host = "node7";
  m.system = "hgx-h100-4";
  for (int g = 0; g < 2; ++g) {
    GpuFacts f;
    f.name = "NVIDIA H100 80GB HBM3";
    f.bus_id = "0000:1" + std::to_string(g) + ":00.0";
    f.compute_capability = 90;
    f.sms = 132;
    f.copy_engines = 3;
    f.memory = sim::gib(80);
    f.pcie = {5, 16, 5, 16};
    f.nvlinks = {{0, true, 4, "nvswitch 0000:05:00.0"}, {1, false, 4, "unknown"}};
    f.fabric = FabricFacts{"completed", "00000000-0000-0000-0000-000000000001", 3};
    m.gpus.push_back(f);
    m.peer_access.push_back({true, true});
  }
  m.nics = {{"mlx5_0:1", "ACTIVE", "InfiniBand", 400}};
  m.ranks = 2;
  m.driver = "580.1";
  m.cuda_driver = m.cuda_runtime = "13.0";
  m.nccl = models::nccl::Version{2, 28, 3};
  m.env = {{"NCCL_DEBUG", "WARN"}};
  m.missing = {"something"};
  file.plan = {{"pairs/ce/write", "links", "measured", 2.5}, {"chase", "latency", "dropped", 4}};

  const auto copy = [](std::vector<Transfer> transfers, Engine engine, sim::Bytes size, int blocks = 0) {
    CopyRequest r;
    r.transfers = std::move(transfers);
    r.engine = engine;
    r.size = size;
    r.blocks = blocks;
    return Request{r};
  };
  const auto mb = sim::Bytes{1'000'000};
  // 1e6 bytes in 4 us are 250 GB/s.
  file.items.push_back(item("pairs/ce/write", ItemKind::pairs,
                            {{copy({{0, 1}}, Engine::copy_engine, mb), {timing(4, 0.5)}, {}, {}},
                             {copy({{1, 0}}, Engine::copy_engine, mb), {timing(5)}, {}, {}}}));
  file.items.push_back(item("pairs/sm/both", ItemKind::pairs,
                            {{copy({{0, 1}, {1, 0}}, Engine::sm, mb), {timing(4), timing(5)}, {}, {}}}));
  file.items.push_back(item("pairs/sm/latency", ItemKind::pairs,
                            {{copy({{0, 1}}, Engine::sm, sim::Bytes{64}, 1), {timing(2.5)}, {}, {}}}));
  file.items.push_back(
      item("host/to", ItemKind::host, {{copy({{1, host_memory}}, Engine::copy_engine, mb), {timing(20)}, {}, {}}}));
  file.items.push_back(
      item("sm-rate/copy/peer", ItemKind::sm_rate, {{copy({{0, 1}}, Engine::sm, mb, 4), {timing(10)}, {}, {}}}));
  file.items.push_back(
      item("chase", ItemKind::chase, {{ChaseRequest{0, host_memory, sim::mib(64), {}}, {timing(0.9)}, {}, {}}}));
  file.items.push_back(
      item("launch/graph", ItemKind::launch, {{LaunchRequest{LaunchKind::graph, {0, 1}, {}}, {timing(6)}, {}, {}}}));
  CollectiveRequest call;
  call.ranks = 2;
  call.choice = {"Ring", "LL", 4};
  call.graph = true;
  auto larger = call;
  call.size = sim::mib(1);
  larger.size = sim::mib(4);
  // As measured: the larger one first.
  file.items.push_back(
      item("collective/all_reduce/Ring/LL/2-ranks", ItemKind::collective,
           {{larger, {timing(40), timing(39)}, "Ring", "LL"}, {call, {timing(15), timing(14)}, "", ""}}));
  file.items.push_back(item("collective/all_reduce/NVLS/Simple/2-ranks", ItemKind::collective, {}));
  file.items.back().problem = "ncclCommInitRankConfig failed: invalid usage";
  return file;
}

TEST_CASE("what is written is read again, to the last digit") {
  const auto file = small_file();
  const auto text = text_of(file);
  CHECK(is_measurement_file(text));
  const auto again = parse_measurement_file(text, "m.json");
  CHECK(text_of(again) == text);
  CHECK(difference(file.machine, again.machine).empty());
  CHECK(again.items[0].cells[0].times[0].spread == sim::Time::from_us(0.5));
  CHECK(std::get<CollectiveRequest>(again.items[7].cells[0].request).choice == NcclChoice{"Ring", "LL", 4});
  CHECK_FALSE(is_measurement_file("{\"results\": []}"));
}

TEST_CASE("items become series, matrices and probes") {
  const auto m = read_measurement_file(text_of(small_file()), "runs/m.json");
  REQUIRE(m.series.size() == 1);
  const auto& s = m.series[0];
  CHECK(s.id == "m:collective/all_reduce/Ring/LL/2-ranks");
  CHECK(s.system == "hgx-h100-4");
  CHECK(s.ranks == 2);
  CHECK(s.nodes == 1);
  CHECK(s.env == std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"},
                                                    {"NCCL_PROTO", "LL"},
                                                    {"NCCL_MIN_NCHANNELS", "4"},
                                                    {"NCCL_MAX_NCHANNELS", "4"},
                                                    {"NCCL_DEBUG", "WARN"}});
  CHECK(s.cuda_graph);
  CHECK(s.nccl == models::nccl::Version{2, 28, 3});
  // Sorted by size; the wall clock's times, as nccl-tests prints them.
  REQUIRE(s.points.size() == 2);
  CHECK(s.points[0].size == sim::mib(1));
  CHECK(s.points[0].time == sim::Time::from_us(15));

  REQUIRE(m.matrices.size() == 4);
  CHECK(*m.matrices[0].cells[0][1] == Approx(250));
  CHECK(*m.matrices[0].cells[1][0] == Approx(200));
  CHECK_FALSE(m.matrices[0].cells[0][0].has_value());
  CHECK(m.matrices[0].peer_access == true);
  CHECK(m.matrices[0].engine == Engine::copy_engine);
  CHECK(m.matrices[1].bidirectional);
  CHECK(*m.matrices[1].cells[0][1] == Approx(450));  // 250 one way and 200 the other
  CHECK(*m.matrices[1].cells[1][0] == Approx(450));
  CHECK(m.matrices[2].latency);
  CHECK(*m.matrices[2].cells[0][1] == Approx(2.5));
  CHECK(m.matrices[3].to_host);
  CHECK_FALSE(m.matrices[3].cells[0][0].has_value());
  CHECK(*m.matrices[3].cells[0][1] == Approx(50));

  REQUIRE(m.probes.size() == 3);
  CHECK(m.probes[0].kind == Probe::Kind::sm_copy);
  CHECK(m.probes[0].rows[0].blocks == 4);
  CHECK(m.probes[1].kind == Probe::Kind::chase);
  CHECK(m.probes[1].rows[0].copies[0].to == host_memory);
  CHECK(m.probes[2].kind == Probe::Kind::launch_graph);
  CHECK(m.probes[2].rows[0].gpus == 2);
  CHECK(m.notes ==
        std::vector<std::string>{
            "m.json: collective/all_reduce/NVLS/Simple/2-ranks: ncclCommInitRankConfig failed: invalid usage"});
}

TEST_CASE("the collectives of a measurement are read as any other series, and a file without one says so") {
  const auto path = fs::temp_directory_path() / "linkcast-measurement-file-test.json";
  const auto write = [&](const MeasurementFile& file) { std::ofstream(path, std::ios::binary) << text_of(file); };
  auto file = small_file();
  write(file);
  const auto series = read_series(path);
  REQUIRE(series.size() == 1);
  CHECK(series[0].system == "hgx-h100-4");
  CHECK(read_series(path, Hints{{}, {}, "dgx-h100"})[0].system == "dgx-h100");
  std::erase_if(file.items, [](const Item& i) { return i.kind == ItemKind::collective; });
  write(file);
  CHECK(test::error_of([&] { read_series(path); }).find("no collective in this measurement") != std::string::npos);
  fs::remove(path);
}

TEST_CASE("of the environment only NCCL's variables are written, and only they are read") {
  auto file = small_file();
  file.machine.env["AWS_SECRET_ACCESS_KEY"] = "hunter2";
  auto text = text_of(file);
  CHECK(text.find("hunter2") == std::string::npos);
  text.replace(text.find("\"NCCL_DEBUG\""), 12, "\"MY_PASSWORD\"");
  CHECK(parse_measurement_file(text, "m.json").machine.env.empty());
}

TEST_CASE("the same machine, and what makes it another one") {
  const auto a = small_file().machine;
  auto b = a;
  CHECK(difference(a, b).empty());
  b.missing.clear();  // a sentence is no machine
  CHECK(difference(a, b).empty());
  b.gpus[1].nvlinks[0].up = false;
  CHECK(difference(a, b) == "GPU 1, NVLinks that are up: '1' in the file, '0' here");
  b = a;
  b.nccl = models::nccl::Version{2, 27, 3};
  CHECK(difference(a, b) == "NCCL: '2.28.3' in the file, '2.27.3' here");
  b = a;
  b.env["NCCL_NVLS_ENABLE"] = "0";
  CHECK(difference(a, b) == "NCCL_NVLS_ENABLE: 'not set' in the file, '0' here");
}

TEST_CASE("wrong measurement files of calibrate measure are explained, all mistakes at once") {
  std::vector<fs::path> inputs;
  for (const auto& entry : fs::directory_iterator(test::repository() / "tests/golden/measurement-file-errors"))
    if (entry.path().extension() != ".expected") inputs.push_back(entry.path());
  std::ranges::sort(inputs);
  REQUIRE(inputs.size() >= 6);
  for (const auto& input : inputs) {
    INFO(input.filename().string());
    const auto message = test::error_of([&] { read_measurement_file(test::text_of(input), input.string()); }) + "\n";
    const auto expected = fs::path(input.string() + ".expected");
    if (std::getenv("LINKCAST_REFRESH_GOLDEN") != nullptr) std::ofstream(expected, std::ios::binary) << message;
    CHECK(message == test::text_of(expected));
  }
}

TEST_CASE("a file that is cut anywhere is refused, and never believed") {
  const auto text = text_of(small_file());
  for (std::size_t n = 1; n + 1 < text.size(); n += 97)
    CHECK(test::error_of([&] { parse_measurement_file(text.substr(0, n), "m.json"); }) != "(no error)");
}

}  // namespace
