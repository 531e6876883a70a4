// nsys exports, made here by SQL: ATLAHS' texts with sizes, stock NCCL without, tables that are missing.
#include <sqlite3.h>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "reader_files.hpp"

using namespace linkcast;
using namespace linkcast::test;
using workloads::open_recording;
using workloads::Operation;
using workloads::Work;

namespace {

constexpr const char* kernel_table =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, streamId INT, correlationId INT, "
    "globalPid "
    "INT, demangledName INT, shortName INT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, correlationId INT, nameId INT);"
    "INSERT INTO StringIds VALUES (1, 'ampere_bf16_gemm'), (2, "
    "'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)'),"
    "(3, 'ncclDevKernel_SendRecv(ncclDevComm*)');";
constexpr const char* range_table =
    "CREATE TABLE NVTX_EVENTS(start INT, end INT, eventType INT, text TEXT, textId INT, globalTid INT, domainId INT);";

std::string database(const Folder& folder, const std::string& name, const std::string& sql) {
  const auto path = folder.path() + "/" + name;
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  char* error = nullptr;
  const int result = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error);
  INFO((error == nullptr ? "" : error));
  REQUIRE(result == SQLITE_OK);
  sqlite3_close(db);
  return path;
}

/// Process 5 of the kernel's own numbering: global ids have it above 24 bits.
std::string rank_of(int rank, bool sized) {
  const auto pid = std::to_string((5LL + rank) << 24), tid = std::to_string(((5LL + rank) << 24) + 9);
  const auto range = [&](int start, const std::string& text) {
    return "INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(start) + ", " + std::to_string(start + 5) + ", 59, '" +
           text + "', NULL, " + tid + ", 0);";
  };
  const auto kernel = [&](int start, int end, int stream, int correlation, int string) {
    return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(start) + "," + std::to_string(end) +
           ",0," + std::to_string(stream) + "," + std::to_string(correlation) + "," + pid + ",0," +
           std::to_string(string) + ");" + "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" +
           std::to_string(100 + correlation * 10) + ",0," + tid + "," + std::to_string(correlation) + ",0);";
  };
  std::string sql = range(1, "commHash 0xbeef commId 0x77 rank " + std::to_string(rank) + " nranks 2 pid 5");
  const std::string peer = rank == 0 ? "receiver_rank 1" : "sender_rank 0";
  if (sized) {
    sql += range(112, "ncclAllReduce(): commHash 0xbeef, stream 0x1, data_size 4096, type_size 4, red_op 0, pid 5");
    sql += range(122, std::string{rank == 0 ? "ncclSend" : "ncclRecv"} +
                          "(): commHash 0xbeef, stream 0x1, data_size 64, type_size 1, " + peer + ", pid 5");
  }
  // GEMM 1000-3000 on stream 7; the all_reduce 3500-5500 on 13; the message 6000-7000 on 13; a GEMM 5600-5700 on 7.
  return sql + kernel(1000, 3000, 7, 1, 1) + kernel(3500, 5500, 13, 2, 2) + kernel(5600, 5700, 7, 3, 1) +
         kernel(6000, 7000, 13, 4, 3);
}

}  // namespace

TEST_CASE("nsys: kernels and the sizes that ATLAHS' NCCL says") {
  const Folder folder;
  const auto path =
      database(folder, "node.sqlite", std::string{kernel_table} + range_table + rank_of(0, true) + rank_of(1, true));
  const auto recording = open_recording({path});
  CHECK(recording.report->format == "nsys");
  CHECK(recording.world == 2);
  REQUIRE(recording.communicators.size() == 1);
  CHECK(recording.communicators[0].ranks == std::vector<int>{0, 1});
  for (const auto& rank : operations(recording)) {
    // GEMM; gap of 500 ns after it on the other stream; all_reduce; gap of 100 ns; GEMM; gap of 300 ns; message.
    REQUIRE(rank.size() == 7);
    CHECK(rank[0].work == Work::gemm);
    CHECK(rank[0].duration == sim::Time::from_us(2));
    CHECK(rank[1].work == Work::gap);
    CHECK(rank[1].duration == sim::Time::from_us(0.5));
    CHECK(rank[1].after == std::vector<std::uint64_t>{rank[0].id});
    CHECK(rank[2].op == models::nccl::Op::all_reduce);
    CHECK(rank[2].bytes == sim::Bytes{4096});
    CHECK(rank[2].measured == sim::Time::from_us(2));
    CHECK(rank[3].after == std::vector<std::uint64_t>{rank[2].id});
    CHECK(rank[3].duration == sim::Time::from_us(0.1));
    CHECK(rank[5].duration == sim::Time::from_us(0.3));
    CHECK(rank[6].kind != Operation::Kind::collective);
    CHECK(rank[6].bytes == sim::Bytes{64});
  }
}

TEST_CASE("nsys: without sizes, NCCL's kernels are kept as long as they took") {
  const Folder folder;
  const auto path = database(folder, "stock.sqlite",
                             std::string{kernel_table} + rank_of(0, false).substr(rank_of(0, false).find(";") + 1));
  const auto recording = open_recording({path});
  CHECK(recording.world == 1);
  CHECK(noted(recording, "2 kernels of NCCL have no call with a size"));
  const auto all = operations(recording);
  CHECK(all[0].size() == 7);
  CHECK(all[0][2].kind == Operation::Kind::compute);
  CHECK(all[0][2].duration == sim::Time::from_us(2));
}

TEST_CASE("nsys: databases that are none, or have nothing") {
  const Folder folder;
  CHECK_THROWS_AS(open_recording({database(folder, "a.sqlite", "CREATE TABLE x(y INT);")}), sim::InputError);
  // A view is nothing that is read: it could run for ever.
  CHECK_THROWS_AS(open_recording({database(folder, "b.sqlite",
                                           "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (SELECT 1 "
                                           "UNION ALL SELECT i + 1 FROM n) SELECT i AS start FROM n;")}),
                  sim::InputError);
  const auto whole = database(folder, "c.sqlite", std::string{kernel_table} + range_table + rank_of(0, true));
  std::ifstream in{whole, std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{in}, {}};
  CHECK_THROWS_AS(open_recording({folder.write("cut.sqlite", bytes.substr(0, 6000))}), sim::InputError);
}
