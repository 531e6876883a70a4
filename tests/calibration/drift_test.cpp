// `calibrate check`: numbers by hand, what is matched with what, what is named, what is written for Prometheus.
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "drift_data.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::calibration;
using models::nccl::Op;

test::Noise exact() { return test::Noise{1, 0}; }

Measurements of(std::vector<Series> series) {
  Measurements m;
  m.series = std::move(series);
  return m;
}

Measurements all_reduce(const test::SizeFactor& factor = {}) {
  auto noise = exact();
  return of({test::series(Op::all_reduce, noise, factor)});
}

Measurements p2p(std::size_t gpus, const test::PairFactor& factor = {}) {
  auto noise = exact();
  Measurements m;
  m.matrices = {test::matrix(gpus, noise, factor)};
  return m;
}

TEST_CASE("one figure against another, by hand") {
  Measurements before, after;
  Figure f;
  f.op = Op::all_reduce;
  f.GBps = 200;
  before.figures = {f};
  f.GBps = 100;
  after.figures = {f};
  const auto drift = find_drift(before, after);
  REQUIRE(drift.findings.size() == 1);
  const auto& change = drift.findings[0].change;
  CHECK(drift.tests == 1);
  // Half the bandwidth: ln 2. A lone point from 64 MiB: 2.3 % of its own, 1.2 % of its run, on each side:
  // 2 x 0.023^2 + 2 x 0.012^2 = 0.001346, standard deviation 0.03669. The point's part has 30 degrees of freedom:
  // 30 x (0.001346 / 0.001058)^2 = 48.6 of the sum; its 95 % quantile is 1.677: +- 0.0615.
  CHECK(change.log_ratio == Approx(0.693147));
  CHECK(change.low == Approx(0.6316).margin(2e-4));
  CHECK(change.high == Approx(0.7547).margin(2e-4));
  CHECK(change.probability > 0.9999);
  CHECK(drift.slower());
  CHECK(find_drift(after, before).faster());
  CHECK_FALSE(find_drift(after, before).slower());
}

TEST_CASE("the same measurement twice has not drifted") {
  const auto drift = find_drift(all_reduce(), all_reduce());
  CHECK(drift.findings.empty());
  REQUIRE(drift.compared.size() == 3);
  for (const auto& c : drift.compared) {
    CHECK(c.change.log_ratio == 0);
    CHECK(c.change.false_alarm == 1);
    // What would be seen is beyond the tolerance, and not by so much that nothing ever were.
    CHECK(c.would_be_seen > std::log(1.05));
    CHECK(c.would_be_seen < std::log(1.6));
  }
  CHECK(drift_text(drift).rfind("steady: nothing has changed by more than 5 %\n", 0) == 0);
}

TEST_CASE("large sizes that take a fifth longer are one finding") {
  const auto drift = find_drift(all_reduce(), all_reduce([](auto n) { return n >= 64 << 20 ? 1.2 : 1.0; }));
  REQUIRE(drift.findings.size() == 1);
  const auto& f = drift.findings[0];
  CHECK(f.what == "all_reduce, 8 ranks");
  CHECK(f.level == DriftLevel::size_class);
  CHECK(f.points == 8);
  CHECK(f.from == sim::mib(64));
  CHECK(f.to == sim::gib(8));
  CHECK(f.change.log_ratio == Approx(std::log(1.2)).epsilon(1e-6));
  CHECK(f.now == Approx(f.baseline / 1.2).epsilon(1e-6));
  CHECK_FALSE(drift.only_launch());
}

TEST_CASE("a few neighbouring sizes are found where the rest stands still") {
  const auto drift =
      find_drift(all_reduce(), all_reduce([](auto n) { return n == 4 << 20 || n == 8 << 20 ? 1.6 : 1.0; }));
  REQUIRE(drift.findings.size() == 1);
  CHECK(drift.findings[0].level == DriftLevel::sizes);
  CHECK(drift.findings[0].from == sim::mib(4));
  CHECK(drift.findings[0].to == sim::mib(8));
}

