// Chakra's files, read back by a decoder that knows protobuf's wire format and et_def.proto's field numbers only.
#include "linkcast/workloads/chakra_file.hpp"

#include <catch2/catch.hpp>

#include <map>

#include "linkcast/sim/diagnostic.hpp"
#include "lists.hpp"

using namespace linkcast;
using workloads::Operation;
using Kind = Operation::Kind;

namespace {

using Fields = std::multimap<int, std::string>;  // numbers as text

std::uint64_t varint(const std::string& s, std::size_t& at) {
  std::uint64_t v = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(s.at(at++));
    v |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return v;
  }
}

Fields decode(const std::string& s) {
  Fields out;
  for (std::size_t at = 0; at < s.size();) {
    const auto key = varint(s, at);
    const auto value = varint(s, at);
    if ((key & 7) == 0) {
      out.emplace(static_cast<int>(key >> 3), std::to_string(value));
    } else {
      REQUIRE((key & 7) == 2);
      out.emplace(static_cast<int>(key >> 3), s.substr(at, value));
      at += value;
    }
  }
  return out;
}

std::vector<Fields> messages(const std::string& file) {
  std::vector<Fields> out;
  for (std::size_t at = 0; at < file.size();) {
    const auto length = varint(file, at);
    REQUIRE(at + length <= file.size());
    out.push_back(decode(file.substr(at, length)));
    at += length;
  }
  return out;
}

std::string one(const Fields& f, int number) {
  REQUIRE(f.count(number) == 1);
  return f.find(number)->second;
}

/// "comm_type=0 comm_size=4096 …", in the file's order.
std::string attributes(const Fields& f) {
  std::string out;
  const auto [from, to] = f.equal_range(10);
  for (auto i = from; i != to; ++i) {
    const auto a = decode(i->second);
    out += (out.empty() ? "" : " ") + one(a, 1) + "=" + std::next(a.begin())->second;
  }
  return out;
}

std::vector<int> after(const Fields& f) {
  std::vector<int> out;
  if (const auto found = f.find(5); found != f.end())
    for (std::size_t at = 0; at < found->second.size();) out.push_back(static_cast<int>(varint(found->second, at)));
  return out;
}

}  // namespace

TEST_CASE("Chakra: nodes of one rank, what they wait for, and their attributes") {
  workloads::Recording r;
  r.world = 4;
  r.ranks = {2};
  r.communicators = {{"a", "", {0, 1, 2, 3}}, {"b", "it's tp", {2, 3}}};
  *r.streams = {"main", "comm"};
  Operation gemm, gather, send, reduce;
  gemm.id = 10;
  gemm.duration = sim::Time::nanoseconds(2'600);  // 3 whole microseconds
  gemm.flops = 1e9;
  gemm.name = r.names->add("sgemm");
  gather.kind = Kind::collective, gather.op = models::nccl::Op::all_gather, gather.bytes = sim::Bytes{4096};
  gather.stream = 1, gather.after = {10}, gather.measured = sim::Time::microseconds(7);
  send.kind = Kind::send, send.communicator = 1, send.peer = 1, send.tag = 5, send.bytes = sim::Bytes{100};
  send.after = {10, 99};
  reduce.kind = Kind::collective, reduce.bytes = sim::Bytes{300}, reduce.stream = 1;
  const std::vector<std::vector<Operation>> lists{{gemm, gather, send, reduce}};
  r.open = [lists] { return std::make_unique<Lists>(lists); };

  const Folder folder{"chakra"};
  std::vector<std::string> files;
  REQUIRE(workloads::write_chakra(r, folder.at("x.%r.et"), files));
  REQUIRE(files == std::vector{folder.at("x.2.et")});
  const auto m = messages(text_of_file(files[0]));
  REQUIRE(m.size() == 6);
  CHECK(one(m[0], 1) == "1.1.1-chakra.0.0.4");
  CHECK(one(m[1], 2) == "## process_group:init ##");
  CHECK(one(m[1], 3) == "1");
  CHECK(one(decode(one(m[1], 8)), 1) ==
        R"x(['[{"pg_name":"0","pg_desc":"a","backend_config":"cuda:nccl","ranks":[0,1,2,3],"group_size":4,)x"
        R"x("group_count":2},{"pg_name":"1","pg_desc":"it\'s tp","backend_config":"cuda:nccl","ranks":[2,3],)x"
        R"x("group_size":2,"group_count":2}]'])x");

  CHECK(one(m[2], 1) == "2");
  CHECK(one(m[2], 2) == "sgemm");
  CHECK(one(m[2], 3) == "4");  // COMP_NODE
  CHECK(one(m[2], 7) == "3");
  CHECK(attributes(m[2]) == "is_cpu_op=0 num_ops=1000000000");
  CHECK(after(m[2]).empty());

  CHECK(one(m[3], 3) == "7");  // COMM_COLL_NODE
  CHECK(one(m[3], 7) == "7");
  CHECK(after(m[3]) == std::vector{2});
  // ALL_GATHER is 2; one of four ranks gives a quarter of 4,096 bytes.
  CHECK(attributes(m[3]) == "is_cpu_op=0 comm_type=2 comm_size=1024 pg_name=0");

  CHECK(one(m[4], 3) == "5");  // COMM_SEND_NODE, behind the gemm on its stream; 99 never came
  CHECK(after(m[4]) == std::vector{2});
  CHECK(attributes(m[4]) == "is_cpu_op=0 comm_size=100 pg_name=1 comm_dst=3 comm_tag=5");

  CHECK(after(m[5]) == std::vector{3});  // streams run in order
  CHECK(attributes(m[5]) == "is_cpu_op=0 comm_type=0 comm_size=300 pg_name=0");
}

TEST_CASE("Chakra has one file a rank, and no word for some calls, which is said") {
  workloads::Recording r;
  r.world = 2;
  r.ranks = {0, 1};
  r.communicators = {{"a", "", {0, 1}}};
  Operation odd;
  odd.kind = Kind::collective, odd.op = models::nccl::Op::sendrecv;
  const std::vector<std::vector<Operation>> lists{{odd, odd}, {}};
  r.open = [lists] { return std::make_unique<Lists>(lists); };
  const Folder folder{"chakra"};
  std::vector<std::string> files;
  CHECK_THROWS_WITH(workloads::write_chakra(r, folder.at("x.et"), files), Catch::Matchers::Contains("%r"));
  REQUIRE(workloads::write_chakra(r, folder.at("x.%r.et"), files));
  CHECK(r.report->notes == std::vector<std::string>{"Chakra has no sendrecv: such calls are left out"});
  CHECK(messages(text_of_file(files[1])).size() == 2);
}
