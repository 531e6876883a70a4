// The replay of recordings, on operations made by hand. T is what the collective model says of a call whose launch is
// hidden; all else is arithmetic.
#include "linkcast/workloads/replay_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/call_costs.hpp"

using namespace linkcast;
using workloads::Operation;
using workloads::Recording;
using Kind = Operation::Kind;
using models::nccl::Op;
using sim::Time;

namespace {

class Lists final : public workloads::OperationReader {
 public:
  explicit Lists(std::vector<std::vector<Operation>> lists) : lists_{std::move(lists)}, at_(lists_.size()) {}
  bool next(std::size_t r, Operation& out) override {
    if (at_[r] == lists_[r].size()) return false;
    out = lists_[r][at_[r]++];
    return true;
  }

 private:
  std::vector<std::vector<Operation>> lists_;
  std::vector<std::size_t> at_;
};

Recording recording(std::vector<std::vector<Operation>> lists, int world = 8) {
  Recording r;
  r.world = world;
  std::vector<int> all;
  for (int i = 0; i < world; ++i) all.push_back(i);
  for (std::size_t i = 0; i < lists.size(); ++i) r.ranks.push_back(static_cast<int>(i));
  r.communicators = {{"all", "", all}, {"pair", "", {0, 1}}, {"other", "", {0, 1}}};
  r.streams->push_back("comm");
  r.open = [lists] { return std::make_unique<Lists>(lists); };
  return r;
}

Operation compute(double us, std::uint64_t id = 0, std::vector<std::uint64_t> after = {}) {
  Operation o;
  o.duration = Time::from_us(us);
  o.id = id;
  o.after = std::move(after);
  return o;
}

Operation call(Op op, std::int64_t mib, std::uint32_t communicator = 0, std::uint32_t stream = 0, std::uint64_t id = 0,
               std::vector<std::uint64_t> after = {}) {
  Operation o;
  o.kind = Kind::collective;
  o.op = op;
  o.bytes = sim::mib(mib);
  o.communicator = communicator;
  o.stream = stream;
  o.id = id;
  o.after = std::move(after);
  return o;
}

Operation message(Kind kind, int peer, std::int64_t mib, std::uint32_t batch = 0) {
  Operation o;
  o.kind = kind;
  o.peer = peer;
  o.bytes = sim::mib(mib);
  o.communicator = 1;
  o.batch = batch;
  return o;
}

const topologies::Cluster& dgx() {
  static const topologies::Cluster cluster{topologies::load("dgx-h100")};
  return cluster;
}

workloads::CollectiveRow alone(std::vector<int> gpus, Op op, std::int64_t mib) {
  workloads::CommunicatorOptions options;
  options.launch_floor = Time{};
  models::nccl::Call c;
  c.op = op;
  c.bytes = sim::mib(mib);
  return workloads::CollectiveModel{dgx().job(std::vector<int>{0}, gpus), options}.run(c);
}

const std::vector<int> eight{0, 1, 2, 3, 4, 5, 6, 7};

}  // namespace

TEST_CASE("a collective waits for its last rank, and the others' time is theirs", "[workloads][recording]") {
  const auto r = recording({{compute(100), call(Op::all_reduce, 64, 1)}, {compute(150), call(Op::all_reduce, 64, 1)}});
  const auto result = workloads::replay_recording(r, dgx());
  const auto t = alone({0, 1}, Op::all_reduce, 64).time;
  CHECK(result.end == Time::microseconds(150) + t);
  CHECK(result.by_rank[0].wait == Time::microseconds(50));
  CHECK(result.by_rank[1].wait == Time{});
  CHECK(result.by_rank[0].exposed.at("pair") == t);
  // The way back from the end: the call, and before it the compute of the rank that came last.
  CHECK(result.critical_path.at("pair") == t);
  CHECK(result.critical_path.at("compute") == Time::microseconds(150));
  CHECK(result.collectives == 1);
}