TEST_CASE("a launch that takes longer is the host and not the links, also where it reaches above 1 MiB") {
  auto after = all_reduce();
  for (auto& p : after.series[0].points) p.time += sim::Time::microseconds(30);
  const auto drift = find_drift(all_reduce(), after);
  // 1 MiB went from 23.5 to 53.5 us: twice the time, but no more than the launch explains.
  CHECK(drift.compared[1].change.log_ratio > 0.3);
  REQUIRE(drift.findings.size() == 1);
  CHECK(drift.findings[0].to == sim::kib(512));
  CHECK(drift.only_launch());
  CHECK(drift_text(drift).find("the host, not the links") != std::string::npos);
  REQUIRE(drift.notes.size() == 1);
  CHECK(drift.notes[0].find("+30.0 us") != std::string::npos);
}

TEST_CASE("a slow GPU, a slow direction and a slow pair are told apart") {
  const auto places = [](const test::PairFactor& factor) {
    std::vector<std::string> out;
    for (const auto& f : find_drift(p2p(8), p2p(8, factor)).findings) out.push_back(f.place);
    return out;
  };
  using Places = std::vector<std::string>;
  CHECK(places([](auto i, auto j) { return i == 3 || j == 3 ? 0.8 : 1.0; }) == Places{"GPU 3"});
  CHECK(places([](auto i, auto) { return i == 3 ? 0.8 : 1.0; }) == Places{"GPU 3, sending"});
  CHECK(places([](auto, auto j) { return j == 3 ? 0.8 : 1.0; }) == Places{"GPU 3, receiving"});
  CHECK(places([](auto i, auto j) { return (i == 3 && j == 5) || (i == 5 && j == 3) ? 0.8 : 1.0; }) ==
        Places{"GPU 3 and GPU 5"});
  CHECK(places([](auto i, auto j) { return i == 3 && j == 5 ? 0.7 : 1.0; }) == Places{"GPU 3 to GPU 5"});
  CHECK(places([](auto, auto) { return 0.8; }) == Places{""});
  // All slower, and one of them slower still.
  const auto both = find_drift(p2p(8), p2p(8, [](auto i, auto j) { return i == 3 || j == 3 ? 0.5 : 0.8; }));
  REQUIRE(both.findings.size() == 2);
  CHECK(both.findings[0].place.empty());
  CHECK(both.findings[1].place == "GPU 3");
  CHECK(both.findings[1].beyond);
  CHECK(both.findings[1].change.log_ratio == Approx(std::log(0.8 / 0.5)));
}

TEST_CASE("a slow host is named from tests between pairs of hosts") {
  auto noise = exact();
  Measurements before, after;
  before.tests = test::pair_tests(5, noise);
  after.tests = test::pair_tests(5, noise, [](auto i, auto j) { return i == 2 || j == 2 ? 0.5 : 1.0; });
  const auto drift = find_drift(before, after);
  REQUIRE(drift.findings.size() == 1);
  CHECK(drift.findings[0].place == "node2");
  CHECK(drift.findings[0].baseline == Approx(23.5));
  CHECK(drift.findings[0].now == Approx(11.75));
}

TEST_CASE("what has no partner is said, with what differs") {
  auto noise = exact();
  auto other = test::series(Op::all_reduce, noise);
  other.ranks = 16;
  auto ring = test::series(Op::all_gather, noise);
  ring.env = {{"NCCL_ALGO", "Ring"}, {"NCCL_DEBUG", "INFO"}};
  const auto drift = find_drift(of({test::series(Op::all_reduce, noise), ring}), of({other, ring}));
  REQUIRE(drift.not_compared.size() == 2);
  CHECK(drift.not_compared[0].what == "all_reduce, 8 ranks");
  CHECK(drift.not_compared[0].reason == "the new measurements have it with ranks 16 instead of 8");
  // NCCL_DEBUG changes what is printed and nothing else.
  CHECK(drift.compared[0].what == "all_gather, 8 ranks, NCCL_ALGO=Ring");

  auto matrix = p2p(4);
  matrix.matrices[0].latency = true;
  const auto nothing = find_drift(p2p(4), matrix);
  CHECK(nothing.compared.empty());
  REQUIRE(nothing.not_compared.size() == 2);
  CHECK(nothing.not_compared[0].reason == "not in the new measurements");
}

