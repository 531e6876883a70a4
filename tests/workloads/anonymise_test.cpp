// Anonymised traces: what must not be in them is not, what must stay stays, and the same stays the same.
#include "linkcast/workloads/anonymise.hpp"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "linkcast/sim/diagnostic.hpp"
#include "lists.hpp"

using namespace linkcast;

namespace {

std::string anonymised(const std::string& text, const std::string& name = "in.txt") {
  const Folder folder{"anonymise"};
  workloads::AnonymiseOptions options;
  options.key = "a key";
  workloads::anonymise({folder.write(name, text)}, folder.at("out"), options);
  return text_of_file(folder.at("out"));
}

bool has(const std::string& text, const std::string& what) { return text.find(what) != text.npos; }

/// The word in `text` that begins with `kind` and a hyphen.
std::string word(const std::string& text, const std::string& kind) {
  const auto at = text.find(kind + "-");
  return at == text.npos ? "" : text.substr(at, kind.size() + 11);
}

}  // namespace

TEST_CASE("NCCL's log: hosts, processes, addresses, pointers and paths go; sizes, ranks and links stay") {
  const auto out = anonymised(
      "before gpu-node17 is named\n"
      "gpu-node17:48213:48291 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [RO]; OOB ens1f0:10.31.7.9<0>\n"
      "gpu-node17:48213:48291 [3] NCCL INFO ncclCommInitRank comm 0x7f3a1c0012e0 rank 3 nranks 16 cudaDev 3 busId "
      "c7000 "
      "commId 0x8d1f22ab44c0de01 - Init COMPLETE\n"
      "gpu-node18:51234:51234 [0] NCCL INFO AllReduce: opCount 1a sendbuff 0x7f3a1c000000 count 1048576 datatype 7 op "
      "0 "
      "root 0 comm 0x7f3a1c0012e0 [nranks=16] stream 0x55d0c8a1b2c0\n"
      "gpu-node17:48213:48291 [3] NCCL INFO NCCL_TOPO_FILE set by environment to /home/alice/topo/dgx.xml\n"
      "[2026-01-02 10:11:12] gpu-node17:48213:48291 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM/read\n"
      "gpu-node17:48213:48291 [3] NCCL INFO NCCL version 2.27.3+cuda12.8, guid 0x506b4b0300a1b2c3 "
      "fe80::526b:4b03:a1:b2c3 NET/0-2 (0/6c5a4c0003ebc008/1/3.125000)\n");
  for (const auto* secret : {"gpu-node1", "48213", "48291", "51234", "10.31.7.9", "7f3a1c", "8d1f22ab", "alice",
                             "dgx.xml", "506b4b0300a1b2c3", "526b", "6c5a4c"})
    CHECK_FALSE(has(out, secret));
  for (const auto* kept :
       {" [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [RO]; OOB ens1f0:10.",
        "rank 3 nranks 16 cudaDev 3 busId c7000", "opCount 1a", "count 1048576 datatype 7 op 0 root 0", "[nranks=16]",
        "set by environment to /home/user-", ".xml\n", "[2026-01-02 10:11:12] host-",
        "Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM/read", "NCCL version 2.27.3+cuda12.8", "/1/3.125000)"})
    CHECK(has(out, kept));
  // The host that is named in the second line is the same that stands alone in the first.
  CHECK(out.substr(7, 15) == word(out, "host"));
  // The same pointer of the communicator in the third and the fourth line.
  const auto comm = out.substr(out.find("comm 0x"), 19);
  CHECK(out.find(comm, out.find(comm) + 1) != out.npos);
  CHECK(std::count(out.begin(), out.end(), '\n') == 7);
}

TEST_CASE("a profile: frames, paths, hosts and environment go, structure, times and sizes stay") {
  const std::string before = R"json({"schemaVersion": 1, "traceName": "\/data\/alice\/run7\/gpu-node17_4711.json",
 "distributedInfo": {"backend": "nccl", "rank": 0, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
 "host": "gpu-node17.cluster.example.com", "user": "alice",
 "env": {"NCCL_ALGO": "Ring", "HF_TOKEN": "hf_abcdefghijklmnop1234", "LAUNCHER": "python /srv/x.py", "NCCL_AUTH_KEY": "k"},
 "traceEvents": [
 {"ph": "X", "cat": "python_function", "name": "secretproject/model.py(120): forward_special", "pid": 48213, "tid": 48213, "ts": 5123456.789, "dur": 12.5, "args": {"Python id": 7}},
 {"ph": "X", "cat": "python_function", "name": "nn.Module: SecretBlock_3", "pid": 48213, "tid": 48213, "ts": 1, "dur": 2},
 {"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 48213, "tid": 48299, "ts": 1, "dur": 2, "args": {"Call stack": "secretproject/model.py(120): forward_special;train.py(3): <module>"}},
 {"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, float)", "pid": 3, "tid": 7, "ts": 5123459, "dur": 40, "args": {"stream": 7, "correlation": 60047, "In msg nelems": 6637568, "Process Group Ranks": "[0, 1]"}},
 {"ph": "M", "name": "thread_name", "pid": 48213, "tid": 48299, "args": {"name": "thread 48299 (python)"}}
 ]})json";
  const auto text = anonymised(before, "in.json");
  for (const auto* secret : {"alice", "gpu-node17", "example.com", "4711", "48213", "48299", "hf_abc", "/srv",
                             "secretproject", "forward_special", "SecretBlock", "model.py", "\"k\""})
    CHECK_FALSE(has(text, secret));
  const auto was = nlohmann::json::parse(before), is = nlohmann::json::parse(text);
  CHECK(is["env"]["NCCL_ALGO"] == "Ring");
  CHECK(is["distributedInfo"] == was["distributedInfo"]);
  const auto& events = is["traceEvents"];
  CHECK(events[3] == was["traceEvents"][3]);  // a kernel has nothing to hide; device 3 and stream 7 are no processes
  CHECK(events[2]["name"] == "c10d::allreduce_");
  CHECK(has(text, "5123456.789"));
  CHECK(events[0]["pid"] == events[1]["pid"]);
  CHECK(events[0]["pid"] == events[0]["tid"]);
  CHECK(events[2]["tid"] == events[4]["tid"]);
  CHECK(events[4]["args"]["name"] == "thread " + std::to_string(events[2]["tid"].get<int>()) + " (python)");
  // The same frame in a name and in a stack.
  const auto frame = events[0]["name"].get<std::string>();
  CHECK(has(frame, ".py(120): function-"));
  CHECK(events[2]["args"]["Call stack"].get<std::string>().starts_with(frame + ";"));
}

