// Chunk programs for tests: rings, trees and random ones, and the check that folding changes nothing.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/sim/replay.hpp"
#include "print.hpp"

namespace linkcast::test {

struct Made {
  sim::ResourceTable resources;
  std::shared_ptr<sim::ChunkProgram> program = std::make_shared<sim::ChunkProgram>();
};

struct RingShape {
  int ranks = 8, channels = 1;
  std::int64_t steps = 10;
  sim::Bytes bytes{65'536};
  int slots = 4;
  sim::Time overhead = sim::Time::nanoseconds(700);
  sim::Time latency = sim::Time::nanoseconds(900);
  sim::Rate rate = sim::Rate::from_GBps(20);
  sim::Rate cap = sim::Rate::from_GBps(7);
  int slow_link = -1;
  bool shared_ports = false;  // odd channels run backwards, through the same port out of each rank
  bool cut_through = false;
};

// Unit 0 sends, the last receives, those between do both: what rank and channel it is makes no difference.
inline Made make_ring(const RingShape& s) {
  using namespace sim;
  Made m;
  for (int i = 0; i < s.ranks; ++i) {
    const Rate rate = i == s.slow_link ? s.rate * 0.6 : s.rate;
    m.resources.add({fmt::format("out{}", i), rate, rate * 1.1});
  }
  auto& p = *m.program;
  p.kinds = {{.overhead = s.overhead, .cap = s.cap, .cut_through = s.cut_through}};
  for (int c = 0; c < s.channels; ++c) {
    const bool backwards = s.shared_ports && c % 2 == 1;
    for (int i = 0; i < s.ranks; ++i) {
      const auto base = c * s.ranks;
      const int next = backwards ? (i + s.ranks - 1) % s.ranks : (i + 1) % s.ranks;
      const int before = backwards ? (i + 1) % s.ranks : (i + s.ranks - 1) % s.ranks;
      p.connections.push_back({AgentId{static_cast<std::uint32_t>(base + i)},
                               AgentId{static_cast<std::uint32_t>(base + next)},
                               s.slots,
                               s.latency,
                               s.latency,
                               {{ResourceId{static_cast<std::uint32_t>(i)}, 1.0}}});
      const ConnectionId out{static_cast<std::uint32_t>(base + i)}, in{static_cast<std::uint32_t>(base + before)};
      p.agents.push_back({s.steps,
                          0,
                          [out, in, s](std::int64_t k, Unit& u) {
                            if (k > 0) u.receive.push_back(in);
                            if (k + 1 < s.steps) {
                              u.send.push_back(out);
                              u.bytes = s.bytes;
                            }
                          },
                          {},
                          false});
    }
  }
  return m;
}

// A binary tree that sends `units` units up to the root and down again, each level on links of its own rate.
inline Made make_tree(int levels, std::int64_t units, sim::Bytes bytes) {
  using namespace sim;
  Made m;
  auto& p = *m.program;
  p.kinds = {{.overhead = Time::nanoseconds(500), .cap = Rate::from_GBps(9)}};
  const int nodes = (2 << levels) - 1;
  // Connection 2(i-1) leads up from node i, 2(i-1)+1 down to it.
  for (int i = 1; i < nodes; ++i) {
    const AgentId self{static_cast<std::uint32_t>(i)}, parent{static_cast<std::uint32_t>((i - 1) / 2)};
    const auto up = m.resources.add({"up", Rate::from_GBps(12), Rate::from_GBps(12)});
    const auto down = m.resources.add({"down", Rate::from_GBps(11), Rate::from_GBps(12)});
    p.connections.push_back({self, parent, 2, Time::nanoseconds(800), Time::nanoseconds(800), {{up, 1.0}}});
    p.connections.push_back({parent, self, 2, Time::nanoseconds(800), Time::nanoseconds(800), {{down, 1.0}}});
  }
  for (int i = 0; i < nodes; ++i) {
    const bool leaf = 2 * i + 1 >= nodes;
    const auto id = [](int c) { return ConnectionId{static_cast<std::uint32_t>(c)}; };
    const std::uint32_t pattern = leaf ? 2 : i == 0 ? 0 : 1;
    p.agents.push_back({2 * units,
                        pattern,
                        [=](std::int64_t k, Unit& u) {
                          u.bytes = bytes;
                          const bool upwards = k < units;
                          if (!leaf) {
                            for (const int child : {2 * i + 1, 2 * i + 2}) {
                              upwards ? u.receive.push_back(id(2 * (child - 1)))
                                      : u.send.push_back(id(2 * (child - 1) + 1));
                            }
                          }
                          if (i > 0)
                            upwards ? u.send.push_back(id(2 * (i - 1))) : u.receive.push_back(id(2 * (i - 1) + 1));
                        },
                        {},
                        true});
  }
  return m;
}

// Several copies of a random feed-forward program, with a few resources in common: symmetric by construction, with
// random weights, sizes, kinds (some cut through) and slots.
inline Made make_random(std::uint64_t seed) {
  using namespace sim;
  std::mt19937_64 bits{seed};
  const auto below = [&bits](std::uint64_t n) { return static_cast<int>(bits() % n); };
  Made m;
  auto& p = *m.program;
  const int copies = 1 + below(4), stages = 2 + below(4), units = 1 + below(12), kinds = 1 + below(3);
  for (int k = 0; k < kinds; ++k) {
    p.kinds.push_back({Time::nanoseconds(below(900)), Rate::from_GBps(1 + below(20)), Cause::sm, below(2) == 0});
  }
  const auto rate = [&] { return Rate::from_GBps(1 + below(30)); };
  const Rate common_rate = rate();
  const auto common = m.resources.add({"common", common_rate, common_rate * 1.25});
  std::vector<Rate> stage_rate;
  std::vector<double> weight;
  std::vector<int> slots, latency, kind, size;
  for (int s = 0; s < stages; ++s) {
    stage_rate.push_back(rate());
    weight.push_back((1 + below(7)) / 3.0);
    slots.push_back(1 + below(4));
    latency.push_back(below(2000));
    kind.push_back(below(static_cast<std::uint64_t>(kinds)));
  }
  for (int u = 0; u < units; ++u) size.push_back(below(4) == 0 ? 0 : 1 + below(100'000));
  const bool uses_common = below(2) == 0;
  for (int c = 0; c < copies; ++c) {
    const int base = c * stages;
    for (int s = 0; s < stages; ++s) {
      const auto link = m.resources.add({"link", stage_rate[s], stage_rate[s] * 1.1});
      if (s + 1 < stages) {
        std::vector<Usage> usages{{link, weight[s]}};
        if (uses_common) usages.push_back({common, 0.5});
        p.connections.push_back({AgentId{static_cast<std::uint32_t>(base + s)},
                                 AgentId{static_cast<std::uint32_t>(base + s + 1)}, slots[s],
                                 Time::nanoseconds(latency[s]), Time::nanoseconds(latency[s] / 2), usages});
      }
      const auto connection = [=](int at) { return ConnectionId{static_cast<std::uint32_t>(c * (stages - 1) + at)}; };
      std::vector<Usage> local;
      if (s == stages - 1) local.push_back({link, 1.0});
      p.agents.push_back({units, static_cast<std::uint32_t>(s),
                          [=](std::int64_t i, Unit& u) {
                            u.kind = static_cast<std::uint16_t>(kind[s]);
                            u.bytes = Bytes{size[static_cast<std::size_t>(i)]};
                            if (s > 0) u.receive.push_back(connection(s - 1));
                            if (s + 1 < stages) u.send.push_back(connection(s));
                          },
                          local, s % 2 == 0});
    }
  }
  return m;
}

// Ranks on a circle that all do the same: each has a sender for every random distance, which alternates between two
// distances, and a receiver for each; ports out and in are shared by all senders of a rank. With `odd` one port
// differs.
inline Made make_circle(std::uint64_t seed) {
  using namespace sim;
  std::mt19937_64 bits{seed};
  const auto below = [&bits](int n) { return static_cast<int>(bits() % static_cast<std::uint64_t>(n)); };
  Made m;
  auto& p = *m.program;
  const int ranks = 3 + below(6), lanes = 1 + below(3), units = 2 * (1 + below(8)), slots = 1 + below(3);
  const bool odd = below(3) == 0;
  for (int k = 0; k < 2; ++k) {
    p.kinds.push_back({Time::nanoseconds(below(700)), Rate::from_GBps(2 + below(12)), Cause::sm, below(2) == 0});
  }
  const Rate out_rate = Rate::from_GBps(3 + below(30)), in_rate = Rate::from_GBps(3 + below(30));
  const auto id = [](int i) { return static_cast<std::uint32_t>(i); };
  for (int r = 0; r < ranks; ++r) {
    const Rate out = odd && r == 1 ? out_rate * 0.7 : out_rate;
    m.resources.add({"out", out, out * 1.2});
    m.resources.add({"in", in_rate, in_rate});
  }
  for (int lane = 0; lane < lanes; ++lane) {
    const int distance[2] = {1 + below(ranks - 1), 1 + below(ranks - 1)};
    const double weight[2] = {(1 + below(6)) / 7.0, (1 + below(6)) / 5.0};
    const Time latency = Time::nanoseconds(below(1500));
    const Bytes bytes{1 + below(200'000)};
    const int first_agent = static_cast<int>(p.agents.size()), first = static_cast<int>(p.connections.size());
    for (int r = 0; r < ranks; ++r) {
      for (int way = 0; way < 2; ++way) {
        const int to = (r + distance[way]) % ranks;
        p.connections.push_back({AgentId{id(first_agent + 2 * r)},
                                 AgentId{id(first_agent + 2 * to + 1)},
                                 slots,
                                 latency,
                                 latency,
                                 {{ResourceId{id(2 * r)}, weight[way]}, {ResourceId{id(2 * to + 1)}, weight[way]}}});
      }
    }
    for (int r = 0; r < ranks; ++r) {
      const auto sends = [=](int way) { return ConnectionId{id(first + 2 * r + way)}; };
      const auto receives = [=](int way) {
        return ConnectionId{id(first + 2 * ((r + 2 * ranks - distance[way]) % ranks) + way)};
      };
      p.agents.push_back({units,
                          id(2 * lane),
                          [=](std::int64_t i, Unit& u) {
                            u.kind = 0;
                            u.bytes = bytes;
                            u.send.push_back(sends(static_cast<int>(i % 2)));
                          },
                          {},
                          true});
      p.agents.push_back({units / 2,
                          id(2 * lane + 1),
                          [=](std::int64_t i, Unit& u) {
                            u.kind = 1;
                            u.bytes = i % 3 == 0 ? Bytes{} : bytes / 2;
                            u.receive = {receives(0), receives(1)};
                          },
                          {{ResourceId{id(2 * r + 1)}, 0.25}},
                          false});
    }
  }
  return m;
}

/// The program alone, from time 0.
inline sim::ReplayResult run(const sim::ResourceTable& resources, std::shared_ptr<const sim::ChunkProgram> program,
                             bool fold = true) {
  sim::Task task;
  task.work = std::move(program);
  sim::ReplayOptions options;
  options.fold = fold;
  return sim::replay(resources, std::move(task), options);
}

inline void check_folding_changes_nothing(const Made& m) {
  const auto folded = run(m.resources, m.program, true);
  const auto whole = run(m.resources, m.program, false);
  CHECK(folded.end == whole.end);
  CHECK(folded.account == whole.account);
  CHECK(folded.account.total() == folded.end);
  CHECK(folded.events <= whole.events);
  REQUIRE(folded.carried.size() == whole.carried.size());
  for (std::size_t r = 0; r < whole.carried.size(); ++r)
    CHECK(folded.carried[r] == Approx(whole.carried[r]).epsilon(1e-12));
}

}  // namespace linkcast::test