TEST_CASE("computing beside communication loses the SMs that channels keep", "[workloads][recording]") {
  const auto row = alone(eight, Op::all_reduce, 256);
  std::vector<std::vector<Operation>> lists(8, {call(Op::all_reduce, 256, 0, 1), compute(5000)});
  workloads::RecordingReplayOptions apart;
  apart.share = false;
  CHECK(workloads::replay_recording(recording(lists), dgx(), apart).end == Time::microseconds(5000));

  const auto both = workloads::replay_recording(recording(lists), dgx());
  // For T it goes at 1 - channels / 132, then at 1: T x channels / 132 later than alone.
  const double later = row.time.us() * row.channels / 132;
  CHECK(both.end.us() == Approx(5000 + later).epsilon(1e-6));
  CHECK(both.by_rank[3].exposed.empty());
  CHECK(both.by_rank[3].communication == row.time);
}

TEST_CASE("`after` joins streams, and an id that has ended holds nobody", "[workloads][recording]") {
  // compute 100 -> call beside compute 30 -> compute 10 after the call.
  std::vector<std::vector<Operation>> lists(
      8, {compute(100, 1), call(Op::all_gather, 8, 0, 1, 2, {1}), compute(30, 3), compute(10, 4, {2, 1, 77})});
  workloads::RecordingReplayOptions apart;
  apart.share = false;
  const auto result = workloads::replay_recording(recording(lists), dgx(), apart);
  const auto t = alone(eight, Op::all_gather, 8).time;
  REQUIRE(t > Time::microseconds(30));
  CHECK(result.end == Time::microseconds(110) + t);
  CHECK(result.by_rank[0].compute == Time::microseconds(140));
}

TEST_CASE("messages meet by their order; batches go together", "[workloads][recording]") {
  const auto t = alone({0, 1}, Op::sendrecv, 16).time;
  SECTION("one way") {
    const auto r = recording({{compute(40), message(Kind::send, 1, 16)}, {message(Kind::receive, 0, 16), compute(5)}});
    const auto result = workloads::replay_recording(r, dgx());
    CHECK(result.end == Time::microseconds(45) + t);
    CHECK(result.by_rank[1].bubble == Time::microseconds(40));
    CHECK(result.messages == 1);
  }
  SECTION("an exchange in one batch does not block") {
    const auto r = recording({{message(Kind::send, 1, 16, 1), message(Kind::receive, 1, 16, 1)},
                              {message(Kind::send, 0, 16, 1), message(Kind::receive, 0, 16, 1)}});
    const auto result = workloads::replay_recording(r, dgx());
    CHECK(result.messages == 2);
    CHECK(result.end >= t);
  }
  SECTION("without batches it is a deadlock, as it would be") {
    const auto r = recording({{message(Kind::send, 1, 16), message(Kind::receive, 1, 16)},
                              {message(Kind::send, 0, 16), message(Kind::receive, 0, 16)}});
    CHECK_THROWS_WITH(workloads::replay_recording(r, dgx()), Catch::Contains("deadlock"));
  }
}

TEST_CASE("one recorded rank stands for all: its peers come when it comes", "[workloads][recording]") {
  const auto r = recording({{compute(10), call(Op::reduce_scatter, 32), message(Kind::receive, 1, 4)}});
  const auto result = workloads::replay_recording(r, dgx());
  CHECK(result.end ==
        Time::microseconds(10) + alone(eight, Op::reduce_scatter, 32).time + alone({1, 0}, Op::sendrecv, 4).time);
  CHECK_FALSE(result.notes.empty());
}

TEST_CASE("calls that cross are a deadlock that names who waits in what", "[workloads][recording]") {
  const auto r = recording({{call(Op::all_reduce, 1, 1), call(Op::all_reduce, 1, 2)},
                            {call(Op::all_reduce, 1, 2), call(Op::all_reduce, 1, 1)}});
  CHECK_THROWS_WITH(workloads::replay_recording(r, dgx()),
                    Catch::Contains("rank 0 waits in all_reduce on 'pair'") && Catch::Contains("'other'"));
}

TEST_CASE("where one rank's recording ends before the others', they go on and it is said", "[workloads][recording]") {
  const auto r = recording({{call(Op::all_reduce, 1, 1), call(Op::all_reduce, 1, 1)}, {call(Op::all_reduce, 1, 1)}});
  const auto result = workloads::replay_recording(r, dgx());
  CHECK(result.collectives == 2);
  REQUIRE(result.notes.size() == 1);
  CHECK_THAT(result.notes[0], Catch::Contains("1 calls went on without"));
}

