// The store of calls beyond memory, and the places that processes have in the world.
#include "../../workloads/src/readers/call_store.hpp"
#include "../../workloads/src/readers/process_groups.hpp"
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"

using namespace linkcast;
using namespace linkcast::workloads;
using namespace linkcast::workloads::readers;

TEST_CASE("call store: what lies in its file comes back in order") {
  CallStore store{10'000};  // less than one chunk of 256 calls
  for (std::uint64_t i = 0; i < 3'000; ++i) {
    StoredCall c;
    c.key = i;
    store.add(i % 3, c);
  }
  CHECK(store.spilled());
  CHECK(store.total() == 3'000);
  for (std::size_t r = 0; r < 3; ++r) {
    CallStore::Cursor cursor{store, r};
    std::uint64_t expected = r;
    while (const auto* c = cursor.next()) {
      CHECK(c->key == expected);
      expected += 3;
    }
    CHECK(expected == 3'000 + r);
  }
}

TEST_CASE("process groups: neighbours, equally spaced, or who is left") {
  ReadReport report;
  std::vector<RecordedGroup> groups;
  groups.push_back({"world", "", 8, {}, {}});
  CHECK(groups[0].join(5, 0));
  CHECK_FALSE(groups[0].join(6, 0));  // is rank 5
  CHECK_FALSE(groups[0].join(5, 1));  // taken
  groups.push_back({"tp", "", 2, {}, {}});
  CHECK(groups[1].join(1, 0));  // 4, 5
  groups.push_back({"dp", "", 4, {}, {}});
  CHECK(groups[2].join(2, 0));  // 5 = 1 + 2 * 2: 1, 3, 5, 7
  const auto world = world_of(groups, 1, 0, report);
  CHECK(world.ranks == 8);
  CHECK(world.world == std::vector<int>{5});
  CHECK(world.communicators[1].ranks == std::vector<int>{4, 5});
  CHECK(world.communicators[2].ranks == std::vector<int>{1, 3, 5, 7});
  CHECK_THROWS_AS(world_of(groups, 1, 4, report), sim::InputError);
}
