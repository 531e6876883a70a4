// Diagnosis: what is normal is called so, what is broken is found, and the same question scaled down stays broken.
#include "linkcast/calibration/diagnose.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "linkcast/sim/diagnostic.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using calibration::DiagnoseOptions;
using calibration::Diagnosis;
using calibration::Figure;
using calibration::Measurements;
using calibration::PairMatrix;
using calibration::Verdict;
using models::nccl::Op;

struct Machine {
  std::string gpu;
  int nodes = 1, gpus = 8, nics = 0;
  double gbps = 0;
  std::string fabric = "ib";
};

DiagnoseOptions on(const Machine& m) {
  DiagnoseOptions o;
  o.hardware = {m.gpu, m.gpus, m.nodes, m.nics, m.gbps, m.nodes > 1 ? m.fabric : "", ""};
  o.threads = 1;
  return o;
}

Figure busbw(double GBps, Op op = Op::all_reduce, sim::Bytes size = sim::gib(8)) {
  Figure f;
  f.op = op;
  f.size = size;
  f.GBps = GBps;
  return f;
}

Diagnosis ask(const Machine& machine, std::vector<Figure> figures) {
  Measurements m;
  m.figures = std::move(figures);
  return calibration::diagnose(m, on(machine));
}

std::string first(const Diagnosis& d) { return d.causes.empty() ? "" : d.causes.front().cause; }

bool among(const Diagnosis& d, const std::string& words) {
  return std::any_of(d.causes.begin(), d.causes.end(),
                     [&](const auto& c) { return c.cause.find(words) != std::string::npos; });
}

PairMatrix matrix(int n, double GBps) {
  PairMatrix m;
  m.system = "dgx-h100";
  m.peer_access = true;
  m.cells.assign(static_cast<std::size_t>(n), std::vector<std::optional<double>>(static_cast<std::size_t>(n), GBps));
  for (std::size_t i = 0; i < m.cells.size(); ++i) m.cells[i][i].reset();
  return m;
}

TEST_CASE("Eight H100 with NVLS are healthy; what a ring gives on them is NVLS that is off", "[diagnose]") {
  const auto good = ask({"H100 SXM"}, {busbw(475)});
  CHECK(good.verdict == Verdict::healthy);
  CHECK(good.confidence > 0.5);
  const auto bad = ask({"H100 SXM"}, {busbw(365)});
  CHECK(bad.verdict == Verdict::degraded);
  CHECK(first(bad) == "NVLS disabled or unavailable");
}

TEST_CASE("algbw that is taken for busbw is explained, not accused", "[diagnose]") {
  auto f = busbw(250, Op::all_reduce, sim::mib(256));  // x 2 x 7/8 = 437 GB/s busbw
  f.metric = Figure::Metric::algbw;
  const auto d = ask({"H100 SXM"}, {f});
  CHECK(d.verdict == Verdict::healthy);
  CHECK(among(d, "normal: algbw read as busbw"));
}

TEST_CASE("Two nodes may pass the rate of their NICs by a tree", "[diagnose]") {
  // 2 x 100 Gb/s carry 25 GB/s each way.
  const auto d = ask({"V100 SXM2", 2, 4, 2, 100}, {busbw(41.5)});
  CHECK(d.verdict == Verdict::healthy);
  CHECK(among(d, "2-node tree"));
}

TEST_CASE("Healthy inside and over verbs, half between machines: not the cables", "[diagnose]") {
  Measurements m;
  m.figures = {busbw(186), busbw(474)};
  m.figures[0].ranks = 16, m.figures[1].ranks = 8;
  calibration::PairTest test;
  test.tool = "ib_write_bw";
  test.memory = calibration::MemoryKind::host;
  test.nic_gbps = 400;
  test.rows = {{sim::mib(1), 49.4}};
  m.tests = {test};
  const auto d = calibration::diagnose(m, on({"H100 SXM", 2, 8, 8, 400}));
  CHECK(d.verdict == Verdict::degraded);
  CHECK(d.rows.size() == 3);
  CHECK(first(d) != "NICs or cables at a lower rate");
}

TEST_CASE("What is broken stays broken when it gets slower", "[diagnose][property]") {
  const std::vector<Machine> machines{
      {"H100 SXM"}, {"A100 SXM"}, {"B200"}, {"H100 SXM", 2, 8, 8, 400}, {"RTX A6000", 1, 4}};
  for (const auto& machine : machines) {
    bool degraded = false;
    for (double GBps = 1200; GBps > 0.5; GBps *= 0.5) {
      const auto d = ask(machine, {busbw(GBps)});
      INFO(machine.gpu << " x " << machine.nodes << " at " << GBps);
      if (degraded) CHECK(d.verdict == Verdict::degraded);
      degraded = degraded || d.verdict == Verdict::degraded;
    }
    CHECK(degraded);
  }
}