TEST_CASE("a flight recorder's frames and an inspector's header") {
  const auto text = anonymised(
      R"({"entries": [{"frames": [{"name": "train_step", "filename": "/home/bob/t.py", "line": 12}], )"
      R"("profiling_name": "nccl:all_reduce", "input_sizes": [[3, 4]], "time_created_ns": 1714000000123456789}]})"
      "\n"
      R"({"header": {"id": "0x9a1b2c3d4e5f6071", "rank": 0}, "metadata": {"hostname": "stone", "pid": 7654}, )"
      R"("coll_perf": {"coll_msg_size_bytes": 4194304, "CommHash": 12345678901234567}})"
      "\n",
      "in.json");
  for (const auto* secret : {"train_step", "bob", "9a1b2c3d", "stone", "7654", "12345678901234567"})
    CHECK_FALSE(has(text, secret));
  for (const auto* kept :
       {"\"line\": 12", "nccl:all_reduce", "[[3, 4]]", "1714000000123456789", "4194304", "\"id\": \"0x"})
    CHECK(has(text, kept));
}

TEST_CASE("one key, the same pseudonyms; another key, others; no key, nobody knows") {
  const Folder folder{"anonymise"};
  const auto path = folder.write("in.log", "gpu-node17:48213:48291 [3] NCCL INFO hello\n");
  const auto with = [&](const std::string& key) {
    workloads::AnonymiseOptions options;
    options.key = key;
    workloads::anonymise({path}, folder.at("out.log"), options);
    return text_of_file(folder.at("out.log"));
  };
  CHECK(with("one") == with("one"));
  CHECK(with("one") != with("two"));
  CHECK(with("") != with(""));
}

TEST_CASE("several files share their pseudonyms, and their names say no more than the rank") {
  const Folder folder{"anonymise"};
  const auto a = folder.write("gpu-node17_rank_1.log", "gpu-node17:48213:48291 [3] NCCL INFO gpu-node18\n");
  const auto b = folder.write("other.log", "gpu-node18:48213:48291 [3] NCCL INFO\n");
  const auto report = workloads::anonymise({a, b}, folder.at("out/"), {});
  REQUIRE(report.files.size() == 2);
  CHECK(report.files[0].to == folder.at("out/rank_1.log"));
  CHECK(report.files[1].to == folder.at("out/file_1.log"));
  const auto first = text_of_file(report.files[0].to), second = text_of_file(report.files[1].to);
  CHECK(has(first, word(second, "host")));
  CHECK(report.replaced.at("host") == 2);
  CHECK(report.replaced.at("process") == 2);
}

TEST_CASE("what cannot be anonymised is refused, and stopping leaves no half of a file") {
  const Folder folder{"anonymise"};
  const auto binary = folder.write("step.0.et", std::string("\x0a\x00\x01\x02", 4));
  CHECK_THROWS_WITH(workloads::anonymise({binary}, folder.at("out"), {}),
                    Catch::Matchers::Contains("is not text") && Catch::Matchers::Contains("trace convert"));
  const auto path = folder.write("in.log", "x\n");
  CHECK_THROWS_WITH(workloads::anonymise({path}, path, {}), Catch::Matchers::Contains("is an input as well"));
  std::stop_source stop;
  stop.request_stop();
  workloads::AnonymiseOptions options;
  options.stop = stop.get_token();
  CHECK(workloads::anonymise({path}, folder.at("stopped"), options).interrupted);
  CHECK_FALSE(std::filesystem::exists(folder.at("stopped")));
}

TEST_CASE("short IPv6 addresses go, names of C++ stay") {
  const auto out = anonymised("OOB ens1f0:fe80::1%ens1f0<0> [fd00::5]:29500 2001:db8::7 c10d::a1 c10::Half at::add_\n");
  for (const auto* secret : {"fe80::1", "fd00::5", "2001:db8"}) CHECK_FALSE(has(out, secret));
  for (const auto* kept : {"c10d::a1", "c10::Half", "at::add_"}) CHECK(has(out, kept));
}

TEST_CASE("long lines of short words end, and variables within variables do") {
  const auto repeated = [](const std::string& what) {
    std::string out;
    while (out.size() < 400'000) out += what;
    return out + "\n";
  };
  for (const auto* same : {"aa/", "aa-", "a@", "sk-", "/", "."}) CHECK(anonymised(repeated(same)) == repeated(same));
  CHECK(has(anonymised(repeated("NCCL_A=") + "end\n"), "NCCL_A=redacted"));
  CHECK_FALSE(has(anonymised(repeated("aa/") + "/home/alice/x\n"), "alice"));
}