TEST_CASE("sizes, pairs and values that cannot be compared are left out and said") {
  auto before = all_reduce(), after = all_reduce();
  before.series[0].points.pop_back();
  after.series[0].points[0].time = sim::Time{};
  auto drift = find_drift(before, after);
  REQUIRE(drift.not_compared.size() == 3);
  CHECK(drift.not_compared[0].reason == "1 value left out: a time must be above zero");
  CHECK(drift.not_compared[1].reason == "sizes only in the baseline: 8 B");
  CHECK(drift.not_compared[2].reason == "sizes only in the new measurements: 8 GiB");

  auto broken = p2p(4);
  broken.matrices[0].cells[0][1] = std::nan("");
  broken.matrices[0].cells[1][0].reset();
  drift = find_drift(p2p(4), broken);
  CHECK(drift.findings.empty());
  REQUIRE(drift.not_compared.size() == 2);
  CHECK(drift.not_compared[1].reason == "pairs only in the baseline: GPU 0 to GPU 1, GPU 1 to GPU 0");
}

TEST_CASE("several runs make one baseline; the same files on both sides are machines of their own") {
  auto noise = exact();
  const auto named = [&](const std::string& id) {
    auto s = test::series(Op::all_reduce, noise);
    s.id = id;
    return s;
  };
  auto drift = find_drift(of({named("mon.log"), named("tue.log"), named("tue.log#2")}), of({named("wed.log")}));
  REQUIRE(drift.compared.size() == 3);
  CHECK(drift.compared[0].runs_baseline == 3);
  CHECK(drift.compared[0].runs_now == 1);

  drift = find_drift(of({named("a.log"), named("b.log")}), of({named("a.log"), named("b.log")}));
  REQUIRE(drift.compared.size() == 6);
  CHECK(drift.compared[0].what == "all_reduce, 8 ranks (a.log)");
  CHECK(drift.compared[0].runs_baseline == 1);
}

TEST_CASE("runs that differ as a whole make it harder to be sure") {
  const auto scaled = [](double factor) { return all_reduce([=](auto) { return factor; }).series[0]; };
  const auto calm = find_drift(of({scaled(1), scaled(1), scaled(1)}), of({scaled(1.12)}));
  const auto restless = find_drift(of({scaled(0.85), scaled(1), scaled(1.15)}), of({scaled(1.12)}));
  CHECK(calm.slower());
  CHECK_FALSE(restless.slower());
  CHECK(restless.compared[2].would_be_seen > 2 * calm.compared[2].would_be_seen);
}

TEST_CASE("another version of the software is no other measurement, but it is said") {
  auto before = all_reduce(), after = all_reduce();
  before.series[0].nccl = models::nccl::Version{2, 21, 5};
  after.series[0].nccl = models::nccl::Version{2, 23, 4};
  const auto drift = find_drift(before, after);
  REQUIRE(drift.notes.size() == 1);
  CHECK(drift.notes[0] == "all_reduce, 8 ranks: NCCL 2.21.5 in the baseline, 2.23.4 now: a change may come from that");
}