TEST_CASE("Probabilities are probabilities, and their sum is at most one over faults", "[diagnose]") {
  const auto d = ask({"A100 SXM", 2, 8, 8, 200}, {busbw(60)});
  double sum = 0;
  for (const auto& c : d.causes) {
    CHECK(c.score >= 0);
    CHECK(c.score <= 1);
    CHECK_FALSE(c.explains.empty());
    CHECK_FALSE(c.confirm.empty());
    sum += c.score;
  }
  CHECK(sum <= 1 + 1e-9);
  CHECK(d.confidence >= sum - 1e-9);
  for (std::size_t i = 1; i < d.causes.size(); ++i) CHECK(d.causes[i - 1].score >= d.causes[i].score);
}

TEST_CASE("A bad GPU of a matrix is named, one way or both", "[diagnose]") {
  Measurements m;
  m.matrices = {matrix(8, 380)};
  CHECK(calibration::diagnose(m, {}).verdict == Verdict::healthy);
  for (std::size_t k = 0; k < 8; ++k) {
    if (k == 5) continue;
    m.matrices[0].cells[5][k] = 150;
  }
  const auto sends = calibration::diagnose(m, {});
  CHECK(sends.verdict == Verdict::degraded);
  CHECK(first(sends) == "a slow link in one direction");
  CHECK(sends.causes.front().explains.find("GPU 5 sends") != std::string::npos);
  for (std::size_t k = 0; k < 8; ++k) {
    if (k == 5) continue;
    m.matrices[0].cells[k][5] = 150;
  }
  const auto both = calibration::diagnose(m, {});
  CHECK(first(both) == "one GPU's path is bad (link down or narrow)");
  CHECK(both.causes.front().explains.find("GPU 5") != std::string::npos);
}

TEST_CASE("Peer access that is slower than none is wrong on any machine", "[diagnose]") {
  Measurements m;
  m.matrices = {matrix(4, 9.9), matrix(4, 22)};
  for (auto& x : m.matrices) x.system.reset();
  m.matrices[1].peer_access = false;
  CHECK(calibration::diagnose(m, {}).verdict == Verdict::degraded);
}

TEST_CASE("Nothing is said of a machine that nobody knows", "[diagnose]") {
  const auto d = ask({""}, {busbw(5)});
  CHECK(d.verdict == Verdict::unknown);
  CHECK_FALSE(d.notes.empty());
}

TEST_CASE("Measurements of two machines, and of another one than the topology, are refused", "[diagnose]") {
  Measurements m;
  m.matrices = {matrix(8, 380), matrix(8, 275)};
  m.matrices[1].system = "dgx-a100";
  CHECK_THROWS_AS(calibration::diagnose(m, {}), sim::InputError);
  auto o = on({"A100 SXM"});
  o.topology = "dgx-h100";
  m = {};
  m.figures = {busbw(200)};
  CHECK_THROWS_AS(calibration::diagnose(m, o), sim::InputError);
  o = on({"H100 SXM", 1, 16});
  o.topology = "dgx-h100";
  CHECK_THROWS_AS(calibration::diagnose(m, o), sim::InputError);
}

TEST_CASE("A diagnosis as JSON has the contract's keys", "[diagnose]") {
  const auto json = nlohmann::json::parse(calibration::json_report(ask({"H100 SXM"}, {busbw(365)})));
  CHECK(json.at("schema") == "linkcast.diagnose/1");
  CHECK(json.at("verdict") == "degraded");
  CHECK(json.at("confidence").get<double>() > 0.5);
  for (const auto* key : {"cause", "score", "explains", "confirm"}) CHECK(json.at("causes").at(0).contains(key));
  const auto& row = json.at("rows").at(0);
  CHECK(row.at("size_bytes") == 8589934592);
  // 8 GiB x 1.75 / 365 GB/s = 41184 us.
  CHECK(row.at("measured_us").get<double>() == Approx(41184).epsilon(0.001));
  CHECK(row.at("low_us").get<double>() < row.at("expected_us").get<double>());
  CHECK(row.at("expected_us").get<double>() < row.at("high_us").get<double>());
}

