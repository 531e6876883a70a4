// Flight Recorder dumps: the published entry in both forms, groups of messages, hangs, and pickles that want to run
// something.
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "reader_files.hpp"

using namespace linkcast;
using namespace linkcast::test::recorded;
using workloads::open_recording;
using workloads::Operation;
using namespace std::string_literals;

namespace {

std::string entry(int pg, int sequence, const std::string& name, const std::string& state,
                  const std::string& more = "") {
  const bool message = name.find("send") != std::string::npos || name.find("recv") != std::string::npos;
  const auto n = std::to_string(sequence);
  return R"({"record_id":0,"process_group":[")" + std::to_string(pg) + R"(","d"],"collective_seq_id":)" +
         (message ? "0" : n) + R"(,"p2p_seq_id":)" + (message ? n : "0") + R"(,"profiling_name":")" + name +
         R"(","input_sizes":[[256]],"input_dtypes":["BFloat16"],"output_sizes":[[1024]],"output_dtypes":["BFloat16"],)" +
         R"("state":")" + state + R"(","is_p2p":)" + (message ? "true" : "false") + more + "}";
}

std::string dump(const std::string& entries,
                 const std::string& groups = R"("0":{"name":"0","desc":"d","ranks":"[0, 1]"})") {
  return R"({"version":"2.10","pg_config":{)" + groups + R"(},"pg_status":{},"entries":[)" + entries + "]}";
}

}  // namespace

TEST_CASE("flight recorder: the entry of PyTorch's tutorial, as JSON and as a pickle") {
  for (const auto* name : {"tutorial_v2.5_one_entry.json", "tutorial_v2.5_one_entry.pickle"}) {
    const auto recording = open_recording({data("flight_recorder/"s + name)});
    CHECK(recording.report->format == "flight-recorder");
    CHECK(recording.report->generation == "2.5");
    CHECK(recording.world == 2);  // "ranks": "[0, 1]"
    CHECK(recording.ranks == std::vector<int>{0});
    REQUIRE(recording.communicators.size() == 1);
    CHECK(recording.communicators[0].description == "default_pg");
    CHECK(recording.communicators[0].ranks == std::vector<int>{0, 1});
    const auto all = operations(recording);
    REQUIRE(all[0].size() == 1);
    CHECK(all[0][0].kind == Operation::Kind::collective);
    CHECK(all[0][0].op == models::nccl::Op::all_reduce);
    CHECK(all[0][0].bytes == sim::Bytes{48});  // [3, 4] of Float: 12 x 4
    CHECK(all[0][0].measured == sim::Time{});  // no duration_ms
    CHECK(recording.report->records == 1);
    CHECK(recording.report->used == 1);
    CHECK(noted(recording, "1 of 2 ranks have a dump"));
  }
}

TEST_CASE("flight recorder: sizes are those of nccl-tests") {
  const Folder folder;
  // 256 in and 1024 out of 2 bytes, two ranks.
  const auto path = folder.write(
      "trace_rank_0",
      dump(entry(0, 1, "nccl:_all_gather_base", "completed", R"(,"duration_ms":0.25)") + "," +
           entry(0, 2, "nccl:_reduce_scatter_base", "completed") + "," + entry(0, 3, "nccl:all_to_all", "completed") +
           "," + entry(0, 4, "nccl:gather", "completed") + "," + entry(0, 5, "nccl:scatter", "completed") + "," +
           entry(0, 6, "nccl:all_reduce_barrier", "completed") + "," + entry(0, 7, "nccl:dance", "completed")));
  const auto recording = open_recording({path});
  const auto all = operations(recording);
  std::vector<std::int64_t> bytes;
  for (const auto& o : all[0]) bytes.push_back(o.bytes.count());
  // all_gather: the output; reduce_scatter and alltoall: the input; gather: 2 x 512; scatter: 2 x 2048; a barrier:
  // none.
  CHECK(bytes == std::vector<std::int64_t>{2048, 512, 512, 1024, 4096, 0});
  CHECK(all[0][0].measured == sim::Time::from_us(250));
  CHECK(skipped(recording, "no model for it") == 1);
}

TEST_CASE("flight recorder: a hang says which rank has not come, and what all have is kept") {
  const Folder folder;
  const auto two = entry(0, 4, "nccl:all_reduce", "completed") + "," + entry(0, 5, "nccl:all_reduce", "completed");
  folder.write("nccl_trace_rank_0", dump(two + "," + entry(0, 6, "nccl:all_reduce", "started")));
  // The ring of rank 1 still has call 3; it never called 6.
  folder.write("nccl_trace_rank_1", dump(entry(0, 3, "nccl:all_reduce", "completed") + "," + two));
  const auto recording = open_recording({folder.path()});
  CHECK(recording.ranks == std::vector<int>{0, 1});
  CHECK(noted(recording, "rank 1 has not come to collective 6 (nccl:all_reduce), to which 1 ranks have"));
  const auto all = operations(recording);
  CHECK(all[0].size() == 2);
  CHECK(all[1].size() == 2);
  CHECK(skipped(recording, "a call at the beginning") == 1);
  CHECK(skipped(recording, "a call at the end") == 1);
  CHECK(recording.report->records == 6);
  CHECK(recording.report->used == 4);
}

