// GOAL schedules as text and in the binary form, whose bytes are written here by hand from LogGOPSim's Parser.hpp.
#include <catch2/catch.hpp>
#include <cstring>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/replay_recording.hpp"
#include "recorded_ranks.hpp"
#include "scratch.hpp"

using namespace linkcast;
using namespace linkcast::test;
using namespace linkcast::test::ranks;
using workloads::open_recording;
using Kind = workloads::Operation::Kind;

namespace {

std::string problem(const std::string& path) {
  try {
    operations(open_recording({path}));
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return {};
}

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void put_node(std::string& out, char type, std::uint32_t peer, std::uint64_t size, std::uint32_t dependents,
              std::uint32_t first) {
  put<std::uint32_t>(out, 0);
  out += type;
  put(out, peer);
  put(out, size);
  put<std::uint32_t>(out, 7);  // tag
  out += '\0';
  out += '\0';
  put(out, dependents);
  put(out, first);
  put<std::uint32_t>(out, 0);
  put<std::uint32_t>(out, 0);
}

}  // namespace

TEST_CASE("GOAL: a broadcast over a binary tree of 32 ranks") {
  // A binomial tree: every rank but the root receives once, so there are 31 messages of 1 B. Rank 0 sends five times.
  const auto recording = open_recording({traces("goal/binary_tree_32.goal")});
  CHECK(recording.report->format == "goal");
  CHECK(recording.world == 32);
  std::int64_t sends = 0, receives = 0;
  for (std::size_t r = 0; r < 32; ++r)
    for (const auto& o : operations(recording, r)) {
      CHECK(o.bytes == sim::Bytes{1});
      (o.kind == Kind::send ? sends : receives)++;
    }
  CHECK(sends == 31);
  CHECK(receives == 31);
  const auto rank1 = operations(recording, 1);  // l2 … l5 require l1
  REQUIRE(rank1.size() == 5);
  CHECK(rank1[0].kind == Kind::receive);
  CHECK(rank1[0].peer == 0);
  for (std::size_t i = 1; i < 5; ++i) CHECK(rank1[i].after == std::vector<std::uint64_t>{rank1[0].id});
  CHECK(rank1[4].peer == 17);
  topologies::ClusterOptions options;
  options.nodes = 4;
  const auto result = workloads::replay_recording(recording, topologies::load_cluster("dgx-h100", options));
  CHECK(result.messages == 31);
}

TEST_CASE("GOAL: order, kinds of requirement, CPUs and NICs, comments") {
  Scratch folder;
  const auto file = folder.write("x.goal", R"(num_ranks 2
// of two ranks
rank 0 {
l4: calc 500 cpu 1
l4 requires l3 /* which comes
later */
l1: calc 1000
l2: send 8b to 1 tag 5 cpu 0 nic 1
l2 requires l1
l3: calc 20
l3 requires l2
l5: recv 16b from 1 tag 6
l5 irequires l4
l6 requires l9
nonsense
}
rank 1 {
r1: recv 8b from 0 tag 5
r2: send 16b to 0 tag 6
r2 requires r1
}
)");
  const auto recording = open_recording({file});
  const auto all = operations(recording);
  REQUIRE(all.size() == 5);
  CHECK(dependencies_come_first(all));
  CHECK(all[0].duration == sim::Time::nanoseconds(1000));
  CHECK(all[1].kind == Kind::send);
  CHECK(all[1].tag == 5);
  CHECK((*recording.streams)[all[1].stream] == "nic 1: send 0");
  CHECK(all[2].duration == sim::Time::nanoseconds(20));
  // l3 requires the send l2, which is done when it was handed over: when l1 is.
  CHECK(all[2].after == std::vector<std::uint64_t>{all[0].id});
  CHECK((*recording.streams)[all[3].stream] == "cpu 1");
  CHECK(all[3].after == std::vector<std::uint64_t>{all[2].id});
  CHECK(all[4].after == all[3].after);  // begins with l4
  CHECK(skipped(recording, "a label that is not there") == 1);
  CHECK(skipped(recording, "a line that is not") == 1);
}

TEST_CASE("GOAL: receives from anybody get the sends that nobody else names") {
  Scratch folder;
  const auto file = folder.write("x.goal", R"(num_ranks 3
rank 0 {
a: recv 4b from -1 tag -1
b: recv 4b from 1 tag 1
c: recv 4b from -1 tag 9
}
rank 1 {
s: send 4b to 0 tag 1
}
rank 2 {
s: send 4b to 0 tag 3
}
)");
  const auto recording = open_recording({file});
  const auto all = operations(recording);
  REQUIRE(all.size() == 3);
  CHECK(all[0].peer == 2);  // rank 1's is b's
  CHECK(all[0].tag == 3);
  CHECK(all[1].peer == 1);
  CHECK(all[2].kind == Kind::compute);
  CHECK(skipped(recording, "nobody sends") == 1);
}

TEST_CASE("GOAL: the binary form") {
  // Rank 0: calc 100 ns, then a send of 64 B to rank 1. Rank 1: a receive from anybody.
  std::string ranks[2];
  put<std::uint32_t>(ranks[0], 2);
  put<std::uint32_t>(ranks[0], 1);
  put<std::uint32_t>(ranks[0], 0);
  put_node(ranks[0], 3, 0, 100, 1, 0);
  put_node(ranks[0], 1, 1, 64, 0, 1);
  put<std::uint32_t>(ranks[0], 1);  // node 1 depends on node 0
  put<std::uint32_t>(ranks[1], 1);
  put<std::uint32_t>(ranks[1], 1);
  put<std::uint32_t>(ranks[1], 0);
  put_node(ranks[1], 2, 0xffffffffu, 64, 0, 0);
  std::string file;
  put<std::uint64_t>(file, 4223);
  put<std::uint32_t>(file, 2);
  file += std::string(2, '\0');
  std::uint64_t at = 4 + 2 + 2 * 16;  // counted after the magic number
  for (const auto& r : ranks) {
    put(file, at);
    at += r.size();
    put(file, at);
  }
  file += ranks[0] + ranks[1];
  Scratch folder;
  const auto path = folder.write("x.bin", file);
  const auto recording = open_recording({path});
  const auto first = operations(recording, 0), second = operations(recording, 1);
  REQUIRE(first.size() == 2);
  CHECK(first[0].duration == sim::Time::nanoseconds(100));
  CHECK(first[1].peer == 1);
  CHECK(first[1].tag == 7);
  CHECK(first[1].after == std::vector<std::uint64_t>{first[0].id});
  REQUIRE(second.size() == 1);
  CHECK(second[0].peer == 0);
  // Both nodes of rank 0 claim the one dependent there is.
  auto twice = file;
  twice[8 + 6 + 32 + 12 + 39 + 23] = 1;  // head, table, counts and root, first node, before the second one's count
  CHECK(problem(folder.write("twice.bin", twice)).find("do not fit") != std::string::npos);
  file.resize(file.size() - 20);
  CHECK(problem(folder.write("cut.bin", file)).find("cut off") != std::string::npos);
}

TEST_CASE("GOAL: circles and wrong ranks are named") {
  Scratch folder;
  const auto circle =
      problem(folder.write("c.goal", "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n"));
  CHECK(circle.find("a requires b requires a") != std::string::npos);
  CHECK(problem(folder.write("r.goal", "num_ranks 2\nrank 5 {\n}\n")).find("not a rank of 2") != std::string::npos);
}