TEST_CASE("different calls at one place are refused", "[workloads][recording]") {
  const auto r = recording({{call(Op::all_reduce, 1, 1)}, {call(Op::all_gather, 1, 1)}});
  CHECK_THROWS_WITH(workloads::replay_recording(r, dgx()), Catch::Contains("rank 1 calls all_gather"));
}

TEST_CASE("a world that the machine has no GPUs for is refused with the number of nodes", "[workloads][recording]") {
  const auto r = recording({{compute(1)}}, 64);
  CHECK_THROWS_WITH(workloads::replay_recording(r, dgx()), Catch::Contains("64 ranks"));
}

TEST_CASE("scales, slow ranks and jitter change computing only", "[workloads][recording]") {
  const auto r = recording({{compute(100)}, {compute(100)}});
  workloads::RecordingReplayOptions o;
  o.compute_scale = 0.5;
  o.slow_ranks[1] = 3;
  CHECK(workloads::replay_recording(r, dgx(), o).end == Time::microseconds(150));
  o.jitter = 0.1;
  const auto first = workloads::replay_recording(r, dgx(), o).end;
  CHECK(first == workloads::replay_recording(r, dgx(), o).end);
  o.seed = 2;
  CHECK(first != workloads::replay_recording(r, dgx(), o).end);
}