TEST_CASE("Any severity of a fault is a fault, between the published points too", "[diagnose][property]") {
  // A container at a percent or at a tenth of the peak; hosts that stage more slowly than any that was published.
  for (const double GBps : {3.0, 9.0, 22.0, 35.0, 50.0}) {
    INFO(GBps);
    CHECK(ask({"H200"}, {busbw(GBps)}).verdict == Verdict::degraded);
    CHECK(ask({"A100 SXM"}, {busbw(GBps)}).verdict == Verdict::degraded);
  }
  // One of the two devices of a card, whatever share of it that is.
  for (const double GBps : {4.0, 8.0, 12.0})
    CHECK(ask({"GB10", 2, 1, 1, 200, "roce"}, {busbw(GBps)}).verdict == Verdict::degraded);
}

TEST_CASE("What no fault explains is degraded all the same, and says what is slow", "[diagnose]") {
  // all_reduce as it should be, broadcast at a quarter: nothing that is known slows one of the two alone.
  const auto d = ask({"H100 SXM"}, {busbw(475), busbw(90, Op::broadcast)});
  CHECK(d.verdict == Verdict::degraded);
  REQUIRE(among(d, "unexplained"));
  const auto it = std::find_if(d.causes.begin(), d.causes.end(),
                               [](const auto& c) { return c.cause.find("unexplained") != std::string::npos; });
  CHECK(it->explains.find("something slows broadcast within the machine") != std::string::npos);
}

TEST_CASE("'1 node' is not in '21 nodes', and EP8 not in EP80", "[diagnose]") {
  const Machine machine{"H100 SXM", 2, 8, 8, 400};
  auto f = busbw(440);
  f.what = "all_reduce on 21 nodes";
  CHECK(ask(machine, {f}).rows.at(0).what.find("16 GPUs") != std::string::npos);
  f.what = "all_reduce, 1 node";
  CHECK(ask(machine, {f}).rows.at(0).what.find("8 GPUs") != std::string::npos);
  Figure e;
  e.metric = Figure::Metric::unknown;
  e.GBps = 43;
  e.what = "EP80 dispatch";
  CHECK(ask(machine, {e}).rows.at(0).what.find("RDMA") != std::string::npos);
  e.what = "EP8 dispatch";
  CHECK(ask(machine, {e}).rows.at(0).what.find("NVLink") != std::string::npos);
}

TEST_CASE("What the caller says of NCCL comes before what the log says", "[diagnose]") {
  calibration::Series s;
  s.id = "log";
  s.ranks = s.gpus_per_node = 8;
  s.nodes = 1;
  s.env["NCCL_NVLS_ENABLE"] = "0";
  s.nccl = models::nccl::Version::parse("2.14.3");  // before NVLS
  s.points = {{sim::gib(8), sim::Time::from_us(8589934592.0 * 1.75 / 475e9 * 1e6)}};
  Measurements m;
  m.series = {s};
  auto o = on({"H100 SXM"});
  const auto as_logged = calibration::diagnose(m, o).rows.at(0).expected_GBps;
  o.nccl = models::nccl::Version::parse("2.28.3");
  const auto as_said = calibration::diagnose(m, o).rows.at(0).expected_GBps;
  CHECK(as_logged < 400);  // a ring: 0.82 of 450
  CHECK(as_said > 450);
}

TEST_CASE("Too few NICs are found on a described network as well", "[diagnose]") {
  DiagnoseOptions o;
  o.topology = "superpod-h100";
  o.hardware.nodes = 2;
  o.threads = 1;
  Measurements m;
  m.figures = {busbw(48, Op::all_gather)};  // 400 Gb/s are 50 GB/s: one NIC of eight
  const auto d = calibration::diagnose(m, o);
  CHECK(d.verdict == Verdict::degraded);
  const auto it = std::find_if(d.causes.begin(), d.causes.end(),
                               [](const auto& c) { return c.cause.find("too few NICs") != std::string::npos; });
  REQUIRE(it != d.causes.end());
  CHECK(it->explains.find("1 of 8 NICs") != std::string::npos);
}

TEST_CASE("A number of nodes that nobody says is more than two where NICs and network are named", "[diagnose]") {
  DiagnoseOptions o;
  o.hardware = {"GB300", 4, 0, 4, 800, "RoCE", ""};
  o.threads = 1;
  Measurements m;
  m.figures = {busbw(200)};  // of 4 x 100 GB/s
  const auto d = calibration::diagnose(m, o);
  CHECK(d.verdict == Verdict::degraded);
  CHECK(d.machine == "4 nodes of 4 x GB300");
  CHECK(d.rows.at(0).expected_GBps < 420);  // bound by the NICs, not by NVLink
}