TEST_CASE("the textfile is Prometheus' text format") {
  auto noise = exact();
  Measurements before, after;
  before.tests = test::pair_tests(5, noise);
  after.tests = test::pair_tests(5, noise, [](auto i, auto j) { return i == 2 || j == 2 ? 0.5 : 1.0; });
  for (auto* side : {&before, &after})
    for (auto& t : side->tests)
      for (auto* host : {&t.from, &t.to})
        if (*host == "node2") *host = "a\"b\\c\nd";
  const auto text = drift_textfile(find_drift(before, after));
  CHECK(text.find(R"(where="a\"b\\c\nd")") != std::string::npos);
  CHECK(text.find("\nlinkcast_drift 1\n") != std::string::npos);
  REQUIRE(text.back() == '\n');

  const std::regex help{"# HELP [a-z_]+ .+"}, type{"# TYPE ([a-z_]+) gauge"};
  const std::regex sample{R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-z_]+="([^"\\]|\\["\\n])*",?)+\})? [-+0-9.e]+)re"};
  std::set<std::string> declared, seen;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    std::smatch match;
    if (std::regex_match(line, help)) continue;
    if (std::regex_match(line, match, type)) {
      CHECK(declared.insert(match[1]).second);
    } else {
      REQUIRE(std::regex_match(line, match, sample));
      CHECK(declared.contains(match[1]));
      CHECK(std::string(match[1]).rfind("linkcast_drift", 0) == 0);
      CHECK(seen.insert(line.substr(0, line.rfind(' '))).second);
    }
  }
}

TEST_CASE("a cluster that gains or loses everywhere alike is one finding, and what gained is not slower") {
  const auto faster = find_drift(all_reduce(), all_reduce([](auto) { return 1.0 / 3; }));
  REQUIRE(faster.findings.size() == 1);
  CHECK_FALSE(faster.slower());
  // All sizes: from 8 B to 8 GiB.
  CHECK(faster.findings[0].from == sim::Bytes{8});
  CHECK(faster.findings[0].to == sim::gib(8));

  const auto slower = find_drift(all_reduce(), all_reduce([](auto) { return 3.0; }));
  REQUIRE(slower.findings.size() == 1);
  // Three times the time: +200 %, and so say the columns.
  CHECK(slower.findings[0].change.log_ratio == Approx(std::log(3)).epsilon(1e-4));
  CHECK(slower.findings[0].now == Approx(3 * slower.findings[0].baseline).epsilon(1e-3));
  CHECK(slower.notes.empty());  // no launch was taken off

  // Small sizes ten times as fast, large ones twice: other factors, but nothing became slower.
  CHECK_FALSE(find_drift(all_reduce(), all_reduce([](auto n) { return n < 1 << 20 ? 0.1 : 0.5; })).slower());
}

TEST_CASE("the columns of every finding say what its percentage says, also on top of a launch") {
  auto after = all_reduce([](auto n) { return n >= 64 << 20 ? 1.3 : 1.0; });
  for (auto& p : after.series[0].points) p.time += sim::Time::microseconds(30);
  const auto drift = find_drift(all_reduce(), after);
  REQUIRE(drift.findings.size() == 2);
  const auto& large = drift.findings[1];
  CHECK(large.beyond);
  CHECK(large.unit == "GB/s busbw");
  // Of a rate: baseline / new is the ratio of times.
  CHECK(large.baseline / large.now == Approx(std::exp(large.change.log_ratio)).epsilon(0.02));
  CHECK(large.change.log_ratio == Approx(std::log(1.3)).epsilon(0.02));
}

TEST_CASE("wrong results and pairs that carry nothing are broken, whatever the times say") {
  auto wrong = all_reduce();
  wrong.series[0].wrong_results = true;
  const auto data = find_drift(all_reduce(), wrong);
  CHECK(data.broken());
  CHECK(drift_text(data).rfind("broken: wrong results", 0) == 0);
  CHECK(drift_textfile(data).find("\nlinkcast_drift 1\n") != std::string::npos);
  // In the baseline it is no news.
  CHECK_FALSE(find_drift(wrong, all_reduce()).broken());
  CHECK(find_drift(wrong, all_reduce()).notes.size() == 1);

  auto dead = p2p(4);
  for (std::size_t j = 0; j < 4; ++j)
    if (j != 2) dead.matrices[0].cells[2][j] = 0;
  const auto links = find_drift(p2p(4), dead);
  REQUIRE(links.faults.size() == 1);
  CHECK(links.faults[0].reason == "GPU 2 to GPU 0, GPU 1, GPU 3: nothing gets through, which did in the baseline");
  CHECK(find_drift(dead, dead).faults.empty());
}

}  // namespace