TEST_CASE("a recording longer than the window passes, and its order is kept", "[workloads][recording]") {
  // 20,000 operations of two ranks; the second's computes are twice as long, so the first is ahead at every call.
  std::vector<Operation> fast, slow;
  for (int i = 0; i < 10'000; ++i) {
    fast.push_back(compute(1));
    fast.push_back(call(Op::all_reduce, 1, 1));
    slow.push_back(compute(2));
    slow.push_back(call(Op::all_reduce, 1, 1));
  }
  const auto result = workloads::replay_recording(recording({fast, slow}), dgx());
  CHECK(result.end == 10'000 * (Time::microseconds(2) + alone({0, 1}, Op::all_reduce, 1).time));
  CHECK(result.operations == 40'000);
}

TEST_CASE("a rank that is half a window ahead is still read on", "[workloads][recording]") {
  // Rank 0 waits for a message that rank 1 sends after 700 operations on another stream and its own send.
  std::vector<Operation> first, second;
  first.push_back(message(Kind::receive, 1, 1));
  for (int i = 0; i < 700; ++i) first.push_back(compute(1));
  for (int i = 0; i < 500; ++i) {
    auto o = compute(1);
    o.stream = 1;
    first.push_back(o);
  }
  auto send = message(Kind::send, 1, 1);
  send.stream = 1;
  send.tag = 1;
  first.push_back(send);
  auto wanted = message(Kind::receive, 0, 1);
  wanted.tag = 1;
  second.push_back(wanted);
  second.push_back(message(Kind::send, 0, 1));
  const auto result = workloads::replay_recording(recording({first, second}), dgx());
  CHECK(result.messages == 2);
}

TEST_CASE("calls meet by the order in which they were made, whenever their turn comes", "[workloads][recording]") {
  // Rank 0's second call is ready first; rank 1's first one is.
  const auto r = recording({{compute(100, 1), call(Op::all_reduce, 1, 1, 0, 2, {1}), call(Op::all_gather, 1, 1, 1, 3)},
                            {compute(50, 1), call(Op::all_reduce, 1, 1, 1, 2), call(Op::all_gather, 1, 1, 0, 3, {1})}});
  const auto result = workloads::replay_recording(r, dgx());
  CHECK(result.end ==
        Time::microseconds(100) + alone({0, 1}, Op::all_reduce, 1).time + alone({0, 1}, Op::all_gather, 1).time);
}

TEST_CASE("every compute has a jitter of its own, of the spread that was asked for", "[workloads][recording]") {
  std::vector<Operation> many;
  for (int i = 0; i < 400; ++i) many.push_back(compute(1));
  workloads::RecordingReplayOptions o;
  o.jitter = 0.1;
  std::vector<double> times;
  o.each = [&](const workloads::ReplayedOperation& x) { times.push_back((x.end - x.start).us()); };
  workloads::replay_recording(recording({many}), dgx(), o);
  std::sort(times.begin(), times.end());
  CHECK(std::adjacent_find(times.begin(), times.end()) == times.end());
  // Normal: 16 % and 84 % lie one deviation from the middle; 400 draws know it to a tenth.
  CHECK(std::log(times[336] / times[64]) / 2 == Approx(0.1).epsilon(0.15));
}

TEST_CASE("twenty thousand messages of one batch do not take the square of it", "[workloads][recording]") {
  std::vector<Operation> in, out;
  for (int i = 0; i < 20'000; ++i) {
    in.push_back(message(Kind::receive, 1, 1, 1));
    out.push_back(message(Kind::send, 0, 1, 1));
  }
  CHECK(workloads::replay_recording(recording({in, out}), dgx()).messages == 20'000);
}

TEST_CASE("a replay longer than time can count is refused", "[workloads][recording]") {
  std::vector<Operation> days(400, compute(86'400e6));
  CHECK_THROWS_WITH(workloads::replay_recording(recording({days}), dgx()), Catch::Contains("92 days"));
}

TEST_CASE("a message that nobody will ever meet goes on alone, and it is said", "[workloads][recording]") {
  const auto r = recording({{message(Kind::receive, 1, 1)}, {message(Kind::receive, 0, 1)}});
  const auto result = workloads::replay_recording(r, dgx());
  CHECK(result.messages == 2);
  CHECK_THAT(result.notes.at(0), Catch::Contains("2 calls went on without"));
}

TEST_CASE("siblings share the NICs that a machine has, not the places for them", "[workloads][recording]") {
  // GPU 0 of two machines, whose seven neighbours send at the same time: with a NIC for each GPU nobody is in the way,
  // with two for eight each has a quarter of one. What links decide takes four times as long, the rest as long as
  // before.
  const auto time = [](int nics) {
    const auto machine = topologies::load("dgx-h100").with_nics(nics, sim::Rate::from_GBps(12.5));
    auto r = recording({{message(Kind::send, 1, 512)}, {message(Kind::receive, 0, 512)}}, 16);
    r.ranks = {0, 8};
    r.communicators[1].ranks = {0, 8};
    return workloads::replay_recording(r, topologies::ideal_cluster(machine, 2, "ib")).end.us();
  };
  // 512 MiB over 12.5 GB/s take 42,950 us, and more with headers.
  CHECK(time(2) / time(8) == Approx(4).epsilon(0.01));
  CHECK(time(8) > 512 * 1048576.0 / 12.5e3);
}

TEST_CASE("sibling communicators share the cables between switches") {
  // Leaves of two machines, eight NICs of each: data-parallel groups of one GPU a machine are eight siblings. A ring
  // sends its bytes once out of each leaf, so all of them need 8 x B over the uplinks, which have 16 NICs' rate over
  // the oversubscription. At 1:1 that is half of what a NIC needs for B; at 4:1 it is twice as much.
  workloads::CommunicatorOptions library;
  const auto time = [&](int oversubscription, bool share) {
    const auto cluster = topologies::load_cluster_text(
        fmt::format(
            "schema: linkcast.topology/1\nextends: dgx-h100\nnodes: 8\nnetwork: {{fabric: ib, type: leaf_spine, "
            "switch: qm9700, nodes_per_leaf: 2, oversubscription: {}}}\n",
            oversubscription),
        "rack");
    workloads::CallCosts costs{cluster, library, share};
    const std::vector<int> ranks{0, 8, 16, 24, 32, 40, 48, 56};
    return costs.cost(costs.model_of(ranks), models::nccl::Op::all_gather, sim::gib(4)).time;
  };
  CHECK(time(1, true) == time(1, false));
  CHECK(time(2, true) == time(1, true));
  const double ratio = static_cast<double>(time(4, true).ps()) / static_cast<double>(time(1, true).ps());
  CHECK(ratio > 1.7);
  CHECK(ratio < 2.1);
  CHECK(time(8, true) > time(4, true));
}