DiagnoseOptions on_topology(const std::string& name, int nodes = 0) {
  DiagnoseOptions o;
  o.topology = name;
  o.hardware.nodes = nodes;
  o.threads = 1;
  return o;
}

TEST_CASE("The form in which a figure is handed in does not change the verdict", "[diagnose]") {
  const Machine machine{"H100 SXM", 2, 8, 8, 400};
  for (const double GBps : {345.0, 385.0}) {
    INFO(GBps);
    const auto as_option = ask(machine, {busbw(GBps)});
    calibration::Case c;
    c.hardware = on(machine).hardware;
    c.figures = {busbw(GBps)};
    Measurements m;
    m.cases = {c};
    DiagnoseOptions o;
    o.threads = 1;
    const auto as_case = calibration::diagnose(m, o);
    CHECK(as_case.verdict == as_option.verdict);
    CHECK(as_case.confidence == Approx(as_option.confidence));
  }
}

TEST_CASE("A variable that costs nothing on this machine is no fault", "[diagnose]") {
  const auto with = [](const std::string& topology, int nodes, const char* name, const char* value) {
    auto o = on_topology(topology, nodes);
    o.env.set(name, value);
    return calibration::diagnose({}, o);
  };
  CHECK(with("dgx-a100", 1, "NCCL_NVLS_ENABLE", "0").verdict == Verdict::unknown);      // its switches reduce nothing
  CHECK(with("dgx-h100", 1, "NCCL_IB_DISABLE", "1").verdict == Verdict::unknown);       // one machine, no network
  CHECK(with("pcie-rtx4090", 1, "NCCL_P2P_DISABLE", "1").verdict == Verdict::unknown);  // the driver has none
  CHECK(with("dgx-h100", 2, "NCCL_IB_DISABLE", "1").verdict == Verdict::degraded);
  const auto d = with("dgx-h100", 1, "NCCL_NVLS_ENABLE", "0");
  CHECK(d.verdict == Verdict::degraded);
  REQUIRE(d.causes.size() == 1);
  CHECK(d.causes[0].explains.find("instead of") != std::string::npos);
  CHECK(d.causes[0].score == Approx(d.confidence));
}

TEST_CASE("Peers are what the fabric has, whatever the file is called", "[diagnose]") {
  const auto dir = std::filesystem::temp_directory_path() / "linkcast_diagnose_peers";
  std::filesystem::create_directories(dir);
  std::vector<Diagnosis> all;
  for (const std::string name : {"box", "pcie-mine"}) {
    const auto file = dir / (name + ".yaml");
    std::ofstream(file) << "schema: linkcast.topology/1\nextends: pcie-rtx4090\nname: " << name << "\n";
    auto o = on_topology(file.string());
    o.env.set("NCCL_P2P_DISABLE", "1");
    CHECK(calibration::diagnose({}, o).verdict == Verdict::unknown);  // there is nothing to be forbidden
    Measurements m;
    m.figures = {busbw(18)};
    all.push_back(calibration::diagnose(m, on_topology(file.string())));
  }
  CHECK(all[0].verdict == all[1].verdict);
  CHECK(all[0].confidence == Approx(all[1].confidence));
  std::filesystem::remove_all(dir);
}

TEST_CASE("An option's network may be called as files call it", "[diagnose]") {
  Measurements m;
  m.figures = {busbw(40)};
  DiagnoseOptions o = on({""});  // of an unknown GPU nothing is simulated: only the word is read
  for (const char* word : {"rdma", "FDR", "socket", "fastrak", "NVL72", "Spectrum-X", "IPoIB", "4xEDR", "RoCEv2"}) {
    INFO(word);
    o.hardware.fabric = word;
    CHECK_NOTHROW(calibration::diagnose(m, o));
  }
  for (const char* word : {"infinband", "default", "carrier pigeon"}) {
    INFO(word);
    o.hardware.fabric = word;
    CHECK_THROWS_AS(calibration::diagnose(m, o), sim::InputError);
  }
}

TEST_CASE("Machines are counted in the words of their topology", "[diagnose]") {
  Measurements m;
  m.figures = {busbw(350)};
  CHECK(calibration::diagnose(m, on_topology("dgx-h100", 2)).machine == "2 x dgx-h100, 8 GPUs each");
}

TEST_CASE("Slots cannot be narrower than they are", "[diagnose]") {
  // A GB10's slot has eight lanes: half of them are four.
  const auto d = ask({"GB10", 2, 1, 1, 200, "roce"}, {busbw(6)});
  for (const auto& c : d.causes) CHECK(c.explains.find("x8 instead of") == std::string::npos);
}

}  // namespace
