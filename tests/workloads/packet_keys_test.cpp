// The section `packet` of a scenario: what is read, what is derived from it, what is refused and where.
#include "linkcast/workloads/packet_keys.hpp"

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::sim::literals;
namespace packet = sim::packet;
namespace trace = workloads::trace;

models::PacketSettings usual(const std::string& kind, models::Routing routing = models::Routing::ecmp) {
  models::NetworkModel network;
  network.name = network.packets = kind;
  network.packet = {4096_B, 82_B, 0_B};
  return models::packet_settings(network, routing, 50_GBps);
}

struct Read {
  models::PacketSettings settings;
  std::vector<sim::Diagnostic> problems;
};

Read read(const std::string& yaml, models::PacketSettings settings = usual("roce")) {
  auto source = std::make_shared<workloads::SourceText>();
  source->name = "test.yaml";
  source->text = yaml;
  trace::Problems problems;
  const auto value = trace::parse_yaml(source, problems);
  Read out{std::move(settings), {}};
  workloads::read_packet(problems, value, 50_GBps, out.settings);
  try {
    problems.throw_if_any();
  } catch (const sim::InputError& e) {
    out.problems = e.diagnostics();
  }
  return out;
}

TEST_CASE("every key of the packet section reaches its setting") {
  const auto r = read(R"(
mtu: 1024 B
train: 8 KiB
seed: 7
partitions: 4
threads: 2
sample_every: 10 us
memory: 2 GiB
lanes: [{strict: true, marks: false}, {}, {lossless: false}]
routing: flowlet
flowlet_gap: 50 us
flow_control: pause
buffer: {shared: 32 MiB, input: 64 KiB, headroom: 300 KB, reserve: 0 B, resume_offset: 3 KiB, alpha: 0.125, lossy_alpha: 1}
marking: {kmin: 400 KB, kmax: 1600 KB, pmax: 20 %}
transport: {recovery: selective, ack_every: 4, retransmit_timeout: 1 ms, paths: 1, any_order: true, lane: 2}
control: {rpg_time_reset: 50 us, rpg_ai_rate: 40 Mb/s, clamp_tgt_rate: true, dce_tcp_g_reading: new_weight}
bit_error_rate: 1e-12
link_retry: true
trim: false
host: {rate: 200 Gb/s}
)");
  for (const auto& d : r.problems) UNSCOPED_INFO(d.problem);
  REQUIRE(r.problems.empty());
  const auto& s = r.settings;
  CHECK(s.mtu == 1024_B);
  CHECK(s.train == 8_KiB);
  CHECK(s.options().seed == 7);
  CHECK(s.options().partitions == 4);
  CHECK(s.options().threads == 2);
  CHECK(s.options().sample_every == 10_us);
  CHECK(s.memory == 2_GiB);
  REQUIRE(s.lanes.size() == 3);
  CHECK(s.lanes[0].strict);
  CHECK(s.lanes[1].lossless);
  CHECK_FALSE(s.lanes[2].lossless);
  CHECK(s.routing == packet::Choice::flowlet);
  CHECK(s.flowlet_gap == 50_us);
  CHECK(s.buffer.shared == 32_MiB);
  CHECK(s.buffer.input == 64_KiB);
  CHECK(s.buffer.headroom == 300'000_B);
  CHECK(s.buffer.reserve == 0_B);
  CHECK(s.buffer.alpha == 0.125);
  CHECK(s.marking.on);
  CHECK(s.marking.kmin == 400'000_B);
  CHECK(s.marking.pmax == Approx(0.2));
  const auto t = s.transport();
  CHECK(t.lane == 2);
  CHECK(t.recovery == packet::Recovery::selective);
  CHECK(t.ack_every == 4);
  CHECK(t.retransmit_timeout == 1000_us);
  const auto& d = std::get<packet::dcqcn::Settings>(t.control);
  CHECK(d.rpg_time_reset == 50_us);
  CHECK(d.rpg_ai_rate == sim::Rate::bytes_per_second(5'000'000));  // 40 Mb/s
  CHECK(d.clamp_tgt_rate);
  CHECK(d.dce_tcp_g_reading == packet::dcqcn::GainReading::new_weight);
  CHECK(d.rpg_gd == packet::dcqcn::Settings{}.rpg_gd);  // as it was
  CHECK(s.bit_error_rate == 1e-12);
  CHECK(s.link_retry);
  CHECK(s.host_rate == 25_GBps);
}

TEST_CASE("an empty section changes nothing") {
  for (const auto* kind : {"ib", "roce", "efa", "slingshot", "tcp"}) {
    const auto r = read("{}", usual(kind));
    CHECK(r.problems.empty());
    CHECK(r.settings.lanes.size() == usual(kind).lanes.size());
    CHECK(r.settings.control.index() == usual(kind).control.index());
  }
}

TEST_CASE("another algorithm begins with its own defaults") {
  CHECK(std::holds_alternative<packet::Uncontrolled>(read("control: none").settings.control));
  const auto swift = read("control: {algorithm: swift, base_target: 12 us}");
  REQUIRE(swift.problems.empty());
  CHECK(std::get<packet::swift::Settings>(swift.settings.control).base_target == 12_us);
  CHECK(std::get<packet::swift::Settings>(swift.settings.control).beta == 0.8);
  const auto window = read("control: {algorithm: none, window: 1 MiB}");
  CHECK(std::get<packet::Uncontrolled>(window.settings.control).window == 1_MiB);
  const auto table = read("control: {algorithm: infiniband_cct, table: [0, 1, 3], ccti_timer: 300}");
  REQUIRE(table.problems.empty());
  CHECK(std::get<packet::infiniband_cct::Settings>(table.settings.control).table.size() == 3);
  CHECK(std::get<packet::infiniband_cct::Settings>(table.settings.control).ccti_limit == 2);
  const auto paper = read("control: {preset: paper2015, rpg_threshold: 7}");
  CHECK(std::get<packet::dcqcn::Settings>(paper.settings.control).rpg_threshold == 7);
  CHECK(std::get<packet::dcqcn::Settings>(paper.settings.control).rpg_ai_rate ==
        packet::dcqcn::Settings::paper2015().rpg_ai_rate);
  for (const auto* name : {"dcqcn", "infiniband_cct", "dctcp", "timely", "swift", "hpcc", "nscc"}) {
    const auto r = read(std::string{"control: "} + name);
    CHECK(r.problems.empty());
    CHECK(models::name_of(r.settings.control) == name);
  }
}

TEST_CASE("flow control says whether lanes lose, spraying what receivers do") {
  const auto lossy = read("flow_control: none");
  CHECK_FALSE(lossy.settings.lanes[1].lossless);
  CHECK(lossy.problems.empty());  // RoCE repairs by go-back-N
  // InfiniBand loses nothing and so repairs nothing: where it loses, somebody must.
  const auto ib = read("flow_control: none", usual("ib"));
  CHECK(ib.problems.empty());
  CHECK(ib.settings.recovery == packet::Recovery::go_back_n);
  const auto paused = read("flow_control: pause", usual("tcp"));
  CHECK(paused.settings.lanes[1].lossless);
  const auto spray = read("routing: spray");
  REQUIRE(spray.problems.empty());
  CHECK(spray.settings.any_order);
  CHECK(spray.settings.recovery == packet::Recovery::selective);
}

TEST_CASE("what cannot work is said where it stands") {
  struct Wrong {
    std::string yaml, problem;
    int line;
    std::string kind = "roce";
  };
  const std::vector<Wrong> all{
      {"mtu: 4096\n", "needs a unit", 1},
      {"mtu: 128 KiB\n", "a packet carries", 1},
      {"seed: 1\nmtuu: 4 KiB\n", "unknown key 'mtuu'", 2},
      {"routing: spry\n", "'spry' is no routing", 1},
      {"flow_control: credits\n", "is no flow_control", 1},
      {"buffer:\n  shared: 2 KiB\n", "holds no packet", 2},
      {"buffer:\n  input: 2 KiB\n", "holds no packet", 2, "ib"},
      {"buffer:\n  shared: 1 MiB\n  headroom: 2 MiB\n", "larger than the buffer", 3},
      {"buffer:\n  alpha: 0\n", "must be positive", 2},
      {"buffer:\n  alpha: -1\n", "must be positive", 2},
      {"marking:\n  kmin: 2 MB\n  kmax: 1 MB\n", "is above 'kmax'", 2},
      {"marking: {kmin: 1 MB, kmax: 2 MB, pmax: 1.5}\n", "'pmax' is 1.5", 1},
      {"marking: on\n", "has no thresholds", 1, "ib"},
      {"flow_control: none\ntransport:\n  recovery: none\n", "cannot repair", 3},
      {"lanes: [{lossless: false}]\ntransport: {recovery: none}\n", "cannot repair", 2, "ib"},
      {"routing: spray\ntransport: {any_order: false}\n", "wants order", 2},
      {"transport: {paths: 64, recovery: go_back_n}\n", "takes them in order only", 1},
      {"bit_error_rate: 1e-9\n", "cables damage packets", 1, "ib"},
      {"bit_error_rate: 0.5\n", "'bit_error_rate' is 0.5", 1},
      {"trim: true\n", "drops nothing", 1},
      {"control: cubic\n", "'cubic' is no congestion control", 1},
      {"control: {algorithm: dcqcn, rpg_ai_rat: 5 Mb/s}\n", "unknown key 'rpg_ai_rat'", 1},
      {"control: {rpg_ai_rate: 5}\n", "needs a unit", 1},
      {"control: {rpg_gd: -1}\n", "'rpg_gd' is -1", 1},
      {"control: {dce_tcp_g_reading: older}\n", "is no dce_tcp_g_reading", 1},
      {"control: {algorithm: infiniband_cct, table: 3}\n", "must be a list", 1},
      {"lanes: []\n", "1 to 8 lanes", 1},
      {"lanes: [{}]\ntransport: {lane: 1}\n", "no lane 1", 2},
      {"host: {rate: 5}\n", "needs a unit", 1},
      {"host: {rate: 1 MB/s}\n", "no host is slower than 100 MB/s", 1},
      {"transport: {retransmit_timeout: 1 ns}\n", "less than 1 us", 1},
      {"threads: 0\n", "must be from 1", 1},
      {"- mtu\n", "must be a map", 1},
  };
  for (const auto& w : all) {
    INFO(w.yaml);
    const auto r = read(w.yaml, usual(w.kind));
    REQUIRE(r.problems.size() == 1);
    INFO(r.problems[0].problem);
    CHECK(r.problems[0].problem.find(w.problem) != std::string::npos);
    CHECK(r.problems[0].at.file == "test.yaml");
    CHECK(r.problems[0].at.line == w.line);
  }
  // All at once.
  CHECK(read("mtu: 5\nbuffer: {alpha: 0, lossy_alpha: 0}\ncontrol: cubic\nrouting: random\n").problems.size() == 5);
}

TEST_CASE("what an algorithm refuses is said at its section") {
  const auto r = read("seed: 1\ncontrol: {algorithm: hpcc, eta: 0}\n");
  REQUIRE_FALSE(r.problems.empty());
  CHECK(r.problems[0].at.line == 2);
}

}  // namespace