TEST_CASE("flight recorder: ranks that call different things part there") {
  const Folder folder;
  folder.write("x_0.json",
               dump(entry(0, 1, "nccl:all_reduce", "completed") + "," + entry(0, 2, "nccl:broadcast", "started")));
  folder.write("x_1.json",
               dump(entry(0, 1, "nccl:all_reduce", "completed") + "," + entry(0, 2, "nccl:all_reduce", "started")));
  const auto recording = open_recording({folder.path()});
  CHECK(noted(recording, "rank 1 calls all_reduce where rank 0 calls broadcast"));
  const auto all = operations(recording);
  CHECK(all[0].size() == 1);
  CHECK(all[1].size() == 1);
}

TEST_CASE("flight recorder: messages name members, and a coalesced group goes together") {
  const Folder folder;
  // Group 7 has the ranks 4 and 6: "1->0" is from rank 6 to rank 4.
  const auto path = folder.write(
      "t_rank_6.json",
      dump(entry(7, 1, "nccl:send 1->0", "scheduled") + "," + entry(7, 1, "nccl:recv 1<-0", "scheduled") + "," +
               entry(7, 1, "nccl:coalesced", "completed") + "," + entry(7, 2, "nccl:send 1->0", "completed"),
           R"("7":{"name":"7","desc":"pp","ranks":"[4, 6]"})"));
  const auto recording = open_recording({path});
  CHECK(recording.world == 7);
  CHECK(recording.ranks == std::vector<int>{6});
  const auto all = operations(recording);
  REQUIRE(all[0].size() == 3);
  CHECK(all[0][0].kind == Operation::Kind::send);
  CHECK(all[0][1].kind == Operation::Kind::receive);
  CHECK(all[0][0].peer == 0);
  CHECK(all[0][1].peer == 0);
  CHECK(all[0][0].batch != 0);
  CHECK(all[0][0].batch == all[0][1].batch);
  CHECK(all[0][2].batch == 0);
  CHECK(all[0][0].bytes == sim::Bytes{2048});
}

TEST_CASE("flight recorder: a pickle that wants to import or call something is refused with its name and the byte") {
  const Folder folder;
  const std::vector<std::pair<std::string, std::string>> hostile{
      {"cos\nsystem\n(S'echo'\ntR.", "import os.system"},
      {"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R."s, "import posix.system"},
      {"(S'id'\nios\nsystem\n.", "import and call os.system"},
      {"\x80\x02}q\x00U\x01xK\x01K\x02\x86R."s, "call x"},
      {"\x80\x02}}b."s, "BUILD"},
      {"\x80\x02)\x81."s, "NEWOBJ"},
      {"\x80\x02Pabc\n."s, "PERSID"},
      {"\x80\x02\x82\x01."s, "EXT"}};
  for (const auto& [bytes, what] : hostile) {
    const auto path = folder.write("evil_rank_0", bytes);
    workloads::RecordingOptions options;
    options.format = "flight-recorder";
    // Protocols 0 and 1 are told by a dictionary at the beginning.
    if (bytes[0] != '\x80') folder.write("evil_rank_0", "}q\x01"s + bytes);
    try {
      open_recording({path}, options);
      FAIL("not refused: " << what);
    } catch (const sim::InputError& e) {
      CHECK_THAT(e.what(), ContainsText(what));
      CHECK_THAT(e.what(), ContainsText("byte "));
      CHECK_THAT(e.what(), ContainsText(path));
    }
  }
}

TEST_CASE("flight recorder: pickles of all protocols, and what is left of one that is cut") {
  const Folder folder;
  const auto of = [&](const std::string& bytes) { return open_recording({folder.write("r_rank_0", bytes)}); };
  // {'entries': [{'profiling_name': 'nccl:broadcast', 'input_sizes': [[5]]}]} by hand.
  // Protocol 0: texts in lines, lists and dictionaries with marks.
  const auto zero =
      "(dp0\nS'entries'\np1\n(lp2\n(dp3\nS'profiling_name'\nS'nccl:broadcast'\nsS'input_sizes'\n(l(lI5\naasas."s;
  CHECK(operations(of(zero))[0].at(0).bytes == sim::Bytes{20});  // without types: 4 bytes
  CHECK(noted(of(zero), "no data types"));
  // Protocol 4: a frame, short texts, memo by MEMOIZE, LONG1.
  const auto four =
      "\x80\x04\x95\x40\0\0\0\0\0\0\0}\x94\x8c\x07"
      "entries\x94]\x94}\x94(\x8c\x0eprofiling_name\x94\x8c\x0enccl:broadcast"
      "\x94\x8c\x0binput_sizes\x94]\x94]\x94\x8a\x01\x05"
      "aaua"
      "s."s;
  CHECK(operations(of(four))[0].at(0).op == models::nccl::Op::broadcast);
  CHECK(operations(of(four))[0].at(0).bytes == sim::Bytes{20});
  // Cut behind the entry: the containers that are open get what lies on the stack.
  const auto cut = of(four.substr(0, four.size() - 4));
  CHECK(operations(cut)[0].size() == 1);
  CHECK(skipped(cut, "the file is cut") == 1);
}

TEST_CASE("flight recorder: JSON that is cut keeps the entries before") {
  const Folder folder;
  const auto whole =
      dump(entry(0, 1, "nccl:all_reduce", "completed") + "," + entry(0, 2, "nccl:all_reduce", "completed"));
  const auto recording = open_recording({folder.write("r_rank_0.json", whole.substr(0, whole.size() - 60))});
  CHECK(operations(recording)[0].size() == 2);  // the second has its name and sizes
  CHECK(skipped(recording, "the rest of a damaged file") == 1);
  CHECK_THROWS_AS(open_recording({folder.write("r_rank_0.json", R"({"pg_config":{},"entries":[]})")}), sim::InputError);
}
