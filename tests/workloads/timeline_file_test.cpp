// Timelines: what a reader of profiles finds in them, and that the same replay gives the same bytes. The .pftrace of
// tests/golden/timelines is read by tests/python/test_timeline.py, which knows Perfetto's schema and not this code.
// LINKCAST_REFRESH_GOLDEN=1 writes them anew.
#include "linkcast/workloads/timeline_file.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>

#include "linkcast/sim/diagnostic.hpp"
#include "lists.hpp"

using namespace linkcast;
using sim::Time;
using workloads::Operation;
using workloads::ReplayedOperation;
using workloads::TimelineFile;

namespace {

workloads::Recording two_ranks() {
  workloads::Recording r;
  r.world = 2;
  r.ranks = {0, 1};
  r.communicators = {{"0", "default_pg", {0, 1}}, {"7", "say \"tp\"", {0, 1}}};
  *r.streams = {"main", "comm"};
  return r;
}

/// Rank 0 computes to 10 us, rank 1 to 12; they all-reduce 1 MiB until 20; rank 0 sends 4 KiB and receives 8 KiB in one
/// batch, so that the two overlap, from 20 to 21 and to 22.5.
void replay(const workloads::Recording& r, TimelineFile& file) {
  Operation compute, gap, call, send, receive;
  compute.work = workloads::Work::gemm;
  gap.work = workloads::Work::gap;
  call.kind = Operation::Kind::collective;
  call.bytes = sim::mib(1);
  call.stream = 1;
  call.measured = Time::microseconds(9);
  send.kind = Operation::Kind::send;
  send.bytes = sim::kib(4);
  send.stream = 1;
  send.communicator = 1;
  send.batch = 1;
  receive = send;
  receive.kind = Operation::Kind::receive;
  receive.bytes = sim::kib(8);
  const auto add = [&](int rank, const Operation& o, std::string_view name, int arrived, int start, int end_ns) {
    ReplayedOperation x;
    x.rank = rank;
    x.stream = (*r.streams)[o.stream];
    x.name = name;
    x.operation = &o;
    if (o.kind != Operation::Kind::compute) {
      x.communicator = &r.communicators[o.communicator];
      x.algorithm = o.kind == Operation::Kind::collective ? "NVLS_Tree" : "";
      x.protocol = o.kind == Operation::Kind::collective ? "Simple" : "";
    }
    x.arrived = Time::nanoseconds(arrived);
    x.start = Time::nanoseconds(start);
    x.end = Time::nanoseconds(end_ns);
    file.add(x);
  };
  add(0, compute, "sgemm", 0, 0, 10'000);
  add(1, compute, "sgemm", 0, 0, 11'000);
  add(1, gap, "", 11'000, 11'000, 12'000);
  add(0, call, "", 10'000, 12'000, 20'000);
  add(1, call, "", 12'000, 12'000, 20'000);
  send.peer = 1, receive.peer = 0;
  add(0, send, "", 20'000, 20'000, 21'000);
  receive.bytes = sim::kib(4);
  add(1, receive, "", 20'000, 20'000, 21'000);
  send.peer = 0, receive.peer = 1;
  send.bytes = receive.bytes = sim::kib(8);
  add(1, send, "", 20'000, 20'000, 22'500);
  add(0, receive, "", 20'000, 20'000, 22'500);
}

std::string bytes_of(const std::string& ending) {
  const Folder folder{"timeline"};
  const auto r = two_ranks();
  const auto path = folder.at("t" + ending);
  TimelineFile file{path, r};
  replay(r, file);
  REQUIRE(file.close() == std::vector{path});
  return text_of_file(path);
}

void golden(const std::string& ending) {
  const auto path = std::string{LINKCAST_SOURCE_DIR} + "/tests/golden/timelines/two_ranks" + ending;
  const auto actual = bytes_of(ending);
  if (std::getenv("LINKCAST_REFRESH_GOLDEN") != nullptr) std::ofstream{path, std::ios::binary} << actual;
  CHECK(actual == text_of_file(path));
  CHECK(actual == bytes_of(ending));
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("the same replay gives the same timeline, byte for byte") {
  golden(".pftrace");
  golden(".json");
  CHECK(bytes_of(".json.gz") == bytes_of(".json.gz"));
}

TEST_CASE("JSON has the names of PyTorch's profiler") {
  const auto text = bytes_of(".json");
  // From when the rank came: 10 us to 20 us, of which 2 us it waited for the other.
  CHECK(text.find(R"("name":"ncclDevKernel_AllReduce_Sum_u8_NVLS_TREE_SIMPLE","pid":0,"tid":1,"ts":10,"dur":10)") !=
        text.npos);
  CHECK(text.find(R"("Collective name":"allreduce","In msg nelems":1048576,"Out msg nelems":1048576,"Group size":2,)"
                  R"("dtype":"Byte")") != text.npos);
  CHECK(count(text, R"("waited for peers us":2)") == 1);
  CHECK(count(text,
              R"("Process Group Name":"0","Process Group Description":"default_pg","Process Group Ranks":"[0, 1]")") ==
        2);
  CHECK(text.find(R"("Process Group Description":"say \"tp\"")") != text.npos);
  CHECK(text.find(R"("ts":20,"dur":2.500)") != text.npos);  // nanoseconds
  CHECK(count(text, R"("cat":"kernel")") == 8);  // all but the gap
  // The receive of the batch overlaps its send, so it is on a lane of its own.
  CHECK(text.find(R"x("name":"thread_name","pid":0,"tid":1001,"ts":0,"args":{"name":"stream comm (2)"})x") !=
        text.npos);
}

TEST_CASE("one file a rank, each with its rank and its device") {
  const Folder folder{"timeline"};
  const auto r = two_ranks();
  TimelineFile file{folder.at("out/rank%r.json"), r, {1, "NVIDIA H100", "2.27.3"}};
  replay(r, file);
  REQUIRE(file.close() == std::vector{folder.at("out/rank0.json"), folder.at("out/rank1.json")});
  const auto second = text_of_file(folder.at("out/rank1.json"));
  CHECK(second.find(R"("distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_count": 2)") !=
        second.npos);
  CHECK(second.find(R"("name": "NVIDIA H100")") != second.npos);
  CHECK(count(second, R"("cat":"kernel")") == 4);
  TimelineFile into{folder.at("of/"), r};
  replay(r, into);
  CHECK(into.close() == std::vector{folder.at("of/rank_0.json.gz"), folder.at("of/rank_1.json.gz")});
}

TEST_CASE("memory does not grow with a timeline, and no event is lost between pieces") {
  const Folder folder{"timeline"};
  const auto r = two_ranks();
  TimelineFile file{folder.at("long.json"), r};
  Operation compute;
  ReplayedOperation x;
  x.stream = "main";
  x.operation = &compute;
  constexpr int many = 20'000;  // several pieces of 1 MiB
  for (int i = 0; i < many; ++i) {
    x.start = x.arrived = Time::nanoseconds(i * 10);
    x.end = Time::nanoseconds(i * 10 + 10);
    file.add(x);
  }
  file.close();
  const auto text = text_of_file(folder.at("long.json"));
  CHECK(text.size() > (2u << 20));
  CHECK(count(text, R"("cat":"kernel")") == many);
  CHECK(text.ends_with("\n],\n\"traceName\":\"all ranks\"}\n"));
}

TEST_CASE("a name that says no form of timeline is refused with those that there are") {
  const auto r = two_ranks();
  CHECK_THROWS_WITH(TimelineFile("t.html", r), Catch::Matchers::Contains(".pftrace"));
  CHECK(TimelineFile::understands("out/"));
  CHECK(TimelineFile::understands("a.pftrace.gz"));
  CHECK_FALSE(TimelineFile::understands("a.gz"));
}
