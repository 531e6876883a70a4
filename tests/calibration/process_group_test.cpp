// How the processes of one measurement find each other, and what the kernel says about NICs: without a GPU.
#include "../../calibration/src/process_group.hpp"

#include <map>
#include <thread>

#include "../../calibration/src/meeting.hpp"
#include "../../calibration/src/nics.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::calibration;

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional<std::string>{found->second};
  };
}

TEST_CASE("alone, under torchrun, under mpirun") {
  CHECK_FALSE(place_in_job(environment({})).has_value());
  // torchrun with one process: there is nobody to wait for.
  CHECK_FALSE(place_in_job(environment({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}})).has_value());
  const auto torch = place_in_job(environment(
      {{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "1234"}}));
  REQUIRE(torch.has_value());
  CHECK(torch->rank == 9);
  CHECK(torch->size == 16);
  CHECK(torch->local_rank == 1);
  CHECK(torch->address == "node0");
  CHECK(torch->port == 1234);
  const auto mpi = place_in_job(environment({{"OMPI_COMM_WORLD_RANK", "1"},
                                             {"OMPI_COMM_WORLD_SIZE", "2"},
                                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}));
  REQUIRE(mpi.has_value());
  CHECK(mpi->address == "127.0.0.1");  // all on one host
}

TEST_CASE("a place that is half told says everything that is missing") {
  const auto message = test::error_of([] {
    place_in_job(environment({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_PORT", "many"}}));
  });
  for (const auto* part : {"RANK is '4', not a number from 0 to 3", "LOCAL_RANK is not set", "MASTER_ADDR is not set",
                           "MASTER_PORT is 'many'"})
    CHECK(message.find(part) != std::string::npos);
}

TEST_CASE("three processes meet and talk; a message of any bytes arrives whole") {
  // Any free port will do; where one is taken, the next is tried.
  for (int port = 41000; port < 41050; ++port) {
    const auto place = [&](int rank) { return PlaceInJob{rank, 3, rank, "127.0.0.1", port}; };
    std::vector<std::thread> others;
    for (const int rank : {1, 2})
      others.emplace_back([&, rank] {
        try {
          ProcessGroup group(place(rank), std::chrono::seconds{3});
          group.send(0, group.receive(0) + std::to_string(rank));
        } catch (const sim::InputError&) {
          // Rank 0 could not have the port: it tries the next.
        }
      });
    std::string problem;
    std::vector<std::string> answers;
    const std::string message(100'000, '\0');
    try {
      ProcessGroup group(place(0), std::chrono::seconds{20});
      for (const int rank : {1, 2}) group.send(rank, message);
      for (const int rank : {1, 2}) answers.push_back(group.receive(rank));
    } catch (const sim::InputError& e) {
      problem = e.what();
    }
    for (auto& t : others) t.join();
    if (problem.find("cannot listen") != std::string::npos) continue;
    CHECK(problem.empty());
    CHECK(answers == std::vector<std::string>{message + "1", message + "2"});
    return;
  }
  FAIL("no free port");
}

TEST_CASE("a process that nobody joins says who is missing") {
  const PlaceInJob place{0, 2, 0, "127.0.0.1", 41900};
  const auto message = test::error_of([&] { ProcessGroup(place, std::chrono::seconds{0}); });
  if (message.find("cannot listen") != std::string::npos) return;  // somebody else has the port
  CHECK(message.find("1 of 2 processes did not come: rank 1") != std::string::npos);
  CHECK(message.find("127.0.0.1:41901") != std::string::npos);
}

TEST_CASE("a rank that does not answer is not waited for; one that says nothing of ours is let go") {
  for (int port = 42000; port < 42050; ++port) {
    // By name, as a job would: any of its addresses will do.
    const PlaceInJob zero{0, 2, 0, "localhost", port}, one{1, 2, 1, "localhost", port};
    std::thread other([&] {
      try {
        ProcessGroup group(one, std::chrono::seconds{3});
        group.send(0, group.receive(0));
      } catch (const sim::InputError&) {
        // Rank 0 could not have the port: it tries the next.
      }
    });
    std::string problem;
    std::optional<std::string> early, late;
    try {
      ProcessGroup group(zero, std::chrono::seconds{20});
      early = group.receive(1, ProcessGroup::Clock::now());
      group.send(1, "hello");
      late = group.receive(1, ProcessGroup::Clock::now() + std::chrono::seconds{20});
    } catch (const sim::InputError& e) {
      problem = e.what();
    }
    other.join();
    if (problem.find("cannot listen") != std::string::npos) continue;
    CHECK(problem.empty());
    CHECK_FALSE(early.has_value());
    CHECK(late == "hello");
    return;
  }
  FAIL("no free port");
}

TEST_CASE("a process that rank 0 does not answer says where it looked, address by address") {
  const PlaceInJob place{1, 2, 1, "[::1]", 42100};
  const auto nobody = test::error_of([&] { ProcessGroup(place, std::chrono::milliseconds{1}); });
  CHECK(nobody.find("rank 1 cannot reach rank 0 at [::1]:42101 (") != std::string::npos);
  CHECK(nobody.find("MASTER_ADDR must be rank 0's host") != std::string::npos);
}

TEST_CASE("who did not come to NCCL's meeting is named") {
  const auto words = [](const std::vector<int>& ranks) { return ranks_in_words(ranks); };
  CHECK(words({3}) == "rank 3");
  CHECK(words({1, 4, 5, 6, 9}) == "ranks 1, 4-6, 9");
  Meeting meeting;
  meeting.ranks = 16;
  meeting.waited_s = 60;
  CHECK_FALSE(problem_of(meeting).has_value());
  // All that were there waited too; what matters is who was not.
  meeting.waiting = {0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15};
  meeting.silent = {5, 6, 7};
  const auto text = [&] { return std::string{problem_of(meeting)->what()}; };
  CHECK(text().find("NCCL's communicator of 16 ranks was not there after 60 s: ranks 5-7 did not arrive") !=
        std::string::npos);
  meeting.silent.clear();
  CHECK(text().find("all processes are there, but ranks 0-4, 8-15 waited") != std::string::npos);
  CHECK(text().find("NCCL_SOCKET_IFNAME") != std::string::npos);
  meeting.failed[9] = "ncclCommInitRankConfig failed: unhandled cuda error";
  CHECK(text().find("rank 9: ncclCommInitRankConfig failed: unhandled cuda error") != std::string::npos);
}

TEST_CASE("NICs are read as the kernel shows them") {
  const auto root = std::filesystem::temp_directory_path() / "linkcast-nics-test";
  std::filesystem::remove_all(root);
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << '\n';
  };
  write("mlx5_1/ports/1/rate", "100 Gb/sec (4X EDR)");
  write("mlx5_1/ports/1/state", "1: DOWN");
  write("mlx5_1/ports/1/link_layer", "Ethernet");
  write("mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  write("mlx5_0/ports/1/state", "4: ACTIVE");
  write("mlx5_0/ports/1/link_layer", "InfiniBand");
  const auto nics = nics_in(root);
  REQUIRE(nics.size() == 2);
  CHECK(nics[0].name == "mlx5_0:1");
  CHECK(nics[0].gbps == 400);
  CHECK(nics[0].state == "ACTIVE");
  CHECK(nics[0].link_layer == "InfiniBand");
  CHECK(nics[1].state == "DOWN");
  CHECK(nics_in(root / "nothing").empty());
  std::filesystem::remove_all(root);
}

}  // namespace
