// Linkcast's own recordings: what was written is read again, and what is wrong with a line is said and costs that line.
#include <catch2/catch.hpp>
#include <random>
#include <sstream>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/write_recording.hpp"
#include "lists.hpp"

using namespace linkcast;
using workloads::Operation;
using workloads::Recording;
using Kind = Operation::Kind;
using sim::Time;

namespace {

/// Everything that a recording can hold, at random; a seed gives one recording.
Recording random_recording(unsigned seed) {
  std::mt19937_64 random{seed};
  const auto upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  Recording r;
  r.world = 5;
  r.ranks = {4, 0, 2};
  r.communicators = {
      {"tp", "TENSOR \"x\"", {0, 4}}, {"all", "", {0, 1, 2, 3, 4}}, {"tp", "", {2, 4, 0}}, {"", "", {2, 0, 4}}};
  *r.streams = {"main"};
  for (const auto* s : {"7", "comm \\ two"})
    if (upto(2) == 0) r.streams->push_back(s);
  r.steps = static_cast<int>(1 + upto(3));
  r.model_flops = upto(2) == 0 ? 0 : 1.23456789e17 / 3;
  r.tokens = upto(2) == 0 ? 0 : 65'536;
  r.source = "by chance";
  const std::vector<std::string> names{"", "sgemm", "nccl:all_reduce", "123", "\xc3\xa9\n\"", "void f<a, b>(int*)"};
  std::vector<std::uint32_t> name;
  for (const auto& n : names) name.push_back(r.names->add(n));
  constexpr std::array member_of{0u, 1u, 2u, 3u};  // rank 4 and 0 are in all of them; rank 2 not in the first
  std::vector<std::vector<Operation>> lists;
  for (const int rank : r.ranks) {
    auto& list = lists.emplace_back();
    for (int i = 0, n = static_cast<int>(upto(30)); i < n; ++i) {
      Operation o;
      o.kind = static_cast<Kind>(upto(4));
      o.stream = static_cast<std::uint32_t>(upto(r.streams->size()));
      o.name = name[static_cast<std::size_t>(upto(name.size()))];
      if (upto(2) == 0) o.id = static_cast<std::uint64_t>(i + 1) << upto(40);
      for (const auto& earlier : list)
        if (earlier.id != 0 && upto(4) == 0) o.after.push_back(earlier.id);
      if (o.kind == Kind::compute) {
        o.work = static_cast<workloads::Work>(upto(6));
        o.duration = Time::picoseconds(upto(1) == 0 ? upto(1'000'000'000'000) : 0);
        o.flops = upto(2) == 0 ? 0 : static_cast<double>(upto(1'000'000'000)) / 7;
        o.touched = upto(2) == 0 ? 0 : static_cast<double>(upto(1'000'000'000));
      } else {
        o.communicator = member_of[static_cast<std::size_t>(rank == 2 ? 1 + upto(3) : upto(4))];
        const auto size = r.communicators[o.communicator].ranks.size();
        o.bytes = sim::Bytes{upto(3) == 0 ? 0 : upto(1ull << 50)};
        o.measured = Time::picoseconds(upto(2) == 0 ? 0 : upto(1'000'000'000));
        if (o.kind == Kind::collective) {
          o.op = static_cast<models::nccl::Op>(upto(9));
          o.root = static_cast<std::int32_t>(upto(size));
        } else {
          o.peer = static_cast<std::int32_t>(upto(size));
          o.tag = upto(3) - 1;
          o.batch = static_cast<std::uint32_t>(upto(3));
        }
      }
      list.push_back(o);
    }
  }
  r.open = [lists] { return std::make_unique<Lists>(lists); };
  return r;
}

std::string text_of(const Recording& r) {
  std::ostringstream out;
  REQUIRE(workloads::write_recording(r, out));
  return out.str();
}

std::string all_of(const Recording& r) {
  std::string out;
  const auto reader = r.open();
  for (std::size_t i = 0; i < r.ranks.size(); ++i) {
    Operation o;
    while (reader->next(i, o)) {
      out += std::to_string(r.ranks[i]) + " kind " + std::to_string(static_cast<int>(o.kind)) + " work " +
             std::string{workloads::name_of(o.work)} + " op " + std::string{models::nccl::name_of(o.op)} + " stream " +
             (*r.streams)[o.stream] + " name " + (*r.names)[o.name] + " on " + std::to_string(o.communicator) +
             " peer " + std::to_string(o.peer) + " root " + std::to_string(o.root) + " batch " +
             std::to_string(o.batch) + " tag " + std::to_string(o.tag) + " id " + std::to_string(o.id) + " after";
      for (const auto a : o.after) out += " " + std::to_string(a);
      out += " took " + std::to_string(o.duration.ps()) + " " + std::to_string(o.measured.ps()) + " bytes " +
             std::to_string(o.bytes.count()) + " flops " + std::to_string(o.flops) + " " + std::to_string(o.touched) +
             "\n";
      o = Operation{};
    }
  }
  return out;
}

std::vector<std::string> skipped(const std::string& lines) {
  const Folder folder{"recorded"};
  const auto r = workloads::open_recording(
      {folder.write("r.jsonl", R"({"schema": "linkcast.trace/2", "world": 3, "ranks": [0, 1], "communicators": )"
                               R"([{"name": "tp", "ranks": "0-1"}]})"
                               "\n" +
                                   lines)});
  const auto reader = r.open();
  Operation o;
  while (reader->next(0, o))
    ;
  std::vector<std::string> out;
  for (const auto& s : r.report->skipped) {
    const auto slash = s.first.rfind('/');
    out.push_back(s.why + " @ " + s.first.substr(slash + 1));
  }
  return out;
}

}  // namespace

TEST_CASE("a recording that is written and read again is the same, whatever it holds") {
  const Folder folder{"recorded"};
  for (unsigned seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    const auto before = random_recording(seed);
    const auto text = text_of(before);
    const auto after = workloads::open_recording({folder.write("r.jsonl", text)});
    CHECK(after.world == before.world);
    CHECK(after.ranks == before.ranks);
    CHECK(after.steps == before.steps);
    CHECK(after.model_flops == before.model_flops);
    CHECK(after.tokens == before.tokens);
    CHECK(after.source == before.source);
    REQUIRE(after.communicators.size() == before.communicators.size());
    for (std::size_t c = 0; c < after.communicators.size(); ++c) {
      CHECK(after.communicators[c].name == before.communicators[c].name);
      CHECK(after.communicators[c].description == before.communicators[c].description);
      CHECK(after.communicators[c].ranks == before.communicators[c].ranks);
    }
    REQUIRE(all_of(after) == all_of(before));
    CHECK(after.report->skipped.empty());
    CHECK(text_of(workloads::open_recording({folder.at("r.jsonl")})) == text);  // and written again, to the byte
  }
}

TEST_CASE("people write recordings with names and other units") {
  const Folder folder{"recorded"};
  const auto r = workloads::open_recording({folder.write(
      "r.jsonl",
      R"({"schema": "linkcast.trace/2", "world": 4, "ranks": "0-1", "communicators": [{"name": "tp", "ranks": [0, 1]}]}
{"ranks": "0-1", "compute": "1.5 us", "name": "forward", "id": 1, "work": "gemm"}
{"ranks": [0, 1], "all_gather": "64 MiB", "on": "tp", "after": "forward", "stream": "comm"}

{"rank": 0, "send": "4 KiB", "on": "tp", "peer": 1, "tag": 9}
{"rank": 1, "receive": "4 KiB", "on": "tp", "peer": 0, "tag": 9}
)")});
  CHECK(
      all_of(r) ==
      "0 kind 0 work gemm op all_reduce stream main name forward on 0 peer -1 root 0 batch 0 tag 0 id 1 after took "
      "1500000 0 bytes 0 flops 0.000000 0.000000\n"
      "0 kind 1 work other op all_gather stream comm name  on 0 peer -1 root 0 batch 0 tag 0 id 0 after 1 took 0 0 "
      "bytes 67108864 flops 0.000000 0.000000\n"
      "0 kind 2 work other op all_reduce stream main name  on 0 peer 1 root 0 batch 0 tag 9 id 0 after took 0 0 bytes "
      "4096 flops 0.000000 0.000000\n"
      "1 kind 0 work gemm op all_reduce stream main name forward on 0 peer -1 root 0 batch 0 tag 0 id 1 after took "
      "1500000 0 bytes 0 flops 0.000000 0.000000\n"
      "1 kind 1 work other op all_gather stream comm name  on 0 peer -1 root 0 batch 0 tag 0 id 0 after 1 took 0 0 "
      "bytes 67108864 flops 0.000000 0.000000\n"
      "1 kind 3 work other op all_reduce stream main name  on 0 peer 0 root 0 batch 0 tag 9 id 0 after took 0 0 bytes "
      "4096 flops 0.000000 0.000000\n");
}

TEST_CASE("a line that cannot be used is counted with what is wrong, and the next one is read") {
  CHECK(skipped("{\"rank\": 0, \"compute\": \"1 us\"}\n").empty());
  CHECK(skipped("{\"rank\": 0, \"compute\": 1}\n{\"rank\": 0, \"compute\": 1}\n") ==
        std::vector<std::string>{"'compute' needs a unit: '1' @ r.jsonl:2"});
  CHECK(skipped("{\"rank\": 0, \"comp") == std::vector<std::string>{"not valid JSON @ r.jsonl:2"});
  CHECK(skipped("{\"rank\": 2, \"compute\": \"1 us\"}\n") ==
        std::vector<std::string>{"a rank that the head does not name @ r.jsonl:2"});
  CHECK(skipped("{\"rank\": 0, \"all_reduce\": \"1 B\", \"on\": \"pp\"}\n") ==
        std::vector<std::string>{"unknown communicator 'pp' @ r.jsonl:2"});
  CHECK(skipped("{\"rank\": 0, \"send\": \"1 B\", \"on\": \"tp\", \"peer\": 2}\n") ==
        std::vector<std::string>{"'peer' is 2: it must be from 0 to 1 @ r.jsonl:2"});
  CHECK(skipped("{\"rank\": 0, \"barrier\": \"tp\"}\n") ==
        std::vector<std::string>{"no operation in this line @ r.jsonl:2"});
  CHECK(skipped("{\"rank\": 0, \"compute\": \"1 us\", \"wrok\": \"gemm\"}\n") ==
        std::vector<std::string>{"unknown key 'wrok' in the operation @ r.jsonl:2"});
}

TEST_CASE("a head that cannot be used is refused") {
  const Folder folder{"recorded"};
  const auto error = [&](const std::string& head) {
    try {
      workloads::open_recording({folder.write("r.jsonl", head)});
    } catch (const sim::InputError& e) {
      return e.diagnostics().front().problem;
    }
    return std::string{"none"};
  };
  CHECK(error(R"({"schema": "linkcast.trace/2", "ranks": [0]})") == "the head of the recording has no 'world'");
  CHECK(error(R"({"schema": "linkcast.trace/2", "world": 2, "ranks": [2]})") == "there is no rank 2 for 'ranks'");
  CHECK(error(R"({"schema": "linkcast.trace/2", "world": 2, "ranks": []})") == "no rank is recorded");
  CHECK(error("{\"schema\": \"linkcast.trace/2\"") == "not valid JSON");
}

TEST_CASE("the times that a recording implies") {
  // Stream 0: 3 us, then 2 us; stream 1 waits for the first: 3 to 3 + 4 (measured); then stream 0 waits for it: 7 to 8.
  Operation a, b, c, d;
  a.duration = Time::microseconds(3), a.id = 1;
  b.duration = Time::microseconds(2);
  c.kind = Kind::collective, c.measured = Time::microseconds(4), c.stream = 1, c.id = 2, c.after = {1};
  d.duration = Time::microseconds(1), d.after = {2, 99};  // 99 never came: it has ended
  workloads::RecordedClock clock{1};
  CHECK(clock.place(0, a).end == Time::microseconds(3));
  CHECK(clock.place(0, b).end == Time::microseconds(5));
  CHECK(clock.place(0, c).start == Time::microseconds(3));
  CHECK(clock.place(0, d).start == Time::microseconds(7));
  CHECK(clock.end(0) == Time::microseconds(8));
}

TEST_CASE("a report has two hundred reasons and one for all others") {
  workloads::ReadReport report;
  for (int i = 0; i < 300; ++i) report.skip("reason " + std::to_string(i), "line " + std::to_string(i));
  report.skip("reason 7", "line 300");
  REQUIRE(report.skipped.size() == 201);
  CHECK(report.skipped[7].count == 2);
  CHECK(report.skipped[200].why == "other reasons");
  CHECK(report.skipped[200].count == 100);
  CHECK(report.skipped[200].first == "line 200");
}
