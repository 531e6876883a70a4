// What a tuner's rules change, and what the search for rules finds.
#include "linkcast/models/nccl/tuner.hpp"
#include "catch.hpp"
#include "linkcast/workloads/tuner_search.hpp"

using namespace linkcast;
using namespace linkcast::models::nccl;

namespace {

workloads::CollectiveModel model(const std::string& rules = "", const std::string& machine = "dgx-a100") {
  workloads::CommunicatorOptions o;
  o.launch_floor = sim::Time{};
  if (!rules.empty()) o.tuner = std::make_shared<const Tuner>(read_tuner(rules, "t.conf"));
  return {topologies::load(machine), o};
}

Call call(Op op, std::int64_t bytes) {
  Call c;
  c.op = op;
  c.bytes = sim::Bytes{bytes};
  return c;
}

}  // namespace

TEST_CASE("a rule comes before NCCL's choice", "[nccl][tuner]") {
  const auto plain = model().run(call(Op::all_reduce, 64 << 20));
  const auto m = model("allreduce,0,67108864,tree,simple,4,1,8\n");
  const auto ruled = m.run(call(Op::all_reduce, 64 << 20));
  CHECK(plain.algorithm == "Ring");
  CHECK(ruled.algorithm == "Tree");
  CHECK(ruled.protocol == "Simple");
  CHECK(ruled.channels == 4);
  const auto choice = m.communicator().choose(call(Op::all_reduce, 64 << 20));
  CHECK(choice.reason == "Tree/Simple: the rule at t.conf:1 takes it, on 4 channels");
}

TEST_CASE("the example plugin gives one channel where no rule says more", "[nccl][tuner]") {
  // One byte beyond the rule; and a rule that says -1.
  const auto m = model("allreduce,0,67108863,ring,simple,-1,1,8\n");
  const auto beyond = m.run(call(Op::all_reduce, 64 << 20));
  CHECK(beyond.channels == 1);
  CHECK(m.communicator()
            .choose(call(Op::all_reduce, 64 << 20))
            .reason.find("no rule of t.conf applies, and for such calls the example plugin answers 1 channel") !=
        std::string::npos);
  CHECK(m.run(call(Op::all_reduce, 32 << 20)).channels == 1);
  // One channel of many: several times as long.
  CHECK(beyond.time > model().run(call(Op::all_reduce, 64 << 20)).time * 3);
}

TEST_CASE("a rule that is not possible here is passed over", "[nccl][tuner]") {
  // A100 has no NVLS.
  const auto m = model("allreduce,0,1073741824,nvls,simple,16,1,8\nallreduce,0,1073741824,tree,ll,8,1,8\n");
  const auto row = m.run(call(Op::all_reduce, 1 << 20));
  CHECK(row.algorithm == "Tree");
  CHECK(m.communicator().choose(call(Op::all_reduce, 1 << 20)).reason ==
        "Tree/LL: the rule at t.conf:2 takes it, on 8 channels; not possible here: t.conf:1");
}

TEST_CASE("what is asked for one call is taken or refused", "[nccl][tuner]") {
  auto c = call(Op::all_reduce, 1 << 20);
  c.selection = Selection{Algorithm::tree, Protocol::ll128, 3};
  const auto row = model().run(c);
  CHECK(row.algorithm == "Tree");
  CHECK(row.channels == 3);
  c.selection->algorithm = Algorithm::nvls;
  CHECK_THROWS_WITH(model().run(c), Catch::Contains("NVLS/LL128 is not possible for AllReduce here"));
}

TEST_CASE("the search finds no less than NCCL's choice, and its rules do what it found", "[nccl][tuner]") {
  const auto m = model();
  std::vector<sim::Bytes> sizes;
  for (std::int64_t b = 1 << 10; b <= 256 << 20; b *= 16) sizes.emplace_back(b);
  std::string text;
  std::vector<workloads::TunedSize> all;
  for (const auto op : {Op::all_reduce, Op::broadcast}) {
    const auto tuned = workloads::tune(m, op, sizes);
    REQUIRE(tuned.size() == sizes.size());
    const auto rules = workloads::tuner_rules(op, tuned, 1, 8);
    REQUIRE_FALSE(rules.empty());
    CHECK(rules.front().min_bytes == 0);
    CHECK(rules.back().max_bytes == TunerRule::no_limit);
    for (std::size_t i = 1; i < rules.size(); ++i) CHECK(rules[i].min_bytes == rules[i - 1].max_bytes + 1);
    for (const auto& r : rules) text += csv_line(r) + "\n";
    const auto& all_tuned = tuned;
    const auto ruled = model(text);
    for (const auto& t : all_tuned) {
      CHECK(t.best_time <= t.nccl_time);
      CHECK(ruled.run(call(op, t.size.count())).time == t.best_time);
    }
  }
}
